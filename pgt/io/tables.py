"""Tables: visits from and to CSV and Parquet files."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pandas as pd

from pgt import files as files
from pgt.doubts.visits import note
from pgt.errors import DataError
from pgt.io.columns import ALIASES, id_columns, is_whole, recognized, says_utc
from pgt.io.forms import Form, form_of, header_of, is_table, readable
from pgt.io.parquet_folder import is_parquet_folder
from pgt.io.parquet_folder import rows as parquet_rows
from pgt.io.times import parse_times
from pgt.io.unpacking import require_room
from pgt.refusals.tables import require_places
from pgt.visits import COORDINATES, REQUIRED, check, require_columns, require_once

TIMES = ("started_at", "finished_at")
# Degrees with a decimal comma, or without decimals.
COMMA = r"\s*[+-]?\d+(,\d+)?\s*"


def _read_csv(path: Path, form: Form, ids: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV without what pandas does silently.

    It would rename doubled columns, take the first column for row names where rows have more
    fields than the header, strip the zeros of an id such as "007", and read the same id as a
    number in one stretch of a long file and as text in another.
    """
    require_once([name for name in header_of(path, form) if name], path.name)
    again: partial[pd.DataFrame] = partial(pd.read_csv, path, **form.options())
    table = again(low_memory=False)
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(
            f"The rows of {path.name} have more fields than its header line; name every column "
            "(where numbers have a decimal comma, write a point, or separate by semicolons)."
        )
    named = {*ids, *id_columns(table)} & set(table.columns)
    whole = [name for name in named if pd.api.types.is_integer_dtype(table[name])]
    texts = again(usecols=whole, dtype=str)
    for name in whole:
        if not all(is_whole(text.strip()) for text in texts[name].unique()):
            table[name] = texts[name]
    table = files.plain(table)
    for name in table.columns:
        if _is_coordinate(name) and not pd.api.types.is_numeric_dtype(table[name]):
            text = table[name].astype("string")
            if text.dropna().str.fullmatch(COMMA).all():
                table[name] = text.str.replace(",", ".", regex=False).astype(float)
    return table


def _is_coordinate(name: object) -> bool:
    return any(str(name).strip().lower() in ALIASES[ours] for ours in COORDINATES)


def read(
    path: str | Path,
    *,
    timezone: str | None = None,
    columns: dict[str, str] | None = None,
    checkins: bool = False,
    drop_duplicates: bool = False,
) -> pd.DataFrame:
    """Read a CSV or Parquet table of visits and check it.

    Parameters
    ----------
    path : path
        A ``.parquet`` file, or a text such as ``.csv``, ``.tsv``, ``.txt`` or ``.csv.gz``, in
        UTF-8 or UTF-16, separated by commas, semicolons or tabs. What is packed may unpack to 256
        MiB, or to 100 times its size (`pgt.io.unpacking`). Or a folder of Parquet files, flat or
        by partitions (``day=2024-05-01/part-0.parquet``), which are one table.
    timezone : str, optional
        The local zone. Times without a zone are taken to be in it, or in UTC where their column's
        name says so ("UTC time"); times with one are converted to it.
    columns : dict, optional
        Names in the project -> names in the file, for example ``{"user_id": "uid"}``. Usual names,
        such as "User ID" or "Check-in time", are recognized (`pgt.io.columns.ALIASES`), and
        the result's ``attrs["recognized"]`` says how they were read.
    checkins : bool
        The table has no ``finished_at``: every visit ends when it begins.
    drop_duplicates : bool
        Drop repeated visits instead of refusing the table.

    Returns
    -------
    DataFrame
        As `check` returns it. What is allowed but looks like a mistake (see `pgt.doubts.visits`) is
        warned of and stands in ``attrs["notes"]``.
    """
    path = local_path(path)
    names = {name: name for name in REQUIRED[:2]} | (columns or {})
    visits = _rows(path, (names["user_id"], names["location_id"]))
    visits.attrs = {}  # what a file says of itself was not found in it
    visits, called, found = named(visits, columns, path.name)
    require_places(visits, path.name)
    if checkins and "started_at" in visits.columns and "finished_at" not in visits.columns:
        visits["finished_at"] = visits["started_at"]
        called["finished_at"] = called.get("started_at", "")
    require_columns(visits)
    visits = tidy(visits, timezone, in_utc(called), drop_duplicates=drop_duplicates)
    if found:
        visits.attrs["recognized"] = found
    return note(visits)


def named(
    visits: pd.DataFrame, columns: dict[str, str] | None, source: str
) -> tuple[pd.DataFrame, dict[str, str], dict[str, str]]:
    """Give columns our names: those that the caller lists, and those that usual names show.

    Parameters
    ----------
    visits : DataFrame
    columns : dict, optional
        Names in the project -> names in the table.
    source : str
        What to call the table in messages.

    Returns
    -------
    visits : DataFrame
    called : dict
        Our names -> what the columns were called.
    found : dict
        Of `pgt.io.columns.recognized`.

    Raises
    ------
    DataError
        A column that is listed is not there, or there under both names.
    """
    for ours, theirs in (columns or {}).items():
        if theirs not in visits.columns:
            have = ", ".join(map(str, visits.columns))
            raise DataError(f"Column '{theirs}' is not in {source} (it has {have}).")
        if ours in visits.columns and ours != theirs:
            raise DataError(
                f"{source} already has a column '{ours}' beside '{theirs}'; drop one of them."
            )
        visits = visits.rename(columns={theirs: ours})
    found = recognized(visits)
    called = (columns or {}) | {ours: name for name, ours in found.items()}
    return visits.rename(columns=found), called, found


def in_utc(called: dict[str, str]) -> dict[str, bool]:
    """Of each column of times, whether what it was called says that it is in UTC."""
    return {name: says_utc(called.get(name, "")) for name in TIMES}


def local_path(path: str | Path) -> Path:
    """A path to something that is there.

    Raises
    ------
    DataError
        There is nothing, or it is an address or a pattern.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        # A path has lost one of the two slashes.
        address = str(path) if "://" in str(path) else re.sub(":/", "://", str(path))
        raise DataError(
            f"{address} is an address, and only local files are read; download it first "
            "(python -m pgt prepare --engine reads addresses and patterns)."
        )
    path = Path(path)
    if not path.exists():
        many = any(sign in path.name for sign in "*?[")
        remedy = "give one file, or use prepare --engine" if many else "check the path"
        raise DataError(f"There is no file {path}; {remedy}.")
    return path


def _rows(path: Path, ids: tuple[str, ...]) -> pd.DataFrame:
    """The rows of a file, whatever its form, as they stand there."""
    if path.is_dir():
        if not is_parquet_folder(path):
            raise DataError(f"{path.name} cannot be read: it is a folder; give a file.")
        return _plain(parquet_rows(path))
    form = form_of(path)
    if not is_table(path) and form.kind != "parquet":
        raise DataError(f"{path.name} is neither .csv nor .parquet; convert it to one of them.")
    require_room(path, form)
    with readable(path, form.kind, form):
        if form.kind == "csv":
            return _read_csv(path, form, ids)
        visits = pd.read_parquet(path)
    return _plain(visits)


def _plain(visits: pd.DataFrame) -> pd.DataFrame:
    """The rows of Parquet without what only their writer needed."""
    visits.attrs = {}  # a file's own remarks are none of ours
    for name, column in visits.items() if visits.columns.is_unique else ():
        if isinstance(column.dtype, pd.CategoricalDtype):
            visits[name] = column.astype(column.cat.categories.dtype)
    return visits


def tidy(
    visits: pd.DataFrame, timezone: str | None, utc: dict[str, bool], *, drop_duplicates: bool
) -> pd.DataFrame:
    """Read the times of a table whose columns have their names, and check it.

    ``utc`` says of each column of times whether those without a zone are in UTC.
    """
    after = None
    for name in TIMES:
        visits[name] = parse_times(visits[name], name, timezone, utc=utc[name], after=after)
        after = visits[name]
    if "split" in visits.columns:
        part = visits["split"].astype(object)  # of categories, none could be added
        visits["split"] = part.replace({"val": "valid", "validation": "valid"})
    if drop_duplicates:
        visits = visits.drop_duplicates([*REQUIRED], ignore_index=True)
    return check(visits)


def write(visits: pd.DataFrame, path: str | Path) -> None:
    """Write a table as Parquet or CSV, whole or not at all.

    The file appears under its name only once it is complete. People open a CSV in a spreadsheet,
    which runs a cell such as ``=1+1``; so texts that begin like a formula get an apostrophe before
    them (`pgt.files`), which `read` takes away again. Parquet keeps every text as it is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(pd.DataFrame({"user_id": ["=1+1"], "effect": [-3.2]}), f"{folder}/a.csv")
    ...     print(Path(f"{folder}/a.csv").read_text())
    user_id,effect
    '=1+1,-3.2
    <BLANKLINE>
    """
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise DataError(f"Cannot write {path.name}: its name must end in .csv or .parquet.")
    with files.whole(path) as half:
        if path.suffix == ".csv":
            files.write_csv(visits, half)
            return
        visits = visits.copy(deep=False)
        for remark in ("notes", "recognized"):  # of the file that these were read from
            visits.attrs.pop(remark, None)
        visits.to_parquet(half, index=False)
