"""Hostile names in a browser: maps and live pages show them, and run nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from wherenext import live
from wherenext.viz import maps, prediction_map
from wherenext.viz.basemap import MapFigure
from wherenext.viz.flow_map import flow_map
from wherenext.viz.person_map import person_map

from pgt.visits import check

from ..helpers import routine_visits
from ..hostile import HOSTILE, Scene, scene
from .conftest import kept_inside, watched

pytestmark = pytest.mark.browser
TITLE = "{{ 7*191 }} </title><script>alert(1)</script>"
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


def drawn(now: Scene, kind: str) -> MapFigure:
    about = {"title": TITLE, "caption": now.text}
    return {
        "city": lambda: maps.city_map(now.town, **about),
        "window": lambda: prediction_map.window_map(now.town, now.looks[0], **about),
        "film": lambda: prediction_map.film_map(now.town, now.looks, **about),
        "flows": lambda: flow_map(now.town, now.flows, **about),
    }[kind]()


@pytest.mark.parametrize("kind", ["city", "window", "film", "flows"])
def test_a_map_shows_hostile_names(opened: Any, hostile: Scene, kind: str) -> None:
    shown, text = drawn(hostile, kind), words(hostile.text)
    with opened(shown._repr_html_()) as page:
        assert page.locator("figure.pgt-map").get_attribute("aria-label") == TITLE
        assert words(page.locator("figcaption").text_content()) == text
        find = "[data-live={}]".format
        districts = {
            words(f["properties"]["name"])
            for f in hostile.town.base["features"]
            if f["properties"]["kind"] == "district"
        }
        labels = page.locator(f"{find('map')} .labels text")
        # A name that would lie over another one is left out.
        assert labels.count() and {words(one) for one in labels.evaluate_all(TEXTS)} <= districts
        assert labels.locator("*").count() == 0
        if kind == "city":
            legend = page.locator(".live-legend span").evaluate_all(TEXTS)
            assert {words(k) for k in hostile.town.places.kind} == {words(row) for row in legend}
            names = {words(name) for name in hostile.town.places.name}
        else:
            names = districts if kind == "flows" else {text}
        if kind == "film":
            assert f"at {text} " in words(page.locator(find("told")).text_content())
            guesses = page.locator(f"{find('guesses')} th").evaluate_all(TEXTS)
            assert guesses and all(text in words(guess) for guess in guesses)
        if kind == "flows":
            assert text in words(page.locator(find("told")).text_content())
        said = words(touched(page))
        assert any(name in said for name in names), said
        assert page.locator(HARMED).count() == 0


@pytest.mark.slow
def test_a_persons_map_shows_hostile_names_and_true_areas(opened: Any, hostile: Scene) -> None:
    visits = check(routine_visits(users=1, days=20))
    number, text = visits.location_id, words(hostile.text)
    names = hostile.text + number.astype(str)
    visits = visits.assign(user_id=hostile.text, name=names, lon=16 + number / 100, lat=48.2)
    guesses = pd.DataFrame(
        {"user_id": hostile.text, "rank": [1, 2], "location_id": [1, 0],
         "probability": [0.5, 0.25], "somewhere_new": 0.1}
    )  # fmt: skip
    with opened(person_map(visits, guesses)._repr_html_()) as page:
        assert text in words(page.locator("figure.pgt-map").get_attribute("aria-label"))
        assert text in words(page.locator("figcaption").text_content())
        first = page.locator("details td").evaluate_all(TEXTS)[1]
        assert first.startswith(hostile.text.split("\n")[0])  # pandas writes a break as two letters
        sizes = "all => all.map((one) => one.getBoundingClientRect().width)"
        discs = page.locator("[data-live=map] .marks circle.past").evaluate_all(sizes)
        rings = page.locator("[data-live=map] .marks circle.solid").evaluate_all(sizes)
        assert len(discs) == 3 and len(rings) == 2
        assert max(discs) / min(discs) == pytest.approx(2**0.5, rel=0.02)
        assert max(rings) / min(rings) == pytest.approx(2**0.5, rel=0.02)
        assert page.locator("[data-live=map] .marks path:not(.halo).here").count() == 1
        labels = page.locator("[data-live=map] .names text")
        assert labels.count() and labels.locator("*").count() == 0
        assert text in words(touched(page))
        assert page.locator(HARMED).count() == 0


def touched(page: Any) -> str:
    """What the map says of the first place that is found under the mouse."""
    box = page.locator("[data-live=map]").bounding_box()
    for down in range(10, int(box["height"]), 12):
        for right in range(10, int(box["width"]) - 60, 12):
            page.mouse.move(box["x"] + right, box["y"] + down)
            if page.locator("[data-live=tip]").is_visible():
                said: str = page.locator("[data-live=tip]").text_content()
                return said
    raise AssertionError("No place answers.")


def test_the_live_page_shows_hostile_names(opened: Any, hostile: Scene) -> None:
    shown = live.of_town(hostile.model, hostile.windows.vocabulary, hostile.town, window=0)
    text = words(hostile.text)
    with opened(shown._repr_html_()) as page:
        people = page.locator("[data-live=person] option").evaluate_all(TEXTS)
        assert sum(f"Person {text} 00" in words(one) for one in people) == 2
        places = page.locator("datalist option").evaluate_all("all => all.map((one) => one.value)")
        names = {words(name) for name in hostile.town.places.name}
        assert {words(place) for place in places} <= names and places
        labels = page.locator("[data-live=map] .labels text").evaluate_all(TEXTS)
        assert labels and all(words(label).startswith(text) for label in labels)
        assert page.locator(HARMED).count() == 0
