"""What the way from fixes to visits does to real recordings, for chapter 2.

No person, place or moment can be recognized in it: every count stands for all people together, and
a class to which fewer than `FEWEST` people contribute is joined with its neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lab import gps_protocol
from lab.data_sets import from_environment
from lab.reports import Report, Row
from pgt import gps
from pgt.datasets import read_fixes
from pgt.gps import FIXES, HaversineOrder
from pgt.visits import EARTH_RADIUS, microseconds

FEWEST = 5  # people who must contribute to a class before it is shown
ZONES = ("UTC", "Asia/Shanghai")
ORDERS: tuple[HaversineOrder, ...] = ("swapped", "right")
DISTANCES, MINUTES = (50.0, 100.0, 200.0, 400.0), (10.0, 20.0, 30.0, 60.0)
EPS = (5.0, 10.0, 20.0, 40.0, 80.0)
# Lower edges of the classes; the last is open.
CLASSES: dict[str, tuple[float, ...]] = {
    "seconds between fixes": (0, 2, 5, 10, 60, 600, 3600, 86_400),
    "minutes of a staypoint": (30, 60, 120, 240, 480, 960, 1440),
    "longest silence in a staypoint, minutes": (0, 1, 10, 60, 240, 720),
    "metres between two middles of a staypoint": (0, 2, 5, 10, 20, 50),
    "locations of a person": (0, 5, 20, 50, 100),
}


@dataclass
class Tally:
    """Counts by class and person, collected one person's fixes at a time."""

    parts: dict[str, list[pd.Series]] = field(default_factory=dict)
    found: dict[tuple[float, float], int] = field(default_factory=dict)
    silent: float = 0.0  # hours of staypoints in silences of more than an hour
    stayed: float = 0.0  # hours of staypoints

    def add(self, what: str, user: Any, values: np.ndarray) -> None:
        """Count one person's values by class."""
        counts, _ = np.histogram(values, [*CLASSES[what], np.inf])
        self.parts.setdefault(what, []).append(pd.Series(counts, name=user))

    def look(self, user: Any, fixes: pd.DataFrame) -> None:
        """Count what one person's clean fixes show."""
        at = microseconds(fixes.tracked_at) / 1e6
        self.add("seconds between fixes", user, np.diff(at))
        settings = [(metres, 30.0) for metres in DISTANCES]
        settings += [(200.0, minutes) for minutes in MINUTES if minutes != 30]
        for one in settings:
            stays = gps.generate_staypoints(fixes, distance=one[0], minutes=one[1])
            self.found[one] = self.found.get(one, 0) + len(stays)
            if one == (200.0, 30.0):
                self._stays(user, fixes, at, stays)

    def _stays(self, user: Any, fixes: pd.DataFrame, at: np.ndarray, stays: pd.DataFrame) -> None:
        lasts = (stays.finished_at - stays.started_at).dt.total_seconds().to_numpy()
        self.add("minutes of a staypoint", user, lasts / 60)
        longest, apart = [], []
        position = np.radians(fixes[["lon", "lat"]].to_numpy(dtype=float))
        for stay in stays.itertuples():
            stop = stay.first_fix + stay.n_fixes
            pauses = np.diff(at[stay.first_fix : stop + 1])  # the fix that ends it included
            longest.append(pauses.max(initial=0.0) / 60)
            self.silent += pauses[pauses > 3600].sum() / 3600
            east, north = position[stay.first_fix : stop].mean(axis=0) - np.radians(
                [stay.lon, stay.lat]
            )
            apart.append(EARTH_RADIUS * np.hypot(east * np.cos(np.radians(stay.lat)), north))
        self.stayed += lasts.sum() / 3600
        self.add("longest silence in a staypoint, minutes", user, np.array(longest))
        self.add("metres between two middles of a staypoint", user, np.array(apart))

    def rows(self) -> Iterator[Row]:
        """The histograms, and the staypoints by setting."""
        for what, parts in self.parts.items():
            yield from histogram(what, pd.concat(parts, axis=1).T)
        for (metres, minutes), n in self.found.items():
            yield {"table": "staypoints", "distance": metres, "minutes": minutes, "n": n}
        share = 100 * self.silent / self.stayed if self.stayed else float("nan")
        yield {"table": "silence", "what": "staypoint hours in silences above an hour, %",
               "value": share}  # fmt: skip


def histogram(what: str, counts: pd.DataFrame) -> Iterator[Row]:
    """One row a class, of (people, classes) counts; classes of few people are joined."""
    groups: list[list[int]] = []
    for k in range(counts.shape[1]):
        if groups and _people(counts, groups[-1]) < FEWEST:
            groups[-1].append(k)
        else:
            groups.append([k])
    while len(groups) > 1 and _people(counts, groups[-1]) < FEWEST:
        last = groups.pop()
        groups[-1] += last
    edges: list[float | None] = [*CLASSES[what], None]
    for group in groups:
        n, people = int(counts.iloc[:, group].to_numpy().sum()), _people(counts, group)
        if people < FEWEST:  # fewer people than that in all
            n = people = 0
        yield {"table": "histogram", "what": what, "low": edges[group[0]],
               "high": edges[group[-1] + 1], "n": n, "people": people}  # fmt: skip


def _people(counts: pd.DataFrame, classes: Sequence[int]) -> int:
    return int((counts.iloc[:, list(classes)].sum(axis=1) > 0).sum())


def measured(fixes: pd.DataFrame) -> Iterator[Row]:
    """All rows, from position fixes."""
    tally = Tally()
    for user, own in gps.clean_fixes(fixes)[0].groupby("user_id"):
        tally.look(user, own.reset_index(drop=True))
    tracks = gps_protocol.staypoints_and_triplegs(fixes)
    yield from tally.rows()
    for zone in ZONES:
        for order in ORDERS:
            journey = gps_protocol.tracks_to_visits(tracks, timezone=zone, haversine_order=order)
            about = {"table": "steps", "timezone": zone, "haversine_order": order}
            for step in journey.counts.itertuples():
                people = None if pd.isna(step.people) else int(step.people)
                yield about | {"step": step.step, "n": int(step.n), "people": people}
            if zone == ZONES[0]:
                yield from _of_places(journey, order)


def _of_places(journey: gps_protocol.GpsResult, order: HaversineOrder) -> Iterator[Row]:
    """Locations by person, and how many there are with another eps."""
    long_enough = journey.people.user_id[~journey.people["left"].str.startswith("tracked")]
    stays = journey.staypoints[journey.staypoints.user_id.isin(long_enough)]
    at = stays[stays.location_id.notna()].groupby("user_id").location_id.nunique()
    edges = np.array(CLASSES["locations of a person"])
    inside = np.searchsorted(edges, at.to_numpy(), side="right") - 1
    counts = pd.DataFrame(np.eye(len(edges), dtype=int)[inside], index=at.index)
    for row in histogram("locations of a person", counts):
        yield row | {"haversine_order": order}
    for eps in EPS:
        found, places = gps.generate_locations(
            stays.drop(columns="location_id"), eps=eps, haversine_order=order
        )
        yield {"table": "locations", "haversine_order": order, "eps": eps, "n": len(places),
               "people": int(found.user_id[found.location_id.notna()].nunique()),
               "value": 100 * float(found.location_id.notna().mean())}  # fmt: skip


def _rows() -> Iterator[Row]:
    yield from measured(read_fixes(from_environment(FIXES)))


def _data(rows: list[Row]) -> list[Row]:
    steps: dict[str, int] = {}
    for row in rows:
        if row["table"] == "steps" and row["timezone"] == ZONES[0]:
            steps.setdefault(row["step"], row["n"])
    windows = {split: steps[f"{split} windows"] for split in ("train", "valid", "test")}
    return [{"name": "geolife fixes", "fixes": steps["fixes read"], "windows": windows}]


REPORT = Report(
    question="What becomes of GeoLife's position fixes on the way to visits?",
    rows=_rows,
    data=_data,
)
