"""Predictions on the map: their numbers are the model's, their text stays text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from wherenext import city
from wherenext.viz.basemap import SCRIPTS, MapFigure
from wherenext.viz.prediction_map import film, film_map, window_map
from wherenext.web_figure import web

from pgt.config import ModelConfig
from pgt.look import Look, look
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset, prepare

EVIL = "</script><img src=x onerror=alert(1)>"
WINDOWS = (100, 101, 102)


@pytest.fixture(scope="module")
def town() -> city.City:
    return city.load()


@pytest.fixture(scope="module")
def data(town: city.City) -> Dataset:
    return prepare(town.visits, protocol="exact")


@pytest.fixture(scope="module")
def model(data: Dataset) -> PointerGeneratorTransformer:
    torch.manual_seed(0)
    vocabulary = data.vocabulary
    return PointerGeneratorTransformer(ModelConfig(vocabulary.n_locations, vocabulary.n_users))


@pytest.fixture(scope="module")
def looks(model: PointerGeneratorTransformer, data: Dataset) -> list[Look]:
    return [look(model, data.test, i) for i in WINDOWS]


def locations(town: city.City, shown: dict[str, Any]) -> list[Any]:
    """The location behind each number of a film, found by its position and name."""
    known = {
        (round(p.lat, 5), round(p.lon, 5), p.name): p.location_id
        for p in town.places.itertuples(index=False)
    }
    return [known[tuple(place)] for place in shown["places"]]


def test_what_is_drawn_is_what_the_prediction_used(
    town: city.City, model: PointerGeneratorTransformer, data: Dataset, looks: list[Look]
) -> None:
    shown = film(town, looks, top=10)
    encoded = data.vocabulary.encode_locations(pd.Series(locations(town, shown))).tolist()
    for i, step in zip(WINDOWS, shown["steps"], strict=True):
        batch = data.test.batch([i])
        with torch.no_grad():
            out = model(batch, attention=True)
        gate, pointer = float(out.gate[0]), out.pointer_log_probs[0].exp().numpy()
        # A disc is as large as the place's probability before the gate, and no place is left out.
        assert sum(weight for _, weight, _ in step["attention"]) == pytest.approx(1, abs=0.01)
        for place, weight, visits in step["attention"]:
            assert weight == pytest.approx(float(pointer[encoded[place]]), abs=6e-4)
            assert visits == step["visits"].count(place)
        # A ring is the final probability; its solid part is gate times pointer.
        for place, probability, copied in [*step["candidates"], step["truth"]]:
            assert probability == pytest.approx(float(out.log_probs[0, encoded[place]].exp()),
                                                abs=6e-4)  # fmt: skip
            assert copied == pytest.approx(gate * float(pointer[encoded[place]]), abs=6e-4)
        assert encoded[step["truth"][0]] == int(batch.target[0])
        assert step["gate"] == pytest.approx(gate, abs=6e-4)
        # An arc is what the last visit gives to a place, head by head.
        heads = torch.cat([layer[0] for layer in out.self_attention])[:, -1].numpy()
        assert len(step["heads"]) == len(shown["heads"]) == len(heads)
        for row, drawn in zip(heads, step["heads"], strict=True):
            for place, weight, _ in drawn:
                there = batch.location[0].numpy() == encoded[place]
                assert weight == pytest.approx(float(row[there].sum()), abs=6e-4)
            assert sum(weight for _, weight, _ in drawn) == pytest.approx(1, abs=0.01)


def test_other_attention_draws_another_map(town: city.City, looks: list[Look]) -> None:
    # The same predictions, but all attention on the first visit and of every head on the last.
    weights = np.zeros(len(looks[0].visits))
    weights[0] = 1
    heads = np.zeros_like(looks[0].self_attention)
    heads[..., -1] = 1
    changed = replace(
        looks[0], visits=looks[0].visits.assign(attention=weights), self_attention=heads
    )
    step = film(town, [changed])["steps"][0]
    assert step["attention"][0][:2] == [step["visits"][0], 1]
    assert all(drawn[0][:2] == [step["visits"][-1], 1] for drawn in step["heads"])
    pages = [
        drawn_numbers(window_map(town, one, title="One", caption="One."))
        for one in (looks[0], changed)
    ]
    assert pages[0]["attention"] != pages[1]["attention"]
    assert pages[0]["candidates"] == pages[1]["candidates"]


def test_another_model_draws_another_film(
    town: city.City, model: PointerGeneratorTransformer, data: Dataset, looks: list[Look]
) -> None:
    torch.manual_seed(1)
    other = PointerGeneratorTransformer(model.config)
    changed = film(town, [look(other, data.test, 100)])["steps"][0]
    shown = film(town, looks)["steps"][0]
    assert changed["attention"] != shown["attention"] and changed["heads"] != shown["heads"]


def drawn_numbers(shown: MapFigure) -> dict[str, Any]:
    """The first step among the numbers that a page gives its script."""
    found = re.search(r"const page = (\{.*\});\n", shown._repr_html_())
    assert found
    step: dict[str, Any] = json.loads(found[1])["steps"][0]
    return step


def test_the_page_gives_its_script_the_numbers_of_the_film(
    town: city.City, looks: list[Look]
) -> None:
    shown = film_map(town, looks, title="A film", caption="Steps.")
    assert drawn_numbers(shown) == film(town, looks)["steps"][0]


def test_text_from_data_cannot_become_code(town: city.City, looks: list[Look]) -> None:
    evil = replace(town, places=town.places.assign(name=EVIL))
    for shown in (
        film_map(evil, looks, title="A film", caption="Steps."),
        window_map(evil, looks[0], title="One", caption="One."),
    ):
        page = shown._repr_html_()
        assert "onerror" in page and "</script><img" not in page
        assert not re.search(r"<img[^>]*onerror", page, flags=re.IGNORECASE)


def test_scripts_never_write_text_as_html() -> None:
    for name in (*SCRIPTS, "map_city.js", "map_film.js", "map_flows.js"):
        source = web(name).replace("http://www.w3.org/2000/svg", "")
        assert "innerHTML" not in source and "insertAdjacentHTML" not in source
        assert "http" not in source, "a map needs no network"


def test_it_can_be_steered_and_read_without_a_mouse(town: city.City, looks: list[Look]) -> None:
    shown = film_map(town, looks, title="A film", caption="Steps.")
    page = shown.body
    assert re.search(r'<label>Moment <input data-live="step" type="range"[^>]*max="2">', page)
    assert "<label>Attention of <select" in page and '<output data-live="told"' in page
    assert page.count("<option") == 1 + len(film(town, looks)["heads"])
    # Whoever tabs through the page meets slider and list before the map.
    assert page.index('data-live="step"') < page.index('data-live="map"')
    assert len(shown.table) == 3 and shown.table["first guess"].notna().all()
    assert shown.table["most on one place"].str.contains(r"layer \d, head \d: .+ \(0").all()


def test_a_prediction_of_unknown_places_only_is_shown(town: city.City, looks: list[Look]) -> None:
    candidates = looks[0].candidates.assign(location_id=None)
    shown = film_map(
        town, [replace(looks[0], candidates=candidates)], title="A film", caption="Unknown."
    )
    assert shown.table["first guess"].tolist() == ["unknown place"]


def test_a_window_without_heads_is_drawn(town: city.City, looks: list[Look]) -> None:
    plain = replace(looks[0], self_attention=np.zeros((0, 0, 0, 0)))
    shown = window_map(town, plain, title="One", caption="One.")
    assert drawn_numbers(shown)["heads"] == []


def test_a_film_of_nothing_is_refused(town: city.City) -> None:
    with pytest.raises(ValueError, match="at least one prediction"):
        film_map(town, [], title="A film", caption="Nothing.")


def test_a_film_is_light(town: city.City, looks: list[Look]) -> None:
    page = film_map(town, looks * 10, title="A film", caption="Steps.")._repr_html_()
    assert len(page) < 120_000
