"""From position fixes to visits by the protocol of Hong et al. (2023), and what it leaves out.

The steps are those of `pgt.readers.gps`. People stay who were tracked for long enough and have
windows in all three splits; every fix and person is accounted for, step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgt.readers.gps import (
    HaversineOrder,
    clean_fixes,
    generate_locations,
    generate_staypoints,
    merge_staypoints,
    plain_ids,
)
from pgt.visits import (
    SPLITS,
    TIMES,
    check,
    in_zone,
    microseconds,
    plain_types,
    split_by_days,
    spread,
)
from pgt.windows import prepare

DAY = np.timedelta64(1, "D")
# Who is tracked for long enough.
MIN_DAYS, WEEKS = 50, 10
ACTIVITY = pd.Timedelta(minutes=25)  # a shorter stay is none


def generate_triplegs(
    fixes: pd.DataFrame, staypoints: pd.DataFrame, *, gap_minutes: float = 15.0
) -> pd.DataFrame:
    """Find the movements between staypoints (trackintel's method "between_staypoints").

    A tripleg is a run of two or more of a person's fixes outside staypoints (those of ``fixes``),
    not all at one position, without a silence longer than ``gap_minutes``.
    """
    n, first = len(fixes), staypoints.first_fix.to_numpy()
    edges = np.zeros(n + 1, dtype=np.int64)
    np.add.at(edges, first, 1)
    np.add.at(edges, first + staypoints.n_fixes.to_numpy(), -1)
    outside = edges[:-1].cumsum() == 0  # (F,) in no staypoint
    at, (user, _) = microseconds(fixes.tracked_at), pd.factorize(fixes.user_id)
    lon, lat = fixes.lon.to_numpy(dtype=float), fixes.lat.to_numpy(dtype=float)
    breaks = np.ones(n, dtype=bool)
    breaks[1:] = (
        (np.diff(user) != 0) | (np.diff(at) > gap_minutes * 60e6)
        | (outside[1:] != outside[:-1])
    )  # fmt: skip
    start = np.flatnonzero(breaks)
    stop = np.append(start[1:], n)[: len(start)]
    moved = np.zeros(n + 1, dtype=np.int64)  # how often the position changed up to a fix
    moved[2:] = ((np.diff(lon) != 0) | (np.diff(lat) != 0)).cumsum()
    keep = outside[start] & (moved[stop] > moved[start + 1])
    start, stop = start[keep], stop[keep]
    return pd.DataFrame(
        {
            "user_id": fixes.user_id.to_numpy()[start],
            "started_at": fixes.tracked_at.iloc[start].array,
            "finished_at": fixes.tracked_at.iloc[stop - 1].array,
            "n_fixes": stop - start,
        }
    ).astype({"user_id": fixes.user_id.dtype})


def tracking_quality(staypoints: pd.DataFrame, triplegs: pd.DataFrame) -> pd.DataFrame:
    """Per person, the whole ``days`` tracked, and the ``windows`` of ten weeks with a record.

    A window slides in steps of a week from the person's first day, as long as it ends within the
    whole weeks of tracking. Records are staypoints and triplegs, cut at midnight of their zone.
    """
    records = pd.concat([staypoints, triplegs], ignore_index=True)
    rows = []
    for person, own in records.groupby("user_id", sort=True):
        start, end = (own[name].dt.tz_localize(None).to_numpy("datetime64[us]")
                      for name in TIMES)  # fmt: skip
        days = int((end.max() - start.min()) // DAY)
        first = start.astype("datetime64[D]")
        last = np.maximum(first, (end - np.timedelta64(1, "us")).astype("datetime64[D]"))
        row, number = spread((last - first).astype(np.int64) + 1)
        day = first[row] + number
        whole = np.minimum(end[row], (day + DAY).astype(start.dtype))  # where each piece ends
        low = first.min() + np.arange(max(0, days // 7 - WEEKS + 1)) * 7 * DAY
        high = (low + WEEKS * 7 * DAY).astype(start.dtype)
        held = [((day >= a) & (whole < b)).any() for a, b in zip(low, high, strict=True)]
        rows.append((person, days, sum(held)))
    return pd.DataFrame(rows, columns=["user_id", "days", "windows"])


@dataclass(frozen=True)
class Tracks:
    """Where people stayed and when they moved, in UTC, and what could not be used."""

    staypoints: pd.DataFrame
    triplegs: pd.DataFrame
    people: pd.DataFrame  # by ``user_id``: ``n_fixes`` (kept) and ``n_staypoints``
    dropped: pd.Series  # fixes by reason


@dataclass(frozen=True)
class GpsResult:
    """The visits that came out, and what became of everything that went in."""

    visits: pd.DataFrame  # as of `pgt.visits.check`, with ``split``: the people who remain
    counts: pd.DataFrame  # a row per step: ``step``, ``n``, ``people`` (empty: nobody is counted)
    people: pd.DataFrame  # a row per person; ``left`` says why they are not in ``visits``
    staypoints: pd.DataFrame  # everybody's, with ``location_id``
    locations: pd.DataFrame


def fixes_to_visits(fixes: pd.DataFrame, **settings: Any) -> GpsResult:
    """Turn position fixes into visits by the protocol of Hong et al. (2023), and tell each step."""
    return tracks_to_visits(staypoints_and_triplegs(fixes), **settings)


def staypoints_and_triplegs(fixes: pd.DataFrame) -> Tracks:
    """Clean the fixes, find staypoints and triplegs."""
    clean, dropped = clean_fixes(fixes)
    stays = generate_staypoints(clean)
    everybody = plain_ids(plain_types(fixes[["user_id"]].dropna())).user_id.unique()
    people = clean.user_id.value_counts().reindex(sorted(everybody), fill_value=0)
    people = people.rename_axis("user_id").to_frame("n_fixes")
    people["n_staypoints"] = stays.user_id.value_counts().reindex(people.index, fill_value=0)
    legs = generate_triplegs(clean, stays)
    return Tracks(in_zone(stays, "UTC"), in_zone(legs, "UTC"), people, dropped)


def tracks_to_visits(
    tracks: Tracks, *, timezone: str = "UTC", haversine_order: HaversineOrder = "right"
) -> GpsResult:
    """Take the steps after the fixes, which are quick: other settings need no second reading.

    People stay who were tracked for more than 50 days, with a window of ten weeks
    (`tracking_quality`), and who have windows (`pgt.prepare`) in all three splits. The zone decides
    where days begin; published figures rest on "UTC" and "swapped".
    """
    stays, legs = (in_zone(t, timezone) for t in (tracks.staypoints, tracks.triplegs))
    tally = _Tally(tracks)
    tally.step("staypoints", stays)
    quality = tracking_quality(stays, legs).set_index("user_id")
    quality = quality.reindex(tally.people.index, fill_value=0)
    tally.leave(quality.days <= MIN_DAYS, f"tracked for {MIN_DAYS} days or less")
    tally.leave(quality.windows == 0, f"tracked for less than {WEEKS} weeks")
    tracked = tally.remaining(stays)
    tally.step("staypoints of people tracked long enough", tracked)
    lasting = tracked[tracked.finished_at - tracked.started_at > ACTIVITY]
    tally.step("staypoints of more than 25 minutes", lasting)
    found, places = generate_locations(lasting, haversine_order=haversine_order)
    here = found[found.location_id.notna()]
    tally.step("staypoints in locations", here)
    tally.leave(~tally.people.index.isin(here.user_id), "no location")
    tally.step("locations", places)
    table = split_by_days(check(merge_staypoints(here, places)))
    tally.step("visits", table)
    data = prepare(table)
    full = set.intersection(*(set(getattr(data, name).users) for name in SPLITS))
    tally.leave(~tally.people.index.isin(full), "no window in some split")
    final = tally.remaining(table)
    tally.step("visits of people with windows in every split", final)
    data = prepare(final)
    for name, n in data.counts().items():
        tally.steps.append((f"{name} windows", n, len(set(getattr(data, name).users))))
    counts = pd.DataFrame(tally.steps, columns=["step", "n", "people"]).astype({"people": "Int64"})
    key = ["user_id", "first_fix"]
    joined = stays.merge(found[[*key, "location_id"]], "left", key)
    return GpsResult(final, counts, tally.people.reset_index(), joined, places)


class _Tally:
    """The steps so far, and who has left at which."""

    def __init__(self, tracks: Tracks) -> None:
        people, dropped = tracks.people, tracks.dropped
        self.people = people.assign(left="")
        kept = int(people.n_fixes.sum())
        self.steps: list[tuple[str, int, int | None]] = [
            ("fixes read", kept + int(dropped.sum()), len(people)),
            *((f"dropped: {reason}", int(n), None) for reason, n in dropped.items() if n),
            ("fixes kept", kept, int((people.n_fixes > 0).sum())),
        ]
        self.leave(people.n_fixes == 0, "no fix that can be used")
        self.leave(people.n_staypoints == 0, "no staypoint")

    def step(self, name: str, table: pd.DataFrame) -> None:
        """Count the rows of a table, and the people if it says who."""
        people = table.user_id.nunique() if "user_id" in table.columns else None
        self.steps.append((name, len(table), people))

    def leave(self, who: Any, why: str) -> None:
        """Say why these people (a mask) are out, unless they already were."""
        self.people.loc[who & (self.people["left"] == ""), "left"] = why

    def remaining(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of those who are still in."""
        stay = self.people.index[self.people["left"] == ""]
        return table[table.user_id.isin(stay)].reset_index(drop=True)
