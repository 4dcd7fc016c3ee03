"""The built book is read, not unrolled: code, tables and figures fit, folded code opens at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser

COLUMNS = 78
FIRST_CHAPTER = "book/01_where_next.html"


def test_as_many_columns_of_code_fit_as_chapters_may_have(visit: Any) -> None:
    """Also where a bar for scrolling takes 15 pixels of the window."""
    with visit("book/07_pointer.html", width=1280 - 15) as opened:
        page = opened.page
        assert page.locator(".bd-sidebar-primary").is_visible()
        assert page.locator(".bd-sidebar-secondary").is_visible()
        for kind in ("cell_input", "cell_output"):
            wide = page.evaluate(
                """([kind, columns]) => {
                  const pre = document.querySelector(`.bd-article .${kind} pre`);
                  if (!pre) return false;
                  pre.textContent = "x".repeat(columns);
                  return pre.scrollWidth > pre.clientWidth;
                }""",
                [kind, COLUMNS],
            )
            assert not wide, f"{COLUMNS} columns do not fit into {kind}"


def test_a_tap_makes_a_figure_large_and_small_again(visit: Any) -> None:
    with visit("book/04_baselines.html", width=375, has_touch=True, is_mobile=True) as opened:
        page = opened.page
        figure = page.locator("figure.pgt-figure:has(.pgt-enlarge:visible)").first
        drawing, button = figure.locator("svg").first, figure.locator(".pgt-enlarge")
        assert drawing.bounding_box()["width"] <= 375
        drawing.tap()
        assert button.get_attribute("aria-pressed") == "true"
        assert drawing.bounding_box()["width"] > 650
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        button.tap()
        assert drawing.bounding_box()["width"] <= 375
    with visit("book/04_baselines.html") as opened:
        assert opened.page.locator(".pgt-enlarge:visible").count() == 0


# ---- Folded code ---------------------------------------------------------------------------------


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
        # A page without folded code has no such button.
        page.goto(page.url.replace("04_baselines", "glossary"))
        assert page.locator("button.pgt-code").count() == 0


# ---- Colours -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["book/index.html", FIRST_CHAPTER, "book/11_gate.html"])
def test_captions_are_not_thin(visit: Any, name: str) -> None:
    with visit(name) as opened:
        weights = opened.page.evaluate(
            "[...document.querySelectorAll('.bd-article :is(figcaption, legend, .lead)')]"
            ".map(e => Number(getComputedStyle(e).fontWeight))"
        )
        assert weights and min(weights) >= 400


def test_the_theme_button_changes_the_colours_of_figures_too(visit: Any) -> None:
    ink = "getComputedStyle(document.documentElement).getPropertyValue('--pgt-ink').trim()"
    with visit("book/index.html", color_scheme="light") as opened:
        seen = set()
        for _ in range(3):  # automatic, light, dark, in some order
            seen.add(opened.page.evaluate(ink))
            opened.page.locator("button.theme-switch-button:visible").first.click()
        assert len(seen) == 2


# ---- Numbers -------------------------------------------------------------------------------------


def test_chapters_and_parts_have_their_numbers_everywhere(visit: Any) -> None:
    with visit("book/07_pointer.html") as opened:
        page = opened.page
        assert page.title().startswith("7. The pointer")
        assert page.locator("h1").first.inner_text().startswith("7. The pointer")
        links = page.locator(".bd-sidebar-primary li.toctree-l1 > a").evaluate_all(
            "all => all.map(a => a.textContent.trim())"
        )
        numbers = [int(found[1]) for text in links if (found := re.match(r"(\d+)\. ", text))]
        assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 20
        captions = page.locator(".bd-sidebar-primary .caption-text").all_inner_texts()
        assert captions[0].startswith("I · ") and captions[1].startswith("II · ")
        assert captions[-1] == "Back matter"
        subtitles = page.locator(".prev-next-title").all_inner_texts()
        assert [text[:2] for text in subtitles] == ["6.", "8."]


# ---- Search --------------------------------------------------------------------------------------


def results(opened: Any) -> list[tuple[str, str]]:
    """The titles and the snippets that the search has found, the first ten."""
    page = opened.page
    page.wait_for_function(
        "/finished|did not/.test(document.querySelector('.search-summary')?.textContent)"
    )
    page.wait_for_function("document.querySelector('#search-results li p.context')")
    found: list[tuple[str, str]] = page.locator("#search-results li").evaluate_all(
        "all => all.slice(0, 10).map(l => [l.querySelector('a').href,"
        " l.querySelector('p.context')?.textContent ?? ''])"
    )
    return found


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("pointer", "07_pointer.html"),
        ("my own data", "real_cities.html#your-own-city"),
        ("attention map", "13_attention_on_maps.html"),
        ("position bias", "12_position_bias.html"),
    ],
)
def test_search_puts_the_page_first_that_is_about_it(visit: Any, query: str, first: str) -> None:
    with visit(f"search.html?q={query.replace(' ', '+')}") as opened:
        found = results(opened)
        places = [at for at, (address, _) in enumerate(found) if first in address]
        # A word's meaning may come before the chapter on it.
        assert places and places[0] <= ("glossary" in found[0][0]), [a for a, _ in found]
        assert opened.errors == []


@pytest.mark.parametrize("query", ["equation", "softmax", "pointer"])
def test_what_is_shown_of_a_page_has_no_commands_of_tex(visit: Any, query: str) -> None:
    with visit(f"search.html?q={query}") as opened:
        opened.page.wait_for_timeout(500)
        for address, snippet in results(opened):
            assert not re.search(r"\\tag|\\[()\[\]]|fa-|\.ipynb \.pdf", snippet), address


def test_search_finds_words_from_disk(visit: Any) -> None:
    with visit("search.html?q=gate", "file") as opened:
        opened.page.wait_for_selector("#search-results li")
        assert opened.outside == []
