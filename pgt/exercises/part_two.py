"""Answers to the exercises of Part II, on the model and its training."""

from __future__ import annotations

import math

import numpy as np

from pgt.config import PRESETS, ModelConfig
from pgt.exercises.answer import Answer, Answers
from pgt.exercises.answer import windows as windows_of
from pgt.model import PointerGeneratorTransformer

PART_TWO = Answers()


@PART_TWO.to("7.1")
def _pointed() -> Answer:
    right = np.array([0.0, 0.0, 5.0, 1.0, 4.0])  # places 0 to 4, by e to the score
    leaking = right + math.exp(7.0) * np.eye(5)[0]
    return Answer(
        right / right.sum(),
        (
            (leaking / leaking.sum(), "the padding has taken a share; its score must not count."),
            ([0, 0, 0.5, 0.1, 0.2], "place 4 was visited twice, and collects both weights."),
            ([0, 0, 5, 1, 4], "these are the weights before they are divided by their sum."),
        ),
    )


@PART_TWO.to("8.1")
def _turning() -> Answer:
    turn = (0.7 - 0.1) / (0.7 + 0.7 - 0.1)  # where 0.7 g + 0.1 (1 - g) = 0.7 (1 - g)
    return Answer(
        [turn, 0.6],
        (
            (
                [1 - turn, 0.4],
                "you took the gate for the weight of generating; it is that of copying.",
            ),
        ),
        atol=0.005,
    )


@PART_TWO.to("9.1")
def _nine_tenths() -> Answer:
    few = 100
    model = PointerGeneratorTransformer(ModelConfig(few, 2_000, **PRESETS["diy"].model))
    per_place = 2 * model.config.d_model + 1  # a row here, a row and a bias there
    rest = model.n_parameters() - few * per_place
    return Answer(
        math.floor(9 * rest / per_place) + 1,
        (
            (
                math.floor(9 * rest / (per_place - 1)) + 1,
                "the generator has a bias for each place, too.",
            ),
        ),
        atol=0.5,
    )


@PART_TWO.to("10.1")
def _nats() -> Answer:
    places = windows_of().vocabulary.n_locations
    inside, outside = -math.log(0.09), -math.log(0.1 / (places - 10))
    bits = [inside / math.log(2), outside / math.log(2)]
    return Answer(
        [inside, outside],
        (
            ([outside, inside], "the two are exchanged: the hit comes first."),
            (bits, "these are bits; nats have the natural logarithm."),
            ([inside, -math.log(0.1)], "the remaining tenth is shared by all the other places."),
        ),
        atol=0.01,
    )
