"""The rows of chapter 12's results file: which models, and what they must tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lab import position_bias, recency_world
from lab.position_bias import (
    KERNELS,
    best_loss,
    true_curve,
)
from wherenext.results import read_results

from pgt.windows import Dataset, prepare


@pytest.fixture(scope="module")
def small() -> Dataset:
    visits = recency_world.simulate_copying(recency_world.fading(), people=25)
    data = prepare(visits, protocol="exact")
    return replace(
        data, train=position_bias.copied(data.train), test=position_bias.copied(data.test)
    )


def test_nobody_does_better_than_who_knows_the_kernel(small: Dataset) -> None:
    right, wrong = (
        best_loss(small, kernel) for kernel in (recency_world.fading(), recency_world.flat())
    )
    even = best_loss(small, recency_world.fading(0.95))
    assert right < even < wrong
    third = np.array([0.0, 0.0, 1.0])
    sure = prepare(recency_world.simulate_copying(third, people=5), protocol="exact")
    sure = replace(sure, test=position_bias.copied(sure.test))
    assert best_loss(sure, third) == 0
    assert best_loss(sure, np.array([0.0, 0.0, 0.5, 0.5])) > 0


def curves(what: str, variant: str) -> tuple[np.ndarray, np.ndarray]:
    """(seeds, positions) bias and content of the results file."""
    rows = read_results("position_bias").rows
    rows = rows[(rows.what == what) & (rows.variant == variant)].dropna(axis=1)
    n = sum(name.startswith("b") and name[1:].isdigit() for name in rows)
    return tuple(  # type: ignore[return-value]
        rows[[f"{letter}{p}" for p in range(1, n + 1)]].to_numpy() for letter in "bc"
    )


@pytest.mark.parametrize("what", KERNELS)
def test_the_kernel_is_found_by_bias_or_content_or_both(what: str) -> None:
    truth = true_curve(what) - true_curve(what).mean()
    for variant in ("bias only", "both", "embedding only"):
        bias, content = curves(what, variant)
        error = np.abs((bias + content).mean(0) - truth)
        assert error[:15].max() < 0.3, variant
