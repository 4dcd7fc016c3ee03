"""Visits as trackintel's tables: its own classes take them, and they are read back as they were."""

from __future__ import annotations

import sys

import pandas as pd
import pytest
from pgt.io.trackintel import to_trackintel, with_centers
from pgt.predictor.frames import as_visits

from pgt.errors import DataError
from pgt.visits import check

from ..helpers import routine_visits


def located() -> pd.DataFrame:
    visits = check(routine_visits(users=3, days=10))
    return visits.assign(lon=16 + visits.location_id / 100, lat=48.25)


def test_what_is_written_is_read_back() -> None:
    pytest.importorskip("geopandas")
    visits = located()
    staypoints, locations = to_trackintel(visits)
    assert {"user_id", "started_at", "finished_at", "location_id"} <= set(staypoints.columns)
    assert "lon" not in staypoints.columns and staypoints.geometry.geom_type.eq("Point").all()
    assert staypoints.crs == "EPSG:4326" and staypoints.index.name == "id"
    back = as_visits(staypoints)
    for name in ("user_id", "location_id", "started_at", "finished_at", "lon", "lat"):
        assert back[name].tolist() == visits[name].tolist(), name
    assert back.location_id.dtype == visits.location_id.dtype
    assert locations.geometry.name == "center" and locations.index.name == "id"
    assert set(zip(locations.user_id, locations.index, strict=True)) == set(
        zip(visits.user_id, visits.location_id, strict=True)
    )
    assert (locations.center.x - (16 + locations.index / 100)).abs().max() < 1e-9


def test_noise_stays_noise() -> None:
    pytest.importorskip("geopandas")
    visits = located()
    visits["location_id"] = visits.location_id.where(visits.index % 5 != 0)
    staypoints, locations = to_trackintel(visits)
    assert staypoints.location_id.dtype == "Int64"
    assert staypoints.location_id.isna().sum() == (visits.index % 5 == 0).sum()
    assert locations.index.notna().all()
    assert len(as_visits(staypoints)) == visits.location_id.notna().sum()
    alone, none = to_trackintel(visits.drop(columns="location_id"))
    assert len(alone) == len(visits) and len(none) == 0


def test_trackintel_takes_them() -> None:
    ti = pytest.importorskip("trackintel", reason="trackintel is not installed")
    staypoints, locations = to_trackintel(located())
    assert len(ti.Staypoints(staypoints)) == 120
    assert len(ti.Locations(locations)) == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.drop(columns="lon"), "needs the column 'lon'"),
        (lambda v: v.assign(started_at=v.started_at.dt.tz_localize(None)), "no time zone"),
        (lambda v: v.assign(lat=v.lat.where(v.index != 7)), "Row 7 has no longitude and latitude"),
        (lambda v: v.assign(lon=v.lon.where(v.index != 3, 200.0)), "Row 3"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said(change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(DataError, match=message):
        to_trackintel(change(located()))


def test_missing_geopandas_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(DataError, match="pip install geopandas"):
        to_trackintel(located())


def test_staypoints_take_the_centre_of_their_own_location() -> None:
    staypoints = pd.DataFrame(
        {
            "user_id": [1, 2, 1, 1],
            "started_at": 0,
            "location_id": pd.array([7, 7, 8, None], "Int64"),
        },
        index=[9, 8, 7, 6],
    )
    locations = pd.DataFrame(
        {"user_id": [1, 2, 1], "lon": [1.0, 2.0, 3.0], "lat": 0.0}, index=[7, 7, 8]
    )
    found = with_centers(staypoints, locations)
    assert found.lon.tolist()[:3] == [1, 2, 3] and found.lon.isna().tolist()[3]
    assert found.index.tolist() == [9, 8, 7, 6]
    own = with_centers(staypoints.assign(lon=[5.0, None, 5.0, 5.0], lat=1.0), locations)
    assert own.lon.tolist() == [5, 2, 5, 5]
    assert with_centers(staypoints, locations.drop(columns="lon")) is staypoints


@pytest.mark.parametrize(
    ("staypoints", "locations", "message"),
    [
        ({"lon": [1]}, {"started_at": [1]}, "in this order"),
        ({"started_at": [1]}, {"lon": [1]}, "no column 'location_id'; take those"),
        ({"started_at": [1], "location_id": [1]}, {"id": ["1"], "lon": [1], "lat": [1]}, "texts"),
    ],
)
def test_two_tables_that_are_not_those_are_refused(
    staypoints: dict[str, list[int]], locations: dict[str, list[int]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        with_centers(pd.DataFrame(staypoints), pd.DataFrame(locations))
