"""Experts as one network: the same answers, and every visit is looked at once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest
import torch
from pgt.predictor.asking import ask, past
from pgt.predictor.estimator import NextLocation
from pgt.predictor.experts import Experts
from pgt.predictor.together import together

from pgt import contextual
from pgt.contextual import ContextualPointer
from pgt.history import HistoryBatch, HistoryWindows
from pgt.visits import check

from ..helpers import random_visits


@pytest.fixture(scope="module")
def model() -> NextLocation:
    return NextLocation.pretrained()


@pytest.fixture(scope="module")
def windows() -> HistoryWindows:
    visits = check(random_visits(3, users=3, visits=80, places=20))
    return past(ask(visits, memory=30, older=10), 60, 30, 10)


@pytest.mark.parametrize("name", ["next_place", "at_a_time"])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1), (0.0, 1.0)])
@torch.no_grad()
def test_the_answers_are_those_of_the_mixture(
    model: NextLocation, windows: HistoryWindows, name: str, weights: tuple[float, float]
) -> None:
    experts = Experts(getattr(model.bundle_, name).networks, torch.tensor(weights)).eval()
    one = together(experts)
    assert isinstance(one, ContextualPointer)
    for batch in windows.batches(20):
        assert isinstance(batch, HistoryBatch)
        ours, theirs = one.mixture(batch), experts.mixture(batch)
        assert torch.equal(ours.place, theirs.place)
        assert torch.allclose(ours.pointer.exp(), theirs.pointer.exp(), atol=1e-6)


def test_experts_of_other_kinds_stay_as_they_are(model: NextLocation) -> None:
    first, second = model.bundle_.next_place.networks
    changes: tuple[dict[str, Any], ...] = (
        {"interaction": 4}, {"scaled": False}, {"content": True, "encoder": True},
    )  # fmt: skip
    for change in changes:
        kind = type(first.config).from_dict(asdict(first.config) | change)
        for networks in ([ContextualPointer(kind)] * 2, [first, ContextualPointer(kind)]):
            experts = Experts(networks)
            assert together(experts) is experts
    assert together(Experts([first, second])) is not first


def test_an_update_looks_at_each_fact_once(
    model: NextLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, hats = [], contextual.hats
    monkeypatch.setattr(contextual, "hats", lambda *of: looked.append(0) or hats(*of))
    start = pd.Timestamp("2024-05-01 08:00+02:00")
    model.update({"user_id": 1, "location_id": "home", "started_at": start})
    assert len(looked) == len(model.bundle_.next_place.config.used_features)
