"""From tables as their owners have them to an answer."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from pgt.predictor.estimator import NextLocation
from pgt.visits import check

from ..helpers import ZONE, routine_visits


class Points(pd.arrays.ArrowExtensionArray):
    """As GeoPandas' array of points, as far as it is asked: see `pgt.predictor.frames`."""

    x = property(lambda self: self._coordinate("x"))
    y = property(lambda self: self._coordinate("y"))

    def _coordinate(self, name: str) -> Any:
        return pd.Series(self).struct.field(name).to_numpy(dtype=float)


class GeoDataFrame(pd.DataFrame):
    """As GeoPandas' table: a subclass, which stays one when rows or columns are taken."""

    @property
    def _constructor(self) -> type[GeoDataFrame]:
        return GeoDataFrame


def stand_in(table: pd.DataFrame, lon: pd.Series, lat: pd.Series) -> pd.DataFrame:
    points = pa.array([{"x": x, "y": y} for x, y in zip(lon, lat, strict=True)])
    return GeoDataFrame(table.assign(geom=Points(points)))


def real(table: pd.DataFrame, lon: pd.Series, lat: pd.Series) -> pd.DataFrame:
    geopandas = importlib.import_module("geopandas")
    points = geopandas.points_from_xy(lon, lat, crs="EPSG:4326")
    found: pd.DataFrame = geopandas.GeoDataFrame(table.assign(geom=points), geometry="geom")
    return found


@pytest.mark.parametrize("library", [stand_in, real])
def test_staypoints_of_trackintel_to_an_answer(library: Any) -> None:
    if library is real:
        pytest.importorskip("geopandas", reason="GeoPandas is not installed")
    visits = check(routine_visits(users=3, days=14))
    visits = visits.assign(lon=16 + visits.location_id / 100, lat=48.25)
    noise = visits.index % 9 == 4
    # Times in UTC, a gap for a staypoint at no location, and columns that nobody here needs.
    table = visits[["user_id"]].assign(
        started_at=visits.started_at.dt.tz_convert("UTC"),
        finished_at=visits.finished_at.dt.tz_convert("UTC"),
        elevation=170.0,
        location_id=visits.location_id.astype("Int64").mask(noise),
        is_activity=True,
    )
    staypoints = library(table.rename_axis("id"), visits.lon, visits.lat)
    before = pd.DataFrame(staypoints).copy()

    model = NextLocation.pretrained(timezone=ZONE)
    found = model.predict(staypoints, top=3)
    pd.testing.assert_frame_equal(found, model.predict(visits[~noise], top=3))
    assert set(found.user_id) == set(visits.user_id)
    assert ((found.lon - 16) * 100 - found.location_id).abs().max() < 1e-9
    user = found.user_id.iloc[0]
    page = model.map(staypoints, user, top=2).get_root().render()
    cells = re.findall(r"<td>(.*?)</td>", page)  # place, visits and probability
    assert cells[0::3][:2] == [str(place) for place in found.location_id.head(2)]
    assert len(model.explain(staypoints, user)) > 0
    pd.testing.assert_frame_equal(pd.DataFrame(staypoints), before)  # and it is left as it was
