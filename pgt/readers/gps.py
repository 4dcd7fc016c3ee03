"""From position fixes to visits: clean, staypoints, locations, merged visits, as trackintel does.

Fixes that stay near the first of them for long enough are a *staypoint*; staypoints that lie
together are one *location*, and those in a row at one location one *visit*.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN

from pgt._moved import renamed_keywords
from pgt.errors import DataError, note
from pgt.progress import bar
from pgt.readers.clocks import by_local_clocks, require_zone
from pgt.readers.plausibility import note_data_checks
from pgt.visits import (
    EARTH_RADIUS,
    LIMITS,
    TIMES,
    check,
    in_zone,
    microseconds,
    plain_types,
    spread,
)

# The environment variable that names a folder of GeoLife's position fixes as Parquet files.
FIXES = "PGT_GEOLIFE_FIXES"
FIX_COLUMNS = ("user_id", "tracked_at", "lon", "lat")
# Worse fixes are kept out: metres (a stay is 200 m wide), and a dilution that is called poor.
MAX_ACCURACY, MAX_HDOP = 200.0, 20.0
POOR = f"accuracy worse than {MAX_ACCURACY:g} m"
LEAP = 50.0  # metres a second, there and back
# Stays at one place lie within four times the scatter of their fixes, in metres between these.
SCATTERS, EPS, LARGEST_EPS = 4.0, 20.0, 60.0
SOON, BLOCK = 8, 512  # fixes that are looked at at once, until somebody has left
ACTIVITY = 25.0  # minutes; a shorter staypoint is no activity
HaversineOrder = Literal["right", "swapped"]


def clean_fixes(fixes: pd.DataFrame, *, mend: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """Keep the fixes that can be used, by user and time, and count the others by reason.

    With ``mend``, positions at 0/0 and lone leaps (far away and back at once) are kept out as well,
    and a poor fix within whose accuracy a good neighbour lies is put there.
    """
    fixes = _require_fixes(fixes)
    lon, lat = (fixes[name].to_numpy(dtype=float, na_value=np.nan) for name in ("lon", "lat"))
    faults = {
        "no user": fixes.user_id.isna().to_numpy(),
        "no time": fixes.tracked_at.isna().to_numpy(),
        "no position": ~(np.isfinite(lon) & np.isfinite(lat)),
        "latitude beyond ±90": np.abs(lat) > LIMITS["lat"],
        "longitude beyond ±180": np.abs(lon) > LIMITS["lon"],
        "time before 2001": (fixes.tracked_at.dt.year < 2001).to_numpy(),  # an unset clock
        "time in the future": (fixes.tracked_at > pd.Timestamp.now("UTC")).to_numpy(),
        "position 0/0": mend & (lon == 0) & (lat == 0),
        **_poor(fixes),
    }
    poor = faults.pop(POOR, None) if mend else None
    counts, good = {}, np.ones(len(fixes), dtype=bool)
    for reason, fault in faults.items():
        counts[reason] = int((good & fault).sum())
        good &= ~fault
    kept = fixes if poor is None else fixes.assign(poor=poor)
    kept = plain_ids(kept if good.all() else kept[good])
    kept = kept.sort_values(["user_id", "tracked_at"], kind="stable")
    again = kept.duplicated([*FIX_COLUMNS]).to_numpy()
    counts["the same fix again"] = int(again.sum())
    kept = kept[~again].reset_index(drop=True)
    if mend:
        if poor is not None:
            kept = _put_near(kept)
            counts[POOR] = int(kept.poor.sum())
            kept = kept[~kept.poor].drop(columns="poor").reset_index(drop=True)
        leaps = _leaps(kept)
        counts["a leap away and back"] = int(leaps.sum())
        kept = kept[~leaps].reset_index(drop=True)
    return kept, pd.Series(counts, name="fixes")


def _require_fixes(fixes: pd.DataFrame) -> pd.DataFrame:
    """Refuse what is no table of position fixes; the values are `clean_fixes`'s business."""
    fixes = plain_types(fixes) if isinstance(fixes, pd.DataFrame) else pd.DataFrame()
    missing = [name for name in FIX_COLUMNS if name not in fixes.columns]
    if missing or not isinstance(fixes.tracked_at.dtype, pd.DatetimeTZDtype):
        what = f"has no column '{missing[0]}'" if missing else "has no times with a zone"
        raise DataError(
            f"The table {what}; pgt.read_fixes(table, timezone=...) makes position fixes of tables "
            f"and files, with {', '.join(FIX_COLUMNS)}."
        )
    if text := [name for name in ("lon", "lat") if fixes[name].dtype.kind not in "fiu"]:
        raise DataError(f"Column '{text[0]}' holds text; it must be degrees, as numbers.")
    return fixes


def _poor(fixes: pd.DataFrame) -> dict[str, np.ndarray]:
    """Fixes that their own record calls poor, by reason; a column that calls most so is noted."""
    by_reason = {}
    # A dilution is a small number; where even its tenth part of the best is large, it is in metres.
    in_metres = "hdop" in fixes.columns and fixes.hdop.quantile(0.1) > MAX_HDOP / 4
    for name, reason, bad in (
        ("valid", "marked as not valid", lambda x: ~x.astype(bool)),
        ("hdop", f"hdop above {MAX_HDOP:g}", lambda x: x > MAX_HDOP),
        ("hdop", f"hdop, in metres, above {MAX_ACCURACY:g}", lambda x: x > MAX_ACCURACY),
        ("accuracy", "accuracy below 0, which says not valid", lambda x: x < 0),
        ("accuracy", POOR, lambda x: x > MAX_ACCURACY),
    ):
        if name not in fixes.columns or (name == "hdop" and ("metres" in reason) != in_metres):
            continue
        rows = bad(fixes[name]).to_numpy(dtype=bool)
        most = rows.sum() > 0.5 * len(rows)
        by_reason[reason] = np.zeros_like(rows) if most else rows
        if most:
            note(f"column '{name}' would keep out {int(rows.sum()):,} of {len(fixes):,} fixes "
                 f"({reason}), so it was not used.", stacklevel=4)  # fmt: skip
    return by_reason


def _put_near(fixes: pd.DataFrame) -> pd.DataFrame:
    """Put poor fixes at the nearer of the good ones before and after, if it is near enough."""
    good = fixes[["lon", "lat"]].where(~fixes.poor)
    own = good.groupby(fixes.user_id)
    sides = [own.ffill(), own.bfill()]
    here = on_sphere(fixes.lon, fixes.lat)
    away = np.stack([np.linalg.norm(on_sphere(s.lon, s.lat) - here, axis=0)
                     for s in sides]) * EARTH_RADIUS  # fmt: skip
    side = np.nan_to_num(away, nan=np.inf).argmin(0)
    near = fixes.poor & (np.nanmin(away, axis=0, initial=np.inf) <= fixes.accuracy)
    first, second = ([s.lon, s.lat] for s in sides)
    lon, lat = (fixes[name].where(~near, np.where(side == 0, first[i], second[i]))
                for i, name in enumerate(("lon", "lat")))  # fmt: skip
    return fixes.assign(lon=lon, lat=lat, poor=fixes.poor & ~near)


def _leaps(fixes: pd.DataFrame) -> np.ndarray:
    """(F,) fixes over 200 m from both neighbours, which lie together, faster than anybody is."""
    leaps = np.zeros(len(fixes), dtype=bool)
    points = on_sphere(fixes.lon, fixes.lat)
    seconds = np.diff(microseconds(fixes.tracked_at)) / 1e6
    step = EARTH_RADIUS * np.linalg.norm(np.diff(points), axis=0)
    over = EARTH_RADIUS * np.linalg.norm(points[:, 2:] - points[:, :-2], axis=0)
    user = fixes.user_id.to_numpy()
    fast = (step > 200) & (step > LEAP * seconds) & (user[1:] == user[:-1])
    leaps[1:-1] = fast[:-1] & fast[1:] & (over < 200)
    if fast.sum() > 0.2 * len(fast):  # of one fix, or of none, there is no mean
        note(f"{int(fast.sum()):,} of {len(fixes):,} fixes are farther from the one before than "
             "anybody gets in that time: are they several people's or devices'? Name the column "
             "that says whose with columns={'user_id': ...} (--columns user_id=...), or write "
             "each one's into a file.",
             stacklevel=4)  # fmt: skip
    return leaps


def plain_ids(fixes: pd.DataFrame) -> pd.DataFrame:
    """Users whole again if some were missing; text and numbers mixed are refused."""
    ids = fixes.user_id
    if pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all():
        return fixes.assign(user_id=ids.astype("int64"))
    if pd.api.types.is_object_dtype(ids.dtype) and len(set(map(type, ids.unique()))) > 1:
        raise DataError("Column 'user_id' mixes text and numbers; convert it with .astype(str).")
    return fixes


@renamed_keywords(distance="dist_threshold", minutes="time_threshold", gap_minutes="gap_threshold")
def generate_staypoints(
    fixes: pd.DataFrame,
    *,
    dist_threshold: float = 200.0,  # metres, along the great circle
    time_threshold: float = 30.0,  # minutes
    gap_threshold: float = 24 * 60,  # minutes
    max_gap: float | None = None,  # hours
) -> pd.DataFrame:
    """Find where each person stayed, in fixes as `clean_fixes` returns them (Li et al. 2008).

    The first fix that is ``dist_threshold`` or more from a run's first one ends it, and begins the
    next; a run of at least ``time_threshold`` is a staypoint. A silence above ``gap_threshold``
    drops what is open; with ``max_gap``, one at a place is part of the stay up to that, and others
    end it.
    ``lon`` and ``lat`` are the mean of the *different* positions.
    """
    if not (dist_threshold > 0 and time_threshold > 0 and gap_threshold > 0):
        raise DataError("dist_threshold, time_threshold and gap_threshold must all be above 0.")
    fixes = _require_fixes(fixes)
    at, (user, people) = fixes.tracked_at, pd.factorize(fixes.user_id)
    lon, lat = (fixes[name].to_numpy(dtype=float) for name in ("lon", "lat"))
    micro, own = microseconds(at), user[1:] == user[:-1]
    bounds = [0, *(np.flatnonzero(~own) + 1).tolist(), len(fixes)] if len(fixes) else [0]
    beyond = [not np.abs(degrees).max(initial=0) <= limit for degrees, limit in
              zip((lon, lat), LIMITS.values(), strict=True)]  # fmt: skip
    back = ((np.diff(micro) < 0) & own).any() or len(people) < len(bounds) - 1
    if any(beyond) or back or user.min(initial=0) < 0 or at.hasnans:
        raise DataError(
            "The fixes are not sorted by user and time, or some have no user, time or position on "
            "Earth; pgt.readers.gps.clean_fixes(fixes) sorts them, and counts and drops such fixes."
        )
    cuts = np.flatnonzero(_silences(fixes, dist_threshold, gap_threshold, max_gap)[1]) + 1
    edge = np.zeros(len(fixes) + 1, dtype=bool)
    edge[bounds], edge[cuts] = True, True  # between people, and at silences
    axes = _directions(lon, lat)
    first = _runs(axes[:3], dist_threshold, np.flatnonzero(edge))
    # A staypoint's first fix, the one behind its last, and the one that ends it.
    stop = np.append(first[1:], len(fixes))[: len(first)]
    end = stop - edge[stop]
    if max_gap is None:  # what is open at a silence is none
        edge[bounds] = False
        first, stop, end = (rows[~edge[stop]] for rows in (first, stop, end))
    long = micro[end] - micro[first] >= round(time_threshold * 60e6)
    first, stop, end = (rows[long] for rows in (first, stop, end))
    ids, (sin, cos, north) = fixes.user_id, _middles(lon, axes[3:], first, stop)
    stays = pd.DataFrame({"user_id": ids.to_numpy()[first]}).astype({"user_id": ids.dtype})
    return stays.assign(
        started_at=at.iloc[first].array, finished_at=at.iloc[end].array,
        lon=np.degrees(np.arctan2(sin, cos)), lat=north, n_fixes=stop - first, first_fix=first,
    )  # fmt: skip


def _silences(
    fixes: pd.DataFrame, dist_threshold: float, gap_threshold: float, max_gap: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """(F - 1,) twice: silences above ``gap_threshold`` that a stay spans, and those that cut it."""
    gap = np.diff(microseconds(fixes.tracked_at)) / 60e6  # minutes
    user = fixes.user_id.to_numpy()
    own = user[1:] == user[:-1]
    cut = own & (gap > gap_threshold)
    if max_gap is None:
        return np.zeros_like(cut), cut
    long, rows = cut.copy(), np.flatnonzero(own & (gap > min(gap_threshold, 60 * max_gap)))
    lon, lat = (fixes[name].to_numpy(dtype=float) for name in ("lon", "lat"))
    before, after = (on_sphere(lon[rows + i], lat[rows + i]) for i in (0, 1))
    near = EARTH_RADIUS * np.linalg.norm(after - before, axis=0) < dist_threshold
    cut[rows] = gap[rows] > np.where(near, 60 * max_gap, gap_threshold)
    return long & ~cut, cut


def on_sphere(lon: Any, lat: Any) -> np.ndarray:
    """(3, F) points on the unit sphere, where straight lines are easier than great circles."""
    return _directions(*(np.asarray(degrees, dtype=float) for degrees in (lon, lat)))[:3]


def _directions(lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """(6, F) `on_sphere`, and what `_middles` averages; each part stays in a processor's cache."""
    axes = np.empty((6, len(lon)))
    for start in range(0, len(lon), 8192):
        part = slice(start, start + 8192)
        east, north = np.radians(lon[part]), np.radians(lat[part])
        sin, cos, flat = np.sin(east), np.cos(east), np.cos(north)
        axes[:, part] = flat * cos, flat * sin, np.sin(north), sin, cos, lat[part]
    return axes


def _runs(points: np.ndarray, distance: float, edges: np.ndarray) -> np.ndarray:
    """The fixes at which runs begin: at edges, and ``distance`` or more from a run's first one."""
    # On the unit sphere, a great circle of d metres has the chord 2 sin(d / 2R).
    reach = float(2 * np.sin(min(distance / (2 * EARTH_RADIUS), np.pi / 2))) ** 2

    def far(some: np.ndarray, others: np.ndarray) -> np.ndarray:
        away = some - others
        away *= away
        return np.asarray(np.add.reduce(away) >= reach)

    # Who moves is soon far away: the next such fix of all that have left some fixes later.
    leap = np.zeros(points.shape[1], dtype=np.uint8)
    rows = np.flatnonzero(far(points[:, SOON:], points[:, :-SOON]))
    for step in range(1, SOON + 1):
        left = far(points.take(rows + step, axis=1), points.take(rows, axis=1))
        leap[rows[left]] = step
        rows = rows[~left]
    leaps, runs = leap.tobytes(), []
    for at, high in bar([*pairwise(edges.tolist())], "finding stays", len(edges) - 1):
        while at < high:
            runs.append(at)
            if step := leaps[at]:
                at += step
                continue
            # Who stays does so for long: look at twice as many fixes each time.
            here, at, wide = points[:, at, None], at + 1, BLOCK
            while at < high and not step:
                away = far(points[:, at : at + wide], here)
                first = int(away.argmax())
                step = away[first]
                at, wide = at + (first if step else len(away)), 2 * wide
    return np.array(runs, dtype=np.int64)


def _middles(lon: np.ndarray, axes: np.ndarray, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """(3, S) the means of (3, F) axes at the different positions of fixes ``first`` to ``stop``.

    Longitudes are averaged as angles, for those on both sides of 180.
    """
    sums, sizes = [], []
    for a, b in zip(first.tolist(), stop.tolist(), strict=True):
        x, y = lon[a:b], axes[2, a:b]
        order = x.argsort()
        ordered = x[order]
        if (ordered[1:] == ordered[:-1]).any():  # by latitude as well, and what is the same once
            order = np.lexsort((y, x))
            here, there = order[1:], order[:-1]
            order = order[np.append(True, (x[here] != x[there]) | (y[here] != y[there]))]
        sums.append(np.add.reduce(axes[:, a:b].take(order, axis=1), axis=1))
        sizes.append(len(order))
    return np.array(sums).reshape(-1, 3).T / sizes


def require_stays(staypoints: pd.DataFrame, *more: str) -> None:
    """Refuse a table without the columns of staypoints."""
    missing = [
        name for name in ("user_id", *TIMES, "lon", "lat", *more) if name not in staypoints.columns
    ]
    if missing:
        maker = "generate_locations" if missing[0] == "location_id" else "generate_staypoints"
        raise DataError(
            f"Column '{missing[0]}' is missing; pgt.readers.gps.{maker} makes the table that is "
            "needed."
        )


def generate_locations(
    staypoints: pd.DataFrame,
    *,
    eps: float = 20.0,  # metres
    min_samples: int = 2,
    haversine_order: HaversineOrder = "right",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cluster everybody's staypoints into locations (DBSCAN); ``location_id`` is empty at none.

    scikit-learn's haversine expects (latitude, longitude); "swapped" hands it (longitude,
    latitude), as trackintel does, on which the published figures rest.
    """
    require_stays(staypoints)
    if haversine_order not in ("right", "swapped"):
        raise DataError(f"haversine_order is {haversine_order!r}; it must be right or swapped.")
    if not (eps > 0 and min_samples >= 1):
        raise DataError(f"eps={eps:g} must be above 0 and min_samples={min_samples} at least 1.")
    stays = staypoints.sort_values(["user_id", "started_at"], kind="stable", ignore_index=True)
    order = ["lat", "lon"] if haversine_order == "right" else ["lon", "lat"]
    radians = np.radians(stays[order].to_numpy(dtype=float))  # (S, 2)
    cluster = DBSCAN(eps=eps / EARTH_RADIUS, min_samples=min_samples, metric="haversine",
                     algorithm="ball_tree")  # fmt: skip
    label = cluster.fit_predict(radians) if len(stays) else np.empty(0, dtype=np.int64)
    stays["location_id"] = pd.Series(label, dtype="Int64").mask(label < 0)
    return stays, _table_of_locations(stays[label >= 0])


def _table_of_locations(stays: pd.DataFrame) -> pd.DataFrame:
    """Each location's centre, staypoints and people; longitudes are averaged as angles."""
    different = stays.drop_duplicates(["location_id", "lon", "lat"])
    east = np.radians(different.lon.astype(float))
    different = different.assign(sin=np.sin(east), cos=np.cos(east))
    mean = different.groupby("location_id")[["sin", "cos", "lat"]].mean()
    places = pd.DataFrame({"lon": np.degrees(np.arctan2(mean["sin"], mean["cos"]))})
    counts = stays.groupby("location_id").user_id.agg(n_staypoints="size", n_users="nunique")
    places = places.assign(lat=mean["lat"]).join(counts)
    return places.reset_index().astype({"location_id": "int64"})


def merge_staypoints(
    staypoints: pd.DataFrame, places: pd.DataFrame | None = None, *, activity: float = ACTIVITY
) -> pd.DataFrame:
    """Merge a person's staypoints in a row at one location, at most a minute apart, into visits.

    Staypoints at no location and those of at most ``activity`` minutes are left out first. A visit
    lies at its location's centre; without ``places``, at its first staypoint.
    """
    require_stays(staypoints, "location_id")
    lasts = staypoints.finished_at - staypoints.started_at
    active = staypoints.location_id.notna() & (lasts > pd.Timedelta(minutes=activity))
    stays = staypoints[active].sort_values(["user_id", "started_at"], kind="stable")
    stays = stays.astype({"location_id": "int64"}).reset_index(drop=True)
    before = stays.shift()
    same = (stays.user_id == before.user_id) & (stays.location_id == before.location_id)
    goes_on = same & (stays.started_at - before.finished_at <= pd.Timedelta(minutes=1))
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


@renamed_keywords(distance="dist_threshold", minutes="time_threshold")
def visits(
    fixes: pd.DataFrame, *, timezone: str | None = None, max_gap: float = 72.0,
    dist_threshold: float = 200.0, time_threshold: float = 30.0,
    eps: float | None = None, min_samples: int = 2,
) -> pd.DataFrame:  # fmt: skip
    """Turn anybody's position fixes into visits; what is kept out is counted in notes.

    The zone is found from the coordinates if ``timezone`` does not name it; a silence between two
    fixes at the same place is a stay there up to ``max_gap`` hours. ``eps`` follows the scatter of
    the fixes within stays, from 20 to 60 metres, if it is left out.
    """
    require_zone(timezone)
    clean, dropped = clean_fixes(fixes, mend=True)
    require_any(clean, dropped)
    stays = generate_staypoints(
        clean, dist_threshold=dist_threshold, time_threshold=time_threshold, max_gap=max_gap
    )
    if stays.empty:
        raise DataError(
            f"None of {clean.user_id.nunique()} people has a staypoint (a stay of "
            f"{time_threshold:g} minutes within {dist_threshold:g} m); give longer recordings, or "
            "other limits."
        )
    if eps is None:
        eps = eps_of_scatter(clean, stays)
        if eps > EPS:
            note(
                f"the fixes scatter within stays, so stays within {eps:.0f} m are at one place; "
                "--eps (eps=) sets another distance."
            )
    stays, places = generate_locations(
        in_zone(stays, timezone or "UTC"), eps=eps, min_samples=min_samples
    )
    require_places(stays, eps, min_samples)
    nowhere = stays.location_id.isna()
    if nowhere.any():
        note(
            f"{int(nowhere.sum()):,} of {len(stays):,} stays are at no place, since fewer than "
            f"{min_samples} stays lie within {eps:.0f} m there, and are left out; a larger --eps "
            "or a smaller --min-samples (eps=, min_samples=) keeps more."
        )
    if lost := dropped[dropped > 0].to_dict():
        what = ", ".join(f"{n:,} {reason}" for reason, n in lost.items())
        note(f"{sum(lost.values()):,} of {len(fixes):,} fixes are kept out: {what}.")
    joined, cut = (int(some.sum()) for some in _silences(clean, dist_threshold, 24 * 60, max_gap))
    if joined + cut:
        note(
            f"{joined} silences of more than a day at one place are stays there (up to max_gap="
            f"{max_gap:g} hours, --max-gap); {cut} others end a stay at its last fix."
        )
    activity = min(ACTIVITY, np.nextafter(time_threshold, 0))
    table = merge_staypoints(stays[~nowhere], places, activity=activity)
    return note_data_checks(check(table if timezone else by_local_clocks(table, written=False)))


def eps_of_scatter(fixes: pd.DataFrame, stays: pd.DataFrame) -> float:
    """How near stays at one place lie, in metres, by how far a stay's fixes are from its middle."""
    group, number = spread(stays.n_fixes.to_numpy())
    at = on_sphere(fixes.lon, fixes.lat)[:, stays.first_fix.to_numpy()[group] + number]
    middle = np.stack([np.bincount(group, axis) for axis in at]) / np.bincount(group)
    away = ((at - middle[:, group]) ** 2).sum(0)
    scatter = EARTH_RADIUS * np.sqrt(np.bincount(group, away) / np.bincount(group))  # (S,)
    return float(np.clip(SCATTERS * np.median(scatter), EPS, LARGEST_EPS))


def require_any(clean: pd.DataFrame, dropped: pd.Series) -> None:
    """Refuse fixes of which none is left after `clean_fixes`."""
    if clean.empty:
        why = ", ".join(f"{reason}: {n}" for reason, n in dropped.items() if n)
        raise DataError(
            f"None of the position fixes can be used ({why}); are lon and lat in their columns, "
            "and is the unit of the times right?"
            if why else "There are no position fixes; check the file or folder."
        )  # fmt: skip


def require_places(staypoints: pd.DataFrame, eps: float, min_samples: int) -> None:
    """Refuse staypoints of which none is in a location."""
    if staypoints.location_id.isna().all():
        raise DataError(
            f"None of {len(staypoints)} staypoints has {min_samples - 1} more within {eps:g} m, "
            "so there is no location; raise eps or lower min_samples."
        )
