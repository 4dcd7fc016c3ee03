"""The town's ground: as GeoJSON and as SVG paths, every line at its place, from the ground up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from wherenext import city
from wherenext.ground import STYLES, UNIT, districts, frame, ground, located, svg_ground

WIDE = {"promenade": 3, "avenue": 4}  # streets


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


def lines(path: str) -> list[np.ndarray]:
    """The lines of an SVG path, as corners (N, 2) of east and north."""
    found = []
    for line in path.split("M")[1:]:
        start, _, rest = line.rstrip("z").partition("l")
        numbers = [int(number) for number in f"{start} {rest}".split()]
        found.append(np.cumsum(np.reshape(numbers, (-1, 2)), axis=0))
    return found


def test_every_line_of_the_town_is_on_the_map_at_its_place(town: city.City) -> None:
    corner = town.bounds[:2]
    drawn: dict[Any, list[np.ndarray]] = {}
    layers = svg_ground(town.base["features"], corner)["layers"]
    for kind, width, path in layers:
        drawn[kind, width] = lines(path)
    kinds = [kind for kind, _, _ in layers]
    assert kinds == sorted(kinds, key=list(STYLES).index)
    for feature in town.base["features"]:
        about, corners = feature["properties"], feature["geometry"]["coordinates"]
        line = np.array(corners[0] if feature["geometry"]["type"] == "Polygon" else corners)
        width = WIDE.get(str(about.get("level")), STYLES[about["kind"]].get("weight", 1))
        there = drawn[about["kind"], width].pop(0)
        np.testing.assert_allclose(there * UNIT + corner, line, atol=UNIT * 0.51)
    assert not any(drawn.values())


def test_every_district_has_its_name_in_its_middle(town: city.City) -> None:
    names = [
        feature["properties"]["name"]
        for feature in town.base["features"]
        if feature["properties"]["kind"] == "district"
    ]
    middles = districts(town.base)
    assert middles.location_id.tolist() == names
    labels = svg_ground(town.base["features"], town.bounds[:2])["labels"]
    assert [name for *_, name in labels] == names
    east, north, _ = labels[0]
    here = np.array(town.bounds[:2]) + np.array([east, north]) * UNIT
    np.testing.assert_allclose(here, middles.loc[0, ["lon", "lat"]].astype(float), atol=UNIT)


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


def test_the_name_of_a_map_is_text() -> None:
    page = frame('A "map" <b>', "Show {{ all }}")
    assert 'aria-label="A &quot;map&quot; &lt;b&gt;"' in page and "{{" not in page
