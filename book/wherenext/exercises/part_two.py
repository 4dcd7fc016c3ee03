"""Answers to the exercises of Part II, on the model and its training."""

from __future__ import annotations

import math

import numpy as np

from pgt.config import PRESETS, ModelConfig
from pgt.model import PointerGeneratorTransformer
from wherenext.exercises.answer import ANSWERS, Answer, Field
from wherenext.exercises.answer import windows as windows_of


@ANSWERS.to("5.1")
def _numbers_of_tables() -> Answer:
    vocabulary = windows_of().vocabulary
    model = PointerGeneratorTransformer(ModelConfig(vocabulary.n_locations, vocabulary.n_users))
    numbers = sum(weight.numel() for weight in model.embeddings.parameters())
    width, places = model.config.d_model, 1_300_000 / 64
    return Answer(
        [places, numbers],
        (
            ([places, numbers - 2 * width], "LayerNorm has a scale and a shift for each number."),
            ([places, numbers - width], "the projection has a bias, too."),
        ),
        atol=0.5,
        fields=(Field("Locations for 1.3 million", digits=0), Field("Numbers in ours", digits=0)),
        then="Nearly all of ours are rows of the table of locations.",
    )


@ANSWERS.to("6.1")
def _one_layer() -> Answer:
    layer = PointerGeneratorTransformer(ModelConfig(2, 2)).encoder.layers[0]
    numbers = sum(weight.numel() for weight in layer.parameters())
    biases = sum(weight.numel() for weight in layer.parameters() if weight.ndim == 1)
    width = ModelConfig(2, 2).d_model
    return Answer(
        numbers,
        (
            (numbers - biases, "these are the matrices; their biases and two norms are missing."),
            (numbers - 4 * width, "the two norms have a scale and a shift for each number."),
        ),
        atol=0.5,
        fields=(Field("Parameters of one layer", digits=0),),
        then="The number of heads is not in it: heads divide the width and add nothing.",
    )


@ANSWERS.to("7.1")
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
        fields=tuple(Field(f"Place {place}", digits=2) for place in range(5)),
        then="Place 2 wins with the tallest bar; one more such visit to place 4 would turn it.",
    )


@ANSWERS.to("8.1")
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
        fields=(
            Field("The first place wins above a gate of", digits=2),
            Field("Responsibility of the pointer", digits=2),
        ),
        then="The pointer's favourite wins below an even gate already, because the generator gives "
        "it something, too.",
    )


@ANSWERS.to("9.1")
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
        fields=(Field("Places", digits=0),),
        then="With more places than that, nearly all of the model is two tables of them.",
    )


@ANSWERS.to("9.5")
def _what_matters() -> Answer:
    return Answer(
        ("visit order",),
        (
            (("padding",), "masks keep attention off the padding, and the context is read at the "
             "last real visit."),
            (("neighbours",), "each window has a row of its own; a longer one beside it only adds "
             "padding."),
            (("batch order",), "the rows move, and each brings its answer along."),
        ),
        fields=(
            Field(
                "What changes the answer",
                choices=("padding", "neighbours", "batch order", "visit order"),
            ),
        ),
        then="Position, recency and the last visit's role all follow the order of the visits.",
    )  # fmt: skip


@ANSWERS.to("10.1")
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
        fields=(Field("A hit", "nats", digits=2), Field("A miss", "nats", digits=2)),
        then=f"One miss costs as much as {outside / inside:.1f} hits.",
    )
