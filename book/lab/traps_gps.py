"""Traps that lie before the visits: in how fixes became places, days and people.

Each way of making the visits gives other visits, so no two of these scores are on the same
windows; that is the trap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.neighbors import BallTree

from lab.traps import Row, accuracy, row
from pgt import gps
from pgt.units import EARTH_RADIUS
from pgt.visits import local_minute
from pgt.windows import prepare

# How the same fixes are turned into visits: as published, and with one or both errors put right.
WAYS: dict[str, dict[str, Any]] = {
    "as published": {"haversine_order": "swapped", "timezone": "UTC"},
    "coordinates right": {"haversine_order": "right", "timezone": "UTC"},
    "clock right": {"haversine_order": "swapped", "timezone": "Asia/Shanghai"},
    "both right": {"haversine_order": "right", "timezone": "Asia/Shanghai"},
}
NIGHT = (22, 6)  # o'clock, local


def score(visits: pd.DataFrame, way: str) -> Iterator[Row]:
    """What a benchmark on these visits would look like."""
    data = prepare(visits, protocol="exact")
    value, ranks = accuracy(data)
    yield row("kernel", value, way=way, n=len(ranks))
    yield row("most frequent", accuracy(data, "most_frequent")[0], way=way, n=len(ranks))
    yield row("target in the window", 100 * float(ranks.in_window.mean()), way=way, n=len(ranks))
    yield row("target seen in training", 100 * float(ranks.known.mean()), way=way, n=len(ranks))
    yield row("people", visits.user_id.nunique(), "people", way=way)
    yield row("visits", len(visits), "visits", way=way)
    yield row("places", visits.location_id.nunique(), "places", way=way)
    for name, n in data.counts().items():
        yield row(f"{name} windows", n, "windows", way=way)


def ways(fixes: dict[str, gps.GpsResult]) -> Iterator[Row]:
    """The same fixes, four times: swapped or right coordinates, UTC or local time."""
    for way, journey in fixes.items():
        yield from score(journey.visits, way)
    utc = fixes["as published"].visits
    local = utc.started_at.dt.tz_convert("Asia/Shanghai")
    moved = (
        local.dt.tz_localize(None).dt.normalize()
        != utc.started_at.dt.tz_localize(None).dt.normalize()
    )
    yield row("visits on another day by the local clock", 100 * float(moved.mean()), n=len(utc))
    for name, at in (("UTC", utc.started_at), ("local", local)):
        hour = at.dt.hour
        night = (hour >= NIGHT[0]) | (hour < NIGHT[1])
        yield row(f"visits that begin at night, {name}", 100 * float(night.mean()), n=len(utc))
        counts = np.bincount(local_minute(at) // 60, minlength=24)
        for o_clock, n in enumerate(counts):
            yield row(f"visits begun, {name}", 100 * n / len(utc), hour=o_clock)


def refitted(
    journey: gps.GpsResult, *, growing: bool, eps: float = 20.0, min_samples: int = 2
) -> pd.DataFrame:
    """The visits of a journey with places found without looking ahead.

    Places are clustered from what people did in their training days. Later staypoints come one
    after the other, in order of time: each belongs to the place of the nearest staypoint within
    ``eps``; if that one has no place yet, the two found a new one.

    Parameters
    ----------
    journey : GpsResult
        Made with swapped coordinates, as published: only one thing may differ.
    growing : bool
        Whether later staypoints let a place grow, as DBSCAN would; otherwise a place stays what
        it was in training, and only new places are founded.

    Returns
    -------
    DataFrame
        Visits with the ``split`` of the journey's.
    """
    visits = journey.visits
    train_ends = visits[visits.split == "train"].groupby("user_id").started_at.max()
    stays = journey.staypoints[journey.staypoints.user_id.isin(train_ends.index)]
    early = stays.started_at.to_numpy() <= train_ends.reindex(stays.user_id).to_numpy()
    found, places = gps.generate_locations(
        stays[early].drop(columns="location_id"), eps=eps, min_samples=min_samples,
        haversine_order="swapped",
    )  # fmt: skip
    later = stays[~early].sort_values("started_at", kind="stable")
    together = pd.concat([found, later.assign(location_id=pd.NA)], ignore_index=True)
    label = together.location_id.fillna(-1).to_numpy(dtype=np.int64)
    fixed = len(found)
    points = np.radians(together[["lon", "lat"]].to_numpy(dtype=float))
    tree = BallTree(points, metric="haversine")
    near, _ = tree.query_radius(
        points[fixed:], eps / EARTH_RADIUS, return_distance=True, sort_results=True
    )
    new = len(places)
    for at, neighbours in enumerate(near, start=fixed):
        before = neighbours[neighbours < at]
        if not growing:
            # Later staypoints at places of the training days pass these on to nobody.
            before = before[(before < fixed) | (label[before] < 0) | (label[before] >= len(places))]
        if not len(before):
            continue
        labelled = before[label[before] >= 0]
        if len(labelled):
            label[at] = label[labelled[0]]
        else:
            label[at] = label[before[0]] = new
            new += 1
    together["location_id"] = pd.array(label, dtype="Int64")
    kept = together[label >= 0].sort_values(["user_id", "started_at"], ignore_index=True)
    made = gps.merge_staypoints(kept)
    return _with_split(made, visits)


def alone(journey: gps.GpsResult) -> pd.DataFrame:
    """The journey's visits with places clustered, from all days, among its last people only.

    The published pipeline clusters everybody's staypoints, also those of people whom it leaves
    out afterwards, which joins some places. Without them the three ways differ in time alone.
    """
    people = journey.visits.groupby("user_id").size().index
    stays = journey.staypoints[journey.staypoints.user_id.isin(people)]
    found, _ = gps.generate_locations(stays.drop(columns="location_id"), haversine_order="swapped")
    made = gps.merge_staypoints(found[found.location_id.notna()])
    return _with_split(made, journey.visits)


def _with_split(made: pd.DataFrame, visits: pd.DataFrame) -> pd.DataFrame:
    """Cut each person's visits at the same moments as other visits of theirs."""
    ends = visits.groupby(["user_id", "split"]).started_at.max().unstack().reindex(made.user_id)
    at = made.started_at.to_numpy()
    parts = [at <= ends[name].to_numpy() for name in ("train", "valid")]
    return made.assign(split=np.select(parts, ["train", "valid"], "test"))


def clusters(journey: gps.GpsResult) -> Iterator[Row]:
    """Places clustered from all days, from the training days only, or as the days come."""
    yield from score(alone(journey), "all days")
    yield from score(refitted(journey, growing=True), "as the days come")
    yield from score(refitted(journey, growing=False), "training days only")
