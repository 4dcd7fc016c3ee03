"""The published answers of a language model are matched with our windows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab.llm_mob import their_ranks

from pgt.metrics import gains
from pgt.windows import Windows, prepare

from ..helpers import routine_visits


@pytest.fixture(scope="module")
def windows() -> Windows:
    return prepare(routine_visits(users=3, days=50)).test


def answers_of(windows: Windows, place_of_answer: int) -> pd.DataFrame:
    """Ten answers a window, of which one is right."""
    users = pd.Series(windows.users)
    truth = windows.visits.location_id.to_numpy()[windows.target]
    texts = []
    for place in truth:
        wrong = [str(900 + k) for k in range(10)]
        wrong[place_of_answer] = str(place)
        texts.append(" ".join(wrong))
    table = pd.DataFrame({"user_id": users, "order": users.groupby(users).cumcount(),
                          "ground_truth": truth, "prediction": texts})  # fmt: skip
    return table.sample(frac=1, random_state=0)  # their order does not matter


@pytest.mark.parametrize(("at", "hits"), [(0, (1, 1, 1)), (4, (0, 1, 1)), (9, (0, 0, 1))])
def test_the_place_of_the_right_answer_is_its_rank(
    windows: Windows, at: int, hits: tuple[int, int, int]
) -> None:
    ranks, same = their_ranks(answers_of(windows, at), windows)
    assert same == 1.0 and len(ranks) == len(windows)
    means = gains(ranks)[["acc@1", "acc@5", "acc@10"]].mean()
    np.testing.assert_allclose(means, hits)
