"""The built book is read, not unrolled: folded code opens at once, and the search finds."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

FIRST_CHAPTER = "book/01_where_next.html"


def test_all_code_opens_and_closes_by_keyboard_and_is_remembered(visit: Any) -> None:
    opened_of = "[...document.querySelectorAll('.tag_hide-input > details')].map(d => d.open)"
    with visit(FIRST_CHAPTER) as opened:
        page = opened.page
        button = page.locator("button.pgt-code")
        assert button.inner_text() == "Show all code"
        assert button.get_attribute("aria-pressed") == "false"
        assert set(page.evaluate(opened_of)) == {False}
        button.focus()
        page.keyboard.press("Enter")
        assert button.inner_text() == "Hide drawing code"
        assert button.get_attribute("aria-pressed") == "true"
        assert set(page.evaluate(opened_of)) == {True}
        # On the next page and the next day it is the same.
        page.goto(page.url.replace("01_where_next", "04_baselines"))
        assert set(page.evaluate(opened_of)) == {True}
        page.locator("button.pgt-code").focus()
        page.keyboard.press("Space")
        assert set(page.evaluate(opened_of)) == {False}
        page.reload()
        assert set(page.evaluate(opened_of)) == {False}


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
