"""Maps: no network, no text from data that becomes HTML, a table beside them."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
import torch
from wherenext import city
from wherenext.viz import maps, prediction_map
from wherenext.viz.basemap import MapFigure

from pgt.config import ModelConfig
from pgt.look import Look, look
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


@pytest.fixture(scope="module")
def seen(town: city.City) -> Look:
    data = prepare(town.visits, protocol="exact")
    torch.manual_seed(0)
    config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    return look(PointerGeneratorTransformer(config), data.test, 100)


def drawn(town: city.City, seen: Look) -> list[MapFigure]:
    return [
        maps.city_map(town, title="The town", caption="All places.", kinds=["park"]),
        prediction_map.window_map(town, seen, title="One window", caption="One prediction."),
    ]


def test_an_html_tag_as_a_place_name_stays_text(town: city.City, seen: Look) -> None:
    places = town.places.assign(name=EVIL, district=EVIL)
    base = {**town.base, "features": [dict(f) for f in town.base["features"]]}
    for feature in base["features"]:
        feature["properties"] = {**feature["properties"], "name": EVIL}
    for shown in drawn(replace(town, places=places, base=base), seen):
        page = shown._repr_html_()
        assert "onerror" in page  # the name is shown
        assert not re.search(r"<img[^>]*onerror", page, flags=re.IGNORECASE)


def test_title_and_caption_are_escaped(town: city.City, seen: Look) -> None:
    shown = prediction_map.window_map(town, seen, title=f'"{EVIL}', caption=EVIL)
    page = shown._repr_html_()
    assert EVIL not in page
    assert f'aria-label="&quot;{html.escape(EVIL)}"' in page


def test_a_map_has_a_scale_and_a_legend(town: city.City, seen: Look) -> None:
    all_places, one = drawn(town, seen)
    for shown in (all_places, one):
        assert 'data-live="scale"' in shown.body
    assert "</svg>park</span>" in all_places.body
    assert "pointer attention" in one.body


def test_every_visited_place_is_a_dot_with_its_visits(town: city.City) -> None:
    data = maps.city_map(town, title="The town", caption="All places.").data
    visits = town.visits.location_id.value_counts()
    numbers = [number for *_, some in data["layers"] for number in some]
    assert sorted(numbers) == list(range(len(visits)))
    size = {number: size for _, size, some in data["layers"] for number in some}
    by_name = dict(zip(town.places.location_id, town.places.name.astype(str), strict=True))
    most = by_name[visits.index[0]]
    largest = max(size, key=lambda number: size[number])
    assert size[data["names"].index(most)] == size[largest]
    assert f"{visits.iloc[0]} visits" in data["about"][data["names"].index(most)]


def test_the_table_says_what_the_map_shows(town: city.City, seen: Look) -> None:
    table = drawn(town, seen)[1].table
    shown = seen.candidates.head(len(table))
    assert len(table) == 5
    assert table.probability.tolist() == shown.probability.round(3).tolist()
    attention = seen.visits.groupby("location_id").attention.sum()
    for row, place in zip(table.itertuples(), shown.location_id, strict=True):
        assert row.attention == pytest.approx(attention.get(place, 0.0), abs=6e-4)


def test_the_unknown_place_is_in_the_table_but_not_on_the_map(town: city.City, seen: Look) -> None:
    candidates = seen.candidates.copy()
    candidates["location_id"] = candidates.location_id.astype(object)
    candidates.loc[0, "location_id"] = None
    shown = prediction_map.window_map(
        town, replace(seen, candidates=candidates), title="Unknown", caption="Unknown."
    )
    assert shown.table.place[0] == "unknown place"


def test_every_prediction_is_small_enough_for_a_page(town: city.City, seen: Look) -> None:
    assert all(len(shown._repr_html_()) < 250_000 for shown in drawn(town, seen))
