"""Answers to the exercises of chapter 4, on baselines and how they are scored."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.metrics import summarize
from wherenext.exercises.answer import ANSWERS, Answer, Field
from wherenext.exercises.answer import windows as windows_of


@ANSWERS.to("4.1")
def _favourite() -> Answer:
    data = windows_of()
    train = data.train.visits
    counts = train.groupby("user_id").location_id.value_counts()
    test = data.test
    targets = test.visits.location_id.to_numpy()[test.target]
    rows = []
    for user, target in zip(test.users, targets, strict=True):
        own = counts[user] if user in counts.index.get_level_values(0) else pd.Series(dtype=float)
        score = own.get(target, 0)
        tied = int((own == score).sum()) if score > 0 else 0
        rows.append((user, target, -1, int((own > score).sum()), tied, True, True))
    names = ["user_id", "target", "predicted", "better", "tied", "known", "in_window"]
    scores = summarize(pd.DataFrame(rows, columns=names), ["all"]).iloc[0]
    value = [scores["acc@1"], scores["acc@10"]]
    return Answer(
        value,
        ((value[::-1], "the two are exchanged: Acc@1 first."),),
        fields=(Field("Acc@1", "%"), Field("Acc@10", "%")),
        then="The rule does not know where the person is, but its list of ten reaches beyond the "
        "window.",
        code=True,
    )


@ANSWERS.to("4.6")
def _three_tied() -> Answer:
    ranks = np.array([2, 3, 4])  # that the target may have: one place is ahead, three are level
    acc_1, acc_3, mrr = (credit.mean() for credit in (ranks <= 1, ranks <= 3, 1 / ranks))
    return Answer(
        [acc_1, acc_3, mrr],
        (
            ([0, 1, 1 / 2], "you let the target win its ties; take the mean over all orders."),
            ([0, 0, 1 / 4], "you let the target lose its ties; take the mean over all orders."),
            ([0, 1, 1 / 3], "that is the mean rank; the mean is taken of the credit at each rank."),
            (
                [1 / 3, 2 / 3, (1 + 1 / 2 + 1 / 3) / 3],
                "one place is ahead of all three, so the best rank is the second.",
            ),
        ),
        atol=0.005,
        fields=tuple(Field(name, digits=2) for name in ("Acc@1", "Acc@3", "MRR")),
        then="If the order of columns broke the ties, Acc@3 of this window would be 1 or 0.",
    )
