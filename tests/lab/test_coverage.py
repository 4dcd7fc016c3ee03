"""Sets keep their promise where windows are exchangeable, and say where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from lab import coverage

from pgt import calibration

from ..test_calibration import answers

METHODS = ("simple", "adaptive", "drawn")


def scored(method: str, log_probs: np.ndarray, seed: int = 0) -> np.ndarray:
    probs = np.exp(log_probs)
    if method == "simple":
        return calibration.simple_scores(probs)
    u = np.random.default_rng(seed).uniform(size=len(probs)) if method == "drawn" else None
    return coverage.adaptive_scores(probs, u)


def tables(n: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    return answers(seed=11, n=n)


def kept(method: str, alpha: float, spoilt: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Sets of the second half by a threshold of the first, and whether they hold the target."""
    log_probs, target = tables()
    log_probs = np.where(log_probs > -np.inf, spoilt * log_probs, -np.inf)
    log_probs = log_probs - np.log(np.exp(log_probs).sum(1, keepdims=True))
    scores = scored(method, log_probs)
    half = len(scores) // 2
    limit = calibration.threshold(calibration.of_target(scores[:half], target[:half]), alpha)
    held = coverage.members(scores[half:], limit)
    return held, held[np.arange(half), target[half:]]


@pytest.mark.parametrize("spoilt", [1.0, 4.0, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("method", METHODS)
def test_the_promise_is_kept_however_poor_the_model(
    method: str, alpha: float, spoilt: float
) -> None:
    _, covered = kept(method, alpha, spoilt)
    # Both halves have their luck.
    luck = np.sqrt(2 * alpha * (1 - alpha) / len(covered))
    assert covered.mean() > 1 - alpha - 3 * luck
    if method != "adaptive":  # without draws, scores pile up, and it covers more
        assert covered.mean() < 1 - alpha + 3 * luck


def people(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Scores that are stranger for some people than for others, and whose they are."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(40), 400)
    return rng.normal(size=len(users)) + 0.1 * users, users
