"""Readers' journeys through the built book: on a phone, by keyboard alone, by the search.

A student's journey in Colab is in ``tests/colab/test_wheel_alone.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
FITS = "document.documentElement.scrollWidth <= window.innerWidth"


def test_newcomer_on_a_phone(visit: Any) -> None:
    """Plays a question, reads a finding, follows it, and comes back by the contents."""
    with visit("book/index.html", **PHONE) as opened:
        page = opened.page
        assert page.evaluate(FITS)
        places = page.locator(".game-week:not([hidden]) .places")
        box = places.bounding_box()
        assert box["y"] + box["height"] < 800, "not all places are on the first screen"
        places.locator("button").first.tap()
        assert page.locator(".front-game .told").inner_text()
        page.locator(".front-game .next").tap()
        findings = page.locator("#what-came-out > ol > li")
        findings.first.get_by_role("link", name="Real cities", exact=True).tap()
        page.wait_for_url("**/23_real_cities.html")
        assert page.locator("h1").first.inner_text().startswith("23. Real cities")
        assert page.evaluate(FITS)
        # The contents unfold from the menu.
        page.locator("button.primary-toggle:visible").first.tap()
        menu = page.locator("#pst-primary-sidebar-modal, #pst-primary-sidebar").first
        first = menu.get_by_role("link", name="1. Where next?", exact=True)
        first.wait_for(state="visible")
        first.tap()
        page.wait_for_url("**/01_where_next.html")
        assert opened.outside == [] and opened.errors == []


def test_keyboard_alone_gets_to_the_text(visit: Any) -> None:
    with visit("book/03_windows.html") as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert "Skip" in page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#main-content"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("pointer", "07_pointer.html"),
        ("attention map", "13_attention_on_maps.html"),
        ("position bias", "12_position_bias.html"),
    ],
)
def test_search_puts_the_page_first_that_is_about_it(visit: Any, query: str, first: str) -> None:
    with visit(f"search.html?q={query.replace(' ', '+')}") as opened:
        page = opened.page
        page.wait_for_function(
            "/finished|did not/.test(document.querySelector('.search-summary')?.textContent)"
        )
        found = page.locator("#search-results li").evaluate_all(
            "all => all.map(one => one.querySelector('a').href)"
        )
        places = [at for at, address in enumerate(found) if first in address]
        # A word's meaning may come before the chapter on it.
        assert places and places[0] <= ("glossary" in found[0]), found[:5]
        assert opened.errors == []
