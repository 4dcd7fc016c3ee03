"""The steps on the page show the model's own numbers, and add up."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup, Tag
from wherenext import city
from wherenext.trace import Trace
from wherenext.walkthrough import Walkthrough, story, walkthrough

from pgt.checkpoint import load_model, shipped
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows, prepare


@pytest.fixture(scope="module")
def model() -> PointerGeneratorTransformer:
    return load_model(shipped("city"))[0]


@pytest.fixture(scope="module")
def windows() -> Windows:
    _, vocabulary = load_model(shipped("city"))
    return prepare(city.load().visits, protocol="exact", vocabulary=vocabulary).test


@pytest.fixture(scope="module")
def shown(model: PointerGeneratorTransformer, windows: Windows) -> Walkthrough:
    places = city.load().places
    names = dict(zip(places.location_id, places.name, strict=True))
    return walkthrough(model, windows, story(windows), names)


@pytest.fixture(scope="module")
def found(shown: Walkthrough) -> Trace:
    return shown.trace


@pytest.fixture(scope="module")
def page(shown: Walkthrough) -> BeautifulSoup:
    return BeautifulSoup(shown._repr_html_(), "html.parser")


def step(page: BeautifulSoup, title: str) -> Tag:
    (found,) = [one for one in page.select(".step") if title in one.p.get_text()]  # type: ignore
    return found


def value(text: str) -> float:
    return float(text.replace("−", "-").rstrip("% "))


def numbers(part: Tag) -> list[list[float]]:
    """The numbers of a table, without the names of its rows."""
    return [
        [value(cell.get_text()) for cell in row.select("td") if cell.get_text().strip()]
        for row in part.select("tbody tr")
    ]


def test_a_box_carries_the_numbers_of_its_steps(page: BeautifulSoup) -> None:
    boxes = page.select(".steps-map [data-part]")
    assert len(boxes) == 13
    for box in boxes:
        name, number = [text.get_text() for text in box.select("text")]
        steps = [
            one.b.get_text().split()[0]  # type: ignore[union-attr]
            for one in page.select(".step")
            if name in str(one["data-parts"]).split()
        ]
        assert number == "–".join(steps) and box["href"] == f"#pgt-step-{steps[0]}"


def test_the_mixture_is_copied_plus_generated(page: BeautifulSoup, shown: Walkthrough) -> None:
    rows = numbers(step(page, "The mixture"))
    assert len(rows) > 5
    for (copied, generated, total), one in zip(
        rows, shown.trace.look.candidates.itertuples(), strict=False
    ):
        assert copied + generated == pytest.approx(total, abs=1.1e-4)
        assert (copied, generated) == pytest.approx((one.copied, one.generated), abs=6e-5)
    gate = shown.trace.look.gate
    says = step(page, "The mixture").get_text()
    assert f"{gate:.3f}" in says and f"{1 - gate:.3f}" in says
    everything = gate * shown.trace.copies.sum() + (1 - gate) * shown.trace.generated.sum()
    assert everything == pytest.approx(1, abs=1e-5)


def test_scores_become_weights_and_weights_become_copies(
    page: BeautifulSoup, shown: Walkthrough
) -> None:
    scores = torch.tensor(numbers(step(page, "Scores")))  # (L, 3)
    torch.testing.assert_close(scores[:, 0] + scores[:, 1], scores[:, 2], atol=1.1e-3, rtol=0)
    weights = torch.tensor(numbers(step(page, "Pointer weights"))).flatten()
    torch.testing.assert_close(scores[:, 2].softmax(0), weights, atol=2e-3, rtol=0)
    assert float(weights.sum()) == pytest.approx(1, abs=0.01)
    copies = step(page, "Copies")
    for row, (total,) in zip(copies.select("tbody tr"), numbers(copies), strict=True):
        if terms := row.small:
            assert sum(map(float, terms.get_text().split("+"))) == pytest.approx(total, abs=3e-3)
    assert sum(total for (total,) in numbers(copies)) == pytest.approx(1, abs=5e-3)


def test_each_step_leads_to_the_next(found: Trace, model: PointerGeneratorTransformer) -> None:
    tables = model.embeddings.tables
    looked_up = [tables[name](torch.from_numpy(ids)) for name, ids in found.ids.items()]
    embedded = torch.cat(looked_up, -1).detach()
    np.testing.assert_allclose(found.embedded, embedded, atol=1e-6)
    assert sum(found.widths.values()) == found.embedded.shape[1]
    with torch.no_grad():
        projected = model.embeddings.norm(model.embeddings.project(embedded))
        placed = projected + model.encoder.positions[: len(projected)]
        encoded, _ = model.encoder(projected[None], torch.zeros(1, len(projected)) > 0)
        logit = model.gate(encoded[0, -1])  # type: ignore[misc]
    np.testing.assert_allclose(found.projected, projected, atol=1e-5)
    np.testing.assert_allclose(found.placed, placed, atol=1e-5)
    np.testing.assert_allclose(found.encoded, encoded[0], atol=1e-5)
    assert found.logit == pytest.approx(float(logit), abs=1e-5)


def test_the_numbers_are_those_of_the_models_answer(
    found: Trace, model: PointerGeneratorTransformer, windows: Windows
) -> None:
    with torch.no_grad():
        out = model(windows.batch([story(windows)]))
    np.testing.assert_allclose(
        found.look.self_attention, torch.cat(out.self_attention).numpy(), atol=1e-6
    )
    weights = found.look.visits.attention.to_numpy()
    np.testing.assert_allclose(weights, out.pointer_attention[0], atol=1e-6)
    scores = torch.from_numpy(found.scores + found.bias)
    np.testing.assert_allclose(scores.softmax(0), weights, atol=1e-6)
    assert 1 / (1 + np.exp(-found.logit)) == pytest.approx(found.look.gate, abs=1e-6)
    encode = windows.vocabulary.encode_locations
    for part, log_probs in (
        (found.copies, out.pointer_log_probs), (found.generated, out.generator_log_probs)
    ):  # fmt: skip
        assert part.sum() == pytest.approx(1, abs=1e-5) and part.is_monotonic_decreasing
        some = part[[place for place in part.index if place in windows.vocabulary.locations]]
        ids = torch.as_tensor(np.array(encode(some.index.to_series())))
        np.testing.assert_allclose(some, log_probs[0, ids].exp(), atol=1e-6)
