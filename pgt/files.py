"""Files: written whole or not at all, shipped with the package, CSV without formulas."""

from __future__ import annotations

import csv
import errno
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
from safetensors import SafetensorError


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Give another name of the same folder to write under, and move what is there to ``path``.

    When the block raises, what it wrote goes away, and what was at ``path`` stays.
    """
    path = Path(path)
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield half
        with open(half, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(half, path)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            getattr(error, "errno", None) or errno.EIO,
            f"{path} could not be written ({reason}); what was there before is as it was. Make "
            "room, or write to another folder.",
        ) from error
    finally:
        with suppress(OSError):  # what cannot be there need not go away
            half.unlink()


def write_text(path: str | Path, text: str) -> Path:
    """Write text as UTF-8, whole or not at all; returns the path."""
    with whole(path) as half:
        half.write_text(text, encoding="utf-8", newline="")
    return Path(path)


PACKAGE = Path(__file__).resolve().parent
# What is shipped: its folder in the repository, and in the wheel.
FOLDERS = {
    "city": ("data/city", "_city"),
    "checkpoints": ("data/checkpoints", "_checkpoints"),
    "results": ("book/results", "_results"),
}


def folder(name: str) -> Path:
    """The folder of the simulated "city", of the trained "checkpoints", or of the "results"."""
    in_repository, in_wheel = FOLDERS[name]
    inside = PACKAGE / in_wheel
    return inside if inside.is_dir() else PACKAGE.parent / in_repository


# --- CSV: no text becomes a formula in a spreadsheet

# Where a cell begins (of any program, whatever it takes for a separator), and how a formula does:
# behind a tab, a line end or an apostrophe of ours it is one as well, and some read wide signs.
_BEGIN, _FORMULA = r"(^|[,;|\t\r\n])", r"(?='*[=+\-@\t\r\n＝＋－＠])"
OPEN, MARKED = re.compile(_BEGIN + _FORMULA), re.compile(f"{_BEGIN}'{_FORMULA}")


def write_csv(table: pd.DataFrame, path: str | Path | None = None) -> str:
    """Write a table as CSV without its index, and give its text, which no spreadsheet will run.

    >>> write_csv(pd.DataFrame({"user_id": ["=1+1", "ann"], "effect": [-3.2, 0.5]}))
    "user_id,effect\\n'=1+1,-3.2\\nann,0.5\\n"
    """
    safe = _with_texts(table, lambda text: OPEN.sub(r"\1'", text))
    text: str = safe.to_csv(index=False, lineterminator="\n")
    if "\r" in text:  # older Pythons write it without quotes, where it would end the row
        text = safe.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    if path is not None:
        write_text(path, text)
    return text


def without_marks(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the apostrophes that `write_csv` puts before formulas."""
    return _with_texts(table, lambda text: MARKED.sub(r"\1", text) if "'" in text else text)


def _with_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """The table with every text changed, names of columns too; other columns are the same."""

    def one(value: object) -> object:
        return change(value) if isinstance(value, str) else value

    done = table.rename(columns=one)
    for at, dtype in enumerate(table.dtypes):
        if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            continue
        values = table.iloc[:, at].astype(object)
        if any(one(value) is not value and one(value) != value for value in values.unique()):
            done.isetitem(at, values.map(one))
    return done
