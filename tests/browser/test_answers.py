"""Exercises answered in the page, in Chromium: right, a slip, wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import answers
import pytest
from wherenext.exercises import Answer, Field, answer_to

from ..helpers import ROOT

pytestmark = pytest.mark.browser
EVIL = '<img src=x onerror="window.harmed = 1">'
MADE_UP = {
    "90.1": Answer(
        [2.0, 17_994.0],
        (([3.0, 17_994.0], f"that is {EVIL}."),),
        fields=(Field(f"Share {EVIL}", EVIL), Field("Places", digits=0)),
        then=f"So {EVIL}.",
    ),
    "90.2": Answer(38.25, fields=(Field("Acc@1", "%"),), then="On we go."),
}
NUMBERS = (*MADE_UP, "1.3", "7.1", "11.1")


def answer_of(number: str) -> Answer:
    return MADE_UP.get(number) or answer_to(number)


@pytest.fixture
def opened(alone: Any, tmp_path: Path) -> Callable[[], Any]:
    """A function that opens a page with forms."""
    forms = ""
    for number in NUMBERS:
        about = answers.form(answer_of(number))
        assert about is not None
        forms += f"<p>Exercise {number}.</p>{answers.markup(number, about)}"
    for name in ("book.js", "answers.js"):
        forms += f'<script src="{(ROOT / "book" / "_static" / name).as_uri()}"></script>'
    file = tmp_path / "index.html"
    file.write_text(
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>x</title>'
        f'<main class="bd-article">{forms}</main>', encoding="utf-8",
    )  # fmt: skip
    return lambda: alone(file)


def form(page: Any, number: str) -> Any:
    return page.get_by_role("form", name=f"Your answer to exercise {number}", exact=True)


def fill(page: Any, number: str, *values: object) -> str:
    """Type an answer, check it, and return what is said."""
    fields = form(page, number).get_by_role("textbox")
    assert fields.count() == len(values)
    for i, value in enumerate(values):
        fields.nth(i).fill(str(value))
    form(page, number).get_by_role("button", name="Check").click()
    return said(page, number)


def said(page: Any, number: str) -> str:
    text: str = form(page, number).get_by_role("status").inner_text()
    return text


def test_right_when_rounded_as_asked_and_a_slip_is_named(opened: Any) -> None:
    with opened() as page:
        for number in ("1.3", "7.1", "11.1"):
            answer = answer_of(number)
            digits = [field.digits for field in answer.fields]
            rounded = [f"{v:.{d}f}" for v, d in zip(answer.value, digits, strict=True)]
            assert fill(page, number, *rounded) == f"Right. {answer.then}"
            for slip, why in answer.slips:
                assert fill(page, number, *slip) == f"Not yet: {why}"
        assert "too low" in fill(page, "11.1", 0.18, 0.1875, -0.0133)
        assert fill(page, "11.1", 0.18, 0.1, "").count("right") == 0, "one is missing"
        assert "Skill: put in a number." in said(page, "11.1")


def test_wrong_numbers_are_too_high_or_too_low_and_marked(opened: Any) -> None:
    with opened() as page:
        assert fill(page, "90.2", "38.4") == "Not yet: too high."
        assert fill(page, "90.2", "12") == "Not yet: too low."
        assert "in percent" in fill(page, "90.2", "0.3825")
        invalid = form(page, "90.2").locator("[aria-invalid=true]")
        assert invalid.count() == 1
        assert fill(page, "90.2", "38.2") == fill(page, "90.2", "38.3") == "Right. On we go."
        assert invalid.count() == 0
        assert fill(page, "90.2", "many") == "Not yet: put in a number."
        form(page, "90.2").get_by_role("textbox").fill("38")
        assert said(page, "90.2") == "" and invalid.count() == 0, "it was said of another answer"


def test_text_of_an_answer_stays_text(opened: Any) -> None:
    with opened() as page:
        assert page.get_by_label(f"Share {EVIL}, {EVIL}").count() == 1
        assert fill(page, "90.1", "3", "17994") == f"Not yet: that is {EVIL}."
        assert fill(page, "90.1", "2", "17994") == f"Right. So {EVIL}."
        assert page.evaluate("window.harmed") is None and page.locator("img").count() == 0
