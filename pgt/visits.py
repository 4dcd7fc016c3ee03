"""Visits: the one table that everything starts from.

A *visit* is one stay of one person at one location. The column names are those of trackintel,
the field's standard library, so its tables can be used as they are.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

REQUIRED = ("user_id", "location_id", "started_at", "finished_at")
COORDINATES = ("lon", "lat")
LIMITS = {"lon": 180.0, "lat": 90.0}
SPLITS = ("train", "valid", "test")
# The offset at the end of an ISO 8601 time: Z, +02:00, +0200 or +02; a bare date has none.
OFFSET = r"\d[T ].*\d(Z|[+-]\d\d(?::?\d\d)?)$"

Split = Literal["train", "valid", "test"]


class DataError(ValueError):
    """The input cannot be used as it is; the message says what, where, and what to do."""


def _first(bad: pd.Series) -> str:
    """Name the first offending row, and how many there are."""
    rows = bad[bad].index
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"row {rows[0]}{more}"


def _require_columns(visits: pd.DataFrame) -> None:
    doubled = visits.columns[visits.columns.duplicated()]
    if len(doubled):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    missing = [name for name in REQUIRED if name not in visits.columns]
    if missing:
        hint = (
            "; for check-ins without durations, set finished_at = started_at "
            "(on the command line: --checkins)"
            if missing == ["finished_at"]
            else "; rename your columns (on the command line: --columns user_id=uid,...)"
        )
        have = ", ".join(map(str, visits.columns)) or "no columns"
        raise DataError(f"Column '{missing[0]}' is missing (the table has {have}){hint}.")
    for here, other in (COORDINATES, COORDINATES[::-1]):
        if here in visits.columns and other not in visits.columns:
            raise DataError(f"Column '{here}' needs '{other}' beside it; add it, or drop '{here}'.")
    if len(visits) == 0:
        raise DataError("The table has no visits; check the file, or the filter that came before.")


def _require_ids(ids: pd.Series) -> None:
    dtype, types = ids.dtype, pd.api.types
    if types.is_float_dtype(dtype):
        raise DataError(
            f"Column '{ids.name}' holds floating-point numbers; ids are integers or strings, "
            "convert it with .astype(int) or .astype(str)."
        )
    kinds = set(ids.map(type)) if pd.api.types.is_object_dtype(dtype) else set()
    if len(kinds) > 1:
        raise DataError(f"Column '{ids.name}' mixes types; convert it with .astype(str).")
    is_text = isinstance(dtype, pd.StringDtype) or kinds == {str}
    if not (is_text or kinds == {int} or types.is_integer_dtype(dtype)):
        raise DataError(
            f"Column '{ids.name}' holds {dtype}; ids are integers or strings, "
            "convert it with .astype(str)."
        )


def _require_times(visits: pd.DataFrame) -> None:
    for name in ("started_at", "finished_at"):
        dtype = visits[name].dtype
        if not pd.api.types.is_datetime64_any_dtype(dtype):
            raise DataError(
                f"Column '{name}' holds {dtype}, not times; convert it with pandas.to_datetime, "
                "or read the file with pgt.visits.read."
            )
        if not isinstance(dtype, pd.DatetimeTZDtype):
            raise DataError(
                f"Times in '{name}' have no time zone, so the hour of day is unknown; give it, "
                "for example visits.read(path, timezone='Asia/Shanghai') or --timezone."
            )
        if visits[name].isna().any():
            raise DataError(f"'{name}' is empty in {_first(visits[name].isna())}; fill or drop it.")
    if str(visits.started_at.dt.tz) != str(visits.finished_at.dt.tz):
        raise DataError(
            "started_at and finished_at are in different time zones; convert both with "
            ".dt.tz_convert to the local one."
        )
    backwards = visits.finished_at < visits.started_at
    if backwards.any():
        raise DataError(
            f"finished_at lies before started_at in {_first(backwards)}; swap or drop it."
        )


def check(visits: pd.DataFrame) -> pd.DataFrame:
    """Return the visits sorted by person and time, or say in one sentence what is wrong.

    Nothing is dropped or changed: the result has the same rows and columns. Overlapping visits
    of one person and people with a single visit are allowed (the model reads order and
    durations; people with too few visits yield no windows).

    Parameters
    ----------
    visits : DataFrame
        One row a visit: ``user_id`` and ``location_id`` (integers or strings), ``started_at``
        and ``finished_at`` (with time zone); optionally ``lon`` and ``lat`` (degrees, WGS 84),
        ``split`` (train, valid, test, or empty where the visit is to be left out of all windows)
        and anything else, which is kept.

    Raises
    ------
    DataError
        Names the first offending column or row and the remedy.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 08:00+02:00"])
    >>> table = pd.DataFrame({"user_id": 1, "location_id": ["work", "home"],
    ...                       "started_at": at, "finished_at": at + pd.Timedelta(hours=1)})
    >>> check(table).location_id.tolist()
    ['home', 'work']
    """
    _require_columns(visits)
    for name in ("user_id", "location_id"):
        empty = visits[name].isna()
        if empty.any():
            raise DataError(f"'{name}' is empty in {_first(empty)}; fill it in or drop the row.")
        _require_ids(visits[name])
    _require_times(visits)
    for name in COORDINATES if COORDINATES[0] in visits.columns else ():
        if not pd.api.types.is_numeric_dtype(visits[name]):
            raise DataError(f"Column '{name}' holds text; it must be degrees, as numbers.")
        empty = visits[name].isna()
        if empty.any():
            raise DataError(
                f"'{name}' is empty in {_first(empty)}; fill it in, or drop both lon and lat."
            )
        outside = ~(visits[name].abs() <= LIMITS[name])
        if outside.any():
            value = visits.loc[outside, name].iloc[0]
            raise DataError(
                f"'{name}' is {value:g} in {_first(outside)}, outside ±{LIMITS[name]:g} degrees; "
                "correct it (are lon and lat swapped?) or drop the row."
            )
    if "split" in visits.columns:
        strange = ~visits["split"].isin(SPLITS) & visits["split"].notna()
        if strange.any():
            value = visits.loc[strange, "split"].iloc[0]
            raise DataError(
                f"split is {value!r} in {_first(strange)}; it must be train, valid, test or empty "
                "(then no window uses the visit); without the column, visits are split by days."
            )
    twice = visits.duplicated([*REQUIRED])
    if twice.any():
        raise DataError(
            f"The same visit stands twice, again in {_first(twice)}; drop it with "
            "visits.drop_duplicates() (on the command line: --drop-duplicates)."
        )
    return visits.sort_values(["user_id", "started_at"], kind="stable", ignore_index=True)


def overlaps(visits: pd.DataFrame) -> int:
    """Count the visits that begin before the same person's previous one has ended.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 09:30+02:00"])
    >>> overlaps(pd.DataFrame({"user_id": 1, "started_at": at,
    ...                        "finished_at": at + pd.Timedelta(hours=1)}))
    1
    """
    ordered = visits.sort_values(["user_id", "started_at"], kind="stable")
    before = ordered.groupby("user_id").finished_at.shift()
    return int((ordered.started_at < before).sum())


def _parse_times(raw: pd.Series, name: str, timezone: str | None) -> pd.Series:
    """Turn a column of text or times into local times with a zone."""
    times = raw
    if not pd.api.types.is_datetime64_any_dtype(raw):
        if pd.api.types.is_numeric_dtype(raw):
            raise DataError(
                f"Column '{name}' holds numbers, not times; write ISO 8601 times "
                "such as 2024-05-01T09:00:00+02:00."
            )
        text = raw.astype("string")
        offset = text.str.extract(OFFSET)[0]
        zoned = offset.notna()
        times = pd.to_datetime(text, utc=True, format="ISO8601", errors="coerce")
        bad = times.isna()
        if bad.any():
            value = raw[bad].iloc[0]
            raise DataError(
                f"{name} is {value!r} in {_first(bad)}, which is no ISO 8601 time "
                "(such as 2024-05-01T09:00:00+02:00); correct it or drop the row."
            )
        if zoned.any() and not zoned.all():
            raise DataError(
                f"{name} has a time zone in some rows and none in {_first(~zoned)}; "
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
    for name in set(ids) & set(table.columns):
        if pd.api.types.is_integer_dtype(table[name]):
            text = pd.read_csv(path, usecols=[name], dtype=str)[name]
            if (text.str.strip() != table[name].astype(str)).any():
                table[name] = text
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
        The local zone. Times without a zone are taken to be in it, others converted to it.
    columns : dict, optional
        Names in the project -> names in the file, for example ``{"user_id": "uid"}``.
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
    if checkins and "started_at" in visits.columns and "finished_at" not in visits.columns:
        visits["finished_at"] = visits["started_at"]
    _require_columns(visits)
    for name in ("started_at", "finished_at"):
        visits[name] = _parse_times(visits[name], name, timezone)
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
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    try:
        if path.suffix == ".parquet":
            visits.to_parquet(half, index=False)
        elif path.suffix == ".csv":
            visits.to_csv(half, index=False)
        else:
            raise DataError(f"Cannot write {path.name}: its name must end in .csv or .parquet.")
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def split_by_days(
    visits: pd.DataFrame, fractions: tuple[float, float] = (0.6, 0.8)
) -> pd.DataFrame:
    """Label each person's first 60 % of tracked days train, the next 20 % valid, the rest test.

    Days are counted from the person's first one, including days without visits, in local time.

    Parameters
    ----------
    visits : DataFrame
        As `check` returns it.
    fractions : (float, float)
        Where valid and where test begin, as fractions of the last day's number.

    Returns
    -------
    DataFrame
        A copy with the column ``split``.

    Notes
    -----
    The protocol of Hong et al. (2023).
    """
    start, end = fractions
    if not 0 < start < end < 1:
        raise DataError(f"fractions are {fractions}; they must satisfy 0 < first < second < 1.")
    day = local_day(visits.started_at)
    user = visits.user_id
    day = day - day.groupby(user).transform("min")
    last = day.groupby(user).transform("max")
    split = np.where(day < last * start, "train", np.where(day < last * end, "valid", "test"))
    return visits.assign(split=split)


def local_day(times: pd.Series) -> pd.Series:
    """Number the local calendar day (days since 1970-01-01 by the wall clock)."""
    wall = times.dt.tz_localize(None)
    return (wall.dt.normalize() - pd.Timestamp(0)).dt.days


def local_minute(times: pd.Series) -> pd.Series:
    """Minute of the local day, 0 to 1439."""
    return times.dt.hour * 60 + times.dt.minute
