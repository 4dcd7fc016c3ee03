"""Hostile names in a browser: a live page shows them, and runs nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from wherenext import live

from ..hostile import HOSTILE, Scene, scene
from .conftest import kept_inside, watched

pytestmark = pytest.mark.browser
# What the texts would be as tags, addresses and styles.
HARMED = (
    "img[onerror], [href*='javascript:' i], [src*='javascript:' i], [href*='example.com'], "
    "[src*='example.com'], [style*='url(' i], [style*='expression' i]"
)
TEXTS = "all => all.map((one) => one.textContent)"


def words(text: str) -> str:
    """The text as a page lays it out: any space is one space."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def hostile() -> Scene:
    return scene(" · ".join(HOSTILE))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Any:
    """A function that opens a page which gets nothing from elsewhere."""

    @contextmanager
    def open_page(body: str) -> Iterator[Any]:
        file = tmp_path / "page.html"
        file.write_text(f'<!doctype html><meta charset="utf-8">{body}', encoding="utf-8")
        with watched(browser) as (page, _, wrong):

            def refuse(dialog: Any) -> None:
                wrong.append(dialog.message)
                dialog.dismiss()

            page.on("dialog", refuse)
            outside = kept_inside(page, ("file:",))
            page.goto(file.as_uri(), wait_until="load")
            yield page
            assert wrong == [] and outside == []

    return open_page


def test_the_live_page_shows_hostile_names(opened: Any, hostile: Scene) -> None:
    town = hostile.town
    shown = live.build(
        hostile.model, hostile.windows, places=town.places, ground=town.base["features"],
        title="t", caption="c",
    )  # fmt: skip
    text = words(hostile.text)
    with opened(shown._repr_html_()) as page:
        people = page.locator("[data-live=person] option").evaluate_all(TEXTS)
        assert sum(f"Person {text} 00" in words(one) for one in people) == 2
        places = page.locator("datalist option").evaluate_all("all => all.map((one) => one.value)")
        names = {words(name) for name in town.places.name}
        assert {words(place) for place in places} <= names and places
        guesses = page.locator("[data-live=top] tr th").evaluate_all(TEXTS)
        assert {words(guess).removeprefix("✓ ") for guess in guesses} & names
        assert page.locator(HARMED).count() == 0
