"""Readers' journeys through the built book: a newcomer on a phone, a teacher, a keyboard alone.

A student's journey in Colab is in ``tests/colab/test_wheel_alone.py``, a practitioner's with a
table of their own in ``tests/test_journeys.py``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
FITS = "document.documentElement.scrollWidth <= window.innerWidth"
# A data page that nobody would wait for on the road; the front page is most people's first.
FRONT_PAGE = 700_000  # bytes of the page and what it loads
TOLD = "#front-map .front-told"


def test_newcomer_on_a_phone(visit: Any) -> None:
    """Sees the map, plays it, reads a finding, follows it, and comes back by the contents."""
    with visit("book/index.html", **PHONE) as opened:
        page = opened.page
        assert page.evaluate(FITS)
        # The map is there at once, and a finger moves it.
        top = page.locator("#front-map svg").bounding_box()["y"]
        assert top < 800, "the map begins below the first screen"
        before = page.locator(TOLD).inner_text()
        slider = page.locator("#front-map input")
        box = slider.bounding_box()
        assert box["height"] >= 24
        slider.scroll_into_view_if_needed()
        slider.tap(position={"x": box["width"] * 0.6, "y": box["height"] / 2})
        assert page.locator(TOLD).inner_text() != before
        # Every finding says a number and leads to its chapter.
        findings = page.locator(".findings > div")
        assert findings.count() == 6
        for i in range(6):
            assert re.search(r"\d", findings.nth(i).locator(".fact").first.inner_text())
            assert findings.nth(i).locator("a").count() >= 1
        findings.first.locator("a").first.tap()
        page.wait_for_url("**/23_real_cities.html")
        assert page.locator("h1").first.inner_text().startswith("Real cities")
        assert page.evaluate(FITS)
        # The contents unfold from the menu.
        page.locator("button.primary-toggle:visible").first.tap()
        menu = page.locator("#pst-primary-sidebar-modal, #pst-primary-sidebar").first
        first = menu.get_by_role("link", name="Where next?", exact=True)
        first.wait_for(state="visible")
        first.tap()
        page.wait_for_url("**/01_where_next.html")
        assert opened.outside == [] and opened.errors == []


def test_map_of_the_front_page_plays_and_stops(visit: Any) -> None:
    with visit("book/index.html") as opened:
        page = opened.page
        assert page.locator("#front-map svg").bounding_box()["y"] < 600, "not above the fold"
        button = page.locator("#front-map .front-play")
        slider = page.locator("#front-map input")
        assert slider.input_value() == "0", "the film must wait to be started"
        button.press("Enter")
        assert "Pause" in button.inner_text()
        page.wait_for_function("document.querySelector('#front-map input').value > 0")
        button.press("Enter")
        held = slider.input_value()
        page.wait_for_timeout(2000)
        assert slider.input_value() == held and "Play" in button.inner_text()
        slider.press("End")
        assert slider.get_attribute("aria-valuetext").split()[-1] == str(
            int(slider.get_attribute("max")) + 1
        )
        assert page.locator("#front-map .truth").count() == 1


def test_front_page_is_light(visit: Any, html: Path) -> None:
    sizes: dict[str, int] = {}
    with visit("book/index.html") as opened:
        loaded = opened.page.evaluate(
            "performance.getEntries().filter(e => e.decodedBodySize)"
            ".map(e => [e.name, e.encodedBodySize])"
        )
        sizes = {name: size for name, size in loaded if "mathjax" not in name and "fa-" not in name}
        assert opened.outside == []
    own = {name: size for name, size in sizes.items() if "index.html" in name or "front" in name}
    assert sum(own.values()) < FRONT_PAGE, own


def test_teacher_prepares_a_lecture(visit: Any, html: Path) -> None:
    """Finds a chapter by searching, a figure with words, a notebook to hand out; prints a page."""
    with visit("search.html?q=gate") as opened:
        page = opened.page
        page.wait_for_selector("#search-results li a")
        results = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
        assert any("11_gate" in address for address in results)
    with visit("book/11_gate.html") as opened:
        page = opened.page
        figure = page.locator("figure.pgt-figure").first
        assert figure.locator("svg[role=img]").get_attribute("aria-label")
        assert figure.locator("figcaption").inner_text()
        # The notebook is beside the page.
        link = page.locator("a.btn-download-source-button").first.get_attribute("href")
        notebook = json.loads((html / "book" / link).resolve().read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4 and len(notebook["cells"]) > 5
        # The exercises' solutions are folded until somebody asks.
        folded = page.locator("details").evaluate_all("all => all.filter(d => !d.open).length")
        assert folded >= 4


@pytest.mark.parametrize(
    "name", ["book/index.html", "book/11_gate.html", "book/13_attention_on_maps.html"]
)
def test_a_page_prints(visit: Any, name: str) -> None:
    """On paper there is the text alone, nothing is cut off, and links are spelled out."""
    with visit(name, width=794) as opened:  # A4 at 96 dots an inch
        page = opened.page
        page.emulate_media(media="print")
        for gone in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
            assert page.locator(gone).evaluate_all(
                "all => all.every(e => e.getClientRects().length === 0)"
            ), f"{gone} is printed"
        cut = page.evaluate(
            "[...document.querySelectorAll('.bd-article :is(figure svg, pre, p)')]"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
            ".map(e => e.outerHTML.slice(0, 120))"
        )
        assert cut == []
        spelled = page.evaluate(
            "[...document.querySelectorAll('.bd-article a.reference.external[href^=http]')].map("
            "a => getComputedStyle(a, '::after').content)"
        )
        assert all("http" in text for text in spelled)
        assert page.pdf(format="A4")[:4] == b"%PDF"


def test_links_show_where_they_lead(visit: Any) -> None:
    """By mouse and by keyboard: a chapter's goal, a formula, a work; Escape takes it away."""
    with visit("book/08_generator_and_gate.html") as opened:
        page = opened.page
        box = page.locator("#pgt-preview")
        for selector, inside in (
            (".bd-article a.internal[href='07_pointer.html']", "strong"),
            (".bd-article a.internal[href*='#equation-8-']", "mjx-container"),
            (".bd-article a.internal[href^='bibliography.html#']", "div"),
        ):
            link = page.locator(selector).first
            link.focus()
            box.locator(inside).first.wait_for()
            assert link.get_attribute("aria-describedby") == "pgt-preview"
            assert link.get_attribute("title") is None
            frame = box.bounding_box()
            assert frame["x"] >= 0 and frame["x"] + frame["width"] <= 1280
            page.keyboard.press("Escape")
            assert box.count() == 0
        page.locator(".bd-article a.internal[href='07_pointer.html']").first.hover()
        box.wait_for()
        assert opened.errors == [] and opened.outside == []


def test_keyboard_alone_gets_to_the_text(visit: Any) -> None:
    with visit("book/03_windows.html") as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert "Skip" in page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#main-content"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
