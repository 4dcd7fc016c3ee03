"""The columns of the table: which there must be, and what they may hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.errors import DataError
from pgt.refusals.tables import require_pandas
from pgt.units import local_day

REQUIRED = ("user_id", "location_id", "started_at", "finished_at")

COORDINATES = ("lon", "lat")

LIMITS = {"lon": 180.0, "lat": 90.0}

# Nanoseconds since 1970 in 64 bits end in these years; a day's room is left for zones.
YEARS = (1678, 2261)


def first_row(bad: pd.Series) -> str:
    """Name the first offending row, and how many there are."""
    rows = bad[bad].index
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"row {rows[0]}{more}"


def require_named(table: pd.DataFrame, names: Sequence[str], remedy: str) -> None:
    """Refuse a table with two columns of one name, or without one of these; say the remedy."""
    doubled = table.columns[table.columns.duplicated()]
    if len(doubled):
        raise DataError(f"Column '{doubled[0]}' appears twice; keep one of the two.")
    missing = [name for name in names if name not in table.columns]
    if missing:
        have = ", ".join(map(str, table.columns)) or "no columns"
        raise DataError(f"Column '{missing[0]}' is missing (the table has {have}){remedy}.")


def require_once(names: Sequence[str], file: str) -> None:
    """Refuse a file with two columns of one name."""
    if twice := {name for name in names if names.count(name) > 1}:
        raise DataError(f"Column '{min(twice)}' appears twice in {file}; keep one of them.")


def require_columns(visits: pd.DataFrame) -> None:
    require_named(
        visits, [name for name in REQUIRED if name != "finished_at"],
        "; rename your columns (on the command line: --columns user_id=uid,...)",
    )  # fmt: skip
    require_named(
        visits, REQUIRED, "; for check-ins without durations, set finished_at = started_at "
        "(on the command line: --checkins)",
    )  # fmt: skip
    for here, other in (COORDINATES, COORDINATES[::-1]):
        if here in visits.columns and other not in visits.columns:
            raise DataError(f"Column '{here}' needs '{other}' beside it; add it, or drop '{here}'.")
    if len(visits) == 0:
        raise DataError("The table has no visits; check the file, or the filter that came before.")


def require_id_types(ids: pd.Series) -> None:
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


def require_times(visits: pd.DataFrame) -> None:
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
                "for example timezone='Asia/Shanghai', or on the command line --timezone."
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


def unknown_zone(timezone: object) -> DataError:
    """The refusal of a time zone that does not exist.

    Examples
    --------
    >>> unknown_zone("Mars")
    DataError("'Mars' is no known time zone; use an IANA name such as Europe/Vienna.")
    """
    return DataError(f"'{timezone}' is no known time zone; use an IANA name such as Europe/Vienna.")


def person_rows(user: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the people of sorted visits, and find the first row of each row's person.

    Parameters
    ----------
    user : Series
        (N,) whose visits, one person after the other.

    Returns
    -------
    person, begins : ndarray
        (N,) int64 and (N,) int32.

    Examples
    --------
    >>> person, begins = person_rows(pd.Series(["ann", "ann", "bob"]))
    >>> person.tolist(), begins.tolist()
    ([0, 0, 1], [0, 0, 2])
    """
    person, people = pd.factorize(user)
    starts = np.searchsorted(person, np.arange(len(people))).astype(np.int32)
    return person, starts[person]


def spread(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lay groups of these sizes one after the other: each element's group, and number in it.

    Examples
    --------
    >>> group, number = spread(np.array([2, 0, 3]))
    >>> group.tolist(), number.tolist()
    ([0, 0, 2, 2, 2], [0, 1, 0, 1, 2])
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def last_numbers(
    length: np.ndarray, max_len: int | None = None, device: torch.device | str = "cpu"
) -> Tensor:
    """Number the visits that windows show when each is cut to its last ``max_len``.

    Parameters
    ----------
    length : ndarray
        (B,) visits in each window.
    max_len : int, optional
        Without it, all are shown.
    device : torch.device or str

    Returns
    -------
    Tensor
        (B, L) int64, from ``length - max_len`` or 0 up to ``length - 1``; -1 at padding.

    Examples
    --------
    >>> last_numbers(np.array([1, 3]), 2).tolist()
    [[0, -1], [1, 2]]
    """
    length = length.astype(np.int64)
    shown = length if max_len is None else np.minimum(length, max_len)
    skipped, end = (torch.from_numpy(n).to(device)[:, None] for n in (length - shown, length))
    number = torch.arange(int(shown.max(initial=1)), device=device) + skipped
    return torch.where(number < end, number, -1)


def same_place(user: np.ndarray | pd.Series, location: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find each person's earlier visits to the same location.

    Parameters
    ----------
    user, location : array
        (N,) whose visits, and integers that say where to.

    Returns
    -------
    previous : ndarray
        (N,) int32, the row of the visit before to the same location, or -1.
    number : ndarray
        (N,) int32, how many visits to the location there are up to this one.

    Examples
    --------
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


def by_length(
    lengths: np.ndarray, batch_size: int, shuffle: np.random.Generator | None, pool: int
) -> Iterator[np.ndarray]:
    """Deal windows out to batches, those of like length together.

    Parameters
    ----------
    lengths : ndarray
        (W,).
    batch_size : int
    shuffle : Generator, optional
        Windows are shuffled first, sorted within pools only, and batches come in random order;
        without it, they are sorted as a whole.
    pool : int
        Batches in a pool.

    Yields
    ------
    ndarray
        Numbers of windows.

    Examples
    --------
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


def sorted_parts(visits: pd.DataFrame) -> np.ndarray:
    """(N,) `by_person_and_time` of sorted tables that stand one below the other.

    Where everybody's parts follow each other in time, as splits do, it does not sort by time.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 08:00+02:00"] * 2 + ["2024-05-01 09:00+02:00"])
    >>> sorted_parts(pd.DataFrame({"user_id": ["ann", "bob", "ann"], "started_at": at})).tolist()
    [0, 2, 1]
    """
    person, _ = pd.factorize(visits.user_id, sort=True)
    order = np.argsort(person, kind="stable")
    person, started = person[order], pd.DatetimeIndex(visits.started_at).asi8[order]
    back = (np.diff(started) < 0) & (person[1:] == person[:-1])
    return by_person_and_time(visits) if back.any() else order


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


FIRST = 3  # of a person's visits, which tell them from whoever else has the same id

Id = int | str


def first_visits(visits: pd.DataFrame) -> Iterable[tuple[Id, Id, int]]:
    """Person, place and second (of UTC, since 1970) of everybody's first visits.

    Parameters
    ----------
    visits : DataFrame
        By person and time, as `pgt.visits.check` sorts them.
    """
    few = visits.groupby("user_id", sort=False).head(FIRST)
    at = few.started_at.dt.tz_convert("UTC").dt.as_unit("s").astype("int64")
    return zip(few.user_id.tolist(), few.location_id.tolist(), at.tolist(), strict=True)


def marks_of(visits: Iterable[tuple[Id, Id, int]]) -> dict[Id, str]:
    """A short hash of each person's visits, which are given as by `first_visits`.

    Examples
    --------
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


def find_user(visits: pd.DataFrame, name: Any) -> Any:
    """The ``user_id`` written as ``name``, say "7" for 7.

    Raises
    ------
    DataError
        When the table has nobody of that name.
    """
    users = visits.user_id.unique()
    for user in users:
        if str(user) == str(name):
            return user
    some = ", ".join(map(str, users[:3])) + (", …" if len(users) > 3 else "")
    raise DataError(
        f"There is no user '{name}' in the table (it has {len(users)}: {some}); check the id."
    )


def until(visits: pd.DataFrame, at: pd.Timestamp | None) -> pd.DataFrame:
    """What is known at a moment: visits that began before it, one that goes on ending then.

    Raises
    ------
    DataError
        The moment has no time zone.
    """
    if at is None:
        return visits.reset_index(drop=True)
    if at.tz is None:
        raise DataError(f"The moment {at} has no time zone; write one, as in {at}+02:00.")
    at = at.tz_convert(visits.started_at.dt.tz)
    visits = visits[visits.started_at <= at]
    ended = visits.finished_at.where(visits.finished_at <= at, at)
    return visits.assign(finished_at=ended).reset_index(drop=True)


def moment(at: Any, zone: Any) -> pd.Timestamp:
    """What somebody wrote, by the clocks of a zone; an hour that is skipped ends at once."""
    try:
        found = pd.Timestamp(at)
        if found.tz is not None:
            return found.tz_convert(zone)
        return found.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"at is {at!r}; write a moment as ISO 8601 has it, such as 2024-05-01T12:00+02:00, or "
            "without an offset for local time."
        ) from None


def nobody_before(at: pd.Timestamp | None, user: Any = None) -> DataError:
    """The refusal to ask where a person, or anybody, goes who has no visit yet.

    Examples
    --------
    >>> nobody_before(pd.Timestamp("1999-01-01"), user=7)
    DataError('User 7 has no visit before 1999-01-01 00:00:00; choose a later moment.')
    """
    who, has = ("Nobody in the table", "has a") if user is None else (f"User {user}", "has no")
    return DataError(f"{who} {has} visit before {at}; choose a later moment.")


SPLITS = ("train", "valid", "test")


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
        require_id_types(visits[name])
    require_times(visits)
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


def split_by_days(
    visits: pd.DataFrame, fractions: tuple[float, float] = (0.6, 0.8)
) -> pd.DataFrame:
    """Label each person's first 60 % of tracked days train, the next 20 % valid, the rest test.

    The protocol of Hong et al. (2023). Days are counted from the person's first one, including
    days without visits, in local time. The result is a copy with the column ``split``.

    Parameters
    ----------
    visits : DataFrame
        As `check` returns it.
    fractions : (float, float)
        Where valid and where test begin, as fractions of the last day's number.
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
