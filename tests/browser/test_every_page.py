"""What holds of every page of the built book, and so of pages that nobody has written yet.

To load a page takes longer than to look at it: each is opened once on a desktop over http and once
on a phone from disk, and pytest keeps the tests of an open page together.
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
def desktop(visit: Any, request: Any) -> Iterator[Visit]:
    """A page, 1280 pixels wide, in the light."""
    with visit(request.param, color_scheme="light") as opened:
        opened.page.add_style_tag(content=STILL)
        yield opened


@pytest.fixture(scope="module", params=PAGES)
def phone(visit: Any, request: Any) -> Iterator[Visit]:
    """A page opened as a file on a small phone, with all that was folded."""
    with visit(request.param, "file", width=360) as opened:
        opened.unfold()
        yield opened


@pytest.fixture
def dark(desktop: Visit) -> Iterator[Visit]:
    """The page of the desktop, with all that was folded, after sunset."""
    desktop.unfold()
    desktop.page.emulate_media(color_scheme="dark")
    desktop.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    yield desktop
    desktop.page.emulate_media(color_scheme="light")
    desktop.page.wait_for_function("document.documentElement.dataset.theme === 'light'")


# ---- On a desktop --------------------------------------------------------------------------------


def whole(opened: Visit) -> None:
    """Nothing is asked of the network, nothing goes wrong, formulas are set, maps are drawn."""
    assert opened.outside == []
    assert opened.errors == []
    assert opened.page.locator("mjx-merror").count() == 0
    for chart in opened.page.locator("figure.folium-figure").all():
        chart.scroll_into_view_if_needed()
        chart.locator("path.leaflet-interactive").first.wait_for(state="attached")
        assert (chart.locator(".folium-map").get_attribute("aria-label") or "").strip()
        assert chart.locator("details td").count(), "a map has no table"


def test_a_page_is_whole_without_a_network(desktop: Visit) -> None:
    whole(desktop)


def test_pictures_speak(desktop: Visit) -> None:
    page = desktop.page
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


# ---- In the light and in the dark ----------------------------------------------------------------


@pytest.mark.slow
def test_axe_finds_no_violation(desktop: Visit, axe: str) -> None:
    desktop.unfold()
    assert violations(desktop.page, axe) == []


@pytest.mark.slow
def test_axe_finds_no_violation_in_the_dark(dark: Visit, axe: str) -> None:
    assert violations(dark.page, axe, COLOURS) == []


# ---- On a phone, from disk -----------------------------------------------------------------------


def test_a_page_is_whole_from_disk(phone: Visit) -> None:
    whole(phone)


def test_what_scrolls_can_be_reached_by_keyboard(phone: Visit) -> None:
    out = phone.page.evaluate(
        "[...document.querySelectorAll('.bd-article :is(pre, div, figure, details)')].filter("
        "e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth"
        " && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0"
        " && !e.querySelector('a, button, input, select, [tabindex=\"0\"]')"
        ").map(e => e.outerHTML.slice(0, 120))"
    )
    assert out == []


@pytest.mark.parametrize("width", [360, 320])
def test_a_phone_never_scrolls_sideways(phone: Visit, width: int) -> None:
    phone.page.set_viewport_size({"width": width, "height": 800})
    measured = phone.page.evaluate("document.documentElement.scrollWidth")
    wide = phone.page.evaluate(
        "w => [...document.querySelectorAll('.bd-article > *, .bd-article section > *')]"
        ".filter(e => e.getBoundingClientRect().right > w + 1)"
        ".map(e => e.outerHTML.slice(0, 120))",
        width,
    )
    assert measured <= width, wide
