"""The town's ground: every shape at its place, from the ground up."""

from __future__ import annotations

import pytest
from wherenext import city
from wherenext.ground import STYLES, districts, ground


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
