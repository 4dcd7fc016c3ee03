"""The grader accepts right answers and says what is wrong with others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from wherenext.exercises import check

RIGHT = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])


def test_right_answers_in_any_dress(capsys: pytest.CaptureFixture[str]) -> None:
    for answer in (RIGHT, RIGHT.tolist(), torch.tensor(RIGHT, requires_grad=True), RIGHT + 1e-8):
        check.same(answer, RIGHT, name="weights")
    assert capsys.readouterr().out == "Right: weights.\n" * 4
    check.same(-np.inf, -np.inf)
    check.same([np.nan, 1.0], [np.nan, 1.0])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (RIGHT.T, r"shape \(3, 2\), expected \(2, 3\) \(transposed\?\)"),
        (RIGHT[:1], r"shape \(1, 3\)"),
        (-RIGHT, "sign"),
        (RIGHT[::-1], "another order"),
        (2 * RIGHT, "2 times"),
        (RIGHT + 1, r"\+1 off"),
        (RIGHT * np.nan, "NaN in 6 of 6"),
        (np.where(RIGHT == 0.7, 0.6, RIGHT), r"1 of 6 values differ, most at \(0, 2\): 0.6"),
        (np.where(RIGHT == 0.7, -np.inf, RIGHT), r"at \(0, 2\): -inf instead of 0.7"),
        ("seven", "not numbers"),
    ],
)
def test_wrong_answers_are_named(answer: object, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check.same(answer, RIGHT)


def test_three_dots_are_not_an_answer_yet(capsys: pytest.CaptureFixture[str]) -> None:
    check.same(..., RIGHT, name="weights")
    check.same([0.1, ...], [0.1, 0.9], name="weights")
    check.function(lambda x: ..., np.cumsum, ([1.0],), ([3.0],))
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert all(line.startswith("Not yet: ") for line in said)
