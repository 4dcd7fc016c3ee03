"""The maps of chapter 13 in a browser: by keyboard, by touch, on a phone, read aloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
PAGE = "book/13_attention_on_maps.html"
POOR_CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")

# What a map shows, as a text that differs when the picture does. Leaflet paints in the next frame.
PICTURE = """
async () => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  return [...document.querySelectorAll(".leaflet-overlay-pane canvas")].map(c => c.toDataURL())
    + [...document.querySelectorAll(".pgt-mark")].map(m => m.outerHTML);
}
"""
FITS = "document.documentElement.scrollWidth <= window.innerWidth"
# Marks of the map that lie outside its frame.
HIDDEN = """
() => {
  const map = document.querySelector(".leaflet-container").getBoundingClientRect();
  return [...document.querySelectorAll(".pgt-mark")].filter((mark) => {
    const box = mark.getBoundingClientRect();
    return box.right < map.left || box.left > map.right
      || box.bottom < map.top || box.top > map.bottom;
  }).length;
}
"""


def frame_with(opened: Any, selector: str) -> Any:
    """The map that has such an element."""
    for handle in opened.page.query_selector_all("figure.pgt-map iframe"):
        frame = handle.content_frame()
        if frame.locator(selector).count():
            handle.scroll_into_view_if_needed()
            return frame
    raise AssertionError(f"No map has {selector}.")


@pytest.mark.parametrize("width", [1200, 360])
def test_the_film_is_steered_with_the_keyboard(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        frame = frame_with(opened, "#film-step")
        slider = frame.get_by_role("slider", name="Moment")
        told = frame.locator("#film-told")
        slider.focus()
        seen = set()
        for key in ("Home", "ArrowRight", "ArrowRight", "End"):
            slider.press(key)
            seen.add(
                (slider.get_attribute("aria-valuetext"), told.inner_text(), frame.evaluate(PICTURE))
            )
        assert len(seen) == 4, "a step changed nothing"
        assert len({value for value, _, _ in seen}) == 4
        last = int(slider.get_attribute("max"))
        value = slider.get_attribute("aria-valuetext")
        assert value.endswith(f"moment {last + 1} of {last + 1}")
        slider.press("ArrowLeft")
        assert slider.input_value() == str(last - 1)
        assert frame.evaluate(FITS)
        assert opened.outside == [] and opened.errors == []


@pytest.mark.parametrize("width", [1200, 360])
def test_every_head_can_be_chosen_and_is_told_in_words(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        frame = frame_with(opened, "#film-head")
        heads = frame.get_by_role("combobox", name="Attention of")
        pictures, words = set(), set()
        for value in heads.locator("option").evaluate_all("all => all.map(o => o.value)"):
            heads.select_option(value)
            pictures.add(frame.evaluate(PICTURE))
            words.add(frame.locator("#film-most").inner_text())
        assert len(pictures) == len(words) == heads.locator("option").count() > 2
        assert any(text.startswith("The pointer looks at") for text in words)
        assert any(text.startswith("Layer 1, head 1 looks at") for text in words)


def test_bars_below_the_film_are_copied_plus_generated(visit: Any) -> None:
    with visit(PAGE) as opened:
        frame = frame_with(opened, "#film-guesses")
        rows = frame.locator("#film-guesses tr").evaluate_all(
            "all => all.map(row => [...row.querySelectorAll('td:not(.bar)')]"
            ".map(cell => Number(cell.innerText)))"
        )
        widths = frame.locator("#film-guesses .bar div").evaluate_all(
            "all => all.map(bar => [...bar.children].map(part =>"
            " part.getBoundingClientRect().width / bar.getBoundingClientRect().width))"
        )
        assert len(rows) == len(widths) >= 4
        for (copied, generated, total), (first, second) in zip(rows, widths, strict=True):
            assert copied + generated == pytest.approx(total, abs=0.011)
            assert first == pytest.approx(copied, abs=0.01)
            assert second == pytest.approx(generated, abs=0.01)
        truths = frame.locator("#film-guesses th", has_text="✓").count()
        assert truths == 1, "the true place is not marked once"


def test_a_finger_moves_the_slider(visit: Any) -> None:
    with visit(PAGE, width=360, has_touch=True) as opened:
        frame = frame_with(opened, "#film-step")
        slider = frame.locator("#film-step")
        box = slider.bounding_box()
        assert box["height"] >= 24, "too small for a finger"
        before = frame.locator("#film-told").inner_text()
        slider.tap(position={"x": box["width"] * 0.7, "y": box["height"] / 2})
        assert int(slider.input_value()) > 0
        assert frame.locator("#film-told").inner_text() != before


def test_slider_and_list_come_before_the_map(visit: Any) -> None:
    with visit(PAGE) as opened:
        frame = frame_with(opened, "#film-step")
        frame.locator("#film-step").focus()
        opened.page.keyboard.press("Tab")
        assert frame.evaluate("document.activeElement.id") == "film-head"
        opened.page.keyboard.press("Tab")
        assert frame.evaluate("document.activeElement.closest('.leaflet-container') !== null")


@pytest.mark.parametrize("width", [1200, 360])
def test_flows_change_with_the_choice(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        frame = frame_with(opened, "#flows-choice")
        choice = frame.get_by_role("combobox", name="Draw")
        seen = set()
        for value in range(choice.locator("option").count()):
            choice.select_option(str(value))
            seen.add((frame.evaluate(PICTURE), frame.locator("#flows-told").inner_text()))
        assert len(seen) == choice.locator("option").count() == 4
        assert frame.evaluate(FITS)


@pytest.mark.parametrize("width", [1200, 360])
def test_maps_show_all_their_marks_and_fit(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        for handle in opened.page.query_selector_all("figure.pgt-map iframe"):
            handle.scroll_into_view_if_needed()
            frame = handle.content_frame()
            title = handle.get_attribute("title")
            assert frame.evaluate(FITS), f"scrolls sideways: {title}"
            map_height = frame.evaluate(
                "document.querySelector('.leaflet-container').clientHeight / window.innerHeight"
            )
            assert map_height > 0.25, f"words leave no room for the map: {title}"
            if "slider" in title:
                assert frame.evaluate(HIDDEN) == 0
            poor = POOR_CONTRAST.replace('".bd-article"', '"body"')
            assert frame.evaluate(poor) == []


def test_every_map_has_a_table_beside_it(visit: Any) -> None:
    with visit(PAGE) as opened:
        opened.unfold()
        for figure in opened.page.locator("figure.pgt-map").all():
            assert figure.locator("details table tbody tr").count() > 2
