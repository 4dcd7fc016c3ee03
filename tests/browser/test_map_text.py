"""Hostile names in a browser: maps and live pages show them, and run nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pgt.viz import live, maps, prediction_map
from pgt.viz.flow_map import flow_map

from ..helpers import ROOT, give_up
from ..hostile import HOSTILE, Scene, scene

pytestmark = pytest.mark.browser
LEAFLET = ROOT / "book" / "_web" / "node_modules" / "leaflet" / "dist"
TITLE = "{{ 7*191 }} </title><script>alert(1)</script>"
TEXTS = "all => all.map((one) => one.textContent)"
POPUPS = """
() => {
  const map = Object.entries(window).find(([name]) => /^map_[0-9a-f]{32}$/.test(name))[1];
  const texts = [];
  map.eachLayer((layer) => {
    if (!layer.feature) return;
    layer.fire("click", { latlng: layer.getLatLng(), propagatedFrom: layer }, true);
    texts.push([...document.querySelectorAll(".leaflet-popup-content")].at(-1).textContent);
  });
  return texts;
}
"""


def words(text: str) -> str:
    """The text as a page lays it out: any space is one space."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def hostile() -> Scene:
    return scene(" · ".join(HOSTILE))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Any:
    """A function that opens a page with the maps' library and nothing else from elsewhere."""

    @contextmanager
    def open_page(body: str) -> Iterator[Any]:
        file = tmp_path / "page.html"
        file.write_text(f'<!doctype html><meta charset="utf-8">{body}', encoding="utf-8")
        context = browser.new_context()
        page, wrong = context.new_page(), []

        def guard(route: Any) -> None:
            url = route.request.url
            local = LEAFLET / url.rsplit("/", 1)[-1]
            if url.startswith("file:"):
                route.continue_()
            elif "/leaflet@" in url and local.is_file():
                route.fulfill(path=local)
            else:
                route.abort()

        def refuse(dialog: Any) -> None:
            wrong.append(dialog.message)
            dialog.dismiss()

        context.route("**/*", guard)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", refuse)
        try:
            page.goto(file.as_uri(), wait_until="load")
            yield page
            assert wrong == []
        finally:
            context.close()

    return open_page


def drawn(now: Scene, kind: str) -> maps.ShownMap:
    about = {"title": TITLE, "caption": now.text}
    return {
        "city": lambda: maps.city_map(now.town, **about),
        "window": lambda: prediction_map.window_map(now.town, now.looks[0], **about),
        "film": lambda: prediction_map.film_map(now.town, now.looks, **about),
        "flows": lambda: flow_map(now.town, now.flows, **about),
    }[kind]()


@pytest.mark.parametrize("kind", ["city", "window", "film", "flows"])
def test_a_map_shows_hostile_names(opened: Any, hostile: Scene, kind: str) -> None:
    if not LEAFLET.is_dir():
        give_up("Leaflet is not installed: run `npm ci` in book/_web.")
    shown, text = drawn(hostile, kind), words(hostile.text)
    with opened(shown._repr_html_()) as page:
        assert page.locator("iframe").get_attribute("title") == TITLE
        assert words(page.locator("figcaption").text_content()) == text
        frame = page.query_selector("iframe").content_frame()
        frame.wait_for_selector(".pgt-label", state="attached")
        assert frame.title() == words(TITLE)
        districts = {
            words(f["properties"]["name"])
            for f in hostile.town.base["features"]
            if f["properties"]["kind"] == "district"
        }
        labels = frame.locator(".pgt-label")
        assert {words(label) for label in labels.evaluate_all(TEXTS)} == districts
        assert labels.locator("*").count() == 0
        if kind == "city":
            popups, names = frame.evaluate(POPUPS), hostile.town.places.name
            assert len(popups) == len(names)
            for name in names:
                assert any(words(popup).startswith(words(name)) for popup in popups)
            legend = frame.locator(".pgt-legend span").evaluate_all(TEXTS)
            assert {words(k) for k in hostile.town.places.kind} == {words(row) for row in legend}
        if kind == "film":
            assert f"at {text} " in words(frame.locator("#film-told").text_content())
            guesses = frame.locator("#film-guesses th").evaluate_all(TEXTS)
            assert guesses and all(text in words(guess) for guess in guesses)
        if kind == "flows":
            assert text in words(frame.locator("#flows-told").text_content())
        assert frame.locator("img[onerror]").count() == 0


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
        assert page.locator("img[onerror]").count() == 0
