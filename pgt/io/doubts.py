"""Doubts about a table: what is allowed, but looks like a mistake, is counted and named.

Nothing here changes a table. Each note is one sentence: what, how often, where first, the remedy.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from pgt.errors import DataNote

# Nobody is tracked for a while, and then again after so many days.
FAR = 3652
# The zone names of a continent: longitudes and latitudes from, to. Roomy.
CONTINENTS = {
    "Europe": (-32, 70, 34, 82),
    "America": (-180, -30, -60, 84),
    "Asia": (25, 180, -12, 82),
    "Africa": (-26, 64, -36, 38),
    "Australia": (95, 170, -56, -9),
}
NIGHT = 5  # hours
ENOUGH = 300  # visits from which hours tell something


def note(visits: pd.DataFrame) -> pd.DataFrame:
    """Warn of every doubt, and keep all of them in ``attrs["notes"]``."""
    notes = doubts(visits)
    for text in notes:
        warnings.warn(text, DataNote, stacklevel=4)
    if notes:
        visits.attrs["notes"] = notes
    return visits


def doubts(visits: pd.DataFrame) -> list[str]:
    """What looks like a mistake in a table that is allowed.

    Parameters
    ----------
    visits : DataFrame
        As `pgt.visits.check` returns it.

    Returns
    -------
    list of str
        One sentence a doubt.

    Examples
    --------
    >>> at = pd.to_datetime(["1970-01-01 09:00+02:00", "2024-05-01 09:00+02:00"])
    >>> doubts(pd.DataFrame({"user_id": "ann", "location_id": "home", "started_at": at}))
    ["1 visit lies 10 years or more from the rest (user 'ann' on 1970-01-01): it takes part in ..."]
    """
    return [*_twins(visits), *_far(visits), *_places(visits)]


def _twins(visits: pd.DataFrame) -> Iterator[str]:
    for name in ("user_id", "location_id"):
        if not pd.api.types.is_integer_dtype(visits[name]):
            yield from alike(name, visits[name].unique())


def alike(name: str, ids: Iterable[object]) -> list[str]:
    """A note on ids that a person would read as the same, if there are such.

    Examples
    --------
    >>> alike("user_id", ["Anna1", "anna1 ", "bob"])
    ["2 ids in 'user_id' differ from another only by case, spaces or leading zeros ('Anna1' ..."]
    """
    texts = [one for one in ids if isinstance(one, str)]
    heard = defaultdict(list)
    for one in texts:
        heard[_read_aloud(one)].append(one)
    twins = [mates for mates in heard.values() if len(mates) > 1]
    loose = [one for one in texts if one != one.strip()]
    if twins:
        return [
            f"{sum(map(len, twins))} ids in '{name}' differ from another only by case, spaces or "
            f"leading zeros ({twins[0][0]!r} and {twins[0][1]!r}): they are read as different; "
            "write them alike if they are the same."
        ]
    if loose:
        return [
            f"{len(loose)} ids in '{name}' begin or end with a space ({loose[0]!r}): the space is "
            "kept; strip it if it is a slip."
        ]
    return []


def _read_aloud(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.lstrip("0") or "0" if plain.isdecimal() else plain


def _far(visits: pd.DataFrame) -> Iterator[str]:
    """A visit decades from the rest: it stretches the days by which visits are split."""
    if len(visits) == 0:
        return
    started = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None)
    day = started.to_numpy().astype("datetime64[D]").astype(np.int64)
    person = pd.factorize(visits.user_id)[0]
    stray = _beyond_gap(day, person) | _beyond_gap(day, np.zeros_like(person))
    if stray.any():
        yield _some(
            visits, stray, f"{'lie' if stray.sum() > 1 else 'lies'} 10 years or more from the rest",
            "{it} in the split by days, and can move a history into another part; correct or drop "
            "what a wrong clock wrote.",
        )  # fmt: skip
    today = np.datetime64(pd.Timestamp.now("UTC").tz_localize(None), "D").astype(np.int64)
    ahead = (day > today + 1) & ~stray
    if ahead.any():
        yield _some(
            visits, ahead, "begin in the future" if ahead.sum() > 1 else "begins in the future",
            "{it} as anybody's; correct or drop what a wrong clock wrote.",
        )  # fmt: skip


def _some(visits: pd.DataFrame, rows: np.ndarray, what: str, so: str) -> str:
    n = int(rows.sum())
    first = visits[rows].iloc[0]
    it = "it takes part" if n == 1 else "they take part"
    noun = "visit" if n == 1 else "visits"
    where = f"user {first.user_id!r} on {first.started_at:%Y-%m-%d}"
    return f"{n:,} {noun} {what} ({where}{', …' if n > 1 else ''}): {so.format(it=it)}"


def _beyond_gap(day: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(N,) rows on the smaller side of a long gap between days of a group."""
    order = np.lexsort((day, group))
    day, group = day[order], group[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    ends = np.r_[starts[1:], len(group)]
    cuts = np.flatnonzero((np.diff(day) >= FAR) & (group[1:] == group[:-1])) + 1
    stray = np.zeros(len(day), dtype=bool)
    for cut in cuts:
        at = np.searchsorted(starts, cut, side="right") - 1
        start, end = starts[at], ends[at]
        stray[slice(start, cut) if cut - start <= end - cut else slice(cut, end)] = True
    found = np.empty(len(day), dtype=bool)
    found[order] = stray
    return found


def _places(visits: pd.DataFrame) -> Iterator[str]:
    """Coordinates against clocks: swapped, or times that are not local."""
    if not {"lon", "lat"} <= set(visits.columns) or len(visits) == 0:
        return
    lon, lat = float(visits.lon.median()), float(visits.lat.median())
    zone = str(visits.started_at.dt.tz)
    n = len(visits)
    box = CONTINENTS.get(zone.partition("/")[0])
    if box and not _inside(lon, lat, box) and _inside(lat, lon, box):
        yield (
            f"{n:,} visits lie around longitude {lon:.1f} and latitude {lat:.1f}, where it is not "
            f"{zone}, but the other way round it is: lon and lat look swapped; swap the columns."
        )
    elif far_from_sun(visits):
        swapped = visits.assign(lon=visits.lat, lat=visits.lon)
        could_be = abs(lon) <= 90 and not far_from_sun(swapped)
        or_swapped = " (or are lon and lat swapped?)" if could_be else ""
        yield (
            f"{n:,} visits lie around longitude {lon:.0f}, where the clocks of {zone} are hours "
            f"away from the sun's: are these local times{or_swapped}? Name the zone with timezone= "
            "(--timezone)."
        )
    elif looks_like_utc(visits):
        hour, _ = _quiet(visits)
        yield (
            f"{n:,} visits are rarest from {hour} to {(hour + NIGHT) % 24} o'clock in {zone}, and "
            "would be at night if their times were in UTC: if they are, write them with Z, or call "
            "the columns 'UTC start' and 'UTC end' (--columns)."
        )


def _inside(lon: float, lat: float, box: tuple[int, int, int, int]) -> bool:
    return box[0] <= lon <= box[1] and box[2] <= lat <= box[3]


def far_from_sun(table: pd.DataFrame, hours: float = 3.5) -> bool:
    """Whether the zone's noon is more than so many hours from the places' own.

    No country's clocks are further off; times that were left in UTC often are.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+00:00"])
    >>> far_from_sun(pd.DataFrame({"started_at": at, "lon": -109.0}))
    True
    """
    if "lon" not in table.columns:
        return False
    offset = table.started_at.iloc[0].utcoffset().total_seconds() / 3600
    apart = (offset - float(table.lon.median()) / 15 + 12) % 24 - 12  # around the clock
    return bool(abs(apart) > hours)


def looks_like_utc(table: pd.DataFrame) -> bool:
    """Whether the quietest hours lie by day, and would lie at night were the times in UTC.

    Examples
    --------
    >>> at = pd.Series(pd.date_range("2024-05-01", periods=2400, freq="h", tz="Asia/Tokyo"))
    >>> awake = at[(at.dt.hour + 9) % 24 >= 7]
    >>> looks_like_utc(pd.DataFrame({"started_at": awake}))
    True
    """
    offset = table.started_at.iloc[0].utcoffset().total_seconds() / 3600
    if len(table) < ENOUGH or abs(offset) < 3:
        return False
    hour, share = _quiet(table)
    middle = (hour + NIGHT / 2) % 24
    return share < 0.1 and 7.5 <= middle <= 22.5 and (middle + offset) % 24 <= 7


def _quiet(table: pd.DataFrame) -> tuple[int, float]:
    """The first of the quietest hours, and the share of visits that begin in them."""
    counts = np.bincount(table.started_at.dt.hour, minlength=24)
    sums = [np.roll(counts, -hour)[:NIGHT].sum() for hour in range(24)]
    hour = int(np.argmin(sums))
    return hour, float(sums[hour] / len(table))
