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


def with_centers(staypoints: pd.DataFrame, locations: pd.DataFrame) -> pd.DataFrame:
    """Give staypoints without a position that of their location.

    Parameters
    ----------
    staypoints : DataFrame
        With ``location_id``; ``lon`` and ``lat`` stay where they are.
    locations : DataFrame
        With the location's id as the index, or as ``id`` or ``location_id``, and the centre as
        ``lon`` and ``lat``; of each person, if there is a ``user_id``.

    Returns
    -------
    DataFrame
        The staypoints, in their order.

    Raises
    ------
    DataError
        The two are not staypoints and their locations.

    Examples
    --------
    >>> staypoints = pd.DataFrame({"started_at": ["2024-05-01"], "location_id": [7]})
    >>> locations = pd.DataFrame({"lon": [16.4], "lat": [48.2]}, index=[7])
    >>> with_centers(staypoints, locations)[["lon", "lat"]].values.tolist()
    [[16.4, 48.2]]
    """
    if "started_at" not in staypoints.columns or "started_at" in locations.columns:
        raise DataError(
            "Two tables are read as trackintel's (staypoints, locations), in this order, and only "
            "the first has 'started_at'; give them so, or one table of visits."
        )
    if "location_id" not in staypoints.columns:
        raise DataError(
            "The staypoints have no column 'location_id'; take those that trackintel's "
            "generate_locations gives back beside the locations."
        )
    if not {"lon", "lat"} <= {*locations.columns}:
        return staypoints
    name = next((name for name in ("location_id", "id") if name in locations.columns), None)
    centers = locations.assign(location_id=locations.index if name is None else locations[name])
    keys = [key for key in ("user_id", "location_id") if key in {*staypoints} & {*centers}]
    centers = centers[[*keys, "lon", "lat"]].drop_duplicates(keys)
    try:
        found = staypoints[keys].merge(centers, on=keys, how="left").set_index(staypoints.index)
    except ValueError:
        raise DataError(
            "The ids of the staypoints and of the locations are numbers in one table and texts in "
            "the other; convert them with .astype(str)."
        ) from None
    known = {
        one: staypoints[one].fillna(found[one]) if one in staypoints.columns else found[one]
        for one in ("lon", "lat")
    }
    return staypoints.assign(**known)
