"""Doubts about places: coordinates that are empty, swapped, in radians, or far from the clocks'.

Used by `pgt.doubts.visits`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

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
# Of so many people together the night is known to about an hour: the six hours with the fewest
# arrivals have their middle between these two by local clocks.
PEOPLE = 30
NIGHTS = (2.0, 5.5)
SEVERAL = 4  # rows that are more than a slip
# Places that are told apart, and how far a place must be from where it lies with lon and lat
# swapped: from Cairo one gets to Alexandria. Degrees.
CELL = 0.1
DIAGONAL = 5.0
# Between these longitudes some clocks show UTC.
UTC_CLOCKS = (-32, 20)


def places(visits: pd.DataFrame) -> Iterator[str]:
    """One sentence a doubt about the coordinates of a table, where it has some.

    Examples
    --------
    >>> at = pd.date_range("2024-05-01", periods=9, tz="Europe/Vienna")
    >>> table = pd.DataFrame({"user_id": 1, "started_at": at, "lon": 16.4, "lat": 48.2})
    >>> table.loc[4:, ["lon", "lat"]] = 0.0
    >>> list(places(table))
    ['5 visits lie at longitude 0 and latitude 0 exactly (user 1 on 2024-05-05, …): ...']
    """
    if not {"lon", "lat"} <= set(visits.columns) or len(visits) == 0:
        return
    empty = ((visits.lon == 0) & (visits.lat == 0)).to_numpy()
    if empty.sum() >= SEVERAL:
        yield rows_note(
            visits, empty, "lie at longitude 0 and latitude 0 exactly",
            "that is in the sea off Africa, and how a missing position is often written; fill in "
            "the coordinates, or drop these visits.",
        )  # fmt: skip
        visits = visits[~empty]
    if _in_radians(visits):
        yield (
            f"{len(visits):,} visits lie within 3.15 degrees of longitude 0 and 1.58 of latitude "
            "0, in the sea off Africa: are lon and lat in radians? They must be in degrees; "
            "multiply them by 180/pi."
        )
        return
    mirrored = _mirrored(visits)
    if mirrored.sum() >= SEVERAL:
        yield rows_note(
            visits, mirrored, "would lie among the other visits of the same person with lon and "
            "lat swapped, and lie far from there as they are",
            "swap lon and lat in these rows if they are wrong.",
        )  # fmt: skip
        visits = visits[~mirrored]
    if len(visits):
        yield from _against_clocks(visits)


def _in_radians(visits: pd.DataFrame) -> bool:
    """Whether all places are in the range of radians, where there is no land at all."""
    lon, lat = visits.lon.abs(), visits.lat.abs()
    return len(visits) >= SEVERAL and bool((lon <= np.pi).all() and (lat <= np.pi / 2).all())


def _mirrored(visits: pd.DataFrame) -> np.ndarray:
    """(N,) rows of a person that lie far from other rows, and beside them with lon, lat swapped.

    Of the two sides the one on which the person has fewer visits is taken for swapped.
    """
    lon, lat = visits.lon.to_numpy(), visits.lat.to_numpy()
    person = pd.factorize(visits.user_id)[0]
    x, y = (np.floor((one + 180) / CELL).astype(np.int64) for one in (lon, lat))
    there = 10_000 * (10_000 * person + y) + x  # as a number for a person and a place
    here = 10_000 * (10_000 * person + x) + y
    paired = np.isin(there, here) & (np.abs(lon - lat) > DIAGONAL)
    east = paired & (lon > lat)
    n_east = np.bincount(person, weights=east)
    n_paired = np.bincount(person, weights=paired)
    return paired & (east == (n_east < n_paired / 2)[person])


def _against_clocks(visits: pd.DataFrame) -> Iterator[str]:
    """Coordinates against clocks: swapped, or times that are not local."""
    lon, lat = float(visits.lon.median()), float(visits.lat.median())
    zone = str(visits.started_at.dt.tz)
    n = len(visits)
    box = CONTINENTS.get(zone.partition("/")[0])
    if box and not _inside(lon, lat, box) and _inside(lat, lon, box):
        yield (
            f"{n:,} visits lie around longitude {lon:.1f} and latitude {lat:.1f}, where it is not "
            f"{zone}, but the other way round it is: lon and lat look swapped; swap the columns."
        )
    elif far_from_sun(visits) or _no_utc_there(zone, lon):
        swapped = visits.assign(lon=visits.lat, lat=visits.lon)
        could_be = abs(lon) <= 90 and not (far_from_sun(swapped) or _no_utc_there(zone, lat))
        or_swapped = " (or are lon and lat swapped?)" if could_be else ""
        yield (
            f"{n:,} visits lie around longitude {lon:.0f}, where the clocks of {zone} are hours "
            f"away from the sun's: are these local times{or_swapped}? Name the zone with timezone= "
            "(--timezone)."
        )
    elif looks_like_utc(visits):
        hour, _ = _quiet(visits)
        by_night = round(hour + _offset(visits)) % 24
        yield (
            f"{n:,} visits are rarest from {hour} to {(hour + NIGHT) % 24} o'clock in {zone}, and "
            f"would be from {by_night} to {(by_night + NIGHT) % 24}, at night, if their times were "
            "in UTC: if they are, write them with Z, or call the columns 'UTC start' and 'UTC end' "
            "(--columns)."
        )


def rows_note(visits: pd.DataFrame, rows: np.ndarray, what: str, so: str) -> str:
    """One sentence on some rows: how many, what about them, whose the first is, and what follows.

    ``so`` may speak of the rows as ``{it}``: it takes part, they take part.
    """
    n = int(rows.sum())
    first = visits[rows].iloc[0]
    it = "it takes part" if n == 1 else "they take part"
    noun = "visit" if n == 1 else "visits"
    user = first.user_id
    user = user.item() if isinstance(user, np.generic) else user
    where = f"user {user!r} on {first.started_at:%Y-%m-%d}"
    return f"{n:,} {noun} {what} ({where}{', …' if n > 1 else ''}): {so.format(it=it)}"


def _inside(lon: float, lat: float, box: tuple[int, int, int, int]) -> bool:
    return box[0] <= lon <= box[1] and box[2] <= lat <= box[3]


def _no_utc_there(zone: str, lon: float) -> bool:
    """Whether times are by UTC where nobody's clocks are."""
    west, east = UTC_CLOCKS
    return zone.removeprefix("Etc/") in ("UTC", "GMT", "UCT", "Zulu", "UTC+00:00") and not (
        west <= lon <= east
    )


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
    apart = (_offset(table) - float(table.lon.median()) / 15 + 12) % 24 - 12  # around the clock
    return bool(abs(apart) > hours)


def looks_like_utc(table: pd.DataFrame) -> bool:
    """Whether visits are rarest when nobody sleeps, and would not be were the times in UTC.

    A few people may sleep at any time but by day. Where the clocks are only two to four hours from
    UTC, it takes many people to know when it is night.

    Examples
    --------
    >>> at = pd.Series(pd.date_range("2024-05-01", periods=2400, freq="h", tz="Asia/Tokyo"))
    >>> awake = at[(at.dt.hour + 9) % 24 >= 7]
    >>> looks_like_utc(pd.DataFrame({"started_at": awake, "user_id": 1}))
    True
    """
    offset = _offset(table)
    if len(table) < ENOUGH or abs(offset) < 2:
        return False
    hour, share = _quiet(table)
    middle = (hour + NIGHT / 2) % 24
    if abs(offset) >= 3 and share < 0.1 and 7.5 <= middle <= 22.5 and (middle + offset) % 24 <= 7:
        return True
    return table.user_id.nunique() >= PEOPLE and _night_is_that_of_utc(table, offset)


def _night_is_that_of_utc(table: pd.DataFrame, offset: float) -> bool:
    """Whether everybody's night lies where no night is, by as many hours as UTC would explain."""
    half_hours = 2 * table.started_at.dt.hour + table.started_at.dt.minute // 30
    counts = np.bincount(half_hours, minlength=48)
    sums = np.array([np.roll(counts, -start)[:12].sum() for start in range(48)])
    middle = int(sums.argmin()) / 2 + 3  # of six hours
    as_local, as_utc = middle % 24, (middle + offset) % 24
    first, last = NIGHTS
    too_late = last < as_local < 12
    return (
        sums.min() < len(table) / 8
        and not first <= as_local <= last
        and too_late == (offset < 0)
        and first <= as_utc <= last
    )


def _offset(table: pd.DataFrame) -> float:
    """Hours that the clocks are ahead of UTC, at the first visit."""
    return float(table.started_at.iloc[0].utcoffset().total_seconds() / 3600)


def _quiet(table: pd.DataFrame) -> tuple[int, float]:
    """The first of the quietest hours, and the share of visits that begin in them."""
    counts = np.bincount(table.started_at.dt.hour, minlength=24)
    sums = [np.roll(counts, -hour)[:NIGHT].sum() for hour in range(24)]
    hour = int(np.argmin(sums))
    return hour, float(sums[hour] / len(table))
