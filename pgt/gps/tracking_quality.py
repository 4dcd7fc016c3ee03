"""Tracking quality: how long, and how much of the time, a person was tracked.

A person counts as tracked during staypoints and during *triplegs*, the movements between them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.gps.cleaning import FIX_COLUMNS, require_fixes
from pgt.units import microseconds
from pgt.visits import spread

DAY = np.timedelta64(1, "D")
WEEK = 7 * DAY


def generate_triplegs(
    fixes: pd.DataFrame, staypoints: pd.DataFrame, *, gap_minutes: float = 15.0
) -> pd.DataFrame:
    """Find the movements between staypoints.

    A tripleg is a run of at least two of a person's fixes outside staypoints, not all at one
    position, without a silence longer than ``gap_minutes``.

    Parameters
    ----------
    fixes, staypoints : DataFrame
        As `pgt.gps.cleaning.clean_fixes` and `pgt.gps.staypoints.generate_staypoints` return them,
        the one from the other.
    gap_minutes : float
        The longest silence within a tripleg.

    Returns
    -------
    DataFrame
        ``user_id``, ``started_at``, ``finished_at``, ``n_fixes``.

    Notes
    -----
    trackintel's ``generate_triplegs(method="between_staypoints")``. Since a silence or a staypoint
    lies between any two of them, each is also what its ``generate_trips`` calls a trip, as long
    as every staypoint is an activity.
    """
    require_fixes(fixes)
    n = len(fixes)
    first = staypoints.first_fix.to_numpy()
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


def tracking_quality(
    staypoints: pd.DataFrame, triplegs: pd.DataFrame, *, weeks: int = 10
) -> pd.DataFrame:
    """Measure, per person, the days tracked and the share of the time covered.

    A window of ``weeks`` slides in steps of a week from the person's first day, as long as it
    ends within the whole weeks of tracking. Its quality is the time that staypoints and triplegs,
    cut at midnight, cover in it; windows without any are left out.

    Parameters
    ----------
    staypoints, triplegs : DataFrame
        Days and midnights are those of their time zone.
    weeks : int
        Length of a window.

    Returns
    -------
    DataFrame
        ``user_id``, ``days`` (whole days from first to last), ``windows`` (their number),
        ``quality`` (their mean, 0 to 1 unless records overlap; NaN without a window).

    Notes
    -----
    The user filter of Hong et al. (2023) demands more than 50 days *and* at least one window:
    with ten weeks a window, in effect 70 days.
    """
    if weeks < 1:
        raise DataError(f"weeks={weeks} must be at least 1.")
    names = [FIX_COLUMNS[0], "started_at", "finished_at"]
    parts = [part[names] for part in (staypoints, triplegs) if len(part)]
    if not parts:
        return pd.DataFrame({"user_id": [], "days": [], "windows": [], "quality": []})
    records = pd.concat(parts, ignore_index=True)
    wall = {
        name: records[name].dt.tz_localize(None).to_numpy("datetime64[us]") for name in names[1:]
    }
    rows = []
    for person, at in records.groupby("user_id", sort=True).indices.items():
        start, end = wall["started_at"][at], wall["finished_at"][at]
        days = int((end.max() - start.min()) // DAY)
        shares = _shares(start, end, weeks, days // 7)
        rows.append((person, days, len(shares), np.mean(shares) if shares else np.nan))
    return pd.DataFrame(rows, columns=["user_id", "days", "windows", "quality"])


def _shares(start: np.ndarray, end: np.ndarray, weeks: int, tracked_weeks: int) -> list[float]:
    """The covered share of each sliding window that holds a record."""
    start, end = _cut_at_midnight(start, end)
    first_day = start.min().astype("datetime64[D]").astype(start.dtype)
    shares = []
    for i in range(tracked_weeks - weeks + 1):
        low = first_day + i * WEEK
        high = low + weeks * WEEK
        inside = (start >= low) & (end < high)
        if inside.any():
            shares.append(float((end - start)[inside].sum() / (high - low)))
    return shares


def _cut_at_midnight(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut records into pieces that lie within one day."""
    first = start.astype("datetime64[D]")
    last = np.maximum(first, (end - np.timedelta64(1, "us")).astype("datetime64[D]"))
    pieces = (last - first).astype(np.int64) + 1
    row, number = spread(pieces)
    day = (first[row] + number).astype(start.dtype)
    return np.maximum(start[row], day), np.minimum(end[row], day + DAY)
