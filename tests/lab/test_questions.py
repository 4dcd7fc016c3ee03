"""Kinds of questions: every window is of one kind, shares add up, nobody can be found out."""

from __future__ import annotations

import pandas as pd
import pytest
from lab import questions
from wherenext import disagreement

from pgt.baselines import ContextKernel
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows, prepare

from ..helpers import model_of, random_visits, tiny_config

KERNEL = ContextKernel(decay=0.9, base=0.1, same=1.0, clock=3.0, width=100.0)


@pytest.fixture(scope="module")
def data() -> tuple[Windows, PointerGeneratorTransformer]:
    made = prepare(random_visits(3, users=6, visits=150), protocol="exact")
    return made.test, model_of(tiny_config(made))


@pytest.fixture(scope="module")
def seen(data: tuple[Windows, PointerGeneratorTransformer]) -> pd.DataFrame:
    windows, model = data
    return disagreement.visit_weights(model, KERNEL, windows)[1]


def test_each_window_is_one_kind_of_question(
    data: tuple[Windows, PointerGeneratorTransformer], seen: pd.DataFrame
) -> None:
    windows, _ = data
    table = questions.window_groups(windows, seen, "UTC")
    assert len(table) == len(windows)
    assert not table.isna().any().any()
    outside = table["rank"] == "not in the window"
    assert (outside == ~windows.in_window).all()
    assert (outside == (table.match == "not in the window")).all()
    for i in range(len(windows)):
        visits, target = windows.visits_of(i), windows.target_of(i)
        assert (table.target[i] == "last place") == (
            visits.location_id.iloc[-1] == target.location_id
        )
        counts = visits.location_id.value_counts()
        if target.location_id in counts:
            rank = 1 + (counts > counts[target.location_id]).sum()
            assert table["rank"][i][0] == str(min(rank, 4))
        low = {"under 6 h": 0, "6 to 10 h": 6, "10 to 14 h": 10, "14 to 18 h": 14, "from 18 h": 18}
        hour = visits.finished_at.iloc[-1].tz_convert("UTC").hour
        assert low[table.hour[i]] == max(edge for edge in low.values() if edge <= hour)
