"""Ways through the simulated town: along its streets, as long as there is time for.

Distances are metres on a plane that touches the Earth in the middle of the map; over a town the
error is below one in a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from pgt.errors import DataError
from pgt.visits import EARTH_RADIUS

METRES_PER_DEGREE = EARTH_RADIUS * np.pi / 180
NEAR = 160.0  # street corners this near are joined even if no street is drawn between them
DETOUR = 1.4  # how much longer such a crossing is than it looks


class Plane:
    """Metres east and north of a point on the Earth.

    Examples
    --------
    >>> Plane(16.37, 48.2).metres([16.37], [48.3]).round()
    array([[    0., 11119.]])
    """

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
    """The streets of a city as a graph.

    Parameters
    ----------
    base : dict
        A city's map (`wherenext.city.simulation.City.base`).

    Attributes
    ----------
    plane : Plane
        In which the metres are meant.
    corners : ndarray
        (N, 2) metres, the points of the streets that one can walk to.
    """

    def __init__(self, base: dict[str, Any]) -> None:
        lines = [
            np.asarray(feature["geometry"]["coordinates"])
            for feature in base["features"]
            if feature["properties"]["kind"] == "street"
        ]
        if not lines:
            raise DataError("The map has no streets; use a city of wherenext.city.simulation.")
        points = np.concatenate(lines)
        self.plane = Plane(*points.mean(axis=0))
        corners, index = np.unique(points, axis=0, return_inverse=True)
        xy, index = self.plane.metres(*corners.T), index.ravel()
        ends = np.cumsum([len(line) for line in lines])
        inside = np.delete(np.arange(len(points) - 1), ends[:-1] - 1)
        drawn = np.stack([index[inside], index[inside + 1]])  # (2, E)
        near = cKDTree(xy).query_pairs(NEAR, output_type="ndarray").T
        pairs = np.concatenate([near, drawn], axis=1)
        length = np.hypot(*(xy[pairs[0]] - xy[pairs[1]]).T)
        length[: near.shape[1]] *= DETOUR
        # Of two ways between the same corners the shorter counts; equal points are one already.
        pairs.sort(axis=0)
        order = np.lexsort((length, *pairs))
        pairs, length = pairs[:, order], length[order]
        first = np.ones(len(length), dtype=bool)
        first[1:] = (np.diff(pairs) != 0).any(axis=0)
        graph = coo_matrix((length[first], pairs[:, first]), shape=(len(xy),) * 2).tocsr()
        _, part = connected_components(graph, directed=False)
        keep = np.flatnonzero(part == np.bincount(part).argmax())
        self.corners, self.graph = xy[keep], graph[keep][:, keep]
        self._from: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.corners)

    def _reach(self, corner: int) -> tuple[np.ndarray, np.ndarray]:
        """Metres from a corner to all others, and the corner before each on the way there."""
        if corner not in self._from:
            self._from[corner] = dijkstra(
                self.graph, directed=False, indices=corner, return_predecessors=True
            )
        return self._from[corner]

    def route(self, start: np.ndarray, end: np.ndarray, metres: Iterable[float] = ()) -> np.ndarray:
        """The shortest way between two points, or a longer one.

        Parameters
        ----------
        start, end : ndarray
            (2,) metres.
        metres : iterable of float
            Lengths that would do. The way has about the first of them that is not too short for
            it, by going round some corner; without any, it is the shortest.

        Returns
        -------
        ndarray
            (P, 2) metres, from ``start`` to ``end``.
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
