"""Kinds of questions: every window is of one kind, shares add up, nobody can be found out."""

from __future__ import annotations

import pandas as pd
import pytest
from lab.kernel_against_pgt import window_groups
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
    table = window_groups(windows, seen)
    assert len(table) == len(windows)
    assert not table.isna().any().any()
    assert ((table.match == "not in the window") == ~windows.in_window).all()
    for i in range(len(windows)):
        visits, target = windows.visits_of(i), windows.target_of(i)
        assert (table.target[i] == "last place") == (
            visits.location_id.iloc[-1] == target.location_id
        )
        share = 100 * visits.location_id.nunique() / len(visits)
        low = {"under 30 %": 0, "30 to 45 %": 30, "45 to 60 %": 45, "from 60 %": 60}
        assert low[table.unique[i]] == max(edge for edge in low.values() if edge <= share)
