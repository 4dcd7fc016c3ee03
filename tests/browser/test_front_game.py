"""The game of the front page, played in Chromium, on a page that holds nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from wherenext.front_game import fragment

from ..helpers import ROOT

pytestmark = pytest.mark.browser
WEEK = ".game-week:not([hidden])"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with the game, as it lies in the book."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "book" / "_static", folder / "_static")
    page = folder / "book" / "index.html"
    page.parent.mkdir()
    page.write_text(
        '<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8"><title>x</title>'
        '<meta name="viewport" content="width=device-width"><style>* { box-sizing: border-box }'
        ".visually-hidden { position: absolute; clip-path: inset(50%) }</style>"
        '<link rel="stylesheet" href="../_static/book.css">'
        f'<main class="bd-article">{fragment()}</main>',
        encoding="utf-8",
    )
    return page


@pytest.fixture
def play(alone: Any, site: Path) -> Any:
    """A function that opens the game."""
    return lambda **options: alone(site, **options)


def answers(page: Any) -> list[dict[str, Any]]:
    """The weeks' answers, as the page has them."""
    return json.loads(page.locator("#front-game script").first.text_content())["weeks"]


def scores(page: Any) -> list[int]:
    """The scores, as they are shown."""
    return [int(text) for text in page.locator(".scores b").all_text_contents()]


def test_scores_add_up_to_the_end_and_begin_anew(play: Any) -> None:
    """Right every other time, to the last question."""
    with play() as page:
        weeks = answers(page)
        expected = [0] * (1 + len(weeks[0]["guesses"]))
        for number, week in enumerate(weeks):
            places = page.locator(f"{WEEK} button.place")
            offered = places.evaluate_all("all => all.map(b => Number(b.dataset.place))")
            assert week["truth"] in offered and set(week["guesses"]) <= set(offered)
            assert page.locator(WEEK).count() == 1
            assert page.locator(".told").inner_text() == "" and page.locator(".next").is_hidden()
            mine = week["truth"] if number % 2 == 0 else next(
                place for place in offered if place != week["truth"]
            )  # fmt: skip
            page.locator(f'{WEEK} button[data-place="{mine}"]').click()
            for player, place in enumerate([mine, *week["guesses"]]):
                expected[player] += place == week["truth"]
            assert scores(page) == expected
            told = page.locator(".told").inner_text()
            assert told.startswith("Right" if mine == week["truth"] else "Wrong")
            here = page.locator(f'{WEEK} button[data-place="{week["truth"]}"]')
            assert here.locator(".name").inner_text() in told
            chips = page.locator(f"{WEEK} .chip").count()
            assert chips == 1 + len(expected), "the truth, and what each of them said"
            places.first.click(force=True)
            assert scores(page) == expected, "an answer cannot be changed"
            page.locator(".next").click()
        told = page.locator(".told").inner_text()
        assert f"You got {expected[0]} of {len(weeks)}" in told and "few questions only" in told
        page.locator(".next").click()
        assert scores(page) == [0] * len(expected)
        assert page.locator(f"{WEEK} .count").inner_text().startswith("1 of")
        assert page.locator(f"{WEEK} .chip").count() == 0


def test_keyboard_alone_plays(play: Any) -> None:
    with play() as page:
        active = "document.activeElement."
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}matches('{WEEK} button.place')")
        name = page.evaluate(f"{active}textContent")
        assert "visit" in name and page.locator(".spot.shown").count() == 1
        page.keyboard.press("Enter")
        assert page.locator(".told[role=status]").inner_text() != ""
        assert page.evaluate(f"{active}className") == "next"
        page.keyboard.press("Enter")
        assert page.evaluate(f"{active}className") == "ask"
        assert page.locator(f"{WEEK} .count").inner_text().startswith("2 of")
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}matches('{WEEK} button.place')")


def test_without_a_script_a_week_stands_there_and_a_sentence(play: Any) -> None:
    with play(java_script_enabled=False) as page:
        assert page.locator(WEEK).count() == 1
        assert page.locator(f"{WEEK} svg.game-map").is_visible()
        said = page.locator("#front-game noscript p")
        assert said.is_visible() and "With JavaScript this is a game" in said.inner_text()
        assert page.locator(".foot").is_hidden()
        assert page.locator("button.place:enabled").count() == 0
