"""The film of a week: its numbers are the model's, its text stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from pgt import city
from pgt.look import Look, look
from pgt.map_film import film, film_map
from pgt.model import ModelConfig, PointerGeneratorTransformer
from pgt.windows import Dataset, prepare

EVIL = "</script><img src=x onerror=alert(1)>"


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
    return [look(model, data.test, i) for i in (100, 101, 102)]


def test_what_is_drawn_is_what_the_prediction_used(
    town: city.City, model: PointerGeneratorTransformer, data: Dataset, looks: list[Look]
) -> None:
    shown = film(town, looks)
    names = [place[2] for place in shown["places"]]
    known = town.places.set_index("location_id").name
    for i, step in zip((100, 101, 102), shown["steps"], strict=True):
        batch = data.test.batch([i])
        with torch.no_grad():
            out = model(batch, attention=True)
        assert np.allclose(step["attention"], out.pointer_attention[0], atol=6e-4)
        heads = torch.cat([layer[0] for layer in out.self_attention])[:, -1]  # (layers · H, L)
        assert np.allclose(step["heads"], heads, atol=6e-4)
        visits = data.test.visits_of(i).location_id
        assert [names[number] for number in step["visits"]] == known[visits].tolist()
        assert names[step["truth"]] == known[data.test.target_of(i).location_id]
        # Adding up what is drawn gives what was copied.
        place, probability, copied = step["candidates"][0]
        drawn = sum(w for w, at in zip(step["attention"], step["visits"], strict=True)
                    if at == place)  # fmt: skip
        assert float(out.gate[0]) * drawn == pytest.approx(copied, abs=0.01)
        assert copied <= probability + 1e-3
    assert len(shown["heads"]) == len(shown["steps"][0]["heads"])


def test_another_model_draws_another_film(
    town: city.City, model: PointerGeneratorTransformer, data: Dataset, looks: list[Look]
) -> None:
    torch.manual_seed(1)
    other = PointerGeneratorTransformer(model.config)
    changed = film(town, [look(other, data.test, 100)])["steps"][0]
    assert changed["attention"] != film(town, looks)["steps"][0]["attention"]


def test_text_from_data_cannot_become_code(town: city.City, looks: list[Look]) -> None:
    evil = replace(town, places=town.places.assign(name=EVIL))
    shown = film_map(evil, looks, title="A film", caption="Steps.")
    assert "onerror" in shown.page and "</script><img" not in shown.page
    assert not re.search(r"<img[^>]*onerror", shown._repr_html_(), flags=re.IGNORECASE)


def test_it_can_be_steered_and_read_without_a_mouse(town: city.City, looks: list[Look]) -> None:
    shown = film_map(town, looks, title="A film", caption="Steps.")
    assert re.search(r'<label>Moment <input id="film-step" type="range"[^>]*max="2">', shown.page)
    assert 'aria-live="polite"' in shown.page and "<label>Attention of <select" in shown.page
    assert shown.page.count("<option") == 1 + len(film(town, looks)["heads"])
    assert len(shown.table) == 3 and shown.table["first guess"].notna().all()
    assert "FILM" not in shown.page and "CHART" not in shown.page


def test_a_film_of_nothing_is_refused(town: city.City) -> None:
    with pytest.raises(ValueError, match="at least one prediction"):
        film_map(town, [], title="A film", caption="Nothing.")
