"""Answers to the exercises of Part V, on what lies beyond the model."""

from __future__ import annotations

from pgt.exercises.answer import Answer, Answers

PART_FIVE = Answers()


@PART_FIVE.to("24.2")
def _share() -> Answer:
    first, second = 0.5 * 0.4 * 0.5, 0.25 * 0.2 * 0.5
    sums = 0.5 + 0.4 + 0.5, 0.25 + 0.2 + 0.5
    return Answer(
        first / (first + second),
        (
            (second / (first + second), "that is the second expert's share."),
            (first / second, "that is how many times as likely; a share lies below 1."),
            (sums[0] / sum(sums), "probabilities of several visits are multiplied, not added."),
        ),
        atol=0.005,
    )
