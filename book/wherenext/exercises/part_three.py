"""Answers to the exercises of Part III, on what a trained model knows."""

from __future__ import annotations

import math

from pgt.calibration import brier
from wherenext.exercises.answer import ANSWERS, Answer, Field


@ANSWERS.to("11.1")
def _four_forecasts() -> Answer:
    four = brier([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 0], bins=2)
    score, reliable, resolved = four.score, four.reliability, four.resolution
    return Answer(
        [score, reliable, resolved, four.uncertainty],
        (
            (
                [score, resolved, reliable, four.uncertainty],
                "reliability and resolution are exchanged: reliability is how far the forecasts "
                "are from what happened in their group.",
            ),
            (
                [math.sqrt(score), reliable, resolved, four.uncertainty],
                "the score is the mean of the squares, without a root.",
            ),
            (
                [score, reliable, resolved, 0.25],
                "one case of four happened, so the uncertainty is that of a quarter.",
            ),
        ),
        fields=(
            Field("Brier score", digits=4),
            Field("Reliability", digits=4),
            Field("Resolution", digits=4),
            Field("Uncertainty", digits=4),
        ),
        then="The parts add up: reliability minus resolution plus uncertainty is the score.",
    )


@ANSWERS.to("12.1")
def _falling() -> Answer:
    half, factor = math.log(2) / -math.log(0.8), 0.8**-14
    return Answer(
        [half, factor],
        (
            ([half, 0.8**-15], "from position 1 to position 15 there are fourteen steps."),
            ([half, 1 / factor], "that is the other way round; say how many times as much."),
            ([0.5 / 0.2, factor], "each step takes a fifth of what is left, not of the beginning."),
        ),
        atol=0.01,
        fields=(Field("Steps until it has halved"), Field("Factor between 1 and 15")),
        then="What looks mild at each step is a large factor over a whole window.",
    )


@ANSWERS.to("13.5")
def _taken_out() -> Answer:
    gate, here, other = 0.8, 0.3, 0.5  # attention on the visit itself, and on the one elsewhere
    copied = 1 - other

    def change(left: float, kept: float) -> float:
        return gate * (left / kept - copied)

    first, third = change(copied - here, 1 - here), change(copied, 1 - other)
    return Answer(
        [first, third],
        (
            ([first / gate, third / gate], "the gate multiplies what is copied."),
            ([-gate * here, 0], "the attention of the others adds up to one again."),
            ([-first, -third], "the sign is the other way round: after minus before."),
            ([-here, -other], "that is the attention alone, which is the naive reading."),
        ),
        atol=0.005,
        fields=(
            Field("Change without the first", digits=2),
            Field("Change without the third", digits=2),
        ),
        then="The visit with most attention is the one whose loss helps.",
    )


@ANSWERS.to("14.1")
def _never_first() -> Answer:
    return Answer(
        ("seldom first",),
        (
            (("rare",), "they are not rare: look at the share of targets in the window."),
            (("pointer",), "the pointer has no place outside the window to give probability to."),
            (("gate",), "a gate can only weigh two answers; without the generator there is one."),
        ),
        fields=(Field("The reason", choices=("rare", "seldom first", "pointer", "gate")),),
        then="What a part is worth depends on what is counted: look at Acc@10, too.",
    )


@ANSWERS.to("15.5")
def _two_ceilings() -> Answer:
    unknown, of_known = 1 / 5, 4 / 5
    apart, merged = (
        100 * ((1 - unknown) * of_known + unknown * share) for share in (2 / 5, 19 / 20)
    )
    return Answer(
        [apart, merged],
        (
            ([60.0, 87.5], "the two groups differ in size; weigh each by its share of targets."),
            ([merged, apart], "the two are exchanged: as they are comes first."),
        ),
        atol=0.05,
        fields=(Field("As they are", "%"), Field("Merged", "%")),
        then="The ceiling has risen, and no place has become easier to name.",
    )
