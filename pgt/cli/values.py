"""The values of options, read and refused while the command line is read.

Nothing heavy is imported before it is needed: most calls never ask for a device or a moment.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from pgt.config import PARTS
from pgt.errors import DataError
from pgt.refusals.settings import MOST_SEED

if TYPE_CHECKING:
    import pandas as pd
    import torch

# More days, visits, epochs or processes than this are a slip of the finger.
MOST = 1_000_000


def positive(text: str) -> int:
    """A whole number of at least 1, and not absurd."""
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    if not 1 <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 to {MOST:,}")
    return value


def seed(text: str) -> int:
    """A seed of random numbers."""
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
    if not 0 <= value <= MOST_SEED:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 0 to {MOST_SEED}")
    return value


def metres(text: str) -> float:
    """A length."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no length in metres, such as 20")
    return value


def place(text: str) -> Path | str:
    """A path, or an address such as s3://bucket/folder, which is none."""
    return text if "://" in text else Path(text)


def columns(text: str) -> dict[str, str]:
    """Our names of columns and the file's."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(ours and theirs for ours, _, theirs in pairs):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form OURS=THEIRS,..., such as user_id=uid,location_id=place"
        )
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def parts(text: str) -> tuple[str, ...]:
    """Parts of the model that are left out; something must stay to predict with."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [part for part in found if part not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"there is no part {unknown[0]!r}; choose of {', '.join(PARTS)}"
        )
    if {"pointer", "generator"} <= set(found):
        raise argparse.ArgumentTypeError(
            "without pointer and generator nothing is left to predict with; keep one of the two"
        )
    return found


def device(text: str) -> torch.device:
    """Where the model computes, if that is here."""
    import torch

    from pgt.refusals.kinds import require_device

    try:
        require_device(text)
    except DataError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return torch.device(text)


def moment(text: str) -> pd.Timestamp:
    """A moment, as ISO 8601 writes it, or a table of visits."""
    import pandas as pd

    from pgt.io.times import moment_of
    from pgt.visits import YEARS

    try:
        found = moment_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no ISO 8601 time, such as 2024-05-01T12:00+02:00"
        ) from None
    first, last = YEARS
    if not first <= found.year <= last:
        raise argparse.ArgumentTypeError(
            f"{text!r} is too far away; the years {first} to {last} go"
        )
    return pd.Timestamp(found)


def plain(text: object) -> str:
    """Text from data for a terminal: what would move its cursor or turn its text is escaped.

    Examples
    --------
    >>> plain("red \\x1b[31m, back \\u202e, two\\nlines, Café")
    'red \\\\x1b[31m, back \\\\u202e, two\\\\nlines, Café'
    """
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text)
    )


def require_writable(path: Path, *suffixes: str) -> None:
    """Refuse a name that cannot be written, before the work and not after it."""
    if path.suffix not in suffixes:
        raise DataError(f"Cannot write {path}: its name must end in {' or '.join(suffixes)}.")
    if path.is_dir():
        raise DataError(f"Cannot write {path}: it is a folder; give a file name.")


def require_other(out: Path, *inputs: Path | str | None) -> None:
    """Refuse to write over what the command reads: it would be lost."""
    for path in inputs:
        if isinstance(path, Path) and path.is_file() and out.is_file() and path.samefile(out):
            raise DataError(f"{out} is what this command reads; write to another name.")


def reading(error: Exception, command: str = "prepare") -> str:
    """A refusal to read, with a hint where its remedy is an option of another command."""
    hint = f" Such options are those of '{command}', which writes the table for this command."
    named = ("--columns", "--checkins", "--drop-duplicates", "--time-unit", "min_samples")
    return f"{error}{hint if any(option in str(error) for option in named) else ''}"
