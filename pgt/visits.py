"""The one table: visits, one row each, and what can be asked of their rows, people and clocks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pgt.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

REQUIRED = ("user_id", "location_id", "started_at", "finished_at")
TIMES = ("started_at", "finished_at")
LIMITS = {"lon": 180.0, "lat": 90.0}
EARTH_RADIUS = 6_371_000.0  # metres, as in trackintel
MINUTES_OF_DAY = 1440
SPLITS = ("train", "valid", "test")
# Whole numbers of Arrow that a gap would make fractions of, which hold 53 bits of an id's 64.
WHOLE = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
# Nanoseconds since 1970 in 64 bits end in these years; a day's room is left for zones.
YEARS = (1678, 2261)

Id = int | str
Minutes = TypeVar("Minutes", "Tensor", np.ndarray)


# --- the columns -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """Where a table was read: what its columns are called there, and how its rows are counted."""

    row: str = "row"
    names: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    number: Callable[[Any], Any] = lambda label: label  # of a label of the index

    def called(self, name: str) -> str:
        return str(self.names.get(name, name))


HERE = Origin()  # a table in memory


@dataclass(frozen=True)
class CheckedVisits:
    """Visits that `check` has passed: nobody need check them again."""

    table: pd.DataFrame
    n_fixes: int = 0  # position fixes in which they were found


def checked_table(visits: pd.DataFrame | CheckedVisits) -> pd.DataFrame:
    """The visits as `check` returns them, checked here unless they have been."""
    return visits.table if isinstance(visits, CheckedVisits) else check(visits)


def check(visits: pd.DataFrame, origin: Origin = HERE) -> pd.DataFrame:
    """Return the visits sorted by person and time, or say in one sentence what is wrong.

    Beside `REQUIRED` (times with a zone), a table may have ``lon`` and ``lat`` (degrees),
    ``utc_offset`` (minutes, where each visit has a clock of its own), ``split`` (empty where no
    window uses the visit) and anything else, which is kept.

    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 08:00+02:00"])
    >>> table = pd.DataFrame({"user_id": 1, "location_id": ["work", "home"],
    ...                       "started_at": at, "finished_at": at + pd.Timedelta(hours=1)})
    >>> check(table).location_id.tolist()
    ['home', 'work']
    """
    if not isinstance(visits, pd.DataFrame):
        raise DataError(
            f"A {type(visits).__name__} is no table of pandas; pgt.read_visits(table) makes one "
            "of other tables and of files."
        )
    visits = levels_as_columns(visits)
    if len(doubled := visits.columns[visits.columns.duplicated()]):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    for name in REQUIRED:
        if name not in visits.columns:
            remedy = ("rename your columns (pgt.read_visits(table, columns={'user_id': 'uid'}), or "
                      "--columns user_id=uid)")  # fmt: skip
            if name == "finished_at":
                remedy = "for check-ins without an end, set finished_at = started_at"
            have = ", ".join(map(str, visits.columns)) or "no columns"
            raise DataError(f"Column '{name}' is missing (the table has {have}); {remedy}.")
    if ("lon" in visits.columns) != ("lat" in visits.columns):
        here, other = ("lon", "lat") if "lon" in visits.columns else ("lat", "lon")
        raise DataError(f"Column '{here}' needs '{other}' beside it; add it, or drop '{here}'.")
    if len(visits) == 0:
        raise DataError("The table has no visits; check the file, or the filter that came before.")
    visits = plain_types(visits)
    for name in ("user_id", "location_id"):
        _check_ids(visits, name, origin)
    _check_times(visits, origin)
    for name in LIMITS if "lon" in visits.columns else ():
        _check_degrees(visits, name, origin)
    if "split" in visits.columns:
        bad = ~visits["split"].isin(SPLITS) & visits["split"].notna()
        refuse(visits, "split", bad, "is ", "; it must be train, valid, test or empty (then no "
               "window uses the visit); without the column, visits are split by days.",
               "{!r}", origin)  # fmt: skip
    if (twice := repeated(visits)).any():
        raise DataError(
            f"The same visit stands twice, again in {first_row(visits, twice, origin)}; drop it "
            "with visits.drop_duplicates() (a file that pgt.read_visits reads needs nothing)."
        )
    return visits.take(by_person_and_time(visits)).reset_index(drop=True)


def repeated(visits: pd.DataFrame) -> pd.Series:
    """(N,) whether the same visit stands further up; mostly hashes say already that none does."""
    again = pd.util.hash_pandas_object(visits[[*REQUIRED]], index=False).duplicated()
    return visits.duplicated([*REQUIRED]) if again.any() else again


def plain_types(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of Arrow, categories, text and nullable numbers as pandas' own plain ones."""
    plain = {}
    for name, column in table.items():
        if isinstance(column.dtype, pd.ArrowDtype):
            held = pa.array(column).to_pandas(types_mapper=WHOLE.get)
            column = plain[name] = held.set_axis(column.index).rename(name)
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            plain[name] = column.astype(dtype.categories.dtype)
        elif isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
            plain[name] = column.astype("str")
        elif hasattr(dtype, "numpy_dtype") and not column.isna().any():  # Int64, boolean, …
            plain[name] = column.astype(dtype.numpy_dtype)
    return table.assign(**plain) if plain else table


def levels_as_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Named levels of the index as columns, and rows numbered anew where labels stand twice."""
    for name in [name for name in table.index.names if name is not None]:
        table = table.reset_index(level=name, drop=name in table.columns)
    return table if table.index.nlevels == 1 and table.index.is_unique else table.reset_index(
        drop=True)  # fmt: skip


def first_row(visits: pd.DataFrame, bad: pd.Series, origin: Origin = HERE) -> str:
    """Name the first offending row as an editor counts, and how many more there are."""
    rows = visits.index[bad.to_numpy()]
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"{origin.row} {origin.number(rows[0])}{more}"


def refuse(
    visits: pd.DataFrame, name: str, bad: pd.Series, what: str, remedy: str, value: str = "",
    origin: Origin = HERE,
) -> None:  # fmt: skip
    """Say what is wrong with the first ``bad`` row of a column: its value, where, the remedy."""
    if bad.any():
        held = value.format(visits[name][bad.to_numpy()].iloc[0])
        held = f"{what}{held} in {first_row(visits, bad, origin)}"
        raise DataError(f"'{origin.called(name)}' {held}{remedy}")


def _check_ids(visits: pd.DataFrame, name: str, origin: Origin) -> None:
    ids, theirs, types = visits[name], origin.called(name), pd.api.types
    refuse(visits, name, ids.isna(), "is empty", "; fill it in or drop the row.", "", origin)
    kinds = set(ids.map(type)) if types.is_object_dtype(ids.dtype) else set()
    if len(kinds) > 1:
        raise DataError(f"Column '{theirs}' mixes types; convert it with .astype(str).")
    text = isinstance(ids.dtype, pd.StringDtype) or kinds == {str}
    if not (text or kinds == {int} or types.is_integer_dtype(ids.dtype)):
        held = "floating-point numbers" if types.is_float_dtype(ids.dtype) else ids.dtype
        raise DataError(
            f"Column '{theirs}' holds {held}; ids are integers or strings, convert it with "
            ".astype(int) or .astype(str)."
        )


def _check_times(visits: pd.DataFrame, origin: Origin) -> None:
    for name in TIMES:
        theirs, times = origin.called(name), visits[name]
        if not pd.api.types.is_datetime64_any_dtype(times.dtype):
            raise DataError(
                f"Column '{theirs}' holds {times.dtype}, not times; pgt.read_visits(table) reads "
                "them, or convert it with pandas.to_datetime."
            )
        if not isinstance(times.dtype, pd.DatetimeTZDtype):
            raise DataError(
                f"Times in '{theirs}' have no time zone; name it, for example with "
                "timezone='Asia/Shanghai' (--timezone Asia/Shanghai)."
            )
        refuse(visits, name, times.isna(), "is empty", "; fill it in or drop the row.", "", origin)
        check_years(visits, name, origin)
    if str(visits.started_at.dt.tz) != str(visits.finished_at.dt.tz):
        raise DataError("Starts and ends are in different time zones; .dt.tz_convert both to one.")
    what = f"lies before '{origin.called('started_at')}'"
    backwards = visits.finished_at < visits.started_at
    refuse(visits, "finished_at", backwards, what, "; swap the two or drop the row.", "", origin)


def check_years(visits: pd.DataFrame, name: str, origin: Origin = HERE) -> None:
    """Refuse times that are too far off to be counted, or to be brought into another zone."""
    times = visits[name]
    if times.min().year < YEARS[0] or times.max().year > YEARS[1]:
        far = times.notna() & ~times.dt.year.between(*YEARS)
        refuse(visits, name, far, "is in the year ", f", outside {YEARS[0]} to {YEARS[1]}; "
               "write the time that is meant, and for an end that is not known the start of the "
               "visit.", "{.year}", origin)  # fmt: skip


def _check_degrees(visits: pd.DataFrame, name: str, origin: Origin) -> None:
    degrees, limit, theirs = visits[name], LIMITS[name], origin.called(name)
    if not pd.api.types.is_numeric_dtype(degrees):
        raise DataError(f"Column '{theirs}' holds text; it must be degrees, as numbers.")
    remedy = "; fill it in, or drop both lon and lat."
    refuse(visits, name, degrees.isna(), "is empty", remedy, "", origin)
    refuse(visits, name, ~(degrees.abs() <= limit), "is ", f", outside ±{limit:g} degrees; "
           "correct it (are lon and lat swapped?) or drop the row.", "{:g}", origin)  # fmt: skip


# --- clocks and days ---------------------------------------------------------------------------


def local_clock(visits: pd.DataFrame, name: str) -> pd.Series:
    """Times of a column by the clocks of where they are (see ``utc_offset``), without a zone."""
    times = visits[name]
    if "utc_offset" not in visits.columns:
        return times.dt.tz_localize(None)
    ahead = pd.to_timedelta(visits.utc_offset, unit="min")
    return (times.dt.tz_convert("UTC").dt.tz_localize(None) + ahead).rename(name)


def local_day(times: pd.Series) -> pd.Series:
    """Number the local calendar day (days since 1970-01-01 by the wall clock)."""
    wall = times.dt.tz_localize(None).to_numpy("datetime64[D]")
    return pd.Series(wall.view("i8"), times.index)


def local_minute(times: pd.Series) -> pd.Series:
    """Minute of the local day, 0 to 1439."""
    wall = times.dt.tz_localize(None).to_numpy("datetime64[m]")
    return pd.Series(wall.view("i8") % MINUTES_OF_DAY, times.index)


def in_zone(table: pd.DataFrame, zone: Any) -> pd.DataFrame:
    """The table with its starts and ends by the clocks of a zone."""
    return table.assign(**{name: table[name].dt.tz_convert(zone) for name in TIMES})


def microseconds(times: pd.Series) -> np.ndarray:
    """Microseconds since 1970, int64, of moments with a time zone, in whatever resolution."""
    return times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[us]").view("i8")


def around_the_clock(one: Minutes, other: Minutes) -> Minutes:
    """Minutes between two times of day, 0 … 720: minutes of the day, of shapes that broadcast."""
    half = MINUTES_OF_DAY // 2
    return half - abs(half - abs(one - other))


def split_by_days(
    visits: pd.DataFrame, fractions: tuple[float, float] = (0.6, 0.8)
) -> pd.DataFrame:
    """Label each person's first 60 % of tracked days train, 20 % valid, the rest test (Hong)."""
    start, end = fractions
    if not 0 < start < end < 1:
        raise DataError(f"fractions are {fractions}; they must satisfy 0 < first < second < 1.")
    day = local_day(local_clock(visits, "started_at"))
    day = day - day.groupby(visits.user_id).transform("min")
    last = day.groupby(visits.user_id).transform("max")
    part = np.where(day < last * start, 0, np.where(day < last * end, 1, 2))
    return visits.assign(split=pd.Series(SPLITS).array.take(part))


# --- rows --------------------------------------------------------------------------------------


def by_person_and_time(visits: pd.DataFrame) -> np.ndarray:
    """(N,) the order of the rows by person and time; what begins at one moment stays as it is."""
    person, _ = pd.factorize(visits.user_id, sort=True)
    started = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    later = np.diff(person)  # most tables are in order as they come
    if ((later > 0) | ((later == 0) & (started[1:] >= started[:-1]))).all():
        return np.arange(len(visits))
    return np.lexsort((started, person))


def person_rows(user: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the people of sorted visits, and find the first row of each row's person."""
    person, people = pd.factorize(user)
    starts = np.searchsorted(person, np.arange(len(people))).astype(np.int32)
    return person, starts[person]


def same_place(user: np.ndarray | pd.Series, location: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N,) row of the person's previous visit to this place (-1: none), and the running count."""
    person, _ = pd.factorize(user)
    low, high = (int(f(location, initial=0)) for f in (np.min, np.max))
    key = person.astype(np.int64) * (high - low + 1) + (location - low)
    order = np.argsort(key, kind="stable").astype(np.int32)
    again = np.zeros(len(key), dtype=bool)
    again[1:] = np.diff(key[order]) == 0
    previous, number = np.full((2, len(order)), -1, dtype=np.int32)
    previous[order[1:][again[1:]]] = order[:-1][again[1:]]
    at = np.arange(len(order), dtype=np.int32)
    number[order] = 1 + at - np.maximum.accumulate(np.where(again, 0, at))
    return previous, number


def spread(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lay groups of these sizes one after the other: each element's group, and number in it."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


# --- people ------------------------------------------------------------------------------------


FIRST = 3  # of a person's visits, which tell them from whoever else has the same id


def marks_of(visits: pd.DataFrame) -> dict[Id, str]:
    """A short hash of each person's first visits: place and second (of UTC, since 1970)."""
    few = visits.groupby("user_id", sort=False).head(FIRST)
    at = few.started_at.dt.tz_convert("UTC").dt.as_unit("s").astype("int64")
    own: dict[Id, list[tuple[Id, int]]] = {}
    for user, *row in zip(few.user_id.tolist(), few.location_id.tolist(), at.tolist(), strict=True):
        own.setdefault(user, []).append((row[0], row[1]))
    text = {user: json.dumps([user, rows]).encode() for user, rows in own.items()}
    return {user: hashlib.sha256(content).hexdigest()[:12] for user, content in text.items()}
