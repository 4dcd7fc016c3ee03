"""Raw positions of the simulated town's people, as bad as wanted, with the truth beside them.

Every imperfection of the receiver is one parameter with a stream of random numbers of its own, so
turning one of them leaves the others as they were, number by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from pgt.errors import DataError
from pgt.visits import EARTH_RADIUS, microseconds
from wherenext.city import City

SPEEDS = (1.4, 4.2, 9.0)  # metres a second: on foot, by bicycle, by bus or car
JUMP_MINUTES = 1.5  # how long a reflected signal lasts, on average
METRES_PER_DEGREE = EARTH_RADIUS * np.pi / 180
NEAR = 160.0  # street corners this near are joined even if no street is drawn between them
DETOUR = 1.4  # how much longer such a crossing is than it looks


class Plane:
    """Metres east and north of a point on the Earth; over a town they err by less than 0.1 %."""

    def __init__(self, lon: float, lat: float) -> None:
        self.origin = np.array([lon, lat])
        self.scale = METRES_PER_DEGREE * np.array([np.cos(np.radians(lat)), 1.0])

    def metres(self, lon: Any, lat: Any) -> np.ndarray:
        """(N, 2) metres of N positions in degrees."""
        return (np.stack([np.asarray(lon), np.asarray(lat)], axis=-1) - self.origin) * self.scale

    def degrees(self, xy: np.ndarray) -> np.ndarray:
        """(N, 2) longitude and latitude of N positions in metres."""
        return xy / self.scale + self.origin


class Streets:
    """The streets of a city's map as a graph; ``corners`` are (N, 2) metres on its ``plane``."""

    def __init__(self, base: dict[str, Any]) -> None:
        lines = [
            np.asarray(feature["geometry"]["coordinates"])
            for feature in base["features"]
            if feature["properties"]["kind"] == "street"
        ]
        points = np.concatenate(lines)
        self.plane = Plane(*points.mean(axis=0))
        corners, index = np.unique(points, axis=0, return_inverse=True)
        xy, index = self.plane.metres(*corners.T), index.ravel()
        ends = np.cumsum([len(line) for line in lines])
        inside = np.delete(np.arange(len(points) - 1), ends[:-1] - 1)
        edges = np.stack([index[inside], index[inside + 1]])  # (2, E)
        near = cKDTree(xy).query_pairs(NEAR, output_type="ndarray").T
        pairs = np.concatenate([near, edges], axis=1)
        length = np.hypot(*(xy[pairs[0]] - xy[pairs[1]]).T)
        length[: near.shape[1]] *= DETOUR
        # Of two ways between the same corners the shorter counts; equal points are one already.
        ways = pd.Series(length).groupby([*np.sort(pairs, axis=0)]).min()
        graph = coo_matrix((ways, [*zip(*ways.index, strict=True)]), shape=(len(xy),) * 2).tocsr()
        _, part = connected_components(graph, directed=False)
        keep = np.flatnonzero(part == np.bincount(part).argmax())
        self.corners, self.graph = xy[keep], graph[keep][:, keep]
        self._tree = cKDTree(self.corners)
        self._from: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _reach(self, corner: int) -> tuple[np.ndarray, np.ndarray]:
        """Metres from a corner to all others, and the corner before each on the way there."""
        if corner not in self._from:
            self._from[corner] = dijkstra(
                self.graph, directed=False, indices=corner, return_predecessors=True
            )
        return self._from[corner]

    def route(self, start: np.ndarray, end: np.ndarray, metres: Iterable[float] = ()) -> np.ndarray:
        """The shortest way between two points, (P, 2) metres, or a longer one round some corner.

        Its length is about the first of ``metres`` that is not too short.
        """
        here, there = self._tree.query(np.stack([start, end]))[1]
        from_here, back = self._reach(int(here))
        from_there, forth = self._reach(int(there))
        feet = np.hypot(*(start - self.corners[here])) + np.hypot(*(end - self.corners[there]))
        over = from_here + from_there  # (N,) from the one to the other over each corner
        via = int(there)
        for wanted in metres:
            if wanted >= over[via] + feet:
                via = int(np.abs(over + feet - wanted).argmin())
                break
        way = [*_steps(back, via)[::-1], *_steps(forth, via)[1:]]
        return np.concatenate([start[None], self.corners[way], end[None]])


def _steps(before: np.ndarray, corner: int) -> list[int]:
    """The corners from one back to where a search began."""
    way = [corner]
    while before[way[-1]] >= 0:
        way.append(int(before[way[-1]]))
    return way


def true_visits(city: City, people: Sequence[int], *, days: int | None = None) -> pd.DataFrame:
    """The rows of ``city.visits`` that `simulate_fixes` records, of all days or the first."""
    missing = sorted(set(people) - set(city.visits.user_id))
    if missing:
        raise DataError(f"There is no visit of person {missing[0]!r}; choose from city.people.")
    visits = city.visits[city.visits.user_id.isin(list(people))]
    if days is None:
        return visits
    day = visits.started_at.dt.normalize()
    first = day.groupby(visits.user_id).transform("min")
    return visits[day < first + pd.Timedelta(days=days)]


def simulate_fixes(
    city: City,
    people: Sequence[int],  # user_id; each has random numbers of their own
    *,
    days: int | None = None,  # calendar days from each person's first one on; all without
    seed: int = 7,
    every_s: int = 30,  # between two fixes, 1 to 3600
    noise_m: float = 5.0,  # standard deviation of the error east and that north
    noise_minutes: float = 5.0,  # ... which has faded to 1/e of itself then
    jumps_per_day: float = 2.0,  # reflected signals, which move the position for a while
    jump_m: float = 100.0,  # ... by a distance of this mean
    gaps_per_day: float = 1.0,  # how often in 24 hours the recorder goes off
    gap_minutes: float = 45.0,  # ... and for how long on average
    indoor_loss: float = 0.5,  # share of every stay without a fix: its middle
    off_after_minutes: float = 120.0,  # in longer pauses nothing is recorded
) -> pd.DataFrame:
    """Record where people of the simulated city were, with a receiver that is not perfect.

    Between visits people follow the streets, on foot if there is time for it, else by bicycle, bus
    or car; who has time to spare goes a longer way round. By person and time: ``user_id``,
    ``tracked_at`` (UTC), ``lon``, ``lat`` (degrees) and the truth, ``visit``: the row label in
    ``city.visits``, -1 on the way.
    """
    if not (1 <= every_s <= 3600 and every_s == int(every_s)):
        raise DataError(f"every_s={every_s:g} must be whole seconds between 1 and 3600.")
    visits = true_visits(city, people, days=days)
    streets, frames = _streets(city), []
    for user, own in visits.groupby("user_id", sort=True):
        at, xy, visit = _life(own, streets, int(every_s), 60 * off_after_minutes)
        drift, jump, gap = (np.random.default_rng([seed, int(user), kind]) for kind in range(3))
        minutes = every_s / 60
        xy += noise_m * _drift(drift, len(at), minutes, noise_minutes)
        xy += jump_m * _jumps(jump, len(at), minutes, jumps_per_day)
        begin, end = _seconds(own.started_at)[visit], _seconds(own.finished_at)[visit]
        silent: Any = np.abs(at - (begin + end) / 2) <= indoor_loss * (end - begin) / 2
        silent &= (visit >= 0) & (indoor_loss > 0)  # the middle of a stay
        heard = _last_start(gap, len(at), minutes, gaps_per_day, gap_minutes) < 0
        heard &= (visit >= -1) & ~silent
        lon, lat = streets.plane.degrees(xy[heard]).round(6).T
        label = np.append(own.index.to_numpy(), -1)  # the last for those on the way
        when = pd.to_datetime(at[heard], unit="s", utc=True).as_unit("us")
        columns = {"user_id": user, "tracked_at": when, "lon": lon, "lat": lat}
        frames.append(pd.DataFrame(columns | {"visit": label[visit[heard]]}))
    return pd.concat(frames, ignore_index=True)


_LAST: list[tuple[ref[City], Streets]] = []


def _streets(city: City) -> Streets:
    """A city's streets; those of the last city are remembered, with the ways searched so far."""
    if not _LAST or _LAST[0][0]() is not city:
        _LAST[:] = [(ref(city), Streets(city.base))]
    return _LAST[0][1]


def _seconds(times: pd.Series) -> np.ndarray:
    return microseconds(times) // 1_000_000


def _life(
    own: pd.DataFrame, streets: Streets, every: int, off_after: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True course: (N,) seconds, (N, 2) metres, visit (-1 on the way, -2 nothing is known)."""
    begin, end = _seconds(own.started_at), _seconds(own.finished_at)
    spot = streets.plane.metres(own.lon, own.lat)
    pause = begin[1:] - end[:-1]
    when, where = [], []
    for i in range(len(own)):
        when += [begin[i : i + 1], end[i : i + 1]]
        where += [spot[[i]], spot[[i]]]
        if i < len(pause) and 0 < pause[i] <= off_after:
            way = streets.route(spot[i], spot[i + 1], [speed * pause[i] for speed in SPEEDS])
            gone = np.concatenate([[0], np.hypot(*np.diff(way, axis=0).T).cumsum()])
            when.append(end[i] + pause[i] * gone / max(gone[-1], 1e-9))
            where.append(way)
    at = np.arange(-(-begin[0] // every) * every, end[-1] + 1, every)
    course, knots = np.concatenate(where), np.concatenate(when)
    xy = np.stack([np.interp(at, knots, axis) for axis in course.T], axis=1)
    visit = np.searchsorted(begin, at, side="right") - 1
    away = at > end[visit]
    known = np.append(pause <= off_after, False)
    return at, xy, np.where(away, np.where(known[visit], -1, -2), visit)


def _drift(rng: np.random.Generator, n: int, minutes: float, fades: float) -> np.ndarray:
    """(N, 2) errors of standard deviation 1 that fade to 1/e in ``fades`` minutes."""
    kept = float(np.exp(-minutes / fades)) if fades else 0.0
    shock = rng.standard_normal((n, 2))
    shock[1:] *= np.sqrt(1 - kept**2)  # the first error already has the full size
    return np.asarray(lfilter([1.0], [1.0, -kept], shock, axis=0))


def _last_start(
    rng: np.random.Generator, n: int, minutes: float, per_day: float, lasts: float
) -> np.ndarray:
    """(N,) the row at which the episode that covers a row began; -1 if none does."""
    chance, length = rng.random(n), rng.exponential(size=n)
    row = np.arange(n)
    starts = chance < per_day * minutes / (24 * 60)
    until = np.where(starts, row + length * lasts / minutes, -1.0)
    latest = np.maximum.accumulate(until)
    owner = np.maximum.accumulate(np.where(until >= latest, row, -1))
    return np.where(latest > row, owner, -1)


def _jumps(rng: np.random.Generator, n: int, minutes: float, per_day: float) -> np.ndarray:
    """(N, 2) shifts by distances of mean 1, zero between the jumps."""
    angle, far = rng.uniform(0, 2 * np.pi, n), rng.exponential(size=n)
    shift = (far * np.stack([np.cos(angle), np.sin(angle)])).T
    owner = _last_start(rng, n, minutes, per_day, JUMP_MINUTES)
    return np.where((owner >= 0)[:, None], shift[owner], 0.0)
