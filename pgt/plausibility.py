"""What is allowed in a table of visits, and yet would silently spoil an answer: a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from timezonefinder import TimezoneFinder

from pgt.errors import note
from pgt.visits import local_clock

SEVERAL = 4  # rows that are more than a slip
# Of many visits, one in a hundred is a slip when it lies two years (in days) from all others.
APART, ENOUGH, SHARE = 730, 20, 0.01
# Clocks: from so many visits on, the six quietest hours tell when it is night: by local clocks, of
# so many people, their middle lies between these hours.
VISITS, PEOPLE, NIGHT = 300, 30, (2.0, 5.5)
HOURS = 2.0  # that clocks which people live by are at most from those of the zone
# Fragments: so large a share of visits begins within minutes of one to the same place.
MINUTES, FRAGMENTS = 15, 0.3


def note_doubts(visits: pd.DataFrame) -> pd.DataFrame:
    """Tell every doubt once, and keep all of them in ``attrs["notes"]``."""
    known = visits.attrs.get("notes", [])
    fresh = [text for text in doubts(visits) if text not in known]
    for text in fresh:
        note(text, stacklevel=4)
    visits.attrs["notes"] = [*known, *fresh]
    return visits


def doubts(visits: pd.DataFrame) -> list[str]:
    """What looks like a mistake in a checked table, one sentence each."""
    return [*_far(visits), *_fragments(visits), *_places(visits)]


def rows_note(visits: pd.DataFrame, rows: np.ndarray, what: str, so: str) -> str:
    """One sentence on some rows: how many, what about them, whose the first is, what follows."""
    n, first = int(rows.sum()), visits[rows].iloc[0]
    user = first.user_id.item() if isinstance(first.user_id, np.generic) else first.user_id
    where = f"user {user!r} on {first.started_at:%Y-%m-%d}{', …' if n > 1 else ''}"
    return f"{n:,} visit{'s' if n > 1 else ''} {what} ({where}): {so}"


def _fragments(visits: pd.DataFrame) -> Iterator[str]:
    """Stays in pieces: a poor recording, or one stay written as many."""
    before = visits.shift()
    same = (visits.user_id == before.user_id) & (visits.location_id == before.location_id)
    soon = (visits.started_at - before.finished_at) < pd.Timedelta(minutes=MINUTES)
    lasts = (visits.finished_at > visits.started_at) | (before.finished_at > before.started_at)
    rows = (same & soon & lasts).to_numpy()
    if len(visits) >= ENOUGH and rows.mean() >= FRAGMENTS:
        yield rows_note(
            visits, rows, f"of {len(visits):,} begin within {MINUTES} minutes of one by the same "
            "person to the same place", "stays look cut into pieces, and guesses would mostly say "
            "'here again'; join them, or make visits anew from better fixes.",
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
    ahead = (started > pd.Timestamp.now("UTC").tz_localize(None) + pd.Timedelta(days=1)).to_numpy()
    stray = (off >= APART) & ~ahead
    so = "correct or drop what a wrong clock wrote, for it moves the split by days."
    if len(day) >= ENOUGH and 0 < stray.sum() <= max(1, len(day) * SHARE):
        years = int(off[stray].min() // 365.25)
        yield rows_note(visits, stray, f"lie {years} years or more from the rest", so)
    if ahead.any():
        yield rows_note(visits, ahead, "begin in the future", so)


def _places(visits: pd.DataFrame) -> Iterator[str]:
    """Coordinates that are empty, swapped, or far from the clocks, and clocks of another zone."""
    if "lon" in visits.columns:
        empty = ((visits.lon == 0) & (visits.lat == 0)).to_numpy()
        if empty.sum() >= SEVERAL:
            yield rows_note(
                visits, empty, "lie at longitude 0 and latitude 0 exactly", "that is in the sea "
                "off Africa, and how a missing position is often written; fill in the "
                "coordinates, or drop these visits.",
            )  # fmt: skip
            visits = visits[~empty]
        swapped, off = _against_clocks(visits) if len(visits) else (empty[:0], empty[:0])
        for rows, what in ((swapped, "lon and lat look swapped; swap the columns."),
                           (off, "are these not local times? Name the zone of the places with "
                                 "timezone= (--timezone).")):  # fmt: skip
            if rows.any():
                part = visits[rows]
                yield (
                    f"{len(part):,} visits ({part.user_id.nunique()} people) lie around longitude "
                    f"{part.lon.median():.1f} and latitude {part.lat.median():.1f}, where the "
                    f"clocks are not those of {part.started_at.dt.tz}: {what}"
                )
                return
    if _asleep_by_day(visits):
        yield (
            f"people are quietest by day in {visits.started_at.dt.tz}, and would be at night if "
            "their times were in UTC: if they are, say file_timezone='UTC' (--file-timezone UTC) "
            "when the file is read."
        )


def _against_clocks(visits: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """(N,) twice: visits of people whose places fit their clocks swapped, and not at all."""
    local = local_clock(visits, "started_at")
    own = visits.assign(ahead=_hours_ahead(visits, local)).groupby("user_id")
    people = own[["lon", "lat", "ahead"]].median()
    moment = visits.started_at.iloc[len(visits) // 2]
    here, there = zones_at(people.lon, people.lat), zones_at(people.lat, people.lon)

    def hours_of(zone: str) -> float:
        return float(moment.tz_convert(zone).utcoffset().total_seconds() / 3600)

    apart = [(zones.map(hours_of, na_action="ignore") - people.ahead).abs()
             for zones in (here, there)]  # fmt: skip
    tz = str(visits.started_at.dt.tz)
    at_sea = here.str.startswith("Etc/") & ~there.str.startswith("Etc/", na=True)
    swapped = ((there == tz) & (here != tz)) | (at_sea & (apart[1] <= 1))
    off = apart[0] > HOURS
    return visits.user_id.map(swapped).to_numpy(), visits.user_id.map(off).to_numpy()


def zones_at(lon: pd.Series, lat: pd.Series) -> pd.Series:
    """The time zone of each position, by name, to about a kilometre; at sea one by longitude."""
    at = pd.DataFrame({"lon": lon, "lat": lat}).apply(pd.to_numeric, errors="coerce").round(2)
    known = at[(at.lon.abs() <= 180) & (at.lat.abs() <= 90)].drop_duplicates()
    finder = TimezoneFinder()
    zone = [finder.timezone_at(lng=x, lat=y) for x, y in known.to_numpy(dtype=float)]
    found = at.merge(known.assign(zone=pd.Series(zone, known.index, dtype="str")), how="left")
    return found.zone.set_axis(at.index)


def _hours_ahead(visits: pd.DataFrame, local: pd.Series) -> pd.Series:
    """By how many hours each visit's clock is ahead of UTC."""
    utc = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None)
    return (local - utc).dt.total_seconds() / 3600


def _asleep_by_day(visits: pd.DataFrame) -> bool:
    """Whether the quiet hours of all people are no night by local clocks, and one by UTC."""
    local, (first, last) = local_clock(visits, "started_at"), NIGHT
    ahead = float(_hours_ahead(visits, local).median())
    counts = np.bincount(2 * local.dt.hour + local.dt.minute // 30, minlength=48)
    sums = np.array([np.roll(counts, -start)[:12].sum() for start in range(48)])  # of six hours
    middle = (sums.argmin() / 2 + 3) % 24
    by_day = sums.min() < len(visits) / 8 and not first <= middle <= last
    by_day = by_day and (last < middle < 12) == (ahead < 0)
    night = first <= (middle + ahead) % 24 <= last
    # A few may sleep at any time; of many, two hours tell.
    least = 2 if visits.user_id.nunique() >= PEOPLE else 5
    return bool(len(visits) >= VISITS and abs(ahead) >= least and by_day and night)
