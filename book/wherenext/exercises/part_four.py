"""Answers to the exercises of Part IV, on the model's relatives."""

from __future__ import annotations

import math

from wherenext.exercises.answer import ANSWERS, Answer, Field


@ANSWERS.to("17.1")
def _copied() -> Answer:
    return Answer(
        [0.1, 0.9],
        (([0.9, 0.1], "the two are exchanged: one gate weighs generating, the other copying."),),
        fields=(
            Field("Copied by the summarizer", digits=2),
            Field("Copied by PGT", digits=2),
        ),
        then="Both are shares of probability, and neither of them counts words.",
    )


@ANSWERS.to("17.2")
def _one_layer() -> Answer:
    return Answer(
        1,
        atol=0.5,
        fields=(Field("From this many visits on", digits=0),),
        then="Its projections and its feed-forward network alone are more work than the BiLSTM.",
    )


@ANSWERS.to("18.1")
def _first_and_fourth() -> Answer:
    recall, hit = 1 / 2, 1.0
    ndcg = 1 / (1 + 1 / math.log2(3))
    return Answer(
        [recall, ndcg, hit],
        (
            ([recall, 1.0, hit], "the best order would have both elements on top; divide by it."),
            ([1 / 3, ndcg, hit], "that is precision; recall divides by the size of the true set."),
            (
                [recall, (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3)), hit],
                "the fourth rank is not among the first three.",
            ),
        ),
        atol=1e-3,
        fields=(
            Field("Recall@3", digits=2), Field("NDCG@3", digits=2), Field("Hit ratio@3", digits=2),
        ),
        then="One list has three different scores, so a paper must say which it means.",
    )  # fmt: skip
