"""Density clusters on the sphere, in memory that grows like the points.

DBSCAN as libraries write it lists every point's neighbours: at a place with n staypoints, n² of
them. Here points share a cell of a grid whose diagonal is at most the radius, so all points of one
cell are neighbours, and of two cells it matters only whether some pair is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from pgt.gps.sphere import on_sphere

AT_ONCE = 1 << 20  # numbers in one array of pairs or neighbours
# Two cells' points can only be neighbours if no coordinate of the cells is further apart.
REACH = 2


def density_clusters(radians: np.ndarray, eps: float, min_samples: int) -> np.ndarray:
    """Cluster points by DBSCAN over great-circle distances.

    Parameters
    ----------
    radians : ndarray
        (S, 2) latitude and longitude.
    eps : float
        Radians: two points this near are neighbours.
    min_samples : int
        A point with at least so many neighbours, itself included, is a core point.

    Returns
    -------
    ndarray
        (S,) int64, numbered from 0 in the order of each cluster's first core point; -1: in none. A
        point near the core points of several clusters belongs to the first of them.

    Notes
    -----
    Ester et al. (1996); the grid is that of Gunawan (2013).

    Examples
    --------
    >>> density_clusters(np.array([[0, 0], [2, 0], [0, 0.5], [2.5, 0]]), 0.6, 2).tolist()
    [0, 1, 0, 1]
    """
    if not len(radians):
        return np.empty(0, dtype=np.int64)
    # Who stands at one position is counted, not repeated.
    spots, begins, spot, weight = np.unique(
        radians, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    spot = spot.ravel()
    # (P, 3); distances are along the chord from here on
    points = np.column_stack(on_sphere(*spots.T[::-1]))
    reach = 2 * np.sin(min(eps, np.pi) / 2)
    cells, cell = np.unique(
        np.floor(points * (1.0001 * 3**0.5 / reach)).astype(np.int64), axis=0, return_inverse=True
    )
    cell = cell.ravel()
    tree = cKDTree(points)
    core = np.bincount(cell, weight)[cell] >= min_samples
    sparse = np.flatnonzero(~core)
    for rows, near in _neighbours(tree, sparse, reach, min_samples):
        core[rows] = np.append(weight, 0)[near].sum(1) >= min_samples
    part = _connected(points, np.flatnonzero(core), cell, cells, reach)
    # Clusters by their first core point, which is a position's first point.
    first = np.full(part.max(initial=-1) + 1, len(radians))
    np.minimum.at(first, part[core], begins[core])
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    label = np.where(core, np.append(number, -1)[part], len(first))
    of_core = np.append(label, len(first))
    for rows, near in _neighbours(tree, np.flatnonzero(~core), reach, min_samples):
        label[rows] = of_core[near].min(1)
    return np.where(label == len(first), -1, label)[spot]


def _neighbours(
    tree: cKDTree, rows: np.ndarray, reach: float, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows, some at a time, with their ``most`` nearest points within reach, else ``tree.n``."""
    most = min(most, tree.n)
    for some in np.array_split(rows, len(rows) * most // AT_ONCE + 1):
        if len(some):
            _, near = tree.query(
                tree.data[some], k=np.arange(1, most + 1), distance_upper_bound=_just_over(reach)
            )
            yield some, near


def _just_over(reach: float) -> float:
    """A bound that lets the reach itself in."""
    return float(np.nextafter(reach, np.inf))


def _connected(
    points: np.ndarray, core: np.ndarray, cell: np.ndarray, cells: np.ndarray, reach: float
) -> np.ndarray:
    """(P,) the number of the connected part that each core point is in; -1 at other points."""
    order = core[np.argsort(cell[core], kind="stable")]  # core points, cell by cell
    used, start, size = np.unique(cell[order], return_index=True, return_counts=True)
    pairs = cKDTree(cells[used]).query_pairs(REACH, p=np.inf, output_type="ndarray")  # (Q, 2)
    spoke = points[order[start]]  # one point speaks for its cell
    near = _distance(spoke[pairs[:, 0]], spoke[pairs[:, 1]]) <= reach
    part = _parts(pairs[near], len(used))
    rest = pairs[~near]
    rest = rest[(part[rest[:, 0]] != part[rest[:, 1]]) & (size[rest].max(1) > 1)]
    found = [pairs[near]]
    for one, other in rest:
        mine, theirs = (points[order[start[i] : start[i] + size[i]]] for i in (one, other))
        if len(mine) > len(theirs):
            mine, theirs = theirs, mine
        away, _ = cKDTree(theirs).query(mine, distance_upper_bound=_just_over(reach))
        if np.isfinite(away).any():
            found.append(np.array([[one, other]]))
    part = _parts(np.concatenate(found), len(used))
    out = np.full(len(points), -1)
    out[order] = np.repeat(part, size)
    return out


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.sqrt(((one - other) ** 2).sum(1))


def _parts(pairs: np.ndarray, n: int) -> np.ndarray:
    """(n,) the connected part of each node."""
    links = coo_array((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), (n, n))
    return np.asarray(connected_components(links, directed=False)[1])
