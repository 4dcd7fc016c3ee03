"""Is a path a recording of positions or a table of visits? File names and column names tell."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from pgt.errors import DataError
from pgt.io import fixes_columns
from pgt.io.archive import open_zip
from pgt.io.columns import recognized
from pgt.io.damage import UNREADABLE
from pgt.io.fixes_geolife import trajectory_folders
from pgt.io.forms import form_of, header_of, is_table, tables_of
from pgt.io.sources import is_windows_folder

# What a fix has in any table, and what only a visit has.
OF_FIXES = ("tracked_at", "lon", "lat")
OF_VISITS = ("location_id", "finished_at")
# Files of a folder that are looked at; nobody keeps tracks behind so many others.
LOOKED_AT = 10_000


def is_recording(path: str | Path) -> bool:
    """Whether `pgt.io.fixes.read_fixes` is to read a path, rather than `pgt.read_visits`.

    Parameters
    ----------
    path : path
        GPX, GeoLife (folder or archive), a table with positions and times but without a place and
        an end, or a folder of such files. What is not there or cannot be read is no recording.

    Returns
    -------
    bool

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "fixes.csv"
    ...     _ = file.write_text("uid,timestamp,latitude,longitude\\n7,1714554000,48.2,16.4\\n")
    ...     is_recording(file), is_recording(folder), is_recording("none.csv")
    (True, True, False)
    """
    path = Path(path)
    if path.is_dir():
        return _is_folder(path)
    if not path.is_file():
        return False
    if path.suffix.lower() in (".gpx", ".plt"):
        return True
    if path.suffix.lower() == ".zip":
        return _is_archive(path)
    return is_table(path) and _has_fixes(path)


def _is_folder(path: Path) -> bool:
    if (path / "city.json").is_file() or is_windows_folder(path):
        return False
    files = islice(path.rglob("*"), LOOKED_AT)
    if any(file.suffix.lower() in (".gpx", ".plt") for file in files if file.name[0] != "."):
        return True
    if trajectory_folders(path):
        return True
    tables = tables_of(path)
    return bool(tables) and _has_fixes(tables[0])


def _is_archive(path: Path) -> bool:
    try:
        with open_zip(path) as archive:
            return any(name.lower().endswith(".plt") for name in archive.namelist())
    except DataError:
        return False


def _has_fixes(path: Path) -> bool:
    """Whether a table has the columns of fixes, under any of their names, and none of a visit."""
    try:
        form = form_of(path)
        parquet = form.kind == "parquet"
        names = pq.read_schema(path).names if parquet else header_of(path, form)
    except UNREADABLE:
        return False  # who reads it says what is wrong
    lower = {name.strip().lower() for name in names}
    if not all(lower & {*fixes_columns.ALIASES[ours]} for ours in OF_FIXES):
        return False
    return not any(_is_of_visits(name) for name in names)


def _is_of_visits(name: str) -> bool:
    return name in OF_VISITS or any(
        ours in OF_VISITS for ours in recognized(pd.DataFrame(columns=[name])).values()
    )
