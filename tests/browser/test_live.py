"""The live model in a browser: PyTorch's numbers, quickly, offline, by mouse and by keyboard."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headless import STATIC, live_pages
from PIL import Image, ImageChops, ImageStat
from wherenext import city
from wherenext.live import build, playground
from wherenext.weights_json import SWITCHES, switch_off

from pgt.checkpoint import load_model, shipped
from pgt.windows import Windows, prepare

from ..hostile import HOSTILE, scene
from .test_hostile_maps import HARMED, words

pytestmark = pytest.mark.browser
CLOSE = 1e-5

# Predict every window of a list.
PREDICT = """
([windows, off]) => {
  const { model, predict } = document.querySelector(".pgt-live").live;
  return windows.map((window) => {
    const out = predict(model, window, { off: new Set(off) });
    const plain = (name) => Array.from(out[name]);
    return { gate: out.gate, probabilities: plain("probabilities"), pointer: plain("pointer"),
      generator: plain("generator"), attention: plain("attention") };
  });
}
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return playground().save(tmp_path_factory.mktemp("live") / "live.html")


@pytest.fixture(scope="module")
def windows() -> Windows:
    _, vocabulary = load_model(shipped("city"))
    return prepare(city.load().visits, vocabulary=vocabulary).test


@pytest.fixture
def live(alone: Any, page_file: Path) -> Any:
    """A function that opens the page."""
    return lambda: alone(page_file, width=1100, height=900)


def told(page: Any) -> str:
    text: str = page.locator("[data-live=told]").inner_text()
    return text


def as_page(windows: Windows, index: np.ndarray) -> list[dict[str, Any]]:
    """Windows as the page's `predict` takes them, made of the batch that PyTorch gets."""
    found = []
    for i in index:
        batch = windows.batch([int(i)])
        table = windows.visits_of(int(i))
        stay = (table.finished_at - table.started_at).dt.total_seconds().floordiv(60)
        columns = {
            "location": batch.location, "minute": batch.start_minute, "weekday": batch.weekday,
            "daysAgo": batch.days_ago,
        }  # fmt: skip
        visits = [
            {name: int(column[0, j]) for name, column in columns.items()} | {"stay": int(minutes)}
            for j, minutes in enumerate(stay)
        ]
        found.append({"user": int(batch.user[0]), "visits": visits})
    return found


def gaps(model: Any, windows: Windows, index: np.ndarray, found: list[dict[str, Any]]) -> float:
    """The largest difference from PyTorch of any number that a prediction is made of."""
    most = 0.0
    with torch.no_grad():
        out = model(windows.batch(index))
    for row, one in enumerate(found):
        n = len(one["attention"])
        expected = {
            "probabilities": out.log_probs[row].exp(), "pointer": out.pointer_log_probs[row].exp(),
            "generator": out.generator_log_probs[row].exp(), "gate": out.gate[row],
            "attention": out.pointer_attention[row, :n],
        }  # fmt: skip
        for name, values in expected.items():
            most = max(most, float(np.abs(np.asarray(one[name]) - values.numpy()).max(initial=0)))
    return most


@pytest.mark.slow
def test_100_random_windows_are_pytorchs(live: Any, windows: Windows) -> None:
    model, _ = load_model(shipped("city"))
    index = np.random.default_rng(0).choice(len(windows), 100, replace=False)
    with live() as page:
        found = page.evaluate(PREDICT, [as_page(windows, index), []])
    assert len(found) == len(index)
    assert gaps(model, windows, index, found) < CLOSE


def test_every_switch_is_what_python_calls_switched_off(live: Any, windows: Windows) -> None:
    model, _ = load_model(shipped("city"))
    index = np.random.default_rng(1).choice(len(windows), 5, replace=False)
    given = as_page(windows, index)
    with live() as page:
        shown = page.locator("[data-live=switches] input").evaluate_all("a => a.map(b => b.value)")
        assert sorted(shown) == sorted(SWITCHES)
        for part in SWITCHES:
            found = page.evaluate(PREDICT, [given, [part]])
            assert gaps(switch_off(model, [part]), windows, index, found) < CLOSE, part


def test_the_keyboard_reaches_everything(live: Any) -> None:
    with live() as page:
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.dataset.live || ''"))
        assert {"person", "moment", "empty", "map", "in", "search"} <= reached
        page.locator("[data-live=map]").focus()
        before = page.locator("[data-live=map]").get_attribute("viewBox")
        page.keyboard.press("+")
        page.keyboard.press("ArrowLeft")
        assert page.locator("[data-live=map]").get_attribute("viewBox") != before
        assert page.locator("[data-live=told][aria-live=polite]").count() == 1


def test_the_live_page_shows_hostile_names(alone: Any, tmp_path: Path) -> None:
    hostile = scene(" · ".join(HOSTILE))
    town = hostile.town
    ground = town.base["features"]
    shown = build(hostile.model, hostile.windows, places=town.places, ground=ground)
    text = words(hostile.text)
    with alone(shown.save(tmp_path / "live.html")) as page:
        people = page.locator("[data-live=person] option").evaluate_all(
            "all => all.map((one) => one.textContent)"
        )
        assert sum(f"Person {text} 00" in words(one) for one in people) == 2
        places = page.locator("datalist option").evaluate_all("all => all.map((one) => one.value)")
        names = {words(name) for name in town.places.name}
        assert {words(place) for place in places} <= names and places
        guesses = page.locator("[data-live=top] tr th").evaluate_all(
            "all => all.map((one) => one.textContent)"
        )
        assert {words(guess).removeprefix("✓ ") for guess in guesses} & names
        assert page.locator(HARMED).count() == 0


CHAPTERS = {
    "07_pointer": "pointer", "27_playground": "full",
}  # fmt: skip


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_in_the_book_it_answers(visit: Any, chapter: str) -> None:
    kind = CHAPTERS[chapter]
    with visit(f"book/{chapter}.html", "file") as opened:
        page = opened.page
        figure = page.locator(f".pgt-live[data-kind={kind}]")
        assert figure.count() == 1
        before = figure.locator("[data-live=top]").inner_text()
        figure.get_by_role("button", name="Delete: visit 3,").click()
        assert figure.locator("[data-live=top]").inner_text() != before
        assert opened.outside == [] and opened.errors == []


def test_the_picture_that_a_notebook_keeps_is_the_page_as_it_opens(
    browser: Any, html: Path
) -> None:
    seen = 0
    for name, taken in live_pages(browser, html / "book"):
        now, kept = (
            Image.open(one).convert("L") for one in (BytesIO(taken), STATIC / f"{name}.png")
        )
        assert abs(now.height / now.width - kept.height / kept.width) < 0.1, (
            f"{name}: make pictures"
        )
        apart = ImageStat.Stat(ImageChops.difference(now.resize(kept.size), kept)).mean[0]
        assert apart < 10, f"{name}: make pictures"
        seen += 1
    assert seen == len(list(STATIC.glob("pgt-live-*.png"))) > 0
