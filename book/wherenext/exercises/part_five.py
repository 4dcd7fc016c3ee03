"""Answers to the exercises of Part V, on what lies beyond the model."""

from __future__ import annotations

import math

from wherenext.exercises.answer import ANSWERS, Answer, Field


@ANSWERS.to("20.1")
def _three_reasons() -> Answer:
    e = math.exp
    weight = e(0) + e(-1) + e(-3)
    return Answer(
        [(e(0) + e(-1) + e(1)) / weight, e(1)],
        (
            ([e(4), e(3)], "the reasons are added after the exponential, not before it."),
            ([e(4), e(1)], "only the third part of the sum rises by that factor."),
        ),
        atol=0.005,
        fields=(
            Field("The third alone", digits=2), Field("All three", digits=2),
        ),
        then="One strong reason is enough to raise a visit, whatever the others say.",
    )  # fmt: skip


@ANSWERS.to("21.1")
def _saturdays() -> Answer:
    chances = (0.5, 0.3, 0.2)
    agree, best = sum(p * p for p in chances), max(chances)
    return Answer(
        [agree, best, agree, math.sqrt(agree)],
        (
            ([best, best, best, math.sqrt(best)], "two Saturdays agree in any of three places."),
            (
                [agree, best, math.sqrt(agree), agree],
                "the ends are exchanged: of a number below one the root is larger.",
            ),
        ),
        atol=0.005,
        fields=tuple(
            Field(label, digits=2)
            for label in ("Two Saturdays agree", "Best guess", "Lower end", "Upper end")
        ),
        then="The ends meet only if one place is certain.",
    )


@ANSWERS.to("22.1")
def _new_places() -> Answer:
    known, gate, attention = 1000, 0.6, 0.25
    right = [known + 3, gate * attention, gate]
    return Answer(
        right,
        (
            ([known + 7, *right[1:]], "four of the seven are known, and among the thousand."),
            ([right[0], attention, 1.0], "what the pointer gives is multiplied by the gate."),
            (
                [right[0], gate * 3 / 7, gate],
                "their share is their attention, not their number among the places.",
            ),
        ),
        atol=0.005,
        fields=(
            Field("Answers", digits=0),
            Field("The three together", digits=2),
            Field("At most", digits=2),
        ),
        then="A place that training never showed can have as much as the gate, and no more.",
    )


@ANSWERS.to("24.2")
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
        fields=(Field("The first expert's weight", digits=2),),
        then="Three visits are enough to move an even weight that far.",
    )


@ANSWERS.to("25.1")
def _sizes() -> Answer:
    all_places, stretch = 4 * 128 * 1_000_000, 4 * 2**20
    return Answer(
        [all_places / 1e9, stretch / 1e6],
        (
            (
                [all_places / 2**30, stretch / 2**20],
                "these are powers of two; the exercise counts in powers of ten.",
            ),
            (
                [all_places / 4e9, stretch / 4e6],
                "these are numbers and not bytes; each number has four.",
            ),
        ),
        atol=1e-3,
        fields=(Field("One array", "GB", digits=2), Field("A stretch", "MB", digits=2)),
        then="A stretch is small whatever the number of places, and that is why it exists.",
    )
