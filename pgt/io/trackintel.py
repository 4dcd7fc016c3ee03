"""Visits as trackintel wants them: GeoDataFrames of staypoints and of locations, and back.

Source of the conventions: Martin et al. 2023, https://doi.org/10.1016/j.compenvurbsys.2023.101938.
trackintel itself is not needed, GeoPandas is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from pgt.errors import DataError

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

CRS = "EPSG:4326"  # longitude and latitude in degrees
NEEDED = ("user_id", "started_at", "finished_at", "lon", "lat")


def to_trackintel(visits: pd.DataFrame) -> tuple[GeoDataFrame, GeoDataFrame]:
    """Write visits, or staypoints, as trackintel's staypoints and locations.

    `pgt.NextLocation` and `pgt.predictor.frames.as_visits` read the staypoints back.

    Parameters
    ----------
    visits : DataFrame
        ``user_id``, ``started_at`` and ``finished_at`` (with time zone), ``lon`` and ``lat`` in
        degrees; ``location_id`` if the places are known. A gap in it is trackintel's noise: a
        staypoint at no location.

    Returns
    -------
    staypoints : GeoDataFrame
        One row a visit in the order of the table, with an index ``id``, the points as ``geometry``
        in place of ``lon`` and ``lat``, and all other columns. Whole numbers of locations are of
        the type Int64, as in trackintel.
    locations : GeoDataFrame
        One row for each person's every location: ``user_id`` and ``center``, with the location's
        id as the index ``id``. The center is the mean of the person's points there.

    Raises
    ------
    DataError
        A column is missing, a time has no zone, a point is no point, or GeoPandas is not installed.

    Examples
    --------
    >>> to_trackintel(pd.DataFrame({"user_id": [1]}))
    Traceback (most recent call last):
        ...
    pgt.errors.DataError: trackintel needs the column 'started_at', which the table lacks; add it.
    """
    for name in NEEDED:
        if name not in visits.columns:
            raise DataError(f"trackintel needs the column '{name}', which the table lacks; add it.")
    for name in ("started_at", "finished_at"):
        if not isinstance(visits[name].dtype, pd.DatetimeTZDtype):
            raise DataError(
                f"'{name}' has no time zone; read the table with pgt.read_visits(…, timezone=…)."
            )
    bad = ~(visits.lon.between(-180, 180) & visits.lat.between(-90, 90))
    if bad.any():
        raise DataError(
            f"Row {int(bad.to_numpy().argmax())} has no longitude and latitude in degrees; "
            "fill them in, or leave the row out."
        )
    try:
        import geopandas
    except ImportError:
        raise DataError(
            "trackintel's tables are GeoPandas tables, which is not installed; run: "
            "python -m pip install geopandas."
        ) from None
    table = visits.reset_index(drop=True).rename_axis("id")
    if "location_id" in table.columns and pd.api.types.is_numeric_dtype(table.location_id):
        table = table.assign(location_id=table.location_id.astype("Int64"))
    points = geopandas.points_from_xy(table.lon, table.lat, crs=CRS)
    staypoints = geopandas.GeoDataFrame(table.drop(columns=["lon", "lat"]), geometry=points)
    if "location_id" not in table.columns:
        table = table.assign(location_id=pd.NA)
    at = table[table.location_id.notna()].groupby(["user_id", "location_id"], sort=True)
    mean = at[["lon", "lat"]].mean().reset_index("user_id").rename_axis("id")
    centers = geopandas.points_from_xy(mean.lon, mean.lat, crs=CRS)
    locations = geopandas.GeoDataFrame(
        mean[["user_id"]].assign(center=centers), geometry="center", crs=CRS
    )
    return staypoints, locations
