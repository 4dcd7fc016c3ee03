"""The steps on the page show the model's own numbers, and add up."""

from __future__ import annotations

import pytest
import torch
from bs4 import BeautifulSoup, Tag
from wherenext import city
from wherenext.walkthrough import Walkthrough, walkthrough

from pgt.checkpoint import load_model, shipped
from pgt.look import story
from pgt.windows import Windows, prepare

EVIL = "</script><img src=x onerror=alert(1)>{{ 7*191 }}"


@pytest.fixture(scope="module")
def windows() -> Windows:
    _, vocabulary = load_model(shipped("city"))
    return prepare(city.load().visits, protocol="exact", vocabulary=vocabulary).test


@pytest.fixture(scope="module")
def shown(windows: Windows) -> Walkthrough:
    model, _ = load_model(shipped("city"))
    places = city.load().places
    names = dict(zip(places.location_id, places.name, strict=True))
    return walkthrough(model, windows, story(windows), names)


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


def test_names_are_text(windows: Windows) -> None:
    model, _ = load_model(shipped("city"))
    places = city.load().places.location_id
    text = walkthrough(model, windows, story(windows), dict.fromkeys(places, EVIL)).html()
    assert "<img" not in text and "{{" not in text and text.count("</script>") == 2
    assert EVIL in BeautifulSoup(text, "html.parser").get_text()
