"""The town's ground: every shape at its place, from the ground up."""

from __future__ import annotations

import pandas as pd
import pytest
from wherenext import city
from wherenext.ground import STYLES, districts, ground, located


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


def test_every_district_has_its_name_in_its_middle(town: city.City) -> None:
    names = [
        feature["properties"]["name"]
        for feature in town.base["features"]
        if feature["properties"]["kind"] == "district"
    ]
    middles = districts(town.base)
    assert middles.location_id.tolist() == names


def test_the_geojson_has_every_shape_once_from_the_ground_up(town: city.City) -> None:
    features = ground(town.base)["features"]
    shapes = [one for one in features if one["geometry"]["type"] != "Point"]
    kinds = [one["properties"]["kind"] for one in shapes]
    assert kinds == sorted(kinds, key=list(STYLES).index)
    count = sum(len(one["geometry"]["coordinates"]) for one in shapes)
    assert count == len(town.base["features"])
    points = [one["properties"]["name"] for one in features if one not in shapes]
    assert points == districts(town.base).location_id.tolist()


def test_a_table_gets_the_spots_of_its_places(town: city.City) -> None:
    place = town.places.iloc[3]
    table = pd.DataFrame({"location_id": [place.location_id, -7], "lon": 0.0}, index=[5, 6])
    found = located(table, town)
    assert found.index.tolist() == [5]
    assert found.loc[5, ["name", "lon", "lat"]].tolist() == [place["name"], place.lon, place.lat]
    one = located(town.visits.iloc[0], town)
    assert len(one) == 1 and one.lon.iloc[0] == town.visits.lon.iloc[0]
    assert table.lon.tolist() == [0.0, 0.0]
