"""Folders of Parquet files, flat or by partitions of Hive, as one table."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgt.errors import DataError
from pgt.io.columns import is_whole
from pgt.io.damage import UNREADABLE, reason
from pgt.io.delta import LOG as DELTA
from pgt.io.forms import Form, form_of, readable
from pgt.io.unpacking import require_room
from pgt.visits import require_once

# What tells that not every Parquet file in a folder is a part of its table: Delta, Hudi, Iceberg.
LOGS = frozenset({DELTA, ".hoodie", "metadata"})
NOTHING = "__HIVE_DEFAULT_PARTITION__"
DIGITS = 18  # of a number that surely has room


def is_parquet_folder(folder: str | Path) -> bool:
    """Whether a folder holds Parquet files and nothing else.

    What begins with a dot or an underscore (``_SUCCESS``, ``.crc``) is not looked at, as Spark and
    Arrow have it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "day=1").mkdir()
    ...     pd.DataFrame({"a": [1]}).to_parquet(f"{folder}/day=1/part-0.parquet")
    ...     is_parquet_folder(folder)
    True
    """
    files = _files(Path(folder))
    return bool(files) and all(file.suffix.lower() == ".parquet" for file in files)


def rows(folder: Path) -> pd.DataFrame:
    """The rows of all files, as they stand there, those of a first file first.

    A folder such as ``day=2024-05-01`` gives its files a column ``day``, unless they have it. Its
    values are whole numbers if all are written as such, and texts otherwise: "007" is not 7.

    Parameters
    ----------
    folder : Path
        For which `is_parquet_folder` is true.

    Raises
    ------
    DataError
        A file is damaged, the files do not have the same columns, or they would fill the memory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in (1, 2):
    ...         (Path(folder) / f"day={day}").mkdir()
    ...         pd.DataFrame({"a": [day]}).to_parquet(f"{folder}/day={day}/part-0.parquet")
    ...     rows(Path(folder)).to_dict("list")
    {'a': [1, 2], 'day': [1, 2]}
    """
    files = _files(folder)
    for file in files:
        if form_of(file).kind != "parquet":
            raise DataError(f"{_name(file, folder)} is no Parquet file; take it out of the folder.")
    require_room(folder, Form("parquet"), files)
    keys = [_keys(file, folder) for file in files]
    whole = {name for key in keys for name in key if all(_is_whole(one.get(name)) for one in keys)}
    parts: list[pa.Table] = []
    for file, key in zip(files, keys, strict=True):
        with readable(file, "parquet"):
            part = pq.read_table(file, partitioning=None)
        for name, text in key.items():
            if name not in part.column_names:
                kind = pa.int64() if name in whole else pa.string()
                value = pa.scalar(None if text is None else int(text) if name in whole else text,
                                  kind)  # fmt: skip
                part = part.append_column(name, pa.repeat(value, len(part)))
        _require_like(part, parts, file, files, folder)
        parts.append(part)
    try:
        return pa.concat_tables(parts, promote_options="permissive").to_pandas()
    except UNREADABLE as error:
        raise DataError(
            f"The files of {folder.name} do not fit together ({reason(error)}); write each column "
            "of the same type, and times in the same zone, in all of them."
        ) from error


def _files(folder: Path) -> list[Path]:
    """Its files in order; none where something else keeps account of them."""
    found = []
    for place, folders, names in os.walk(folder):
        if LOGS & {*folders}:
            return []
        folders[:] = [name for name in folders if _counts(name)]
        found += [Path(place, name) for name in names if _counts(name)]
    return sorted(found)


def _counts(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def _keys(file: Path, folder: Path) -> dict[str, str | None]:
    """What the folders above a file say of its rows."""
    pairs = [part.partition("=") for part in file.relative_to(folder).parts[:-1]]
    told = {unquote(name): unquote(value) for name, sign, value in pairs if sign}
    return {name: None if value == NOTHING else value for name, value in told.items()}


def _is_whole(text: str | None) -> bool:
    return text is None or (is_whole(text) and len(text.removeprefix("-")) <= DIGITS)


def _require_like(
    part: pa.Table, parts: list[pa.Table], file: Path, files: list[Path], folder: Path
) -> None:
    """Refuse a file that has other columns than the first: gaps would come of it."""
    have = part.column_names
    require_once(have, _name(file, folder))
    first = parts[0].column_names if parts else have
    for one, other, at, beside in ((have, first, 0, file), (first, have, -1, files[0])):
        if missing := [name for name in one if name not in other]:
            lacks = files[0] if at == 0 else file
            raise DataError(
                f"{_name(lacks, folder)} has no column '{missing[0]}', which "
                f"{_name(beside, folder)} has; give all files the same columns."
            )


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()
