"""Scores of probabilities, a temperature, sets: identities, known answers, kept promises."""

from __future__ import annotations

import numpy as np
import pytest
from lab import forecasts
from sklearn.metrics import brier_score_loss, roc_auc_score

from pgt import calibration
from pgt.errors import DataError

N, PLACES = 6000, 12


def made(
    seed: int = 0, n: int = 6000, users: int = 30
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated forecasts, what happened, and whose they are."""
    rng = np.random.default_rng(seed)
    p = rng.beta(4, 2, n)
    return p, (rng.uniform(size=n) < p).astype(float), rng.integers(0, users, n)


def bent(p: np.ndarray, shift: float, slope: float) -> np.ndarray:
    """Other forecasts with the same order."""
    return 1 / (1 + np.exp(-(shift + slope * calibration.logit(p))))


@pytest.mark.parametrize("bins", [1, 3, 10, 5000])
def test_the_parts_of_the_brier_score_add_up(bins: int) -> None:
    p, y, _ = made()
    parts = forecasts.brier(bent(p, 0.4, 2.0), y, bins=bins)
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.rest
    assert parts.score == pytest.approx(total, abs=1e-12)
    assert parts.score == pytest.approx(brier_score_loss(y, bent(p, 0.4, 2.0)))
    assert parts.reliability >= 0 and parts.resolution >= 0


def test_the_skill_of_the_overall_share_is_zero_and_of_knowing_is_one() -> None:
    _, y, _ = made()
    assert forecasts.brier(np.full(len(y), y.mean()), y).skill == pytest.approx(0)
    assert forecasts.brier(y, y).skill == pytest.approx(1)
    assert forecasts.brier(1 - y, y).skill < 0


def test_a_shift_hurts_reliability_and_leaves_resolution_and_order() -> None:
    p, y, _ = made()
    before, after = forecasts.brier(p, y), forecasts.brier(bent(p, -1.0, 1.0), y)
    assert after.reliability > before.reliability + 0.02
    assert after.resolution == pytest.approx(before.resolution)
    assert forecasts.auc(bent(p, -1.0, 1.0), y) == pytest.approx(forecasts.auc(p, y))


def test_the_line_finds_how_forecasts_were_bent() -> None:
    p, y, _ = made(n=60_000)
    shift, slope = forecasts.calibration_line(p, y)
    assert (shift, slope) == pytest.approx((0, 1), abs=0.06)
    # Forecasts at half the log-odds hedge: the line stretches them again.
    assert forecasts.calibration_line(bent(p, 0.0, 0.5), y)[1] == pytest.approx(2, abs=0.12)
    assert forecasts.calibration_line(bent(p, 0.7, 1.0), y)[0] == pytest.approx(-0.7, abs=0.1)


def test_the_line_stands_certainty_and_one_sided_outcomes() -> None:
    shift, slope = forecasts.calibration_line([0, 1, 0.4, 0.6, 0.5], [0, 1, 1, 0, 1])
    assert np.isfinite([shift, slope]).all()
    assert np.isnan(forecasts.calibration_line([0.2, 0.7], [1, 1])).all()


@pytest.mark.parametrize("digits", [1, 6])
def test_the_auc_is_that_of_scikit_learn_with_ties_and_without(digits: int) -> None:
    p, y, _ = made(n=800)
    p = p.round(digits)
    assert forecasts.auc(p, y) == pytest.approx(roc_auc_score(y, p))
    assert forecasts.auc(-p, y) == pytest.approx(1 - roc_auc_score(y, p))
    assert np.isnan(forecasts.auc(p, np.ones(len(p))))


def test_who_alone_is_chance_within_people() -> None:
    p, y, users = made(n=2000, users=5)
    base = np.linspace(0.1, 0.9, 5)[users]
    rng = np.random.default_rng(1)
    happened = rng.uniform(size=len(users)) < base
    assert forecasts.auc(base, happened) > 0.7
    assert forecasts.auc_within(base, happened, users) == 0.5
    # With one person both are one.
    assert forecasts.auc_within(p, y, np.zeros(len(p))) == pytest.approx(forecasts.auc(p, y))
    pairs = [(int((y[users == k] == 1).sum() * (y[users == k] == 0).sum()), k) for k in range(5)]
    by_hand = sum(n * forecasts.auc(p[users == k], y[users == k]) for n, k in pairs)
    expected = by_hand / sum(n for n, _ in pairs)
    assert forecasts.auc_within(p, y, users) == pytest.approx(expected)
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
    p, y, _ = made(n=60_000)
    assert calibration.expected_calibration_error(p, y) < 0.01
    assert calibration.expected_calibration_error(np.full(len(p), 0.9), y) == pytest.approx(
        0.9 - y.mean()
    )


def test_intervals_resample_people_not_rows() -> None:
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(20), 200)
    value = np.repeat(rng.normal(size=20), 200)  # everybody says the same thing 200 times
    low, high = calibration.interval(np.mean, users, value)
    assert high - low > 0.5  # rows as such would give a tenth of that
    assert low < value.mean() < high
    assert calibration.interval(np.mean, users, value) == (low, high)
    shuffled = rng.permutation(len(users))
    again = calibration.interval(np.mean, users[shuffled], value[shuffled])
    assert np.ptp(again) == pytest.approx(high - low, rel=0.3)


def test_somebody_drawn_twice_is_two_people() -> None:
    users = np.array([7, 7, 7, 9, 9])
    for rows, who in calibration.resampled(users, np.arange(5), users, n_resamples=20):
        assert len(set(who)) == 2
        for person in set(who):
            own = rows[who == person]
            assert len(set(users[own])) == 1
            assert len(own) == (users == users[own[0]]).sum()


@pytest.mark.parametrize(
    ("p", "y", "words"),
    [
        ([0.2, 1.4], [0, 1], "from 0 to 1"),
        ([0.2, float("nan")], [0, 1], "from 0 to 1"),
        ([0.2, 0.4], [0, 2], "0 or 1"),
        ([0.2], [0, 1], "one length"),
        ([], [], "something in them"),
    ],
)
def test_what_is_no_forecast_is_refused(p: list[float], y: list[int], words: str) -> None:
    with pytest.raises(DataError, match=words):
        forecasts.brier(p, y)


# ---- One temperature ---------------------------------------------------------------------------


def answers(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """(n, PLACES) calibrated log-probabilities, some places impossible, and their targets."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2.0, size=(n, PLACES))
    scores[rng.uniform(size=scores.shape) < 0.3] = -np.inf
    scores[:, 0] = 0.0
    log_probs = calibration.scale(scores, 1.0)
    return log_probs, drawn(log_probs, rng)


def drawn(log_probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) targets, each place as often as it is said to be."""
    up_to = np.exp(log_probs).cumsum(1)
    return (rng.uniform(size=len(up_to))[:, None] > up_to / up_to[:, -1:]).sum(1)


@pytest.mark.parametrize("factor", [1.0, 3.0, 0.5])
def test_the_temperature_undoes_what_was_done_to_the_scores(factor: float) -> None:
    log_probs, target = answers()
    said = calibration.scale(factor * log_probs, 1.0)
    found = calibration.temperature(said, target)
    assert found == pytest.approx(factor, rel=0.06)
    assert calibration.scale(said, factor) == pytest.approx(log_probs)
    loss = [-calibration.of_target(calibration.scale(said, t), target).mean()
            for t in (0.9 * found, found, 1.1 * found)]  # fmt: skip
    assert loss[1] < min(loss[0], loss[2])


@pytest.mark.parametrize("t", [0.1, 0.7, 2.0, 30.0])
def test_a_temperature_changes_no_order_and_no_impossibility(t: float) -> None:
    log_probs, _ = answers(n=500)
    other = calibration.scale(log_probs, t)
    assert np.exp(other).sum(1) == pytest.approx(1)
    assert ((other == -np.inf) == (log_probs == -np.inf)).all()
    possible = np.where(log_probs == -np.inf, -1e9, log_probs)
    hotter = np.where(other == -np.inf, -1e9, other)
    assert (possible.argsort(1) == hotter.argsort(1)).all()
    assert ((other.max(1) <= log_probs.max(1) + 1e-12) == (t >= 1)).mean() > 0.99


def test_impossible_targets_do_not_move_the_temperature() -> None:
    log_probs, target = answers()
    nowhere = np.hstack([log_probs, np.full((N, 1), -np.inf)])
    some = np.arange(N) < N // 4
    found = calibration.temperature(nowhere, np.where(some, PLACES, target))
    assert found == pytest.approx(calibration.temperature(log_probs[~some], target[~some]))
    assert np.isinf(calibration.of_target(nowhere, np.full(N, PLACES))).all()
    with pytest.raises(DataError, match="No target"):
        calibration.temperature(nowhere, np.full(N, PLACES))


@pytest.mark.parametrize(
    ("table", "t", "words"),
    [
        ([[0.0, 0.0]], 0.0, "above 0"),
        ([[-np.inf, -np.inf]], 1.0, "above -inf"),
        ([[np.nan, 0.0]], 1.0, "above -inf"),
        ([0.0, 0.0], 1.0, "one row a window"),
    ],
)
def test_what_is_no_table_or_temperature_is_refused(table: list, t: float, words: str) -> None:
    with pytest.raises(DataError, match=words):
        calibration.scale(table, t)


# ---- Sets --------------------------------------------------------------------------------------


def simple_scores(probs: np.ndarray) -> np.ndarray:
    """Least ambiguous sets: 1 - probability; what is impossible is in none."""
    return np.where(probs > 0, 1 - probs, np.inf)


def kept(alpha: float, spoilt: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Sets of the second half by a threshold of the first, and whether they hold the target."""
    log_probs, target = answers(seed=11, n=8000)
    scores = simple_scores(np.exp(calibration.scale(log_probs, 1 / spoilt)))
    half = len(scores) // 2
    limit = calibration.threshold(calibration.of_target(scores[:half], target[:half]), alpha)
    held = (scores[half:] <= limit) & np.isfinite(scores[half:])
    return held, held[np.arange(half), target[half:]]


@pytest.mark.parametrize("spoilt", [1.0, 4.0, 0.2])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_the_promise_is_kept_however_poor_the_model(alpha: float, spoilt: float) -> None:
    _, covered = kept(alpha, spoilt)
    luck = np.sqrt(2 * alpha * (1 - alpha) / len(covered))  # both halves have theirs
    assert covered.mean() == pytest.approx(1 - alpha, abs=3 * luck)


def test_who_promises_more_gives_larger_sets_that_hold_the_smaller() -> None:
    small, mid, large = (kept(alpha)[0] for alpha in (0.3, 0.1, 0.02))
    assert (small <= mid).all() and (mid <= large).all()
    assert small.sum() < mid.sum() < large.sum()


def test_the_finite_sample_correction_is_there() -> None:
    """With nine windows and 90 %, only the strangest will do: any smaller and it is 80 %."""
    rng = np.random.default_rng(0)
    hits = [rng.uniform() <= calibration.threshold(rng.uniform(size=9), 0.1) for _ in range(4000)]
    assert np.mean(hits) == pytest.approx(0.9, abs=0.015)
    assert calibration.threshold(np.arange(1.0, 100), 0.1) == 90
    assert calibration.threshold(np.arange(8.0), 0.1) == np.inf
    with pytest.raises(DataError, match="between 0 and 1"):
        calibration.threshold([0.1], 1.0)


def test_an_impossible_answer_is_in_no_set_and_its_windows_count() -> None:
    scores = simple_scores(np.array([[0.9, 0.1, 0.0]] * 100))
    assert scores[0] == pytest.approx([0.1, 0.9, np.inf])
    own = calibration.of_target(scores, np.where(np.arange(100) < 30, 2, 0))
    assert calibration.threshold(own, 0.1) == np.inf  # seven in ten is all that can be had
