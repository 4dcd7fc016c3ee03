"""Experts: a mixture is a distribution, and the one that foretold the past better speaks louder."""

from __future__ import annotations

import pytest
import torch
from lab.pretraining import blank
from pgt.predictor.asking import Asked, ask, past
from pgt.predictor.experts import Experts

from pgt.history import HistoryWindows
from pgt.visits import check

from ..helpers import routine_visits


@pytest.fixture(scope="module")
def asked() -> Asked:
    return ask(check(routine_visits(users=3, days=30)), memory=20, older=5)


@pytest.fixture(scope="module")
def windows(asked: Asked) -> HistoryWindows:
    return past(asked, 60, memory=20, older=5)


def experts() -> Experts:
    """The kernel's first weights, and an expert who says of all visits the same."""
    good, poor = blank(1, "unknown"), blank(1, "unknown")
    assert poor.scorer is not None
    with torch.no_grad():
        for table in poor.scorer.tables.values():
            table.zero_()
    return Experts([good, poor]).eval()


def test_a_mixture_adds_up_to_one_and_lies_between_its_experts(windows: HistoryWindows) -> None:
    both, batch = experts(), windows.batch([0, 1, 2])
    each = [one.mixture(batch).pointer.exp() for one in both.networks]
    mixed = both.mixture(batch).pointer.exp()
    assert torch.allclose(mixed.sum(1), torch.ones(3), atol=1e-5)
    assert torch.allclose(mixed, (each[0] + each[1]) / 2, atol=1e-6)


def test_who_foretold_the_past_speaks_louder(windows: HistoryWindows) -> None:
    weights = experts().weighed(windows).weights
    assert weights.sum().item() == pytest.approx(1)
    assert weights[0] > 0.7
    nothing = windows.subset(torch.zeros(len(windows), dtype=torch.bool).numpy())
    assert experts().weighed(nothing).weights.tolist() == [0.5, 0.5]
