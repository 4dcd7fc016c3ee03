"""Traps that lie before the visits: in how fixes became places, days and people.

Each way of making the visits gives other visits, so no two of these scores are on the same
windows; that is the trap.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.neighbors import BallTree

from lab import gps_protocol
from lab.reports import Row
from lab.traps import accuracy, row
from pgt.baselines import ContextKernel
from pgt.metrics import evaluate, gains, percentile_interval, resampled_means
from pgt.readers import gps
from pgt.visits import EARTH_RADIUS
from pgt.windows import Windows, prepare

REACH = 20.0  # metres, that of the clustering
# How the same fixes are turned into visits: as published, and with one or both errors put right.
WAYS: dict[str, dict[str, Any]] = {
    "as published": {"haversine_order": "swapped", "timezone": "UTC"},
    "coordinates right": {"haversine_order": "right", "timezone": "UTC"},
    "clock right": {"haversine_order": "swapped", "timezone": "Asia/Shanghai"},
    "both right": {"haversine_order": "right", "timezone": "Asia/Shanghai"},
}


def score(
    visits: pd.DataFrame, way: str
) -> Generator[Row, None, tuple[ContextKernel, pd.DataFrame]]:
    """What a benchmark on these visits would look like; returns its kernel and the ranks."""
    data = prepare(visits, protocol="exact")
    kernel = ContextKernel().fit(data.train).choose(data.valid)
    ranks = _ranked(kernel, data.test)
    yield row("kernel", 100 * float(gains(ranks)["acc@1"].mean()), way=way, n=len(ranks))
    yield row("most frequent", accuracy(data, "most_frequent")[0], way=way, n=len(ranks))
    yield row("target in the window", 100 * float(ranks.in_window.mean()), way=way, n=len(ranks))
    yield row("target seen in training", 100 * float(ranks.known.mean()), way=way, n=len(ranks))
    yield row("people", visits.user_id.nunique(), "people", way=way)
    yield row("visits", len(visits), "visits", way=way)
    yield row("places", visits.location_id.nunique(), "places", way=way)
    yield row("test windows", len(data.test), "windows", way=way)
    return kernel, ranks


def ways(fixes: dict[str, gps_protocol.GpsResult]) -> Iterator[Row]:
    """The same fixes, four times: swapped or right coordinates, UTC or local time."""
    for way, journey in fixes.items():
        yield from score(journey.visits, way)
    utc = fixes["as published"].visits
    local = utc.started_at.dt.tz_convert("Asia/Shanghai")
    moved = local.dt.date != utc.started_at.dt.date
    yield row("visits on another day by the local clock", 100 * float(moved.mean()), n=len(utc))
    for name, at in (("UTC", utc.started_at), ("local", local)):
        counts = np.bincount(at.dt.hour, minlength=24)
        for o_clock, n in enumerate(counts):
            yield row(f"visits begun, {name}", 100 * n / len(utc), hour=o_clock)


def refitted(journey: gps_protocol.GpsResult, *, growing: bool) -> pd.DataFrame:
    """The visits of a journey with places found while looking ahead as little as can be.

    Places are clustered from what people did in their training days. Later staypoints come one
    after the other, in order of time: each belongs to the place of the nearest staypoint within
    `REACH`; if that one has no place yet, the two found a new one. Nothing else looks ahead.
    """
    visits = journey.visits
    train_ends = visits[visits.split == "train"].groupby("user_id").started_at.max()
    stays = journey.staypoints[journey.staypoints.user_id.isin(train_ends.index)]
    early = stays.started_at.to_numpy() <= train_ends.reindex(stays.user_id).to_numpy()
    found, places = gps.generate_locations(
        stays[early].drop(columns="location_id"), haversine_order="swapped"
    )
    later = stays[~early].sort_values("started_at", kind="stable")
    made = _arrived(found, later, len(places), growing=growing, founding=True)
    return _visits(made, visits)


def _arrived(
    found: pd.DataFrame, later: pd.DataFrame, places: int, *, growing: bool, founding: bool
) -> pd.DataFrame:
    """Staypoints with places, and later ones that join the place of the nearest.

    ``founding``: where the nearest has no place yet, the two make a new one, so that an earlier
    staypoint gets its place from a later one.
    """
    together = pd.concat([found, later.assign(location_id=pd.NA)], ignore_index=True)
    label = together.location_id.fillna(-1).to_numpy(dtype=np.int64)
    fixed, new = len(found), places
    points = np.radians(together[["lon", "lat"]].to_numpy(dtype=float))
    tree = BallTree(points, metric="haversine")
    near, _ = tree.query_radius(
        points[fixed:], REACH / EARTH_RADIUS, return_distance=True, sort_results=True
    )
    for at, neighbours in enumerate(near, start=fixed):
        before = neighbours[neighbours < at]
        if not growing:
            # Later staypoints at places of the training days pass these on to nobody.
            before = before[(before < fixed) | (label[before] < 0) | (label[before] >= places)]
        if not len(before):
            continue
        labelled = before[label[before] >= 0]
        if len(labelled):
            label[at] = label[labelled[0]]
        elif founding:
            label[at] = label[before[0]] = new
            new += 1
    together["location_id"] = pd.array(label, dtype="Int64")
    return together[label >= 0]


def _ends(visits: pd.DataFrame) -> pd.DataFrame:
    """When each person's last visit of each split begins."""
    return visits.groupby(["user_id", "split"]).started_at.max().unstack()


def _visits(stays: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Visits of staypoints with places, cut at the same moments as other visits of these people."""
    made = gps.merge_staypoints(stays.sort_values(["user_id", "started_at"], ignore_index=True))
    last, at = _ends(like).reindex(made.user_id), made.started_at.to_numpy()
    parts = [at <= last[name].to_numpy() for name in ("train", "valid")]
    return made.assign(split=np.select(parts, ["train", "valid"], "test"))


def nightly(journey: gps_protocol.GpsResult, kernel: ContextKernel) -> Iterator[pd.DataFrame]:
    """Ranks of the test windows, day by day, with all places clustered anew in the night before.

    Every night sees all days before the coming one, of everybody, so that a new staypoint can join
    two places of the past into one. The coming day's staypoints belong to the place of the nearest
    earlier one. A staypoint near none has no place, so no target either: nobody could name it.
    """
    last = _ends(journey.visits)
    stays = journey.staypoints[journey.staypoints.user_id.isin(last.index)]
    stays = stays.drop(columns="location_id").sort_values("started_at", kind="stable")
    day = stays.started_at.dt.normalize()
    tested = stays.started_at.to_numpy() > last.valid.reindex(stays.user_id).to_numpy()
    for today in np.unique(day[tested]):
        people = stays.user_id[tested & (day == today)].unique()
        past, coming = stays[day < today], stays[day == today]
        found, places = gps.generate_locations(past, haversine_order="swapped")
        seen = _arrived(found, coming, len(places), growing=True, founding=False)
        mine = seen.user_id.isin(people)
        data = prepare(_visits(seen[mine], journey.visits), protocol="exact")
        begun = data.test.visits.started_at.iloc[data.test.target].dt.normalize() == today
        asked = data.test.subset(begun.to_numpy())
        if len(asked):
            yield _ranked(kernel.fit(data.train), asked)


def _ranked(kernel: ContextKernel, windows: Windows) -> pd.DataFrame:
    """Ranks with the person and the beginning of the target, by which other ways can be paired."""
    targets = windows.visits.iloc[windows.target][["user_id", "started_at"]]
    return evaluate(kernel, windows).assign(**{name: targets[name].array for name in targets})


def same_targets(ranks: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Several ways on the same targets, each minus the first, people resampled.

    Twice: on the targets that all ways have, and on those that all but the last have, where the
    last way has missed whatever is no target of its own.
    """
    keys = ["user_id", "started_at"]
    hits = pd.concat(
        {way: 100 * gains(table).set_index([table[key] for key in keys])["acc@1"]
         for way, table in ranks.items()}, axis=1,
    )  # fmt: skip
    *others, last = hits
    every = hits.dropna(subset=others)
    for what, table in (("shared", every.dropna()), ("all", every.fillna({last: 0.0}))):
        users = table.index.get_level_values("user_id")
        for way in hits:
            yield row(f"kernel, {what} targets", table[way].mean(), way=way, n=len(table))
            if way == others[0]:
                continue
            less = (table[way] - table[others[0]]).to_numpy()
            low, high = percentile_interval(resampled_means(less[None], users))
            yield row(f"kernel, {what} targets, minus all days", less.mean(), "points", way=way,
                      low=float(low), high=float(high), n=len(table))  # fmt: skip


def alone(journey: gps_protocol.GpsResult) -> pd.DataFrame:
    """The journey's visits with places clustered, from all days, among its last people only.

    The published pipeline clusters everybody's staypoints, also those of people whom it leaves
    out afterwards, which joins some places. Without them the three ways differ in time alone.
    """
    people = journey.visits.groupby("user_id").size().index
    stays = journey.staypoints[journey.staypoints.user_id.isin(people)]
    found, _ = gps.generate_locations(stays.drop(columns="location_id"), haversine_order="swapped")
    return _visits(found[found.location_id.notna()], journey.visits)


def clusters(journey: gps_protocol.GpsResult) -> Iterator[Row]:
    """Places clustered from all days, from training days, as the days come, and every night."""
    made = {
        "all days": alone(journey),
        "as the days come": refitted(journey, growing=True),
        "training days only": refitted(journey, growing=False),
    }
    ranks, kernels = {}, {}
    for way, visits in made.items():
        kernels[way], ranks[way] = yield from score(visits, way)
    every = pd.concat(nightly(journey, kernels["as the days come"]))
    yield from same_targets(ranks | {"anew every night": every})
