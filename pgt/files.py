"""Files: written whole or not at all, shipped with the package, CSV without formulas, tensors."""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from pgt.errors import DataError

Model = TypeVar("Model", bound=nn.Module)


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


def plain(table: pd.DataFrame) -> pd.DataFrame:
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


# --- tensors

FORMAT = "pgt-1"


def write(path: str | Path, tensors: dict[str, Tensor], info: dict[str, Any]) -> None:
    """Write tensors and a JSON header; the name appears only once the file is complete."""
    body = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    text = json.dumps(info)
    header = {"format": FORMAT, "info": text, "sha256": checksum(body, text)}
    with whole(path) as half:
        save_file(body, half, metadata=header)
        half.chmod(0o644)  # safetensors makes it the owner's alone


def read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write` wrote; a DataError says what is missing, cut short, changed or strange."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no checkpoint {path}; train one with python -m pgt train.")
    try:
        with safe_open(path, framework="pt") as handle:
            header = handle.metadata() or {}
            if header.get("format") != FORMAT:
                raise DataError(f"{path.name} is a safetensors file, but no checkpoint of pgt.")
            tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
        info = json.loads(header["info"])
        if not isinstance(info, dict):
            raise ValueError("its header is no table of names")
        known = header.get("sha256")  # files of earlier versions have none
        if known is not None and known != checksum(tensors, header["info"]):
            raise ValueError("its checksum does not fit what is in it")
    except DataError:
        raise
    except (SafetensorError, LookupError, ValueError, RecursionError, OSError) as error:
        reason = " ".join(str(error).splitlines()[:1]) or type(error).__name__
        raise DataError(
            f"{path.name} is cut short or damaged ({reason}); copy it again or train anew."
        ) from error
    return tensors, info


def checksum(tensors: Mapping[str, Tensor], info: str) -> str:
    """SHA-256 over the text of a header, and the name, type, shape and bytes of each tensor."""
    found = hashlib.sha256(info.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        found.update(f"\n{name} {value.dtype} {tuple(value.shape)} ".encode())
        if value.numel():  # an empty one cannot be seen as bytes
            found.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


@contextmanager
def fitting(name: str) -> Iterator[None]:
    """One sentence for a header with other contents than this version writes."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError,
            ValueError) as error:  # fmt: skip
        if isinstance(error, DataError) and name in str(error):
            raise
        reason = " ".join(str(error).splitlines()[:1])
        raise DataError(
            f"The header of {name} does not fit this version of pgt ({reason})."
        ) from error


class _Undrawn(TorchFunctionMode):
    """Normal numbers are not drawn: without memory, PyTorch would load its compiler for it."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in (nn.init.normal_, torch.Tensor.normal_):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def built(make: Callable[[], Model], tensors: dict[str, Tensor], name: str) -> Model:
    """Make a model for these tensors, in evaluation mode.

    A header can claim any size, so the shapes are compared before memory is asked for.
    """
    with fitting(name), torch.device("meta"), _Undrawn():
        shapes = make().state_dict()
    check_shapes(shapes, tensors, name)
    model = make()
    load_weights(model, tensors, name)
    return model.eval()


def load_weights(model: nn.Module, tensors: dict[str, Tensor], name: str) -> None:
    """Put tensors into a model of the very same shapes, or say which one does not fit."""
    check_shapes(model.state_dict(), tensors, name)
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise DataError(
                f"{name} holds weights that are no numbers ('{key}'); copy it again or train anew."
            )
    model.load_state_dict(tensors)


def check_shapes(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor], name: str) -> None:
    """Refuse tensors of other names or shapes than a model's own."""
    for key in sorted(own.keys() | tensors.keys()):
        here, there = (tuple(x[key].shape) if key in x else "not there" for x in (own, tensors))
        if here != there:
            raise DataError(
                f"'{key}' is {there} in {name} but {here} in this model; it belongs to another "
                "vocabulary or configuration."
            )
