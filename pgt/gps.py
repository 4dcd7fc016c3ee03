"""From position fixes to visits: clean, staypoints, locations, merged visits.

A *position fix* is one measured position at one moment. A *staypoint* is a stretch of fixes that
stay near the first of them for long enough. Staypoints that lie together are one *location*, and
staypoints in a row at one location are one *visit*. The functions have trackintel's names, and give
what trackintel gives. `visits` goes the whole way for anybody's fixes, `fixes_to_visits` by the
protocol of Hong et al. (2023), step by step and with people left out as there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import signature
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN

from pgt.datasets import by_local_clocks
from pgt.errors import DataError, note
from pgt.plausibility import note_doubts
from pgt.visits import (
    EARTH_RADIUS,
    LIMITS,
    SPLITS,
    check,
    first_row,
    microseconds,
    person_rows,
    plain_types,
    split_by_days,
    spread,
)  # fmt: skip
from pgt.windows import prepare

# The environment variable that names a folder of GeoLife's position fixes as Parquet files.
FIXES = "PGT_GEOLIFE_FIXES"
FIX_COLUMNS = ("user_id", "tracked_at", "lon", "lat")
STAY_COLUMNS = ("user_id", "started_at", "finished_at", "lon", "lat")
# Satellite navigation for everybody began in May 2000; a time before is an unset clock.
EARLIEST = pd.Timestamp("2001-01-01", tz="UTC")
# Worse fixes are kept out: metres (a stay is 200 m wide), and a dilution that is called poor.
MAX_ACCURACY, MAX_HDOP = 200.0, 20.0
LEAP = 50.0  # metres a second, there and back
DAY = np.timedelta64(1, "D")
HaversineOrder = Literal["right", "swapped"]


# --- clean -------------------------------------------------------------------------------------


def clean_fixes(
    fixes: pd.DataFrame, *, now: pd.Timestamp | None = None, leaps: bool = False
) -> tuple[pd.DataFrame, pd.Series]:
    """Keep the fixes that can be used, in order, and count the others by reason.

    Parameters
    ----------
    fixes : DataFrame
        ``user_id``, ``tracked_at`` (times with a zone), ``lon``, ``lat`` (degrees), in any order;
        other columns are kept. What ``accuracy`` (metres), ``hdop`` and ``valid`` say of a fix
        counts, unless they would keep out more than half.
    now : Timestamp, optional
        Times after this moment are "in the future" (default: the present).
    leaps : bool
        Keep out positions at 0/0, and lone leaps: far away and back at once.

    Returns
    -------
    fixes : DataFrame
        Sorted by user and time (fixes of one moment stay in their order), numbered from 0.
    dropped : Series
        One count per reason; a fix with several faults counts under the first.

    Raises
    ------
    DataError
        A column is missing or of the wrong kind.

    Examples
    --------
    >>> fixes = pd.DataFrame({"user_id": 1, "lon": 116.3, "lat": [39.9, 400.2],
    ...     "tracked_at": pd.to_datetime([1_200_000_060, 1_200_000_000], unit="s", utc=True)})
    >>> good, dropped = clean_fixes(fixes)
    >>> len(good), dropped[dropped > 0].to_dict()
    (1, {'latitude beyond ±90': 1})
    """
    fixes = _require_fixes(fixes)
    now = pd.Timestamp.now(tz="UTC") if now is None else now
    lon, lat = (fixes[name].to_numpy(dtype=float, na_value=np.nan) for name in ("lon", "lat"))
    faults = {
        "no user": fixes.user_id.isna().to_numpy(),
        "no time": fixes.tracked_at.isna().to_numpy(),
        "no position": ~(np.isfinite(lon) & np.isfinite(lat)),
        "latitude beyond ±90": np.abs(lat) > LIMITS["lat"],
        "longitude beyond ±180": np.abs(lon) > LIMITS["lon"],
        "time before 2001": (fixes.tracked_at < EARLIEST).to_numpy(),
        "time in the future": (fixes.tracked_at > now).to_numpy(),
        **_poor(fixes),
    }
    if leaps:
        faults["position 0/0"] = (lon == 0) & (lat == 0)
    counts, good = {}, np.ones(len(fixes), dtype=bool)
    for reason, fault in faults.items():
        counts[reason] = int((good & fault).sum())
        good &= ~fault
    kept = _plain_ids(fixes if good.all() else fixes[good])
    kept = kept.sort_values(["user_id", "tracked_at"], kind="stable")
    # A fix can only be there again among those of the same moment, which are few.
    at = microseconds(kept.tracked_at)
    tied = np.zeros(len(kept) + 1, dtype=bool)
    tied[1:-1] = np.diff(at) == 0
    tied = tied[1:] | tied[:-1]
    again = tied.copy()
    again[tied] = kept.loc[tied, [*FIX_COLUMNS]].duplicated().to_numpy()
    counts["the same fix again"] = int(again.sum())
    kept = kept[~again].reset_index(drop=True)
    if leaps:
        far = _leaps(kept)
        counts["a leap away and back"] = int(far.sum())
        kept = kept[~far].reset_index(drop=True)
    return kept, pd.Series(counts, name="fixes")


def _require_fixes(fixes: pd.DataFrame) -> pd.DataFrame:
    """Refuse a table that is not one of position fixes; the values are `clean_fixes`'s business."""
    if not isinstance(fixes, pd.DataFrame):
        raise DataError(
            f"A {type(fixes).__name__} is no table of pandas; pgt.read_fixes(table) makes one of "
            "other tables and of files."
        )
    missing = [name for name in FIX_COLUMNS if name not in fixes.columns]
    if missing:
        have = ", ".join(map(str, fixes.columns)) or "no columns"
        raise DataError(
            f"Column '{missing[0]}' is missing (the table has {have}); position fixes need "
            f"{', '.join(FIX_COLUMNS)}: pgt.read_fixes(table) knows the usual other names."
        )
    fixes = plain_types(fixes)
    if not isinstance(fixes.tracked_at.dtype, pd.DatetimeTZDtype):
        raise DataError(
            f"Column 'tracked_at' holds {fixes.tracked_at.dtype}, not times with a zone; "
            "pgt.read_fixes(table, timezone='UTC') reads them."
        )
    for name in ("lon", "lat"):
        if not pd.api.types.is_numeric_dtype(fixes[name]):
            raise DataError(f"Column '{name}' holds text; it must be degrees, as numbers.")
    return fixes


def _poor(fixes: pd.DataFrame) -> dict[str, np.ndarray]:
    """Fixes that their own record calls poor, by reason; columns that call most poor are noted."""
    found = {}
    for name, reason, bad in (
        ("accuracy", f"accuracy worse than {MAX_ACCURACY:g} m", lambda x: x > MAX_ACCURACY),
        ("hdop", f"hdop above {MAX_HDOP:g}", lambda x: x > MAX_HDOP),
        ("valid", "marked as not valid", lambda x: ~x.astype(bool)),
    ):
        if name in fixes.columns and len(fixes):
            rows = bad(fixes[name]).to_numpy(dtype=bool)
            if rows.mean() > 0.5:
                note(f"column '{name}' would keep out {int(rows.sum()):,} of {len(fixes):,} fixes "
                     f"({reason}), so it was not used.", stacklevel=4)  # fmt: skip
            else:
                found[reason] = rows
    return found


def _leaps(fixes: pd.DataFrame) -> np.ndarray:
    """(F,) fixes further than 200 m from both neighbours, which lie together, faster than is so."""
    found = np.zeros(len(fixes), dtype=bool)
    if len(fixes) < 3:
        return found
    points = np.stack(_on_sphere(fixes.lon, fixes.lat))
    seconds = np.diff(microseconds(fixes.tracked_at)) / 1e6
    step = EARTH_RADIUS * np.linalg.norm(np.diff(points), axis=0)
    over = EARTH_RADIUS * np.linalg.norm(points[:, 2:] - points[:, :-2], axis=0)
    user = fixes.user_id.to_numpy()
    fast = (step > 200) & (step > LEAP * seconds)
    found[1:-1] = fast[:-1] & fast[1:] & (over < 200) & (user[2:] == user[:-2])
    return found


def _plain_ids(fixes: pd.DataFrame) -> pd.DataFrame:
    """Users whole again if some were missing; text and numbers mixed are refused."""
    ids = fixes.user_id
    if pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all():
        return fixes.assign(user_id=ids.astype("int64"))
    if pd.api.types.is_object_dtype(ids.dtype) and len(set(map(type, ids.unique()))) > 1:
        raise DataError("Column 'user_id' mixes text and numbers; convert it with .astype(str).")
    return fixes


# --- staypoints --------------------------------------------------------------------------------


def generate_staypoints(
    fixes: pd.DataFrame,
    *,
    distance: float = 200.0,
    minutes: float = 30.0,
    gap_minutes: float = 24 * 60,
    max_gap: float | None = None,
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
        As `clean_fixes` returns them.
    distance : float
        Metres, along the great circle.
    minutes : float
        From the first fix to the one that ends the staypoint.
    gap_minutes : float
        The longest silence between two fixes that a staypoint may span.
    max_gap : float, optional
        Hours. With it, the longest silence between two fixes at the same place that is a stay
        there; and what was open before a longer one is a staypoint up to its last fix.
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
    >>> at = pd.to_datetime([0, 40, 50], unit="min", origin="2024-05-01", utc=True)
    >>> fixes = pd.DataFrame({"user_id": 1, "tracked_at": at, "lon": 116.3,
    ...                       "lat": [39.9, 39.9, 40.0]})
    >>> len(generate_staypoints(fixes)), generate_staypoints(fixes).n_fixes[0]
    (1, np.int64(2))
    """
    fixes = _require_fixes(fixes)
    if not (distance > 0 and minutes > 0 and gap_minutes > 0):
        raise DataError(
            f"distance={distance:g}, minutes={minutes:g} and gap_minutes={gap_minutes:g} must be "
            "above 0."
        )
    lon, lat = (fixes[name].to_numpy(dtype=float) for name in ("lon", "lat"))
    at, micro = fixes.tracked_at, microseconds(fixes.tracked_at)
    _, begins = person_rows(fixes.user_id)
    bounds = [*np.unique(begins).tolist(), len(fixes)]
    bad = at.isna() | ~((np.abs(lon) <= LIMITS["lon"]) & (np.abs(lat) <= LIMITS["lat"]))
    if bad.any():
        raise DataError(
            f"A fix has no time or position in {first_row(fixes, bad)}; pgt.gps.clean_fixes(fixes) "
            "keeps it out."
        )
    same = begins[1:] == begins[:-1]
    if ((np.diff(micro) < 0) & same).any() or fixes.user_id.nunique() != len(bounds) - 1:
        raise DataError(
            "The fixes are not sorted by person and time; pgt.gps.clean_fixes(fixes) sorts them."
        )
    _, cut = silences(fixes, distance=distance, gap_minutes=gap_minutes, max_gap=max_gap)
    shortest, last, found = round(minutes * 60e6), set(bounds), []
    cuts = np.flatnonzero(cut) + 1
    for low, high in pairwise(sorted({*bounds, *cuts.tolist()})):
        start = low
        for i in _departures(lon[low:high], lat[low:high], distance):
            if micro[low + i] - micro[start] >= shortest:
                found.append((start, low + i, low + i))
            start = low + i
        ends = (include_last and high in last) or (max_gap is not None and high not in last)
        if ends and micro[high - 1] - micro[start] >= shortest:
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


def silences(
    fixes: pd.DataFrame, *, distance: float, gap_minutes: float, max_gap: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """(F - 1,) twice: long silences between two fixes that a stay spans, and those that cut it."""
    gap = np.diff(microseconds(fixes.tracked_at)) / 60e6  # minutes
    own = fixes.user_id.to_numpy()[1:] == fixes.user_id.to_numpy()[:-1]
    long = own & (gap > gap_minutes)
    if max_gap is None:
        return np.zeros_like(long), long
    rows = np.flatnonzero(own & (gap > min(gap_minutes, 60 * max_gap)))
    lon, lat = (fixes[name].to_numpy(dtype=float) for name in ("lon", "lat"))
    before, after = (np.stack(_on_sphere(lon[rows + i], lat[rows + i])) for i in (0, 1))
    near = np.zeros_like(long)
    near[rows] = EARTH_RADIUS * np.linalg.norm(after - before, axis=0) < distance
    cut = np.where(near, own & (gap > 60 * max_gap), long)
    return long & ~cut, cut


def _on_sphere(lon: Any, lat: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three coordinates on the unit sphere, where straight lines are easier than great circles."""
    east, north = (np.radians(np.asarray(one, dtype=float)) for one in (lon, lat))
    flat = np.cos(north)
    return flat * np.cos(east), flat * np.sin(east), np.sin(north)


def _departures(lon: np.ndarray, lat: np.ndarray, distance: float) -> Iterator[int]:
    """Go from fix to fix and name each that is ``distance`` or more from the last one named.

    Most fixes need no look: who is d metres away from somewhere cannot be ``distance`` away from
    it before having gone the missing metres. So from each fix looked at, the next one is found by
    bisection in the length of the path. On the unit sphere, a great circle of d metres has the
    chord 2 sin(d / 2R); chords, too, obey the triangle inequality.
    """
    reach = float(2 * np.sin(min(distance / (2 * EARTH_RADIUS), np.pi / 2)))
    points = _on_sphere(lon, lat)
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


# --- locations and visits ----------------------------------------------------------------------


def require_stays(staypoints: pd.DataFrame, *more: str) -> None:
    """Refuse a table without the columns of staypoints."""
    missing = [name for name in (*STAY_COLUMNS, *more) if name not in staypoints.columns]
    if missing:
        maker = "generate_locations" if missing[0] == "location_id" else "generate_staypoints"
        raise DataError(
            f"Column '{missing[0]}' is missing; pgt.gps.{maker} makes the table that is needed."
        )


def _require_settings(eps: float, min_samples: int, haversine_order: str) -> None:
    if haversine_order not in ("right", "swapped"):
        raise DataError(f"haversine_order is {haversine_order!r}; it must be right or swapped.")
    if not (eps > 0 and min_samples >= 1):
        raise DataError(f"eps={eps:g} must be above 0 and min_samples={min_samples} at least 1.")


def generate_locations(
    staypoints: pd.DataFrame,
    *,
    eps: float = 20.0,
    min_samples: int = 2,
    haversine_order: HaversineOrder = "right",
    per_user: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cluster staypoints into locations (DBSCAN over great-circle distances).

    Parameters
    ----------
    staypoints : DataFrame
        As `generate_staypoints` returns them.
    eps : float
        Metres: two staypoints this near are neighbours.
    min_samples : int
        A staypoint with at least so many neighbours, itself included, founds a location.
    haversine_order : {"right", "swapped"}
        scikit-learn's haversine expects (latitude, longitude). "swapped" hands it (longitude,
        latitude), as trackintel does, on which the published figures rest: at Beijing's latitude
        ``eps`` is then stretched north-south and squeezed east-west.
    per_user : bool
        Cluster each person's staypoints alone. By default people share locations, as in the
        published protocol.

    Returns
    -------
    staypoints : DataFrame
        Sorted by person and time, with ``location_id`` (Int64; empty: at no location).
    locations : DataFrame
        ``location_id`` (from 0, in order of first discovery), ``lon``, ``lat`` (the mean of its
        different staypoints, degrees), ``n_staypoints``, ``n_users``.

    Examples
    --------
    >>> at = pd.to_datetime([0, 3600, 7200], unit="s", utc=True)
    >>> stays = pd.DataFrame({"user_id": 1, "started_at": at, "finished_at": at,
    ...                       "lon": 116.3, "lat": [39.9, 39.90001, 40.0]})
    >>> found, places = generate_locations(stays)
    >>> found.location_id.tolist(), len(places)
    ([0, 0, <NA>], 1)
    """
    require_stays(staypoints)
    _require_settings(eps, min_samples, haversine_order)
    stays = staypoints.sort_values(["user_id", "started_at"], kind="stable", ignore_index=True)
    order = ["lat", "lon"] if haversine_order == "right" else ["lon", "lat"]
    radians = np.radians(stays[order].to_numpy(dtype=float))  # (S, 2)
    _, begins = person_rows(stays.user_id)
    groups = np.split(radians, np.unique(begins)[1:]) if per_user else [radians]
    cluster = DBSCAN(eps=eps / EARTH_RADIUS, min_samples=min_samples, metric="haversine",
                     algorithm="ball_tree")  # fmt: skip
    labels, known = [], 0
    for group in groups:
        found = cluster.fit_predict(group) if len(group) else np.empty(0, dtype=np.int64)
        labels.append(np.where(found < 0, -1, found + known))
        known += int(found.max(initial=-1)) + 1
    label = np.concatenate(labels)
    stays["location_id"] = pd.array(label, dtype="Int64")
    stays.loc[label < 0, "location_id"] = pd.NA
    return stays, _table_of_locations(stays[label >= 0])


def _table_of_locations(stays: pd.DataFrame) -> pd.DataFrame:
    groups = stays.groupby("location_id", sort=True)
    places = groups.agg(n_staypoints=("user_id", "size"), n_users=("user_id", "nunique"))
    different = stays.drop_duplicates(["location_id", "lon", "lat"])
    east = np.radians(different.lon.astype(float))
    mean = (
        pd.DataFrame(
            {"location_id": different.location_id, "lat": different.lat,
             "sin": np.sin(east), "cos": np.cos(east)}
        ).groupby("location_id", sort=True).mean()
    )  # fmt: skip
    places.insert(0, "lon", np.degrees(np.arctan2(mean["sin"], mean["cos"])))
    places.insert(1, "lat", mean["lat"])
    return places.reset_index().astype({"location_id": "int64"})


def merge_staypoints(
    staypoints: pd.DataFrame,
    places: pd.DataFrame | None = None,
    *,
    activity_minutes: float = 25.0,
    merge_minutes: float = 1.0,
) -> pd.DataFrame:
    """Merge a person's consecutive staypoints at one location into visits.

    Staypoints at no location, and those of at most ``activity_minutes``, are left out first; two
    neighbours at one location are one visit if the second begins at most ``merge_minutes`` after
    the first has ended. (trackintel's ``merge_staypoints`` without triplegs.)

    Parameters
    ----------
    staypoints, places : DataFrame
        As `generate_locations` returns them. Without ``places``, a visit lies where its first
        staypoint does instead of at its location's centre.
    activity_minutes, merge_minutes : float
        By default those of Hong et al. (2023). With staypoints of 30 minutes and more the first
        has no effect.

    Returns
    -------
    DataFrame
        A table of visits (`pgt.visits.check`): ``user_id``, ``location_id``, ``started_at``,
        ``finished_at``, ``lon``, ``lat``, and ``n_staypoints``, how many were merged.
    """
    require_stays(staypoints, "location_id")
    lasts = staypoints.finished_at - staypoints.started_at
    active = staypoints.location_id.notna() & (lasts > pd.Timedelta(minutes=activity_minutes))
    stays = staypoints[active].sort_values(["user_id", "started_at"], kind="stable")
    stays = stays.astype({"location_id": "int64"}).reset_index(drop=True)
    before = stays.shift()
    goes_on = (
        (stays.user_id == before.user_id)
        & (stays.location_id == before.location_id)
        & (stays.started_at - before.finished_at <= pd.Timedelta(minutes=merge_minutes))
    )
    merged = stays.groupby((~goes_on).cumsum().to_numpy())
    table = merged.agg(
        user_id=("user_id", "first"), location_id=("location_id", "first"),
        started_at=("started_at", "first"), finished_at=("finished_at", "last"),
        lon=("lon", "first"), lat=("lat", "first"), n_staypoints=("user_id", "size"),
    ).reset_index(drop=True)  # fmt: skip
    if places is not None:
        centre = places.set_index("location_id")
        for name in ("lon", "lat"):
            table[name] = centre[name].reindex(table.location_id).to_numpy()
    return table


# --- how well people were tracked --------------------------------------------------------------


def generate_triplegs(
    fixes: pd.DataFrame, staypoints: pd.DataFrame, *, gap_minutes: float = 15.0
) -> pd.DataFrame:
    """Find the movements between staypoints (trackintel's method "between_staypoints").

    A tripleg is a run of at least two of a person's fixes outside staypoints, not all at one
    position, without a silence longer than ``gap_minutes``. ``staypoints`` are those of ``fixes``.
    The result has ``user_id``, ``started_at``, ``finished_at``, ``n_fixes``.
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


def tracking_quality(
    staypoints: pd.DataFrame, triplegs: pd.DataFrame, *, weeks: int = 10
) -> pd.DataFrame:
    """Measure, per person, the days tracked and the share of the time covered.

    A window of ``weeks`` slides in steps of a week from the person's first day, as long as it
    ends within the whole weeks of tracking. Its quality is the time that staypoints and triplegs,
    cut at midnight of their zone, cover in it; windows without any are left out.

    Returns
    -------
    DataFrame
        ``user_id``, ``days`` (whole days from first to last), ``windows`` (their number),
        ``quality`` (their mean, 0 to 1 unless records overlap; NaN without a window).
    """
    if weeks < 1:
        raise DataError(f"weeks={weeks} must be at least 1.")
    names = ["user_id", "started_at", "finished_at"]
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
    """The covered share of each sliding window that holds a record, these cut at midnight."""
    first = start.astype("datetime64[D]")
    last = np.maximum(first, (end - np.timedelta64(1, "us")).astype("datetime64[D]"))
    row, number = spread((last - first).astype(np.int64) + 1)
    day = (first[row] + number).astype(start.dtype)
    start, end = np.maximum(start[row], day), np.minimum(end[row], day + DAY)
    first_day = start.min().astype("datetime64[D]").astype(start.dtype)
    shares = []
    for i in range(tracked_weeks - weeks + 1):
        low = first_day + i * 7 * DAY
        high = low + weeks * 7 * DAY
        inside = (start >= low) & (end < high)
        if inside.any():
            shares.append(float((end - start)[inside].sum() / (high - low)))
    return shares


# --- the whole way -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Tracks:
    """Where people stayed and when they moved, in UTC, and what could not be used.

    ``people`` is by ``user_id``: ``n_fixes`` (kept), ``n_staypoints``; ``dropped`` counts fixes by
    reason, ``silent`` the long silences that a stay spans and those that cut one.
    """

    staypoints: pd.DataFrame
    triplegs: pd.DataFrame
    people: pd.DataFrame
    dropped: pd.Series
    silent: dict[str, int]


@dataclass(frozen=True)
class GpsResult:
    """The visits that came out, and what became of everything that went in.

    Attributes
    ----------
    visits : DataFrame
        As `pgt.visits.check` returns them, with ``split``: the people who remain.
    counts : DataFrame
        One row per step: ``step``, ``n``, and ``people`` (Int64; empty where nobody is counted).
    people : DataFrame
        One row per person: ``user_id``, ``n_fixes`` (kept), ``n_staypoints``, ``days`` (tracked),
        ``n_visits`` and ``left``, the reason why the person is not in ``visits`` ("" if they are).
    staypoints, locations : DataFrame
        As `generate_locations` returns them; of people who were left out before, too.
    all_visits : DataFrame
        The visits before the last filter, with an empty ``split`` for the people it removes.
    """

    visits: pd.DataFrame
    counts: pd.DataFrame
    people: pd.DataFrame
    staypoints: pd.DataFrame
    locations: pd.DataFrame
    all_visits: pd.DataFrame


def visits(
    fixes: pd.DataFrame, *, timezone: str | None = None, max_gap: float = 72.0, **settings: Any
) -> pd.DataFrame:
    """Turn anybody's position fixes into visits; nobody is left out who has a place.

    Parameters
    ----------
    fixes : DataFrame
        As `pgt.read_fixes` returns them.
    timezone : str, optional
        The local zone; without it, it is found from the coordinates.
    max_gap : float
        Hours: the longest silence between two fixes at the same place that is a stay there.
    **settings
        Of `staypoints_and_triplegs` and `tracks_to_visits`, such as ``eps``.

    Returns
    -------
    DataFrame
        Visits as `pgt.visits.check` returns them. ``attrs["counts"]`` lists (step, number, people)
        of all that was kept and kept out, ``attrs["left"]`` says why people are missing.

    Examples
    --------
    >>> at = pd.date_range("2024-01-01", "2024-01-09", freq="10min", tz="UTC")
    >>> fixes = pd.DataFrame({"user_id": "ann", "tracked_at": at, "lon": 16.37,
    ...                       "lat": 48.2 + 0.01 * (at.hour // 6 % 2)})
    >>> table = visits(fixes)
    >>> len(table), table.started_at.dt.tz
    (32, zoneinfo.ZoneInfo(key='Europe/Vienna'))
    """
    known = signature(staypoints_and_triplegs).parameters
    first = {name: settings.pop(name) for name in [*settings] if name in known}
    settings = {"everybody": True, "timezone": timezone, **settings}
    _require_protocol(**settings)
    tracks = staypoints_and_triplegs(fixes, max_gap=max_gap, leaps=True, **first)
    found = tracks_to_visits(tracks, **settings)
    lost = {reason: int(n) for reason, n in tracks.dropped.items() if n}
    if lost:
        n = sum(lost.values())
        note(f"{n:,} of {len(fixes):,} fixes are kept out: "
             f"{', '.join(f'{n:,} {reason}' for reason, n in lost.items())}.")  # fmt: skip
    if any(tracks.silent.values()):
        note(
            f"{tracks.silent['joined']} silences of more than a day at one place are stays there "
            f"(up to max_gap={max_gap:g} hours); {tracks.silent['cut']} longer ones, or between "
            "two places, end a stay at its last fix."
        )
    table = found.visits.drop(columns="split")
    left = found.people["left"].value_counts()
    table.attrs |= {
        "counts": list(found.counts.astype(object).itertuples(index=False, name=None)),
        "left": {why: int(n) for why, n in left.items() if why},
    }
    return note_doubts(table)


def fixes_to_visits(fixes: pd.DataFrame, **settings: Any) -> GpsResult:
    """Turn position fixes into visits by the protocol of Hong et al. (2023), and tell each step.

    Parameters
    ----------
    fixes : DataFrame
        As `pgt.read_fixes` returns them.
    **settings
        Of `staypoints_and_triplegs` and `tracks_to_visits`; above all ``timezone`` and
        ``haversine_order``.

    Examples
    --------
    A person at two places in turn, recorded every ten minutes for four months:

    >>> at = pd.date_range("2024-01-01", "2024-04-30", freq="10min", tz="UTC")
    >>> fixes = pd.DataFrame({"user_id": "ann", "tracked_at": at, "lon": 16.37,
    ...                       "lat": 48.2 + 0.01 * (at.hour // 6 % 2)})
    >>> result = fixes_to_visits(fixes, timezone="Europe/Vienna")
    >>> len(result.locations), len(result.visits)
    (2, 480)
    """
    known = signature(staypoints_and_triplegs).parameters
    first = {name: settings.pop(name) for name in [*settings] if name in known}
    _require_protocol(**settings)
    return tracks_to_visits(staypoints_and_triplegs(fixes, **first), **settings)


def _require_protocol(**protocol: Any) -> None:
    """Refuse settings of `tracks_to_visits` that cannot be, before the long work."""
    given = signature(tracks_to_visits).bind(None, **protocol)
    given.apply_defaults()
    _in_zone(pd.DataFrame(columns=["started_at", "finished_at"]), given.arguments["timezone"])
    _require_settings(*(given.arguments[n] for n in ("eps", "min_samples", "haversine_order")))


def _in_zone(table: pd.DataFrame, timezone: str | None) -> pd.DataFrame:
    """The same table with its starts and ends in a time zone; UTC where none is named."""
    try:
        return table.assign(
            **{name: pd.to_datetime(table[name], utc=True).dt.tz_convert(timezone or "UTC")
               for name in ("started_at", "finished_at")}
        )  # fmt: skip
    except (LookupError, ValueError, OSError) as error:
        raise DataError(
            f"'{timezone}' is no known time zone; use an IANA name such as Europe/Vienna."
        ) from error


def staypoints_and_triplegs(
    fixes: pd.DataFrame, *, distance: float = 200.0, minutes: float = 30.0,
    gap_minutes: float = 24 * 60, max_gap: float | None = None, leaps: bool = False,
    now: pd.Timestamp | None = None,
) -> Tracks:  # fmt: skip
    """Clean the fixes, find staypoints and triplegs; parameters as of the single steps."""
    clean, dropped = clean_fixes(fixes, now=now, leaps=leaps)
    if clean.empty:
        why = ", ".join(f"{reason}: {n}" for reason, n in dropped.items() if n)
        raise DataError(
            f"None of the position fixes can be used ({why}); are lon and lat in their columns, "
            "and is the unit of the times right?"
            if why else "There are no position fixes; check the file or folder."
        )  # fmt: skip
    rule: dict[str, Any] = {"distance": distance, "gap_minutes": gap_minutes, "max_gap": max_gap}
    stays = generate_staypoints(clean, minutes=minutes, **rule)
    joined, cut = silences(clean, **rule) if max_gap else (np.zeros(1, bool), np.zeros(1, bool))
    whose = _plain_ids(plain_types(fixes[fixes.user_id.notna()])).user_id.unique()
    people = clean.user_id.value_counts().reindex(sorted(whose), fill_value=0)
    people = people.rename_axis("user_id").to_frame("n_fixes")
    people["n_staypoints"] = stays.user_id.value_counts().reindex(people.index, fill_value=0)
    silent = {"joined": int(joined.sum()), "cut": int(cut.sum())}
    legs = generate_triplegs(clean, stays)
    return Tracks(_in_zone(stays, "UTC"), _in_zone(legs, "UTC"), people, dropped, silent)


def tracks_to_visits(
    tracks: Tracks,
    *,
    timezone: str | None = "UTC",
    haversine_order: HaversineOrder = "right",
    everybody: bool = False,
    min_days: int = 50,
    quality_weeks: int = 10,
    activity_minutes: float = 25.0,
    eps: float = 20.0,
    min_samples: int = 2,
    per_user: bool = False,
    merge_minutes: float = 1.0,
    days: int = 7,
    min_visits: int = 3,
) -> GpsResult:
    """Take the steps after the fixes, which are quick: other settings need no second reading.

    Parameters
    ----------
    tracks : Tracks
        As `staypoints_and_triplegs` returns them.
    timezone : str or None
        The local zone, which decides where days begin; None finds it from the coordinates. The
        published figures rest on "UTC".
    everybody : bool
        Keep people however briefly they were tracked: no filter by days, quality or windows.
    min_days, quality_weeks : int
        People stay who were tracked for more than ``min_days`` days, with at least one window of
        ``quality_weeks`` weeks (`tracking_quality`).
    haversine_order, eps, min_samples, per_user
        See `generate_locations`. The published figures rest on "swapped".
    activity_minutes, merge_minutes
        See `merge_staypoints`.
    days, min_visits : int
        See `pgt.windows.prepare`. People stay who have such a window in all three splits.

    Raises
    ------
    DataError
        Nobody or nothing is left after some step; the sentence says which and why.
    """
    stays, legs = _in_zone(tracks.staypoints, timezone), _in_zone(tracks.triplegs, timezone)
    tally = _Tally(tracks)
    tally.step("staypoints", stays)
    quality = tracking_quality(stays, legs, weeks=quality_weeks).set_index("user_id")
    for name in ("days", "windows"):
        values = quality[name].reindex(tally.people.index, fill_value=0)
        tally.people[name] = values.astype("int64")
    if not everybody:
        tally.leave(tally.people.days <= min_days, f"tracked for {min_days} days or less")
        tally.leave(tally.people.windows == 0, f"tracked for less than {quality_weeks} weeks")
        tally.step("staypoints of people tracked long enough", tally.remaining(stays))
    tracked = tally.remaining(stays)
    if tracked.empty:
        raise DataError(_nobody(tally.people, min_days, quality_weeks))
    lasting = tracked.finished_at - tracked.started_at > pd.Timedelta(minutes=activity_minutes)
    tally.step(f"staypoints of more than {activity_minutes:g} minutes", tracked[lasting])
    found, places = generate_locations(
        tracked[lasting], eps=eps, min_samples=min_samples, haversine_order=haversine_order,
        per_user=per_user,
    )  # fmt: skip
    here = found[found.location_id.notna()]
    tally.step("staypoints in locations", here)
    tally.leave(~tally.people.index.isin(here.user_id), "no location")
    if here.empty:
        raise DataError(
            f"None of {len(found)} staypoints has {min_samples - 1} more within {eps:g} m, "
            "so there is no location; raise eps or lower min_samples."
        )
    tally.step("locations", places)
    table = merge_staypoints(
        here, places, activity_minutes=activity_minutes, merge_minutes=merge_minutes
    )
    if timezone is None:
        table = by_local_clocks(table)
    table = split_by_days(check(table))
    tally.step("visits", table)
    n_visits = table.user_id.value_counts()
    tally.people["n_visits"] = n_visits.reindex(tally.people.index, fill_value=0)
    if not everybody:
        data = prepare(table, days=days, min_visits=min_visits)
        full = set.intersection(*(set(getattr(data, name).users) for name in SPLITS))
        tally.leave(~tally.people.index.isin(full), "no window in some split")
        tally.step("visits of people with windows in every split", tally.remaining(table))
    final = tally.remaining(table)
    if final.empty:
        raise DataError(
            f"None of {table.user_id.nunique()} people with visits has a window of {days} days in "
            "every split; give longer tracks, or keep everybody (everybody=True, --everybody)."
        )
    data = prepare(final, days=days, min_visits=min_visits)
    for name, n in data.counts().items():
        tally.steps.append((f"{name} windows", n, len(set(getattr(data, name).users))))
    counts = pd.DataFrame(tally.steps, columns=["step", "n", "people"]).astype({"people": "Int64"})
    key = ["user_id", "first_fix"]
    return GpsResult(
        visits=final,
        counts=counts,
        people=tally.people.drop(columns="windows").reset_index(),
        staypoints=stays.merge(found[[*key, "location_id"]], "left", key),
        locations=places,
        all_visits=table.assign(split=table.split.where(table.user_id.isin(final.user_id))),
    )


def _nobody(people: pd.DataFrame, min_days: int, quality_weeks: int) -> str:
    """Why nobody is left who was tracked, and what helps."""
    n = int((people.n_staypoints > 0).sum())
    if n == 0:  # then nobody can be kept, whatever is asked for
        return (
            f"Nobody is left: none of {len(people)} people has a staypoint (a stay of half an hour "
            "within 200 m, unless you set it otherwise); give longer recordings, or check the "
            "times and coordinates."
        )
    return (
        f"Nobody is left: of {len(people)} people {n} have staypoints, and the longest tracking "
        f"is {people.days.max()} days; more than {min_days}, and {quality_weeks} weeks, are asked "
        "for. Lower min_days and quality_weeks, or keep everybody (everybody=True, --everybody)."
    )


@dataclass
class _Tally:
    """The steps so far, and who has left at which."""

    tracks: Tracks
    people: pd.DataFrame = field(init=False)
    steps: list[tuple[str, int, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the fixes."""
        people, dropped = self.tracks.people, self.tracks.dropped
        self.people = people.assign(days=0, windows=0, n_visits=0, left="")
        kept = int(people.n_fixes.sum())
        self.steps.append(("fixes read", kept + int(dropped.sum()), len(people)))
        self.steps += [(f"dropped: {reason}", int(n), None) for reason, n in dropped.items() if n]
        self.steps.append(("fixes kept", kept, int((people.n_fixes > 0).sum())))
        for what, n in self.tracks.silent.items():
            if n:
                self.steps.append((f"silences of more than a day, {what}", n, None))
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
