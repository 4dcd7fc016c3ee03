"""The maps of chapter 13 in a browser: by keyboard, by touch, on a phone, read aloud."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import HIDDEN

pytestmark = pytest.mark.browser
PAGE = "book/13_attention_on_maps.html"

# What a map shows, as a text that differs when the picture does.
PICTURE = "map => map.querySelector('.marks').innerHTML + map.querySelector('.names').innerHTML"
FITS = "document.documentElement.scrollWidth <= window.innerWidth"


def figure_with(opened: Any, part: str) -> Any:
    """The map that has such a part."""
    figure = opened.page.locator(f"figure.pgt-map:has([data-live={part}])").first
    figure.scroll_into_view_if_needed()
    return figure


def picture(figure: Any) -> str:
    drawn: str = figure.evaluate(PICTURE)
    return drawn


@pytest.mark.parametrize("width", [1200, 360])
def test_the_film_is_steered_with_the_keyboard(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        film = figure_with(opened, "step")
        slider = film.get_by_role("slider", name="Moment")
        told = film.locator("[data-live=told]")
        slider.focus()
        seen = set()
        for key in ("Home", "ArrowRight", "ArrowRight", "End"):
            slider.press(key)
            seen.add((slider.get_attribute("aria-valuetext"), told.inner_text(), picture(film)))
        assert len(seen) == 4, "a step changed nothing"
        assert len({value for value, _, _ in seen}) == 4
        last = int(slider.get_attribute("max"))
        value = slider.get_attribute("aria-valuetext")
        assert value.endswith(f"moment {last + 1} of {last + 1}")
        slider.press("ArrowLeft")
        assert slider.input_value() == str(last - 1)
        assert opened.page.evaluate(FITS)
        assert opened.outside == [] and opened.errors == []


@pytest.mark.parametrize("width", [1200, 360])
def test_every_head_can_be_chosen_and_is_told_in_words(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        film = figure_with(opened, "head")
        heads = film.get_by_role("combobox", name="Attention of")
        pictures, words = set(), set()
        for value in heads.locator("option").evaluate_all("all => all.map(o => o.value)"):
            heads.select_option(value)
            pictures.add(picture(film))
            words.add(film.locator("[data-live=most]").inner_text())
        assert len(pictures) == len(words) == heads.locator("option").count() > 2
        assert any(text.startswith("The pointer looks at") for text in words)
        assert any(text.startswith("Layer 1, head 1 looks at") for text in words)


def test_bars_below_the_film_are_copied_plus_generated(visit: Any) -> None:
    with visit(PAGE) as opened:
        film = figure_with(opened, "guesses").locator("[data-live=guesses]")
        rows = film.locator("tr").evaluate_all(
            "all => all.map(row => [...row.querySelectorAll('td:not(.bars)')]"
            ".map(cell => Number(cell.innerText)))"
        )
        widths = film.locator(".bar").evaluate_all(
            "all => all.map(bar => [...bar.children].map(part =>"
            " part.getBoundingClientRect().width / bar.getBoundingClientRect().width))"
        )
        assert len(rows) == len(widths) >= 4
        for (copied, generated, total), (first, second) in zip(rows, widths, strict=True):
            assert copied + generated == pytest.approx(total, abs=0.011)
            assert first == pytest.approx(copied, abs=0.01)
            assert second == pytest.approx(generated, abs=0.01)
        truths = film.locator("th", has_text="✓").count()
        assert truths == 1, "the true place is not marked once"


def test_a_finger_moves_the_slider(visit: Any) -> None:
    with visit(PAGE, width=360, has_touch=True) as opened:
        film = figure_with(opened, "step")
        slider = film.locator("[data-live=step]")
        box = slider.bounding_box()
        assert box["height"] >= 24, "too small for a finger"
        before = film.locator("[data-live=told]").inner_text()
        slider.tap(position={"x": box["width"] * 0.7, "y": box["height"] / 2})
        assert int(slider.input_value()) > 0
        assert film.locator("[data-live=told]").inner_text() != before


def test_the_film_plays_to_its_end_and_rests_when_somebody_takes_over(visit: Any) -> None:
    with visit(PAGE) as opened:
        film = figure_with(opened, "step")
        slider, play = film.locator("[data-live=step]"), film.locator("[data-live=play]")
        told = film.locator("[data-live=told]")
        last = int(slider.get_attribute("max"))
        opened.page.clock.install()
        play.click()
        pictures = {picture(film)}
        for number in range(1, 4):
            opened.page.clock.run_for(1500)
            assert slider.input_value() == str(number)
            pictures.add(picture(film))
        assert len(pictures) == 4, "a moment of the film changed nothing"
        assert play.inner_text() == "Pause" and told.get_attribute("aria-live") == "off"
        slider.press("ArrowLeft")
        opened.page.clock.run_for(10_000)
        assert slider.input_value() == "2", "the film went on after the slider was moved"
        assert play.inner_text() == "Play" and told.get_attribute("aria-live") == "polite"
        play.click()
        opened.page.clock.run_for(1500 * (last + 5))
        assert slider.input_value() == str(last) and play.inner_text() == "Play"
        play.click()
        assert slider.input_value() == "0", "played again from the end, it starts anew"
        play.click()
        assert play.inner_text() == "Play"


def test_slider_and_list_come_before_the_map(visit: Any) -> None:
    with visit(PAGE) as opened:
        figure_with(opened, "step").locator("[data-live=step]").focus()
        for part in ("play", "head", "map", "in", "out", "fit"):
            opened.page.keyboard.press("Tab")
            assert opened.page.evaluate("document.activeElement.dataset.live") == part


@pytest.mark.parametrize("width", [1200, 360])
def test_flows_change_with_the_choice(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        flows = figure_with(opened, "choice")
        choice = flows.get_by_role("combobox", name="Draw")
        seen = set()
        for value in range(choice.locator("option").count()):
            choice.select_option(str(value))
            seen.add((picture(flows), flows.locator("[data-live=told]").inner_text()))
        assert len(seen) == choice.locator("option").count() == 4
        assert opened.page.evaluate(FITS)


@pytest.mark.parametrize("width", [1200, 360])
def test_maps_show_all_their_marks_and_fit(visit: Any, width: int) -> None:
    with visit(PAGE, width=width) as opened:
        for figure in opened.page.locator("figure.pgt-map").all():
            figure.scroll_into_view_if_needed()
            name = figure.get_attribute("aria-label")
            frame = figure.locator(".live-map").bounding_box()
            assert frame["height"] > 0.5 * min(frame["width"], 760), name
            if figure.locator("[data-live=step]").count():
                assert figure.evaluate(HIDDEN, "*")[0] == 0, name
        assert opened.page.evaluate(FITS)


def test_a_map_is_moved_and_zoomed_and_comes_back(visit: Any) -> None:
    with visit(PAGE) as opened:
        figure = figure_with(opened, "step")
        drawing = figure.locator("[data-live=map]")
        views = [drawing.get_attribute("viewBox")]
        for do in (
            lambda: drawing.press("ArrowRight"),
            lambda: drawing.press("+"),
            lambda: figure.locator("[data-live=out]").click(),
            lambda: figure.locator("[data-live=fit]").click(),
        ):
            do()
            views.append(drawing.get_attribute("viewBox"))
        assert len(set(views[:4])) == 4, "a key or a button moved nothing"
        assert views[4] == views[0]


def test_a_place_says_what_it_is_to_a_finger(visit: Any) -> None:
    with visit(PAGE, width=360, has_touch=True) as opened:
        figure = figure_with(opened, "step")
        disc = figure.locator("circle.attention").first
        disc.scroll_into_view_if_needed()
        box = disc.bounding_box()
        opened.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert "attention 0." in figure.locator("[data-live=tip]").inner_text()


def test_every_map_has_a_table_beside_it(visit: Any) -> None:
    with visit(PAGE) as opened:
        opened.unfold()
        for figure in opened.page.locator("figure.pgt-map").all():
            assert figure.locator("details table tbody tr").count() > 2
