"""The built book is read, not unrolled: code, tables and figures fit, folded code opens at once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .test_pages import EVERY_PAGE

pytestmark = pytest.mark.browser

# What is wider than the room that it has. A box that scrolls may be as wide as it is; its content
# may not. What is folded was opened before.
CUT = """
() => {
  const found = [];
  const room = (element) => {
    const style = getComputedStyle(element);
    return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  };
  const shown = (element) => element.checkVisibility() && !element.closest("[hidden], .live-body");
  for (const pre of document.querySelectorAll(".bd-article pre")) {
    if (!shown(pre) || pre.scrollWidth <= pre.clientWidth + 1) continue;
    const longest = pre.textContent.split("\\n").reduce((a, b) => (b.length > a.length ? b : a));
    found.push(`pre, ${longest.length} columns: ${longest.slice(0, 90)}`);
  }
  for (const table of document.querySelectorAll(".bd-article table")) {
    if (!shown(table)) continue;
    const wide = table.getBoundingClientRect().width, box = room(table.parentElement);
    const head = table.rows[0]?.textContent.replace(/\\s+/g, " ").trim().slice(0, 90);
    if (wide > box + 1) found.push(`table, ${Math.round(wide)} of ${Math.round(box)} px: ${head}`);
  }
  return found;
}
"""
# Pages with something wider, and why it cannot be otherwise.
KNOWN = {"book/experiments.html": "a table of seven columns, which scrolls by itself"}

COLUMNS = 78
FIRST_CHAPTER = "book/01_where_next.html"


@EVERY_PAGE
def test_no_code_and_no_table_is_cut_off(visit: Any, name: str) -> None:
    with visit(name) as opened:
        opened.unfold()
        cut = opened.page.evaluate(CUT)
        assert name in KNOWN or cut == []


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


@EVERY_PAGE
def test_what_scrolls_can_be_reached_by_keyboard(visit: Any, name: str) -> None:
    with visit(name, width=375) as opened:
        out = opened.page.evaluate(
            "[...document.querySelectorAll('.bd-article :is(pre, div, figure, details)')].filter("
            "e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth"
            " && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0"
            " && !e.querySelector('a, button, input, select, [tabindex=\"0\"]')"
            ").map(e => e.outerHTML.slice(0, 120))"
        )
        assert out == []


@EVERY_PAGE
def test_no_figure_is_wider_than_a_phone(visit: Any, name: str) -> None:
    with visit(name, width=375) as opened:
        wide = opened.page.evaluate(
            "[...document.querySelectorAll('.bd-article figure :is(svg, img, iframe, canvas)')]"
            ".filter(e => e.checkVisibility() && !e.closest('.pgt-live')).map("
            "e => [e.getBoundingClientRect(), e]).filter(([box]) => box.right > innerWidth + 1)"
            ".map(([box, e]) => `${Math.round(box.width)} px: ${e.outerHTML.slice(0, 100)}`)"
        )
        assert wide == []


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


@EVERY_PAGE
def test_folded_code_says_what_it_is(visit: Any, name: str) -> None:
    with visit(name) as opened:
        folded = opened.page.evaluate(
            "[...document.querySelectorAll('.bd-article .tag_hide-input')].map(cell => ["
            "cell.querySelector('summary .collapsed').textContent,"
            "!!cell.querySelector('.cell_output :is(figure, svg:not(.icon), img)')])"
        )
        for said, drawn in folded:
            assert "code cell" not in said
            assert (said == "How this figure is drawn") == drawn, said
        if re.search(r"book/\d\d_", name):  # the front page says how to install the package
            assert opened.page.locator(".bd-article", has_text="archive/main.zip").count() == 0


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
