"""What is allowed in a table of visits, and yet would silently spoil an answer: a sentence each."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from pgt.errors import note
from pgt.readers.clocks import zones_at
from pgt.visit_checks import ENOUGH_VISITS, SEVERAL, rows_note, scattered_places, visit_checks
from pgt.visits import local_clock, local_minute

# Days. Nobody is tracked for a while, and then again after ten years. Of many visits, one in a
# hundred is a slip already when it lies two years from all others, if those last no longer.
FAR, APART, SHARE = 3653, 730, 0.01
# Swapped positions: cells of 0.1 degrees, at least 5 degrees from the diagonal.
NOTHING = {"na", "n/a", "nan", "nat", "none", "null", "<na>", "?", "-"}
CELL, DIAGONAL = 0.1, 5.0
# Clocks: from so many visits of a person on, the five quietest hours tell when it is night; with 30
# people, the six quietest half hours do, whose middle lies between 2 and 5:30 by local clocks.
NIGHT, VISITS, PEOPLE, NIGHTS = 5, 300, 30, (2.0, 5.5)
HOURS = 2.0  # that clocks which people live by are at most from those of the zone
# One person's quiet hours are by day between these hours, and hold less than such a share of the
# visits (of everybody's, of the quiet half hours); UTC is at least so many hours away, and a night
# ends at seven. So large a share of the people must sleep by day.
DAY, QUIET_HOURS, QUIET_HALF_HOURS, FAR_AHEAD, END_OF_NIGHT = (7.5, 22.5), 0.1, 1 / 8, 3, 7
MANY_SLEEP = 0.2


def note_data_checks(visits: pd.DataFrame) -> pd.DataFrame:
    """Tell what looks like a mistake, a note each."""
    for text in data_checks(visits):
        note(text, stacklevel=4)
    return visits


def data_checks(visits: pd.DataFrame) -> list[str]:
    """What looks like a mistake in a checked table, one sentence each."""
    doubts = [
        say(name, visits[name].unique())
        for name in ("user_id", "location_id")
        if not pd.api.types.is_numeric_dtype(visits[name])
        for say in (alike, nothing)
    ]
    places = [*_misplaced(visits)] or [*scattered_places(visits)]
    return [*filter(None, doubts), *_far(visits), *visit_checks(visits), *places]


def alike(name: str, ids: Iterable[object]) -> str:
    """A sentence on ids that a person would read as the same, or nothing."""
    heard = defaultdict(list)
    for id_ in ids:
        if isinstance(id_, str):
            plain = " ".join(unicodedata.normalize("NFKC", id_).casefold().split())
            heard[plain.lstrip("0") or "0" if plain.isdecimal() else plain].append(id_)
    twins = [mates for mates in heard.values() if len(mates) > 1]
    if not twins:
        return ""
    return (
        f"{sum(map(len, twins))} ids in '{name}' differ from another only by case, spaces or "
        f"leading zeros ({twins[0][0]!r} and {twins[0][1]!r}): they are read as different; write "
        "them alike if they are the same."
    )


def nothing(name: str, ids: Iterable[object]) -> str:
    """A sentence on ids that others write where there is none, or nothing."""
    words = [id_ for id_ in ids if isinstance(id_, str) and id_.strip().lower() in NOTHING]
    return "" if not words else (
        f"{words[0]!r} in '{name}' is read as an id like any other; if it stands for none, leave "
        "the field empty."
    )  # fmt: skip


def _far(visits: pd.DataFrame) -> Iterator[str]:
    """Visits years from the rest: they stretch the days by which visits are split."""
    started = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None)
    day = started.to_numpy().astype("datetime64[D]").astype(np.int64)
    # The most visits without a gap of years are the main ones.
    ordered = np.sort(day)
    block = np.r_[0, np.cumsum(np.diff(ordered) >= APART)]
    main = ordered[block == np.bincount(block).argmax()]
    off = np.maximum(main[0] - day, day - main[-1])
    slips = (off >= APART) & (off >= main[-1] - main[0])
    few = len(day) >= ENOUGH_VISITS and slips.sum() <= max(1, len(day) * SHARE)
    ahead = (started > pd.Timestamp.now("UTC").tz_localize(None) + pd.Timedelta(days=1)).to_numpy()
    stray = ((off >= FAR) | (slips & few)) & ~ahead
    so = "correct or drop what a wrong clock wrote, for it moves the split by days."
    if stray.any():
        years = min(10, int(off[stray].min() // 365.25))
        yield rows_note(visits, stray, f"lie {years} years or more from the rest", so)
    if ahead.any():
        yield rows_note(visits, ahead, "begin in the future", so)


def _misplaced(visits: pd.DataFrame) -> Iterator[str]:
    """Coordinates that are empty, in radians, swapped, or far from the clocks; then the clocks."""
    local = local_clock(visits, "started_at")
    ahead = local - visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None)
    visits = visits.assign(minute=local_minute(local), ahead=ahead / pd.Timedelta(hours=1))
    if "lon" in visits.columns:
        empty = ((visits.lon == 0) & (visits.lat == 0)).to_numpy()
        if empty.sum() >= SEVERAL:
            yield rows_note(
                visits, empty, "lie at longitude 0 and latitude 0 exactly", "that is in the sea "
                "off Africa, and how a missing position is often written; fill in the "
                "coordinates, or drop these visits.",
            )  # fmt: skip
            visits = visits[~empty]
        small = (visits.lon.abs() <= np.pi) & (visits.lat.abs() <= np.pi / 2)
        if len(visits) >= SEVERAL and small.all():  # all would be on Earth in radians
            yield (
                f"{len(visits):,} visits lie within 3.15 degrees of longitude 0 and 1.58 of "
                "latitude 0, in the sea off Africa: are lon and lat in radians? They must be in "
                "degrees; multiply them by 180/pi."
            )
            return
        mirrored = _mirrored(visits)
        if mirrored.sum() >= SEVERAL:
            yield rows_note(
                visits, mirrored, "would lie among the other visits of the same person with lon "
                "and lat swapped, and lie far from there as they are",
                "swap lon and lat in these rows if they are wrong.",
            )  # fmt: skip
            visits = visits[~mirrored]
        if doubt := _other_clocks(visits):
            yield doubt
            return
    if len(late := _asleep_by_day(visits)):
        yield (
            f"{len(late):,} of {visits.user_id.nunique():,} people ({late[0]!r}"
            f"{', …' if len(late) > 1 else ''}) are quietest by day in {visits.started_at.dt.tz}, "
            "and would be at night if their times were in UTC: if they are, say file_timezone='UTC'"
            " (--file-timezone UTC) when the file is read."
        )


def _other_clocks(visits: pd.DataFrame) -> str:
    """A sentence on places where the clocks are others than the table's, or nothing."""
    swapped, off = _against_clocks(visits)
    if not (swapped.any() or off.any()):
        return ""
    remedy = (
        "lon and lat look swapped; swap the columns." if swapped.any() else
        "are these not local times? Name the zone of the places with timezone= (--timezone)."
    )  # fmt: skip
    part = visits[swapped if swapped.any() else off]
    return (
        f"{len(part):,} visits ({part.user_id.nunique()} people) lie around longitude "
        f"{part.lon.median():.1f} and latitude {part.lat.median():.1f}, where the clocks are not "
        f"those of {part.started_at.dt.tz}: {remedy}"
    )


def _mirrored(visits: pd.DataFrame) -> np.ndarray:
    """(N,) rows beside a person's others only with lon and lat swapped: the side with fewer."""
    lon, lat = visits.lon.to_numpy(), visits.lat.to_numpy()
    paired = np.abs(lon - lat) > DIAGONAL
    paired &= (lon >= lat.min(initial=90) - CELL) & (lon <= lat.max(initial=-90) + CELL)
    if not paired.any():  # no longitude is a latitude as well
        return paired
    person = pd.factorize(visits.user_id)[0]
    x, y = (np.floor((degrees + 180) / CELL).astype(np.int64) for degrees in (lon, lat))
    there = 10_000 * (10_000 * person + y) + x  # as a number for a person and a place
    here = 10_000 * (10_000 * person + x) + y
    paired[paired] = np.isin(there[paired], here)
    east = paired & (lon > lat)
    n_east, n_paired = (np.bincount(person, weights=rows) for rows in (east, paired))
    return paired & (east == (n_east < n_paired / 2)[person])


def _against_clocks(visits: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Two masks (N,): people who match their zone only with lon and lat swapped, and never."""
    people = visits.groupby("user_id")[["lon", "lat", "ahead"]].median()
    moment = visits.started_at.iloc[len(visits) // 2]
    here, there = zones_at(people.lon, people.lat), zones_at(people.lat, people.lon)

    hours = {zone: moment.tz_convert(zone).utcoffset().total_seconds() / 3600
             for zone in {*here.dropna(), *there.dropna()}}  # fmt: skip
    apart = [(zones.map(hours) - people.ahead).abs() for zones in (here, there)]
    tz = str(visits.started_at.dt.tz)
    at_sea = here.str.startswith("Etc/") & ~there.str.startswith("Etc/", na=True)
    swapped = ((there == tz) & (here != tz)) | (at_sea & (apart[1] <= 1))
    off = apart[0] > HOURS
    rows = [visits.user_id.isin(people.index[which]).to_numpy() for which in (swapped, off)]
    return rows[0], rows[1]


def _asleep_by_day(visits: pd.DataFrame) -> list[object]:
    """People whose quiet hours are no night by local clocks, and one if times were in UTC."""
    hour, hours_ahead = visits.minute.to_numpy() // 60, visits.ahead.to_numpy()
    rows = visits.groupby("user_id", sort=False).indices
    many = [user for user, mine in rows.items() if len(mine) >= VISITS]
    sleepers = [user for user in many if _sleeps_by_day(hour[rows[user]], hours_ahead[rows[user]])]
    # A few may sleep at any time; a file that was read wrongly is wrong for many of its people.
    if sleepers and len(sleepers) >= MANY_SLEEP * len(many):
        return sleepers
    enough = len(rows) >= PEOPLE and len(visits) >= VISITS
    return [*rows] if enough and _all_sleep_by_day(visits) else []


def _sleeps_by_day(hour: np.ndarray, ahead: np.ndarray) -> bool:
    """Whether a person's five quietest hours lie by day, and at night if times were in UTC."""
    middle, share = _quietest(hour, NIGHT, 24)
    offset, (morning, evening) = float(np.median(ahead)), DAY
    by_day = morning <= middle <= evening and share < QUIET_HOURS
    return abs(offset) >= FAR_AHEAD and by_day and (middle + offset) % 24 <= END_OF_NIGHT


def _all_sleep_by_day(visits: pd.DataFrame) -> bool:
    """The same of everybody together, by half hours, for whom less of a shift is seen."""
    offset, (first, last) = float(visits.ahead.median()), NIGHTS
    middle, share = _quietest(visits.minute.to_numpy() // 30, 12, 48)
    by_day = abs(offset) >= HOURS and share < QUIET_HALF_HOURS and not first <= middle <= last
    by_day = by_day and (last < middle < 12) == (offset < 0)
    return by_day and first <= (middle + offset) % 24 <= last


def _quietest(times: np.ndarray, n: int, of: int) -> tuple[float, float]:
    """The middle (hour) of the quietest ``n`` of ``of`` parts of the day, and their share."""
    counts = np.bincount(times, minlength=of)
    sums = np.array([np.roll(counts, -start)[:n].sum() for start in range(of)])
    return (int(sums.argmin()) + n / 2) * 24 / of % 24, sums.min() / len(times)
