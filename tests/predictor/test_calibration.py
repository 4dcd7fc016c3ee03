"""Scores of probabilities, a temperature, sets: identities, known answers, kept promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab import forecasts
from sklearn.metrics import roc_auc_score

from pgt.errors import DataError
from pgt.predictor import calibration

N, PLACES = 6000, 12


def made(n: int = N, users: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated forecasts, what happened, and whose they are."""
    rng = np.random.default_rng(0)
    p = rng.beta(4, 2, n)
    return p, (rng.uniform(size=n) < p).astype(float), rng.integers(0, users, n)


def bent(p: np.ndarray, shift: float, slope: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(shift + slope * calibration.logit(p))))


def simple_scores(probs: np.ndarray) -> np.ndarray:
    """Least ambiguous sets: 1 - probability; what is impossible is in none."""
    return np.where(probs > 0, 1 - probs, np.inf)


def test_the_skill_of_the_overall_share_is_zero_and_of_knowing_is_one() -> None:
    p, y, _ = made()
    worse, better = (forecasts.skill(some, y) for some in (bent(p, -1.0, 1.0), p))
    assert forecasts.skill(np.full(N, y.mean()), y) == pytest.approx(0)
    assert forecasts.skill(y, y) == pytest.approx(1)
    assert forecasts.skill(1 - y, y) < worse < better


def test_the_line_finds_how_forecasts_were_bent() -> None:
    p, y, _ = made(n=20_000)
    assert forecasts.calibration_line(p, y) == pytest.approx((0, 1), abs=0.08)
    # Forecasts at half the log-odds hedge: the line stretches them again.
    assert forecasts.calibration_line(bent(p, 0.0, 0.5), y)[1] == pytest.approx(2, abs=0.15)
    assert forecasts.calibration_line(bent(p, 0.7, 1.0), y)[0] == pytest.approx(-0.7, abs=0.1)
    line = forecasts.calibration_line([0, 1, 0.4, 0.6, 0.5], [0, 1, 1, 0, 1])
    assert np.isfinite(line).all()


def test_the_auc_within_people_is_the_mean_of_theirs() -> None:
    p, y, users = made(n=800, users=5)
    assert forecasts.auc_within(np.linspace(0.1, 0.9, 5)[users], y, users) == 0.5
    own = [users == k for k in range(5)]
    pairs = [(y[k] == 1).sum() * (y[k] == 0).sum() for k in own]
    for some in (p, p.round(1)):  # with ties
        expected = np.average([roc_auc_score(y[k], some[k]) for k in own], weights=pairs)
        assert forecasts.auc_within(some, y, users) == pytest.approx(expected)
    assert np.isnan(forecasts.auc_within([0.1, 0.9], [0, 1], [1, 2]))


def test_the_reliability_table_counts_every_forecast_once() -> None:
    p, y, users = made(n=997)
    table = calibration.reliability(p, y, users, bins=7)
    assert table.n.sum() == len(p) and table.n.max() - table.n.min() <= 1
    assert (table.n * table.observed).sum() == pytest.approx(y.sum())
    assert (table.n * table.forecast).sum() == pytest.approx(p.sum())
    assert table.forecast.is_monotonic_increasing
    assert ((table.low <= table.observed) & (table.observed <= table.high)).all()


def test_equal_forecasts_share_a_bin() -> None:
    assert set(calibration.bins_of([0.3] * 9, 4)) == {0}
    some = calibration.bins_of([0.1, 0.1, 0.1, 0.1, 0.5, 0.9], 3)
    assert some[0] == some[3] and list(np.unique(some)) == list(range(some.max() + 1))


def test_the_calibration_error_of_honest_forecasts_is_small() -> None:
    p, y, _ = made(n=20_000)
    assert calibration.expected_calibration_error(p, y) < 0.015
    sure = calibration.expected_calibration_error(np.full(len(p), 0.9), y)
    assert sure == pytest.approx(0.9 - y.mean())


def test_intervals_resample_people_not_rows() -> None:
    users = np.repeat(np.arange(20), 200)
    own = np.random.default_rng(0).normal(size=20)  # everybody says the same thing 200 times
    value = np.repeat(own, 200)
    low, high = calibration.people_interval(np.mean, users, value)
    error = 1.96 * own.std() / np.sqrt(20)
    assert (low, high) == pytest.approx((own.mean() - error, own.mean() + error), abs=0.15 * error)
    ((who,),) = calibration.resampled(users, users, n_resamples=1)
    assert len(set(who)) == 20  # somebody drawn twice is two people


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: calibration.reliability([0.2, 1.4], [0, 1], [1, 1]), "from 0 to 1"),
        (lambda: calibration.reliability([-0.2, 0.4], [0, 1], [1, 1]), "from 0 to 1"),
        (lambda: calibration.reliability([0.2, np.nan], [0, 1], [1, 1]), "from 0 to 1"),
        (lambda: calibration.reliability([0.2, 0.4], [0, 2], [1, 1]), "0 or 1"),
        (lambda: forecasts.skill([0.2], [0, 1]), "one length"),
        (lambda: forecasts.skill([], []), "something in them"),
        (lambda: calibration.scale([[0.0, 0.0]], 0.0), "above 0"),
        (lambda: calibration.scale([[-np.inf, -np.inf]], 1.0), "above -inf"),
        (lambda: calibration.scale([[np.nan, 0.0]], 1.0), "above -inf"),
        (lambda: calibration.scale([0.0, 0.0], 1.0), "one row a window"),
        (lambda: calibration.conformal_quantile([0.1], 1.0), "between 0 and 1"),
    ],
)
def test_what_is_no_forecast_is_refused(act: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        act()


def answers(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """(n, PLACES) calibrated log-probabilities, some places impossible, and targets drawn so."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2.0, size=(n, PLACES))
    scores[rng.uniform(size=scores.shape) < 0.3] = -np.inf
    scores[:, 0] = 0.0
    log_probs = calibration.scale(scores, 1.0)
    up_to = np.exp(log_probs).cumsum(1)
    return log_probs, (rng.uniform(size=n)[:, None] > up_to / up_to[:, -1:]).sum(1)


@pytest.mark.parametrize("factor", [3.0, 0.5])
def test_the_temperature_undoes_what_was_done_to_the_scores(factor: float) -> None:
    log_probs, target = answers()
    said = calibration.scale(factor * log_probs, 1.0)
    found = calibration.temperature(said, target)
    assert found == pytest.approx(factor, rel=0.06)
    assert calibration.scale(said, factor) == pytest.approx(log_probs)
    loss = [-calibration.of_target(calibration.scale(said, t), target).mean()
            for t in (0.9 * found, found, 1.1 * found)]  # fmt: skip
    assert loss[1] < min(loss[0], loss[2])


@pytest.mark.parametrize("t", [0.1, 30.0])
def test_a_temperature_changes_no_order_and_no_impossibility(t: float) -> None:
    log_probs, _ = answers(n=500)
    other = calibration.scale(log_probs, t)
    assert np.exp(other).sum(1) == pytest.approx(1)
    assert ((other == -np.inf) == (log_probs == -np.inf)).all()
    assert (log_probs.argsort(1, kind="stable") == other.argsort(1, kind="stable")).all()


def test_impossible_targets_do_not_move_the_temperature() -> None:
    log_probs, target = answers()
    nowhere = np.hstack([log_probs, np.full((N, 1), -np.inf)])
    some = np.arange(N) < N // 4
    found = calibration.temperature(nowhere, np.where(some, PLACES, target))
    assert found == pytest.approx(calibration.temperature(log_probs[~some], target[~some]))
    assert np.isinf(calibration.of_target(nowhere, np.full(N, PLACES))).all()
    with pytest.raises(DataError, match="No target"):
        calibration.temperature(nowhere, np.full(N, PLACES))


@pytest.mark.parametrize("spoilt", [1.0, 4.0, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_promise_is_kept_however_poor_the_model(alpha: float, spoilt: float) -> None:
    """Sets of the second half by a threshold of the first hold the target as often as promised."""
    log_probs, target = answers(seed=11, n=8000)
    scores = simple_scores(np.exp(calibration.scale(log_probs, 1 / spoilt)))
    half = len(scores) // 2
    limit = calibration.conformal_quantile(
        calibration.of_target(scores[:half], target[:half]), alpha
    )
    held = (scores[half:] <= limit) & np.isfinite(scores[half:])
    covered = held[np.arange(half), target[half:]]
    luck = np.sqrt(2 * alpha * (1 - alpha) / len(covered))  # both halves have theirs
    assert covered.mean() == pytest.approx(1 - alpha, abs=3 * luck)


def test_the_finite_sample_correction_is_there() -> None:
    rng = np.random.default_rng(0)
    hits = [
        rng.uniform() <= calibration.conformal_quantile(rng.uniform(size=9), 0.1)
        for _ in range(2000)
    ]
    assert np.mean(hits) == pytest.approx(0.9, abs=0.02)
    assert calibration.conformal_quantile(np.arange(1.0, 100), 0.1) == 90
    assert (
        calibration.conformal_quantile(np.arange(8.0), 0.1)
        == np.inf
        == calibration.conformal_quantile([], 0.1)
    )


def test_an_impossible_answer_is_in_no_set_and_its_windows_count() -> None:
    scores = simple_scores(np.array([[0.9, 0.1, 0.0]] * 100))
    assert scores[0] == pytest.approx([0.1, 0.9, np.inf])
    own = calibration.of_target(scores, np.where(np.arange(100) < 30, 2, 0))
    assert calibration.conformal_quantile(own, 0.1) == np.inf  # seven in ten is all that can be had
