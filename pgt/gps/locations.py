"""Places: staypoints that lie together are one location, stays there in a row are one visit."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.gps.density import density_clusters
from pgt.units import EARTH_RADIUS
from pgt.visits import person_rows

HaversineOrder = Literal["right", "swapped"]
STAY_COLUMNS = ("user_id", "started_at", "finished_at", "lon", "lat")


def require_stays(staypoints: pd.DataFrame, *more: str) -> None:
    """Refuse a table without the columns of staypoints."""
    missing = [name for name in (*STAY_COLUMNS, *more) if name not in staypoints.columns]
    if missing:
        maker = "generate_locations" if missing[0] == "location_id" else "generate_staypoints"
        raise DataError(
            f"Column '{missing[0]}' is missing; pgt.gps.{maker} makes the table that is needed."
        )


def require_settings(eps: float, min_samples: int, haversine_order: str) -> None:
    """Refuse settings of `generate_locations` that make no sense."""
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
        As `pgt.gps.staypoints.generate_staypoints` returns them.
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

    Notes
    -----
    Ester et al. (1996), by `pgt.gps.density`.

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
    require_settings(eps, min_samples, haversine_order)
    stays = staypoints.sort_values(["user_id", "started_at"], kind="stable", ignore_index=True)
    order = ["lat", "lon"] if haversine_order == "right" else ["lon", "lat"]
    radians = np.radians(stays[order].to_numpy(dtype=float))  # (S, 2)
    _, begins = person_rows(stays.user_id)
    groups = np.split(radians, np.unique(begins)[1:]) if per_user else [radians]
    labels, known = [], 0
    for group in groups:
        found = density_clusters(group, eps / EARTH_RADIUS, min_samples)
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
    the first has ended.

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

    Notes
    -----
    trackintel's ``merge_staypoints`` without triplegs.
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
