"""The ground of every map: the town as it is, light, and with a table beside it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wherenext import city
from wherenext.viz.basemap import (
    GROUND,
    UNIT,
    WIDE_STREETS,
    MapFigure,
    dot,
    ground_of,
    map_figure,
    of_town,
)


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


@pytest.fixture(scope="module")
def shown(town: city.City) -> MapFigure:
    spot = town.places.iloc[0]
    return map_figure(
        of_town(town, [(spot.lat, spot.lon, "<i>here</i>")]) | {"layers": [], "about": ["x"]},
        "map_city.js", title="The ground", caption="A town.", table=pd.DataFrame({"a": [1]}),
        legend=[(dot("attention"), "<b>")],
    )  # fmt: skip


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
    for kind, width, path in ground_of(town.base["features"], corner)["layers"]:
        drawn[kind, width] = lines(path)
    for feature in town.base["features"]:
        about, corners = feature["properties"], feature["geometry"]["coordinates"]
        area = feature["geometry"]["type"] == "Polygon"
        width = WIDE_STREETS.get(str(about.get("level")), GROUND[about["kind"]])
        line = np.array(corners[0] if area else corners)
        there = drawn[about["kind"], width].pop(0)
        np.testing.assert_allclose(there * UNIT + corner, line, atol=UNIT * 0.51)
    assert not any(drawn.values())


def test_layers_lie_from_the_ground_up(town: city.City) -> None:
    layers = ground_of(town.base["features"], town.bounds[:2])["layers"]
    places = [(list(GROUND).index(kind), width) for kind, width, _ in layers]
    assert places == sorted(places) and len(places) == len(set(places))


def test_every_district_has_its_name(town: city.City) -> None:
    labels = ground_of(town.base["features"], town.bounds[:2])["labels"]
    districts = [
        feature["properties"]["name"]
        for feature in town.base["features"]
        if feature["properties"]["kind"] == "district"
    ]
    assert [name for *_, name in labels] == districts


def test_a_place_is_where_it_is(town: city.City, shown: MapFigure) -> None:
    spot = town.places.iloc[0]
    west, south = town.bounds[:2]
    ((east, north),) = shown.data["spots"]
    assert west + east * UNIT == pytest.approx(spot.lon, abs=UNIT)
    assert south + north * UNIT == pytest.approx(spot.lat, abs=UNIT)


def test_the_ground_is_light_and_needs_no_network(shown: MapFigure) -> None:
    page = shown._repr_html_()
    assert len(page) < 75_000
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert set(re.findall(r"https?://[^\"\s]+", page)) == {"http://www.w3.org/2000/svg"}


def test_names_are_json_and_meanings_are_text(shown: MapFigure) -> None:
    page = shown._repr_html_()
    assert '<circle r="6" class="attention"/></svg>&lt;b&gt;</span>' in page
    assert "<i>here" not in page and "\\u003ci>here" in page.replace("\\u003e", ">")


def test_maps_on_one_page_have_names_of_their_own(town: city.City, shown: MapFigure) -> None:
    other = map_figure(
        of_town(town, []) | {"layers": [], "about": []}, "map_city.js", title="The ground",
        caption="A town.", table=shown.table, legend=[],
    )  # fmt: skip
    assert other.data["id"] != shown.data["id"]
