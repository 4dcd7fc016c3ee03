"""From position fixes to visits: clean, staypoints, locations, merged visits.

A *position fix* is one measured position at one moment. A *staypoint* is a stretch of fixes that
stay near the first of them for long enough. Staypoints that lie together are one *location*, and
staypoints in a row at one location are one *visit*. The steps have trackintel's names, and give
what trackintel gives. `visits` goes the whole way for anybody's fixes; `fixes_to_visits` goes it by
the protocol of Hong et al. (2023), and tells who and what was left out at which step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import signature
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN

from pgt.datasets import by_local_clocks, require_zone
from pgt.errors import DataError, note
from pgt.plausibility import note_doubts
from pgt.visits import (
    EARTH_RADIUS,
    LIMITS,
    SPLITS,
    check,
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
POOR = f"accuracy worse than {MAX_ACCURACY:g} m"
LEAP = 50.0  # metres a second, there and back
DAY = np.timedelta64(1, "D")
DROPPED, SILENCES = "dropped: ", ("long silences joined", "long silences that cut")
HaversineOrder = Literal["right", "swapped"]


def clean_fixes(
    fixes: pd.DataFrame, *, now: pd.Timestamp | None = None, mend: bool = False
) -> tuple[pd.DataFrame, pd.Series]:
    """Keep the fixes that can be used, by user and time, and count the others by reason.

    What ``accuracy`` (metres), ``hdop`` and ``valid`` say of a fix counts, unless they would keep
    out more than half. With ``mend``, positions at 0/0 and lone leaps (far away and back at once)
    are kept out as well, and a poor fix within whose accuracy a good neighbour lies is put there.

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
        "position 0/0": mend & (lon == 0) & (lat == 0),
        **_poor(fixes),
    }
    poor = faults.pop(POOR, None) if mend else None
    counts, good = {}, np.ones(len(fixes), dtype=bool)
    for reason, fault in faults.items():
        counts[reason] = int((good & fault).sum())
        good &= ~fault
    kept = fixes if poor is None else fixes.assign(poor=poor)
    kept = _plain_ids(kept if good.all() else kept[good])
    kept = kept.sort_values(["user_id", "tracked_at"], kind="stable")
    # A fix can only be there again among those of the same moment, which are few.
    tied = np.zeros(len(kept) + 1, dtype=bool)
    tied[1:-1] = np.diff(microseconds(kept.tracked_at)) == 0
    tied = tied[1:] | tied[:-1]
    again = tied.copy()
    again[tied] = kept.loc[tied, [*FIX_COLUMNS]].duplicated().to_numpy()
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
    found = {}
    for name, reason, bad in (
        ("valid", "marked as not valid", lambda x: ~x.astype(bool)),
        ("hdop", f"hdop above {MAX_HDOP:g}", lambda x: x > MAX_HDOP),
        ("accuracy", POOR, lambda x: x > MAX_ACCURACY),
    ):
        if name in fixes.columns and len(fixes):
            rows = bad(fixes[name]).to_numpy(dtype=bool)
            found[reason] = rows if rows.mean() <= 0.5 else np.zeros_like(rows)
            if rows.mean() > 0.5:
                note(f"column '{name}' would keep out {int(rows.sum()):,} of {len(fixes):,} fixes "
                     f"({reason}), so it was not used.", stacklevel=4)  # fmt: skip
    return found


def _put_near(fixes: pd.DataFrame) -> pd.DataFrame:
    """Put poor fixes at the nearer of the good ones before and after, if it is near enough."""
    good = fixes[["lon", "lat"]].where(~fixes.poor)
    own = good.groupby(fixes.user_id)
    sides = [own.ffill(), own.bfill()]
    here = np.stack(on_sphere(fixes.lon, fixes.lat))
    away = np.stack([np.linalg.norm(np.stack(on_sphere(s.lon, s.lat)) - here, axis=0)
                     for s in sides]) * EARTH_RADIUS  # fmt: skip
    side = np.nan_to_num(away, nan=np.inf).argmin(0)
    near = fixes.poor & (np.nanmin(away, axis=0, initial=np.inf) <= fixes.accuracy)
    moved = {
        name: fixes[name].where(~near, np.where(side == 0, sides[0][name], sides[1][name]))
        for name in ("lon", "lat")
    }
    return fixes.assign(**moved, poor=fixes.poor & ~near)


def _leaps(fixes: pd.DataFrame) -> np.ndarray:
    """(F,) fixes over 200 m from both neighbours, which lie together, faster than anybody is."""
    found = np.zeros(len(fixes), dtype=bool)
    if len(fixes) < 3:
        return found
    points = np.stack(on_sphere(fixes.lon, fixes.lat))
    seconds = np.diff(microseconds(fixes.tracked_at)) / 1e6
    step = EARTH_RADIUS * np.linalg.norm(np.diff(points), axis=0)
    over = EARTH_RADIUS * np.linalg.norm(points[:, 2:] - points[:, :-2], axis=0)
    user, fast = fixes.user_id.to_numpy(), (step > 200) & (step > LEAP * seconds)
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


def generate_staypoints(
    fixes: pd.DataFrame,
    *,
    distance: float = 200.0,  # metres, along the great circle
    minutes: float = 30.0,
    gap_minutes: float = 24 * 60,
    max_gap: float | None = None,  # hours
    include_last: bool = True,
) -> pd.DataFrame:
    """Find where each person stayed, in fixes as `clean_fixes` returns them (Li et al. 2008).

    From a first fix on, the fixes nearer to it than ``distance`` belong together. The first one
    that is not ends them: after at least ``minutes`` they are a staypoint, else they are dropped;
    either way that fix is the next first one. A silence longer than ``gap_minutes`` also starts
    anew, and what was open before it is no staypoint. With ``max_gap``, a silence between two fixes
    at the same place is part of the stay if it lasts no longer, and before any other the stay ends
    at its last fix. ``finished_at`` is when the person was first seen elsewhere, ``lon`` and
    ``lat`` are the mean of the *different* positions, of the ``n_fixes`` from row ``first_fix``.

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
    fixes = _require_fixes(fixes)
    at, (user, people) = fixes.tracked_at, pd.factorize(fixes.user_id)
    lon, lat = (fixes[name].to_numpy(dtype=float) for name in ("lon", "lat"))
    micro, turn = microseconds(at), np.flatnonzero(np.diff(user)) + 1
    bounds = [0, *turn.tolist(), len(fixes)] if len(fixes) else [0]
    placed = (np.abs(lat) <= LIMITS["lat"]) & (np.abs(lon) <= LIMITS["lon"]) & at.notna()
    back = (np.delete(np.diff(micro), turn - 1) < 0).any()
    if not placed.all() or (user < 0).any() or back or len(people) < len(bounds) - 1:
        raise DataError(
            "The fixes are not sorted by user and time, or some have no user, time or position on "
            "Earth; pgt.gps.clean_fixes(fixes) sorts them, and counts and drops such fixes."
        )
    cuts = np.flatnonzero(_silences(fixes, distance, gap_minutes, max_gap)[1]) + 1
    shortest, last, found = round(minutes * 60e6), set(bounds), []
    for low, high in pairwise(sorted({*bounds, *cuts.tolist()})):
        start = low
        for i in _departures(lon[low:high], lat[low:high], distance):
            if micro[low + i] - micro[start] >= shortest:
                found.append((start, low + i, low + i))
            start = low + i
        counts = include_last if high in last else max_gap is not None
        if counts and micro[high - 1] - micro[start] >= shortest:
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


def _silences(
    fixes: pd.DataFrame, distance: float, gap_minutes: float, max_gap: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """(F - 1,) twice: silences above ``gap_minutes`` that a stay spans, and those that cut it."""
    gap = np.diff(microseconds(fixes.tracked_at)) / 60e6  # minutes
    user = fixes.user_id.to_numpy()
    own = user[1:] == user[:-1]
    cut = own & (gap > gap_minutes)
    if max_gap is None:
        return np.zeros_like(cut), cut
    long, rows = cut.copy(), np.flatnonzero(own & (gap > min(gap_minutes, 60 * max_gap)))
    lon, lat = (fixes[name].to_numpy(dtype=float) for name in ("lon", "lat"))
    before, after = (np.stack(on_sphere(lon[rows + i], lat[rows + i])) for i in (0, 1))
    near = EARTH_RADIUS * np.linalg.norm(after - before, axis=0) < distance
    cut[rows] = gap[rows] > np.where(near, 60 * max_gap, gap_minutes)
    return long & ~cut, cut


def on_sphere(lon: Any, lat: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three coordinates on the unit sphere, where straight lines are easier than great circles."""
    east, north = (np.radians(np.asarray(one, dtype=float)) for one in (lon, lat))
    flat = np.cos(north)
    return flat * np.cos(east), flat * np.sin(east), np.sin(north)


def _departures(lon: np.ndarray, lat: np.ndarray, distance: float) -> Iterator[int]:
    """Go from fix to fix and name each that is ``distance`` or more from the last one named."""
    # On the unit sphere, a great circle of d metres has the chord 2 sin(d / 2R).
    reach = float(2 * np.sin(min(distance / (2 * EARTH_RADIUS), np.pi / 2))) ** 2
    # Through a memoryview single numbers are read faster than from an array, without a copy.
    views: list[Any] = [memoryview(axis) for axis in on_sphere(lon, lat)]  # type: ignore[arg-type]
    x0, y0, z0 = (axis[0] for axis in views)
    for i, (x, y, z) in enumerate(zip(*views, strict=True)):
        if (x - x0) ** 2 + (y - y0) ** 2 + (z - z0) ** 2 >= reach:
            x0, y0, z0 = x, y, z
            yield i


def _middle(lon: np.ndarray, lat: np.ndarray) -> tuple[float, float]:
    """The mean of the different positions; longitudes as angles, for those on both sides of 180."""
    order = np.lexsort((lat, lon))
    lon, lat = lon[order], lat[order]
    new = np.ones(len(lon), dtype=bool)
    new[1:] = (np.diff(lon) != 0) | (np.diff(lat) != 0)
    east = np.radians(lon[new])
    mean = np.degrees(np.arctan2(np.sin(east).mean(), np.cos(east).mean()))
    return float(mean), float(lat[new].mean())


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
    eps: float = 20.0,  # metres
    min_samples: int = 2,
    haversine_order: HaversineOrder = "right",
    per_user: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cluster staypoints into locations (DBSCAN): those within ``eps`` are neighbours.

    A staypoint with ``min_samples`` neighbours, itself included, founds a location. People share
    locations, as in the published protocol, unless ``per_user``. scikit-learn's haversine expects
    (latitude, longitude); "swapped" hands it (longitude, latitude), as trackintel does, on which
    the published figures rest: ``eps`` is then stretched north-south and squeezed east-west.
    ``location_id`` counts from 0 in order of discovery, and is empty at none.

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
    """Merge a person's staypoints in a row at one location into visits (`pgt.visits.check`).

    Staypoints at no location, and those of at most ``activity_minutes``, are left out first; two
    neighbours are one visit if the second begins at most ``merge_minutes`` after the first has
    ended. A visit lies at its location's centre; without ``places``, at its first staypoint.
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


def generate_triplegs(
    fixes: pd.DataFrame, staypoints: pd.DataFrame, *, gap_minutes: float = 15.0
) -> pd.DataFrame:
    """Find the movements between staypoints (trackintel's method "between_staypoints").

    A tripleg is a run of at least two of a person's fixes outside staypoints, not all at one
    position, without a silence longer than ``gap_minutes``. ``staypoints`` are those of ``fixes``.
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
    """Per person, the whole ``days`` tracked, and the ``windows`` of so many weeks with a record.

    A window slides in steps of a week from the person's first day, as long as it ends within the
    whole weeks of tracking. Records are staypoints and triplegs, cut at midnight of their zone. The
    published filter by quality asks for one such window, whatever share of it is covered.
    """
    if weeks < 1:
        raise DataError(f"weeks={weeks} must be at least 1.")
    records = pd.concat([staypoints, triplegs], ignore_index=True)
    rows = []
    for person, own in records.groupby("user_id", sort=True):
        start, end = (own[name].dt.tz_localize(None).to_numpy("datetime64[us]")
                      for name in ("started_at", "finished_at"))  # fmt: skip
        days = int((end.max() - start.min()) // DAY)
        first = start.astype("datetime64[D]")
        last = np.maximum(first, (end - np.timedelta64(1, "us")).astype("datetime64[D]"))
        row, number = spread((last - first).astype(np.int64) + 1)
        day = first[row] + number
        whole = np.minimum(end[row], (day + DAY).astype(start.dtype))  # where each piece ends
        low = first.min() + np.arange(max(0, days // 7 - weeks + 1)) * 7 * DAY
        high = (low + weeks * 7 * DAY).astype(start.dtype)
        held = [((day >= a) & (whole < b)).any() for a, b in zip(low, high, strict=True)]
        rows.append((person, days, sum(held)))
    return pd.DataFrame(rows, columns=["user_id", "days", "windows"])


@dataclass(frozen=True)
class Tracks:
    """Where people stayed and when they moved, in UTC, and what could not be used.

    ``people`` is by ``user_id``: ``n_fixes`` (kept), ``n_staypoints``; ``dropped`` counts fixes by
    reason, ``silences`` those of more than a day that a stay spans, or that cut one.
    """

    staypoints: pd.DataFrame
    triplegs: pd.DataFrame
    people: pd.DataFrame
    dropped: pd.Series
    silences: dict[str, int]


@dataclass(frozen=True)
class GpsResult:
    """The visits that came out, and what became of everything that went in."""

    visits: pd.DataFrame  # as of `pgt.visits.check`, with ``split``: the people who remain
    counts: pd.DataFrame  # a row per step: ``step``, ``n``, ``people`` (empty: nobody is counted)
    people: pd.DataFrame  # a row per person; ``left`` says why they are not in ``visits``
    staypoints: pd.DataFrame  # everybody's, with ``location_id``
    locations: pd.DataFrame
    all_visits: pd.DataFrame  # before the last filter, whose people have an empty ``split``


def visits(
    fixes: pd.DataFrame, *, timezone: str | None = None, max_gap: float = 72.0, **settings: Any
) -> pd.DataFrame:
    """Turn anybody's position fixes into visits; nobody is left out who has a place.

    The zone is found from the coordinates if ``timezone`` does not name it; a silence between two
    fixes at the same place is a stay there up to ``max_gap`` hours. Other settings are those of
    `fixes_to_visits`, such as ``eps``. ``attrs["counts"]`` lists (step, number, people) of all that
    was kept and kept out, ``attrs["left"]`` says why people are missing.

    >>> at = pd.date_range("2024-01-01", "2024-01-09", freq="10min", tz="UTC")
    >>> fixes = pd.DataFrame({"user_id": "ann", "tracked_at": at, "lon": 16.37,
    ...                       "lat": 48.2 + 0.01 * (at.hour // 6 % 2)})
    >>> len(visits(fixes, timezone="Europe/Vienna"))
    32
    """
    options = {"everybody": True, "timezone": timezone, "max_gap": max_gap, "mend": True}
    found = fixes_to_visits(fixes, **(options | settings))
    lost = found.counts[found.counts.step.str.startswith(DROPPED)]
    if len(lost):
        what = ", ".join(f"{row.n:,} {row.step.removeprefix(DROPPED)}" for row in lost.itertuples())
        note(f"{lost.n.sum():,} of {len(fixes):,} fixes are kept out: {what}.")
    joined, cut = (int(found.counts.n[found.counts.step == one].sum()) for one in SILENCES)
    if joined + cut:
        note(
            f"{joined} silences of more than a day at one place are stays there (up to max_gap="
            f"{max_gap:g} hours, --max-gap); {cut} others end a stay at its last fix."
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

    The settings are those of `staypoints_and_triplegs` and `tracks_to_visits`, above all
    ``timezone`` and ``haversine_order``.
    """
    own = signature(staypoints_and_triplegs).parameters
    first = {name: settings.pop(name) for name in [*settings] if name in own}
    return tracks_to_visits(staypoints_and_triplegs(fixes, **first), **settings)


def staypoints_and_triplegs(
    fixes: pd.DataFrame, *, distance: float = 200.0, minutes: float = 30.0,
    gap_minutes: float = 24 * 60, max_gap: float | None = None, mend: bool = False,
    now: pd.Timestamp | None = None,
) -> Tracks:  # fmt: skip
    """Clean the fixes, find staypoints and triplegs; settings as of the single steps."""
    clean, dropped = clean_fixes(fixes, now=now, mend=mend)
    if clean.empty:
        why = ", ".join(f"{reason}: {n}" for reason, n in dropped.items() if n)
        raise DataError(
            f"None of the position fixes can be used ({why}); are lon and lat in their columns, "
            "and is the unit of the times right?"
            if why else "There are no position fixes; check the file or folder."
        )  # fmt: skip
    stays = generate_staypoints(
        clean, distance=distance, minutes=minutes, gap_minutes=gap_minutes, max_gap=max_gap
    )
    joined, cut = _silences(clean, distance, gap_minutes, max_gap)
    numbers = (int(joined.sum()), int(cut.sum())) if max_gap else (0, 0)
    everybody = _plain_ids(plain_types(fixes[["user_id"]].dropna())).user_id.unique()
    people = clean.user_id.value_counts().reindex(sorted(everybody), fill_value=0)
    people = people.rename_axis("user_id").to_frame("n_fixes")
    people["n_staypoints"] = stays.user_id.value_counts().reindex(people.index, fill_value=0)
    legs = generate_triplegs(clean, stays)
    return Tracks(_in_zone(stays, "UTC"), _in_zone(legs, "UTC"), people, dropped,
                  dict(zip(SILENCES, numbers, strict=True)))  # fmt: skip


def _in_zone(table: pd.DataFrame, timezone: str) -> pd.DataFrame:
    names = ("started_at", "finished_at")
    return table.assign(**{name: table[name].dt.tz_convert(timezone) for name in names})


def tracks_to_visits(
    tracks: Tracks,
    *,
    timezone: str | None = "UTC",  # decides where days begin; None finds it from the coordinates
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

    Unless ``everybody`` is kept, people stay who were tracked for more than ``min_days`` days, with
    a window of ``quality_weeks`` weeks (`tracking_quality`), and who have windows of ``days`` days
    and ``min_visits`` visits (`pgt.prepare`) in all three splits. Other settings are those of
    `generate_locations` and `merge_staypoints`. Published figures rest on "UTC" and "swapped".
    """
    require_zone(timezone)
    stays, legs = (_in_zone(t, timezone or "UTC") for t in (tracks.staypoints, tracks.triplegs))
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
        n = int((tally.people.n_staypoints > 0).sum())
        raise DataError(
            f"Nobody is left: of {len(tally.people)} people {n} have staypoints, and the longest "
            f"tracking is {tally.people.days.max()} days; more than {min_days}, and "
            f"{quality_weeks} weeks, are asked for. Lower min_days and quality_weeks, or keep "
            "everybody (everybody=True)."
            if n and not everybody
            else f"Nobody is left: none of {len(tally.people)} people has a staypoint (a stay of "
            "half an hour within 200 m, unless you set it otherwise); give longer recordings."
        )
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
    table = split_by_days(check(table if timezone else by_local_clocks(table)))
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
        self.steps += [(DROPPED + reason, int(n), None) for reason, n in dropped.items() if n]
        self.steps.append(("fixes kept", kept, int((people.n_fixes > 0).sum())))
        self.steps += [(what, n, None) for what, n in self.tracks.silences.items() if n]
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
