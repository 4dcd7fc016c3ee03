"""The answers of the exercises, the chapters that ask for them, and what the grader says."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest
from wherenext.exercises import ANSWERS, answer_to, check

from ..helpers import ROOT

SCRIPTS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))


def cells(script: Path, tag: str) -> list[str]:
    """The code cells of a chapter that carry a tag."""
    found = jupytext.read(script).cells
    return [cell.source for cell in found if tag in cell.metadata.get("tags", [])]


@pytest.mark.parametrize("number", ANSWERS)
def test_the_right_answer_passes_and_each_slip_is_named(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = answer_to(number)
    check.exercise(number, answer.value)
    assert capsys.readouterr().out == f"Right: exercise {number}.\n"
    for slip, why in answer.slips:
        with pytest.raises(AssertionError, match=re.escape(why)):
            check.exercise(number, slip)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_can_be_tried_is_solved_and_says_not_yet(script: Path) -> None:
    tries, solutions = cells(script, "try"), cells(script, "solution")
    assert all(re.search(r"\.\.\.(?!\d)", source) for source in tries)
    assert all("check." in source for source in tries)
    asked = re.findall(r'check\.exercise\("([\d.]+)"', "\n".join(tries))
    solved = re.findall(r'check\.exercise\("([\d.]+)"', "\n".join(solutions))
    assert asked == solved, "An exercise with a checker needs a cell to try it in, and a solution."
    assert all(number.split(".")[0] == str(int(script.name[:2])) for number in asked)


def test_each_answer_is_asked_for() -> None:
    asked = [n for s in SCRIPTS for n in re.findall(r'check\.exercise\("([\d.]+)"', s.read_text())]
    assert set(asked) == set(ANSWERS)
