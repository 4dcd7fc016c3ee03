"""Visits: the one table that everything starts from.

A *visit* is one stay of one person at one location. The column names are those of trackintel,
the field's standard library, so its tables can be used as they are.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.refusals.tables import require_pandas

REQUIRED = ("user_id", "location_id", "started_at", "finished_at")
COORDINATES = ("lon", "lat")
LIMITS = {"lon": 180.0, "lat": 90.0}
SPLITS = ("train", "valid", "test")
# Nanoseconds since 1970 in 64 bits end in these years; a day's room is left for zones.
YEARS = (1678, 2261)

Split = Literal["train", "valid", "test"]


def first_row(bad: pd.Series) -> str:
    """Name the first offending row, and how many there are."""
    rows = bad[bad].index
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"row {rows[0]}{more}"


def require_columns(visits: pd.DataFrame) -> None:
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
                "or read the file with pgt.io.tables.read."
            )
        if not isinstance(dtype, pd.DatetimeTZDtype):
            raise DataError(
                f"Times in '{name}' have no time zone, so the hour of day is unknown; give it, "
                "for example tables.read(path, timezone='Asia/Shanghai') or --timezone."
            )
        if visits[name].isna().any():
            raise DataError(
                f"'{name}' is empty in {first_row(visits[name].isna())}; fill or drop it."
            )
    if str(visits.started_at.dt.tz) != str(visits.finished_at.dt.tz):
        raise DataError(
            "started_at and finished_at are in different time zones; convert both with "
            ".dt.tz_convert to the local one."
        )
    for name in ("started_at", "finished_at"):
        require_near(visits[name], name)
    backwards = visits.finished_at < visits.started_at
    if backwards.any():
        raise DataError(
            f"finished_at lies before started_at in {first_row(backwards)}; swap or drop it."
        )


def require_near(times: pd.Series, name: str) -> None:
    """Refuse years in which nobody is tracked, such as an open end of 9999-12-31.

    Raises
    ------
    DataError
        Names the first such row.
    """
    years = times.dt.year
    far = (years < YEARS[0]) | (years > YEARS[1])
    if far.any():
        value = times[far].iloc[0]
        raise DataError(
            f"{name} is in the year {value.year} in {first_row(far)}, outside {YEARS[0]} to "
            f"{YEARS[1]}; write the time that is meant, and for an end that is not known the "
            "start of the visit."
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
    require_pandas(visits, "started_at", "finished_at")
    require_columns(visits)
    for name in ("user_id", "location_id"):
        empty = visits[name].isna()
        if empty.any():
            raise DataError(f"'{name}' is empty in {first_row(empty)}; fill it in or drop the row.")
        _require_ids(visits[name])
    _require_times(visits)
    for name in COORDINATES if COORDINATES[0] in visits.columns else ():
        if not pd.api.types.is_numeric_dtype(visits[name]):
            raise DataError(f"Column '{name}' holds text; it must be degrees, as numbers.")
        empty = visits[name].isna()
        if empty.any():
            raise DataError(
                f"'{name}' is empty in {first_row(empty)}; fill it in, or drop both lon and lat."
            )
        outside = ~(visits[name].abs() <= LIMITS[name])
        if outside.any():
            value = visits.loc[outside, name].iloc[0]
            raise DataError(
                f"'{name}' is {value:g} in {first_row(outside)}, outside ±{LIMITS[name]:g} degrees;"
                " correct it (are lon and lat swapped?) or drop the row."
            )
    if "split" in visits.columns:
        strange = ~visits["split"].isin(SPLITS) & visits["split"].notna()
        if strange.any():
            value = visits.loc[strange, "split"].iloc[0]
            raise DataError(
                f"split is {value!r} in {first_row(strange)}; it must be train, valid, test or"
                " empty (then no window uses the visit); without it, visits are split by days."
            )
    # Only few begin at one moment, so that the last look costs little memory.
    tied = visits.duplicated(["user_id", "started_at"], keep=False)
    twice = visits[tied].duplicated([*REQUIRED])
    if twice.any():
        raise DataError(
            f"The same visit stands twice, again in {first_row(twice)}; drop it with "
            "visits.drop_duplicates() (on the command line: --drop-duplicates)."
        )
    order = by_person_and_time(visits)
    return (visits if (np.diff(order) > 0).all() else visits.take(order)).reset_index(drop=True)


def by_person_and_time(visits: pd.DataFrame) -> np.ndarray:
    """(N,) the order of the rows by person and time; what begins at one moment stays as it is.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 08:00+02:00"])
    >>> by_person_and_time(pd.DataFrame({"user_id": "ann", "started_at": at})).tolist()
    [1, 0]
    """
    person, _ = pd.factorize(visits.user_id, sort=True)
    started = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    return np.lexsort((started, person))


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
    part = np.where(day < last * start, 0, np.where(day < last * end, 1, 2))
    return visits.assign(split=pd.Series(SPLITS).array.take(part))


def local_day(times: pd.Series) -> pd.Series:
    """Number the local calendar day (days since 1970-01-01 by the wall clock)."""
    wall = times.dt.tz_localize(None)
    return (wall.dt.normalize() - pd.Timestamp(0)).dt.days


def local_minute(times: pd.Series) -> pd.Series:
    """Minute of the local day, 0 to 1439."""
    return times.dt.hour * 60 + times.dt.minute
