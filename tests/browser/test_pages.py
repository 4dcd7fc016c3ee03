"""The built book in a browser: offline, on a phone, in light and dark, for every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paper
import pytest

pytestmark = pytest.mark.browser
PAGES = [f"book/{page.name}.html" for page in paper.pages()]
EVERY_PAGE = pytest.mark.parametrize("name", PAGES)

POOR_CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")

# Whether a map shows lines or areas: as SVG paths, or as pixels of a canvas.
DRAWN = """
() => document.querySelectorAll(".leaflet-overlay-pane path").length > 0
  || [...document.querySelectorAll(".leaflet-overlay-pane canvas")].some(c =>
       c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(value => value > 0))
"""


@EVERY_PAGE
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_page_needs_no_network_and_logs_no_error(visit: Any, name: str, scheme: str) -> None:
    with visit(name, scheme) as opened:
        assert opened.outside == []
        assert opened.errors == []


@EVERY_PAGE
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_formulas_are_set_and_maps_are_drawn(visit: Any, name: str, scheme: str) -> None:
    with visit(name, scheme) as opened:
        assert opened.page.locator("mjx-merror").count() == 0
        for handle in opened.page.query_selector_all("figure.pgt-map iframe"):
            assert (handle.get_attribute("title") or "").strip(), "a map frame has no title"
            assert handle.content_frame().evaluate(DRAWN), "a map is empty"


@EVERY_PAGE
def test_pictures_speak(visit: Any, name: str) -> None:
    with visit(name) as opened:
        page = opened.page
        silent = page.eval_on_selector_all(
            "img", "all => all.filter(i => !i.hasAttribute('alt')).map(i => i.src)"
        )
        assert silent == [], "pictures without alt text"
        assert page.locator(".bd-article img:not([alt]), .bd-article img[alt='']").count() == 0
        figures = page.locator("figure.pgt-figure")
        # A drawing with links in it is a group: in an image no link could be reached.
        named = page.locator(
            "figure.pgt-figure svg:is([role=img]:not(:has(a)), [role=group]:has(a))"
            "[aria-label]:not([aria-label=''])"
        )
        assert named.count() >= figures.count()
        assert figures.count() == page.locator("figure.pgt-figure figcaption").count()


@EVERY_PAGE
@pytest.mark.parametrize("width", [360, 320])
def test_a_phone_never_scrolls_sideways(visit: Any, name: str, width: int) -> None:
    with visit(name, width=width) as opened:
        opened.unfold()
        measured = opened.page.evaluate("document.documentElement.scrollWidth")
        wide = opened.page.evaluate(
            "w => [...document.querySelectorAll('.bd-article > *, .bd-article section > *')]"
            ".filter(e => e.getBoundingClientRect().right > w + 1)"
            ".map(e => e.outerHTML.slice(0, 120))",
            width,
        )
        assert measured <= width, wide


@EVERY_PAGE
def test_a_formula_too_wide_for_a_phone_begins_with_its_beginning(visit: Any, name: str) -> None:
    with visit(name, width=360) as opened:
        opened.unfold()
        hidden = opened.page.evaluate(
            "[...document.querySelectorAll('div.math')].filter(m =>"
            " m.querySelector('mjx-container').getBoundingClientRect().left"
            " < m.getBoundingClientRect().left - 1).map(m => m.id)"
        )
        assert hidden == []


@EVERY_PAGE
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_enough_contrast(visit: Any, name: str, theme: str) -> None:
    with visit(name, color_scheme=theme) as opened:
        assert opened.page.evaluate("document.documentElement.dataset.theme") == theme
        opened.unfold()
        assert opened.page.evaluate(POOR_CONTRAST) == []


def test_the_theme_button_changes_the_colours_of_figures_too(visit: Any) -> None:
    ink = "getComputedStyle(document.documentElement).getPropertyValue('--pgt-ink').trim()"
    with visit(PAGES[0], color_scheme="light") as opened:
        seen = set()
        for _ in range(3):  # automatic, light, dark, in some order
            seen.add(opened.page.evaluate(ink))
            opened.page.locator("button.theme-switch-button:visible").first.click()
        assert len(seen) == 2


def test_search_finds_words_from_disk(visit: Any) -> None:
    with visit("search.html?q=gate", "file") as opened:
        opened.page.wait_for_selector("#search-results li")
        assert opened.outside == []
