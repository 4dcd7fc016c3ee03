"""Tables: visits from and to CSV and Parquet files."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from pgt import files
from pgt.io.columns import id_columns, recognized, says_utc
from pgt.visits import REQUIRED, DataError, check, first_row, require_columns

TIMES = ("started_at", "finished_at")
# A UTC offset at the end of a time, and the longest text that can show one, with a digit before it.
OFFSET = r"\d(Z|[+-]\d\d(?::?\d\d)?)$"
LONGEST = len("0+02:00\n")
# An integer as Python writes it.
PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def utc_offset(text: pd.Series) -> pd.Series:
    """Find the UTC offset that ends each time; missing where there is none.

    Few tails are different, so only those are looked at. A bare date may end like an offset, but
    it has no clock.

    Examples
    --------
    >>> utc_offset(pd.Series(["2024-05-01 09:00+02:00", "2024-05-01 09:00"])).tolist()
    ['+02:00', <NA>]
    """
    text = text.astype("string")
    number, tails = pd.factorize(text.str[-LONGEST:])
    offset = pd.Series(tails, dtype="string").str.extract(OFFSET)[0].reindex(number)
    return offset.set_axis(text.index).where(text.str.contains(r"\d[T ]").fillna(False))


def parse_times(raw: pd.Series, name: str, timezone: str | None, *, utc: bool = False) -> pd.Series:
    """Turn a column of text or times into local times with a zone.

    ``utc`` says that times without a zone are in UTC; otherwise they are local.
    """
    times = raw
    if not pd.api.types.is_datetime64_any_dtype(raw):
        if pd.api.types.is_numeric_dtype(raw):
            raise DataError(
                f"Column '{name}' holds numbers, not times; write ISO 8601 times "
                "such as 2024-05-01T09:00:00+02:00."
            )
        text = raw.astype("string")
        offset = utc_offset(text)
        zoned = offset.notna()
        # From objects it is quicker than from Arrow's text.
        times = pd.to_datetime(text.astype(object), utc=True, format="ISO8601", errors="coerce")
        bad = times.isna()
        if bad.any():
            value = raw[bad].iloc[0]
            raise DataError(
                f"{name} is {value!r} in {first_row(bad)}, which is no ISO 8601 time "
                "(such as 2024-05-01T09:00:00+02:00); correct it or drop the row."
            )
        if zoned.any() and not zoned.all():
            raise DataError(
                f"{name} has a time zone in some rows and none in {first_row(~zoned)}; "
                "write all of them the same way."
            )
        if not zoned.any():
            times = times.dt.tz_localize(None)
        elif timezone is None:
            offsets = offset.unique()
            if len(offsets) > 1:
                raise DataError(
                    f"{name} uses several UTC offsets ({offsets[0]}, {offsets[1]}, …); name the "
                    "local zone with timezone= (--timezone), for example Europe/Vienna."
                )
            return times.dt.tz_convert(pd.Timestamp(text.iloc[0]).tz)
    if utc and times.dt.tz is None:
        times = times.dt.tz_localize("UTC")
    if timezone is None:
        return times
    try:
        if times.dt.tz is None:
            # Clocks go back: the first of the two hours. Clocks go forward: the next valid time.
            first = np.ones(len(times), dtype=bool)
            return times.dt.tz_localize(timezone, ambiguous=first, nonexistent="shift_forward")
        return times.dt.tz_convert(timezone)
    except (LookupError, ValueError, OSError) as error:
        raise DataError(
            f"'{timezone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error


def _read_csv(path: Path, ids: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV without what pandas does silently.

    It would rename doubled columns, take the first column for row names where rows have more
    fields than the header, and strip the zeros of an id such as "007".
    """
    names = pd.read_csv(path, header=None, nrows=1, dtype=str, skip_blank_lines=True)
    columns = [str(name) for name in names.iloc[0].dropna()]
    doubled = {name for name in columns if columns.count(name) > 1}
    if doubled:
        raise DataError(f"Column '{min(doubled)}' appears twice in {path.name}; keep one of them.")
    table = pd.read_csv(path)
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(
            f"The rows of {path.name} have more fields than its header line; name every column."
        )
    named = {*ids, *id_columns(table)} & set(table.columns)
    whole = [name for name in named if pd.api.types.is_integer_dtype(table[name])]
    texts = pd.read_csv(path, usecols=whole, dtype=str)
    for name in whole:
        if not all(PLAIN_INTEGER.fullmatch(text.strip()) for text in texts[name].unique()):
            table[name] = texts[name]
    return table


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
        A ``.csv`` (optionally ``.csv.gz``) or ``.parquet`` file.
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
        As `check` returns it.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path.")
    try:
        if path.suffix == ".parquet":
            visits = pd.read_parquet(path)
        elif path.suffix == ".csv" or path.name.endswith(".csv.gz"):
            names = {name: name for name in REQUIRED[:2]} | (columns or {})
            visits = _read_csv(path, (names["user_id"], names["location_id"]))
        else:
            raise DataError(f"{path.name} is neither .csv nor .parquet; convert it to one of them.")
    except DataError:
        raise
    except (ValueError, OSError, EOFError, NotImplementedError, zlib.error) as error:
        # ValueError: pandas' parser errors, broken UTF-8, and pyarrow's own.
        kind = "Parquet" if path.suffix == ".parquet" else "a CSV in UTF-8 with a header line"
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise DataError(f"{path.name} cannot be read ({reason}); it must be {kind}.") from error
    for ours, theirs in (columns or {}).items():
        if theirs not in visits.columns:
            have = ", ".join(map(str, visits.columns))
            raise DataError(f"Column '{theirs}' is not in {path.name} (it has {have}).")
        if ours in visits.columns and ours != theirs:
            raise DataError(
                f"{path.name} already has a column '{ours}' beside '{theirs}'; drop one of them."
            )
        visits = visits.rename(columns={theirs: ours})
    found = recognized(visits)
    visits = visits.rename(columns=found)
    called = (columns or {}) | {ours: name for name, ours in found.items()}
    if checkins and "started_at" in visits.columns and "finished_at" not in visits.columns:
        visits["finished_at"] = visits["started_at"]
        called["finished_at"] = called.get("started_at", "")
    require_columns(visits)
    utc = {name: says_utc(called.get(name, "")) for name in TIMES}
    visits = tidy(visits, timezone, utc, drop_duplicates=drop_duplicates)
    if found:
        visits.attrs["recognized"] = found
    return visits


def tidy(
    visits: pd.DataFrame, timezone: str | None, utc: dict[str, bool], *, drop_duplicates: bool
) -> pd.DataFrame:
    """Read the times of a table whose columns have their names, and check it.

    ``utc`` says of each column of times whether those without a zone are in UTC.
    """
    for name in TIMES:
        visits[name] = parse_times(visits[name], name, timezone, utc=utc[name])
    if "split" in visits.columns:
        visits["split"] = visits["split"].replace({"val": "valid", "validation": "valid"})
    if drop_duplicates:
        visits = visits.drop_duplicates([*REQUIRED], ignore_index=True)
    return check(visits)


def write(visits: pd.DataFrame, path: str | Path) -> None:
    """Write visits as Parquet or CSV, whole or not at all.

    The file appears under its name only once it is complete.
    """
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise DataError(f"Cannot write {path.name}: its name must end in .csv or .parquet.")
    with files.whole(path) as half:
        if path.suffix == ".parquet":
            visits.to_parquet(half, index=False)
        else:
            visits.to_csv(half, index=False)
