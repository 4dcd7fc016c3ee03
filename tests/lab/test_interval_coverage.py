"""Intervals of samples whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from lab import interval_coverage
from lab.interval_coverage import LEVELS, covered, intervals
from scipy import stats


def test_bca_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 80, 40)
    sums = rng.binomial(counts, rng.beta(2, 3, 40))
    ours = intervals(sums, counts, np.random.default_rng(2))
    theirs = stats.bootstrap(
        (sums, counts), lambda s, n, axis: s.sum(axis) / n.sum(axis), paired=True,
        vectorized=True, n_resamples=20_000, method="BCa", random_state=np.random.default_rng(3),
    ).confidence_interval  # fmt: skip
    assert ours["BCa"] == pytest.approx(tuple(theirs), abs=0.015)
    assert all(low < sums.sum() / counts.sum() < high for low, high in ours.values())


def test_with_many_equal_people_every_method_keeps_its_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interval_coverage, "TRIALS", 300)
    rng = np.random.default_rng(4)
    people = [rng.binomial(1, p, 200).astype(float) for p in rng.beta(5, 5, 300)]
    for method, coverage, width in covered(people, np.full(150, 20)):
        assert 91 < coverage < (100.1 if method in LEVELS else 99), method
        assert 0 < width < 10, method
