"""Staypoints: where a person stopped, out of the positions that a receiver recorded.

A *position fix* is one measured position at one moment. A *staypoint* is a stretch of fixes that
stay near the first of them for long enough; it ends with the first fix that is far away. The rule
is that of Li et al. (2008), in the form of trackintel's ``generate_staypoints``: with the same
settings it gives the same staypoints.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.gps.cleaning import require_fixes
from pgt.gps.sphere import on_sphere
from pgt.units import EARTH_RADIUS, microseconds
from pgt.visits import LIMITS, first_row


def generate_staypoints(
    fixes: pd.DataFrame,
    *,
    distance: float = 200.0,
    minutes: float = 30.0,
    gap_minutes: float = 24 * 60,
    include_last: bool = True,
) -> pd.DataFrame:
    """Find where each person stayed.

    From a first fix on, the fixes nearer to it than ``distance`` belong together. The first one
    that is not ends them: after at least ``minutes`` they are a staypoint, else they are dropped;
    either way that fix is the next first one. A recording gap longer than ``gap_minutes`` also
    starts anew, and what was open before it is no staypoint.

    Parameters
    ----------
    fixes : DataFrame
        As `pgt.gps.cleaning.clean_fixes` returns them.
    distance : float
        Metres, along the great circle.
    minutes : float
        From the first fix to the one that ends the staypoint.
    gap_minutes : float
        The longest silence between two fixes that a staypoint may span.
    include_last : bool
        Whether a stay that is still open at a person's last fix counts.

    Returns
    -------
    DataFrame
        ``user_id``, ``started_at``, ``finished_at`` (when the person was first seen elsewhere),
        ``lon``, ``lat`` (the mean of the *different* positions, in degrees), ``n_fixes``,
        ``first_fix`` (row of ``fixes``; the staypoint's fixes are the ``n_fixes`` rows from there).

    Raises
    ------
    DataError
        The fixes are not clean, or a setting makes no sense.

    Notes
    -----
    Li, Zheng, Xie, Chen, Liu and Ma (2008), "Mining user similarity based on location history",
    with the settings of Hong et al. (2023) as defaults.

    Examples
    --------
    An hour at one place, then a step of about a kilometre:

    >>> fixes = pd.DataFrame({"user_id": 1, "lon": 116.3, "lat": [39.90, 39.90, 39.91],
    ...     "tracked_at": pd.to_datetime([1_200_000_000, 1_200_001_800, 1_200_003_600],
    ...                                  unit="s", utc=True)})
    >>> generate_staypoints(fixes)[["lat", "n_fixes"]].values.tolist()
    [[39.9, 2.0]]
    """
    if not (distance > 0 and minutes > 0 and gap_minutes > 0):
        raise DataError(
            f"distance={distance:g}, minutes={minutes:g} and gap_minutes={gap_minutes:g} must all "
            "be above 0."
        )
    require_fixes(fixes)
    at = fixes.tracked_at
    lon, lat = fixes.lon.to_numpy(dtype=float), fixes.lat.to_numpy(dtype=float)
    known = ~(fixes.user_id.isna() | at.isna()).to_numpy()
    bad = ~(known & (np.abs(lat) <= LIMITS["lat"]) & (np.abs(lon) <= LIMITS["lon"]))
    if bad.any():
        raise DataError(
            f"A fix without user, time or a position on Earth stands in "
            f"{first_row(pd.Series(bad, index=fixes.index))}; pgt.gps.clean_fixes(fixes) "
            "counts and drops such fixes."
        )
    micro = microseconds(at)
    user, _ = pd.factorize(fixes.user_id)
    turn = np.flatnonzero(np.diff(user)) + 1
    bounds = [0, *turn.tolist(), len(fixes)] if len(fixes) else [0]
    if len(np.unique(user)) < len(bounds) - 1 or (np.delete(np.diff(micro), turn - 1) < 0).any():
        raise DataError(
            "The fixes are not sorted by user and time; pgt.gps.clean_fixes(fixes) sorts them."
        )
    shortest, last, found = round(minutes * 60e6), set(bounds), []
    cuts = np.flatnonzero(np.diff(micro) > gap_minutes * 60e6) + 1
    for low, high in pairwise(sorted({*bounds, *cuts.tolist()})):
        start = low
        for i in _departures(lon[low:high], lat[low:high], distance):
            if micro[low + i] - micro[start] >= shortest:
                found.append((start, low + i, low + i))
            start = low + i
        if include_last and high in last and micro[high - 1] - micro[start] >= shortest:
            found.append((start, high, high - 1))
    # A staypoint's first fix, the one behind its last, and the one that ends it.
    first, stop, end = np.array(found, dtype=np.int64).reshape(-1, 3).T
    middle = np.array([_middle(lon[a:b], lat[a:b]) for a, b in zip(first, stop, strict=True)])
    middle = middle.reshape(-1, 2)
    return pd.DataFrame(
        {
            "user_id": fixes.user_id.to_numpy()[first],
            "started_at": at.iloc[first].array,
            "finished_at": at.iloc[end].array,
            "lon": middle[:, 0],
            "lat": middle[:, 1],
            "n_fixes": stop - first,
            "first_fix": first,
        }
    ).astype({"user_id": fixes.user_id.dtype})


def _departures(lon: np.ndarray, lat: np.ndarray, distance: float) -> Iterator[int]:
    """Go from fix to fix and name each that is ``distance`` or more from the last one named.

    Most fixes need no look: who is d metres away from somewhere cannot be ``distance`` away from
    it before having gone the missing metres. So from each fix looked at, the next one is found by
    bisection in the length of the path. On the unit sphere, a great circle of d metres has the
    chord 2 sin(d / 2R); chords, too, obey the triangle inequality.
    """
    reach = float(2 * np.sin(min(distance / (2 * EARTH_RADIUS), np.pi / 2)))
    points = on_sphere(np.radians(lon), np.radians(lat))
    path = np.zeros(len(lon))
    np.cumsum(np.sqrt(sum(np.diff(axis) ** 2 for axis in points)), out=path[1:])
    # Through a memoryview single numbers are read faster than from an array, without a copy.
    views: list[Any] = [memoryview(axis) for axis in (*points, path)]  # type: ignore[arg-type]
    xs, ys, zs, gone = views
    # More than all rounding in the sum, so that none can jump over a departure.
    slack = 4 * len(gone) * np.finfo(float).eps * max(1.0, gone[-1])
    x0, y0, z0 = xs[0], ys[0], zs[0]
    i, missing = 0, reach
    while True:
        i = bisect_left(gone, gone[i] + missing - slack, i + 1)
        if i >= len(gone):
            return
        dx, dy, dz = xs[i] - x0, ys[i] - y0, zs[i] - z0
        away = dx * dx + dy * dy + dz * dz
        if away >= reach * reach:
            x0, y0, z0 = xs[i], ys[i], zs[i]
            missing = reach
            yield i
        else:
            missing = reach - away**0.5


def _middle(lon: np.ndarray, lat: np.ndarray) -> tuple[float, float]:
    """The mean of the different positions; longitudes as angles, for those on both sides of 180."""
    order = np.lexsort((lat, lon))
    lon, lat = lon[order], lat[order]
    new = np.ones(len(lon), dtype=bool)
    new[1:] = (np.diff(lon) != 0) | (np.diff(lat) != 0)
    east = np.radians(lon[new])
    mean = np.degrees(np.arctan2(np.sin(east).mean(), np.cos(east).mean()))
    return float(mean), float(lat[new].mean())
