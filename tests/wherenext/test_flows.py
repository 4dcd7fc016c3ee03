"""Flows between districts: shares that add up, counted as one would by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from wherenext.flows import flows

from pgt.config import ModelConfig
from pgt.look import look
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset, prepare

from ..helpers import random_visits


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(5, visits=300), protocol="exact")


@pytest.fixture(scope="module")
def model(data: Dataset) -> PointerGeneratorTransformer:
    torch.manual_seed(0)
    config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, d_model=16)
    return PointerGeneratorTransformer(config).eval()


@pytest.fixture(scope="module")
def group_of(data: Dataset) -> pd.Series:
    places = pd.Index(data.test.visits.location_id.unique())
    return pd.Series([f"group {i % 3}" for i in range(len(places))], index=places)


def test_flows_are_what_counting_window_by_window_gives(
    data: Dataset, model: PointerGeneratorTransformer, group_of: pd.Series
) -> None:
    table = flows(model, data.test, group_of).set_index(["here", "there"])
    expected = dict.fromkeys(table.index, (0.0, 0.0, 0.0))
    inside = np.flatnonzero(data.test.in_window)
    for i in inside:
        seen = look(model, data.test, int(i))
        groups = seen.visits.location_id.map(group_of)
        here, n = groups.iloc[-1], len(groups)
        for there, weight in zip(groups, seen.visits.attention, strict=True):
            visits, attention, answers = expected[here, there]
            expected[here, there] = (visits + 1 / n, attention + weight, answers)
        visits, attention, answers = expected[here, group_of[seen.target.location_id]]
        expected[here, group_of[seen.target.location_id]] = (visits, attention, answers + 1)
    for key, row in table.iterrows():
        np.testing.assert_allclose(
            row[["visits", "attention", "answers"]].astype(float),
            100 * np.array(expected[key]) / len(inside), atol=1e-3,
        )  # fmt: skip
    np.testing.assert_allclose(table.sum(), 100)
