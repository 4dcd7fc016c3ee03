"""The one table: visits, one row each, and what can be asked of their rows, people and clocks.

A visit says who (``user_id``), where (``location_id``, perhaps ``lon`` and ``lat``), from when
(``started_at``) and until when (``finished_at``). `check` is the door: a table that comes out of it
is sorted by person and time, and holds nothing that the rest of the package cannot read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from pgt.errors import DataError

REQUIRED = ("user_id", "location_id", "started_at", "finished_at")
TIMES = ("started_at", "finished_at")
LIMITS = {"lon": 180.0, "lat": 90.0}
EARTH_RADIUS = 6_371_000.0  # metres, as in trackintel
MINUTES_OF_DAY = 1440
SPLITS = ("train", "valid", "test")
# Nanoseconds since 1970 in 64 bits end in these years; a day's room is left for zones.
YEARS = (1678, 2261)

Id = int | str
Minutes = TypeVar("Minutes", Tensor, np.ndarray)


# --- the columns -----------------------------------------------------------------------------


def check(visits: pd.DataFrame) -> pd.DataFrame:
    """Return the visits sorted by person and time, or say in one sentence what is wrong.

    No row is dropped. Columns of Arrow, of categories and of pandas' nullable types become plain
    ones. Overlapping visits of one person and people with a single visit are allowed.

    Parameters
    ----------
    visits : DataFrame
        One row a visit: ``user_id`` and ``location_id`` (integers or strings), ``started_at``
        and ``finished_at`` (with time zone); optionally ``lon`` and ``lat`` (degrees, WGS 84),
        ``utc_offset`` (minutes east of Greenwich, where each visit has a clock of its own),
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
    if not isinstance(visits, pd.DataFrame):
        raise DataError(
            f"A {type(visits).__name__} is no table of pandas; pgt.read_visits(table) makes one "
            "of other tables and of files."
        )
    if len(doubled := visits.columns[visits.columns.duplicated()]):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    for name in REQUIRED:
        if name not in visits.columns:
            remedy = "rename your columns (columns={'user_id': 'uid'}, or --columns user_id=uid)"
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
        _check_ids(visits, name)
    _check_times(visits)
    for name in LIMITS if "lon" in visits.columns else ():
        _check_degrees(visits, name)
    if "split" in visits.columns:
        bad = ~visits["split"].isin(SPLITS) & visits["split"].notna()
        if bad.any():
            raise DataError(
                f"split is {visits.loc[bad, 'split'].iloc[0]!r} in {first_row(visits, bad)}; it "
                "must be train, valid, test or empty (then no window uses the visit); without "
                "the column, visits are split by days."
            )
    # Only few begin at one moment, so that the last look costs little memory.
    tied = visits.duplicated(["user_id", "started_at"], keep=False)
    twice = visits[tied].duplicated([*REQUIRED])
    if twice.any():
        raise DataError(
            f"The same visit stands twice, again in {first_row(visits[tied], twice)}; drop it "
            "with visits.drop_duplicates() (a file that pgt.read_visits reads needs nothing)."
        )
    order = by_person_and_time(visits)
    sorted_ = visits if (np.diff(order) > 0).all() else visits.take(order)
    return sorted_.reset_index(drop=True)


def plain_types(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of Arrow, categories, text and nullable numbers as pandas' own plain ones."""
    plain = {}
    for name, column in table.items():
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            plain[name] = column.astype(dtype.categories.dtype)
        elif isinstance(dtype, pd.ArrowDtype):
            as_numpy = pa.array(column).to_pandas()
            plain[name] = as_numpy.set_axis(column.index).rename(name)
        elif isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
            plain[name] = column.astype("str")
        elif hasattr(dtype, "numpy_dtype") and not column.isna().any():  # Int64, boolean, …
            plain[name] = column.astype(dtype.numpy_dtype)
    return table.assign(**plain) if plain else table


def first_row(visits: pd.DataFrame, bad: pd.Series) -> str:
    """Name the first offending row as an editor counts, and how many more there are."""
    rows = visits.index[bad.to_numpy()]
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"{visits.attrs.get('row', 'row')} {rows[0]}{more}"


def called(visits: pd.DataFrame, name: str) -> str:
    """What a column was called where it was read."""
    return str(visits.attrs.get("called", {}).get(name, name))


def _check_ids(visits: pd.DataFrame, name: str) -> None:
    ids, theirs, types = visits[name], called(visits, name), pd.api.types
    if (empty := ids.isna()).any():
        raise DataError(
            f"'{theirs}' is empty in {first_row(visits, empty)}; fill it in or drop the row."
        )
    if types.is_float_dtype(ids.dtype):
        raise DataError(
            f"Column '{theirs}' holds floating-point numbers; ids are integers or strings, "
            "convert it with .astype(int) or .astype(str)."
        )
    kinds = set(ids.map(type)) if types.is_object_dtype(ids.dtype) else set()
    if len(kinds) > 1:
        raise DataError(f"Column '{theirs}' mixes types; convert it with .astype(str).")
    text = isinstance(ids.dtype, pd.StringDtype) or kinds == {str}
    if not (text or kinds == {int} or types.is_integer_dtype(ids.dtype)):
        raise DataError(
            f"Column '{theirs}' holds {ids.dtype}; ids are integers or strings, convert it with "
            ".astype(str)."
        )


def _check_times(visits: pd.DataFrame) -> None:
    for name in TIMES:
        theirs, times = called(visits, name), visits[name]
        if not pd.api.types.is_datetime64_any_dtype(times.dtype):
            raise DataError(
                f"Column '{theirs}' holds {times.dtype}, not times; pgt.read_visits(table) reads "
                "them, or convert it with pandas.to_datetime."
            )
        if not isinstance(times.dtype, pd.DatetimeTZDtype):
            raise DataError(
                f"Times in '{theirs}' have no time zone, so the hour of day is unknown; name the "
                "zone, for example timezone='Asia/Shanghai' (--timezone Asia/Shanghai)."
            )
        if (empty := times.isna()).any():
            raise DataError(
                f"'{theirs}' is empty in {first_row(visits, empty)}; fill it in or drop the row."
            )
        far = (times.dt.year < YEARS[0]) | (times.dt.year > YEARS[1])
        if far.any():
            raise DataError(
                f"'{theirs}' is in the year {times[far].iloc[0].year} in {first_row(visits, far)}, "
                f"outside {YEARS[0]} to {YEARS[1]}; write the time that is meant, and for an end "
                "that is not known the start of the visit."
            )
    if str(visits.started_at.dt.tz) != str(visits.finished_at.dt.tz):
        raise DataError(
            "started_at and finished_at are in different time zones; convert both with "
            ".dt.tz_convert to the local one."
        )
    if (backwards := visits.finished_at < visits.started_at).any():
        start, end = (called(visits, name) for name in TIMES)
        raise DataError(
            f"'{end}' lies before '{start}' in {first_row(visits, backwards)}; swap the two or "
            "drop the row."
        )


def _check_degrees(visits: pd.DataFrame, name: str) -> None:
    degrees, theirs = visits[name], called(visits, name)
    if not pd.api.types.is_numeric_dtype(degrees):
        raise DataError(f"Column '{theirs}' holds text; it must be degrees, as numbers.")
    if (empty := degrees.isna()).any():
        raise DataError(
            f"'{theirs}' is empty in {first_row(visits, empty)}; fill it in, or drop both lon and "
            "lat."
        )
    outside = ~(degrees.abs() <= LIMITS[name])
    if outside.any():
        raise DataError(
            f"'{theirs}' is {degrees[outside].iloc[0]:g} in {first_row(visits, outside)}, outside "
            f"±{LIMITS[name]:g} degrees; correct it (are lon and lat swapped?) or drop the row."
        )


# --- clocks and days ---------------------------------------------------------------------------


def local_clock(visits: pd.DataFrame, name: str) -> pd.Series:
    """Times of a column by the clocks of where they are, without a zone.

    Where people or their visits are in several zones, ``utc_offset`` says by how many minutes each
    visit's clocks are ahead of UTC; else all are in the column's zone.
    """
    times = visits[name]
    if "utc_offset" not in visits.columns:
        return times.dt.tz_localize(None)
    ahead = pd.to_timedelta(visits.utc_offset, unit="min")
    return (times.dt.tz_convert("UTC").dt.tz_localize(None) + ahead).rename(name)


def local_day(times: pd.Series) -> pd.Series:
    """Number the local calendar day (days since 1970-01-01 by the wall clock)."""
    wall = times.dt.tz_localize(None)
    return (wall.dt.normalize() - pd.Timestamp(0)).dt.days


def local_minute(times: pd.Series) -> pd.Series:
    """Minute of the local day, 0 to 1439."""
    return times.dt.hour * 60 + times.dt.minute


def microseconds(times: pd.Series) -> np.ndarray:
    """Microseconds since 1970, int64, of moments with a time zone, in whatever resolution."""
    return times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[us]").view("i8")


def around_the_clock(one: Minutes, other: Minutes) -> Minutes:
    """Minutes between two times of day, 0 … 720: minutes of the day, of shapes that broadcast.

    >>> around_the_clock(np.array([10, 600]), np.array([1430, 0])).tolist()
    [20, 600]
    """
    half = MINUTES_OF_DAY // 2
    return half - abs(half - abs(one - other))


def split_by_days(
    visits: pd.DataFrame, fractions: tuple[float, float] = (0.6, 0.8)
) -> pd.DataFrame:
    """Label each person's first 60 % of tracked days train, the next 20 % valid, the rest test.

    The protocol of Hong et al. (2023). Days are counted from the person's first one, including
    days without visits, in local time. The result is a copy with the column ``split``.
    """
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
    return np.lexsort((started, person))


def sorted_parts(visits: pd.DataFrame) -> np.ndarray:
    """(N,) `by_person_and_time` of sorted tables that stand one below the other.

    Where everybody's parts follow each other in time, as splits do, it does not sort by time.
    """
    person, _ = pd.factorize(visits.user_id, sort=True)
    order = np.argsort(person, kind="stable")
    person, started = person[order], pd.DatetimeIndex(visits.started_at).asi8[order]
    back = (np.diff(started) < 0) & (person[1:] == person[:-1])
    return by_person_and_time(visits) if back.any() else order


def person_rows(user: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the people of sorted visits, and find the first row of each row's person.

    >>> person, begins = person_rows(pd.Series(["ann", "ann", "bob"]))
    >>> person.tolist(), begins.tolist()
    ([0, 0, 1], [0, 0, 2])
    """
    person, people = pd.factorize(user)
    starts = np.searchsorted(person, np.arange(len(people))).astype(np.int32)
    return person, starts[person]


def same_place(user: np.ndarray | pd.Series, location: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row's visit before to the same place by the same person (or -1), and which it is.

    >>> previous, number = same_place(np.array([1, 1, 1, 2]), np.array([5, 6, 5, 5]))
    >>> previous.tolist(), number.tolist()
    ([-1, -1, 0, -1], [1, 1, 2, 1])
    """
    person, _ = pd.factorize(user)
    low, high = (int(f(location, initial=0)) for f in (np.min, np.max))
    key = person.astype(np.int64) * (high - low + 1) + (location - low)
    order = np.argsort(key, kind="stable").astype(np.int32)
    again = np.zeros(len(key), dtype=bool)
    again[1:] = np.diff(key[order]) == 0
    del key
    previous, number = np.full((2, len(order)), -1, dtype=np.int32)
    previous[order[1:][again[1:]]] = order[:-1][again[1:]]
    at = np.arange(len(order), dtype=np.int32)
    number[order] = 1 + at - np.maximum.accumulate(np.where(again, 0, at))
    return previous, number


def spread(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lay groups of these sizes one after the other: each element's group, and number in it.

    >>> group, number = spread(np.array([2, 0, 3]))
    >>> group.tolist(), number.tolist()
    ([0, 0, 2, 2, 2], [0, 1, 0, 1, 2])
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def last_numbers(
    length: np.ndarray, max_len: int | None = None, device: torch.device | str = "cpu"
) -> Tensor:
    """(B, L) the numbers of windows' last ``max_len`` visits, of (B,) lengths; -1 at padding.

    >>> last_numbers(np.array([1, 3]), 2).tolist()
    [[0, -1], [1, 2]]
    """
    length = length.astype(np.int64)
    shown = length if max_len is None else np.minimum(length, max_len)
    skipped, end = (torch.from_numpy(n).to(device)[:, None] for n in (length - shown, length))
    number = torch.arange(int(shown.max(initial=1)), device=device) + skipped
    return torch.where(number < end, number, -1)


def by_length(
    lengths: np.ndarray, batch_size: int, shuffle: np.random.Generator | None, pool: int
) -> Iterator[np.ndarray]:
    """Deal (W,) windows out to batches, those of like length together; yields their numbers.

    With ``shuffle``, they are shuffled, sorted within pools of ``pool`` batches only, and the
    batches come in random order.

    >>> [part.tolist() for part in by_length(np.array([3, 1, 2]), 2, None, 1)]
    [[1, 2], [0]]
    """
    starts = np.arange(0, len(lengths), batch_size)
    if shuffle is None:
        order = np.argsort(lengths, kind="stable")
    else:
        order = shuffle.permutation(len(lengths))
        for at in range(0, len(lengths), pool * batch_size):
            part = order[at : at + pool * batch_size]  # a view: it sorts the order itself
            part[:] = part[np.argsort(lengths[part], kind="stable")]
        starts = shuffle.permutation(starts)
    for begin in starts:
        yield order[begin : begin + batch_size]


# --- people ------------------------------------------------------------------------------------


def find_user(visits: pd.DataFrame, name: Any) -> Any:
    """The ``user_id`` written as ``name``, say "7" for 7."""
    users = visits.user_id.unique()
    for user in users:
        if str(user) == str(name):
            return user
    some = ", ".join(map(str, users[:3])) + (", …" if len(users) > 3 else "")
    raise DataError(
        f"There is no user '{name}' in the table (it has {len(users)}: {some}); check the id."
    )


def until(visits: pd.DataFrame, at: pd.Timestamp | None) -> pd.DataFrame:
    """What is known at a moment: visits that began before it, one that goes on ending then."""
    if at is None:
        return visits.reset_index(drop=True)
    if at.tz is None:
        raise DataError(f"The moment {at} has no time zone; write one, as in {at}+02:00.")
    at = at.tz_convert(visits.started_at.dt.tz)
    visits = visits[visits.started_at <= at]
    ended = visits.finished_at.where(visits.finished_at <= at, at)
    return visits.assign(finished_at=ended).reset_index(drop=True)


def moment(at: Any, visits: pd.DataFrame) -> pd.Timestamp:
    """What somebody wrote, by the clocks of a table; an hour that is skipped ends at once."""
    try:
        found, zone = pd.Timestamp(at), visits.started_at.dt.tz
        if found.tz is not None:
            return found.tz_convert(zone)
        local = found.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"at is {at!r}; write a moment as ISO 8601 has it, such as 2024-05-01T12:00+02:00, or "
            "without an offset for local time."
        ) from None
    if "utc_offset" in visits.columns:
        raise DataError(
            f"The table has the clocks of several zones; write at with an offset, as in {at}+02:00."
        )
    return local


def nobody_before(at: pd.Timestamp | None, user: Any = None) -> DataError:
    """The refusal to ask where a person, or anybody, goes who has no visit yet."""
    who, has = ("Nobody in the table", "has a") if user is None else (f"User {user}", "has no")
    return DataError(f"{who} {has} visit before {at}; choose a later moment.")


FIRST = 3  # of a person's visits, which tell them from whoever else has the same id


def first_visits(visits: pd.DataFrame) -> Iterable[tuple[Id, Id, int]]:
    """Person, place and second (of UTC, since 1970) of everybody's first visits, sorted."""
    few = visits.groupby("user_id", sort=False).head(FIRST)
    at = few.started_at.dt.tz_convert("UTC").dt.as_unit("s").astype("int64")
    return zip(few.user_id.tolist(), few.location_id.tolist(), at.tolist(), strict=True)


def marks_of(visits: Iterable[tuple[Id, Id, int]]) -> dict[Id, str]:
    """A short hash of each person's visits, which are given as by `first_visits`.

    >>> marks_of([(7, "home", 0), (7, "work", 3600)])
    {7: '7322e164a069'}
    """
    own: dict[Id, list[tuple[Id, int]]] = {}
    for user, place, at in visits:
        own.setdefault(user, []).append((place, at))
    return {
        user: hashlib.sha256(json.dumps([user, rows]).encode()).hexdigest()[:12]
        for user, rows in own.items()
    }
