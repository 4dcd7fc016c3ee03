"""What holds of every page of the built book, and so of pages that nobody has written yet.

To load a page and set its formulas takes longer than to look at it. Each is opened once, from disk
as the strictest place, on a desktop; then it is unfolded and becomes as narrow as a phone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import toc

from .conftest import Visit
from .test_axe import COLOURS, STILL, violations
from .test_axe import axe as axe  # a fixture

pytestmark = pytest.mark.browser
PAGES = [f"book/{name}.html" for part in toc.parts().values() for name in part]


@pytest.fixture(scope="module", params=PAGES)
def opened(visit: Any, request: Any) -> Iterator[Visit]:
    """A page, 1280 pixels wide, in the light."""
    with visit(request.param, "file", color_scheme="light") as there:
        there.page.add_style_tag(content=STILL)
        yield there


def test_a_page_is_whole_without_a_network(opened: Visit) -> None:
    page = opened.page
    opened.unfold()  # a map in a solution is drawn when it comes into sight, too
    assert page.locator("mjx-merror").count() == 0
    # A formula wider than its column would lose its number.
    wide = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
    assert page.locator("div.math, mjx-container[display=true]").evaluate_all(wide) == []
    for chart in page.locator("figure.folium-figure").all():
        chart.scroll_into_view_if_needed()
        chart.locator("path.leaflet-interactive").first.wait_for(state="attached")
        assert (chart.locator(".folium-map").get_attribute("aria-label") or "").strip()
        assert chart.locator("details td").count(), "a map has no table"
    assert opened.outside == []
    assert opened.errors == []


def test_axe_finds_no_violation_in_the_light_and_in_the_dark(opened: Visit, axe: str) -> None:
    opened.unfold()
    opened.page.evaluate("scrollTo(0, 0)")  # nothing lies half under the head of the page
    assert violations(opened.page, axe) == []
    opened.page.emulate_media(color_scheme="dark")
    opened.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert violations(opened.page, axe, COLOURS) == []
    opened.page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("width", [360, 320])
def test_a_phone_never_scrolls_sideways(opened: Visit, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 800})
    opened.unfold()
    wide = opened.page.evaluate(
        "w => [...document.querySelectorAll('.bd-article > *, .bd-article section > *')]"
        ".filter(e => e.getBoundingClientRect().right > w + 1)"
        ".map(e => e.outerHTML.slice(0, 120))",
        width,
    )
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width, wide
    # What scrolls in the page can be reached by keyboard.
    out = opened.page.evaluate(
        "[...document.querySelectorAll('.bd-article :is(pre, div, figure, details)')].filter("
        "e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth"
        " && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0"
        " && !e.querySelector('a, button, input, select, [tabindex=\"0\"]')"
        ").map(e => e.outerHTML.slice(0, 120))"
    )
    assert out == []
