"""The ground of every map: the town as it is, light, and with a table beside it."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pgt import city
from pgt.viz.basemap import GROUND, UNIT, base_map, finish, legend, steps


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


@pytest.fixture(scope="module")
def page(town: city.City) -> str:
    chart = base_map(town)
    legend(chart, "Signs", [("<circle r='6'/>", "<b>")])
    return finish(chart, "The ground", "A town.", pd.DataFrame({"a": [1]})).page


def walked(flat: list[int]) -> np.ndarray:
    """The corners (N, 2) of latitude and longitude that whole-number steps lead to."""
    return np.cumsum(np.reshape(flat, (-1, 2)), axis=0) * UNIT


def test_every_line_of_the_town_is_on_the_map_at_its_place(town: city.City, page: str) -> None:
    found = re.search(r"of (\[\[.*?\])\) \{", page)
    assert found
    layers: list[Any] = json.loads(found[1])
    drawn = {tuple(line) for _, lines in layers for line in lines}
    for feature in town.base["features"]:
        corners = feature["geometry"]["coordinates"]
        line = corners[0] if feature["geometry"]["type"] == "Polygon" else corners
        assert tuple(steps(line)) in drawn
        np.testing.assert_allclose(walked(steps(line)), np.array(line)[:, ::-1], atol=UNIT * 0.51)
    assert len(layers) >= len({f["properties"]["kind"] for f in town.base["features"]})
    assert {style["color"] for style, _ in layers} <= {look["color"] for look in GROUND.values()}


def test_every_district_has_its_name(town: city.City, page: str) -> None:
    for feature in town.base["features"]:
        if feature["properties"]["kind"] == "district":
            assert f'"{feature["properties"]["name"]}"' in page


def test_the_ground_is_light_and_asks_for_no_tiles(page: str) -> None:
    assert len(page) < 60_000
    assert "tileLayer" not in page and "L.control.scale" in page


def test_a_legend_is_text_below_the_map(page: str) -> None:
    assert "<circle r='6'/></svg>&lt;b&gt;</span>" in page
    assert '<html lang="en">' in page
