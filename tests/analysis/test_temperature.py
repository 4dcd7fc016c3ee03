"""Temperatures, the answer "somewhere new", and what luck makes of a calibration error."""

from __future__ import annotations

import numpy as np
import pytest

from pgt import calibration
from pgt.errors import DataError

N, PLACES = 6000, 12


def made(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
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
    log_probs, target = made()
    said = calibration.scale(factor * log_probs, 1.0)
    found = calibration.temperature(said, target)
    assert found == pytest.approx(factor, rel=0.06)
    assert calibration.scale(said, factor) == pytest.approx(log_probs)
    loss = [calibration.losses(calibration.scale(said, t), target).mean()
            for t in (0.9 * found, found, 1.1 * found)]  # fmt: skip
    assert loss[1] < min(loss[0], loss[2])


@pytest.mark.parametrize("t", [0.1, 0.7, 2.0, 30.0])
def test_a_temperature_changes_no_order_and_no_impossibility(t: float) -> None:
    log_probs, target = made(n=500)
    other = calibration.scale(log_probs, t)
    assert np.exp(other).sum(1) == pytest.approx(1)
    assert ((other == -np.inf) == (log_probs == -np.inf)).all()
    possible = np.where(log_probs == -np.inf, -1e9, log_probs)
    hotter = np.where(other == -np.inf, -1e9, other)
    assert (possible.argsort(1) == hotter.argsort(1)).all()
    assert ((other.max(1) <= log_probs.max(1) + 1e-12) == (t >= 1)).mean() > 0.99
    before, after = (calibration.top(one, target).hit for one in (log_probs, other))
    assert (before == after).all()


def test_impossible_targets_do_not_move_the_temperature() -> None:
    log_probs, target = made()
    nowhere = np.hstack([log_probs, np.full((N, 1), -np.inf)])
    some = np.arange(N) < N // 4
    found = calibration.temperature(nowhere, np.where(some, PLACES, target))
    assert found == pytest.approx(calibration.temperature(log_probs[~some], target[~some]))
    assert np.isinf(calibration.losses(nowhere, np.full(N, PLACES))).all()
    with pytest.raises(DataError, match="No target"):
        calibration.temperature(nowhere, np.full(N, PLACES))


def test_somewhere_new_gets_exactly_what_cannot_be_named() -> None:
    log_probs, target = made(n=800)
    named = np.random.default_rng(1).uniform(size=log_probs.shape) < 0.6
    named[:, 0] = True
    own = calibration.with_unseen(log_probs, named)
    p = np.exp(own)
    assert p.sum(1) == pytest.approx(1)
    assert np.where(named, p[:, :-1], 0) == pytest.approx(np.where(named, np.exp(log_probs), 0))
    assert p[:, -1] == pytest.approx(np.where(named, 0, np.exp(log_probs)).sum(1), abs=1e-8)
    assert (own[:, :-1][~named] == -np.inf).all()
    column = calibration.answer_of(target, named)
    there = named[np.arange(800), target]
    assert (column[there] == target[there]).all() and (column[~there] == PLACES).all()
    assert np.isfinite(calibration.losses(own, column)).all()


def test_a_forecast_of_somewhere_new_shrinks_the_places_alike() -> None:
    log_probs, _ = made(n=300)
    named = log_probs > -np.inf
    new = np.random.default_rng(2).uniform(size=300)
    p = np.exp(calibration.with_unseen(log_probs, named, new))
    assert p[:, -1] == pytest.approx(new)
    assert p[:, :-1] == pytest.approx(np.exp(log_probs) * (1 - new)[:, None])
    # Nothing is left for it by a model that names all: it comes last, and is possible still.
    least = calibration.with_unseen(log_probs, named)[:, -1]
    assert np.isfinite(least).all() and (np.exp(least) < 1e-8).all()
    assert np.isfinite(calibration.with_unseen(log_probs, named, np.ones(300))[:, 0]).all()


def test_what_can_be_named() -> None:
    said = np.log([[0.1, 0.1, 0.2, 0.2, 0.2, 0.2]])
    said[0, 2] = -np.inf
    copied = np.array([[False, True, False, False, False, True]])
    found = calibration.nameable(said, copied, n_known=2)
    # Ids 0 and 1 are no places; 2 is impossible; 3 trained; 4 neither copied nor trained.
    assert found.tolist() == [[False, False, False, True, False, True]]
    assert calibration.nameable(said, copied, n_known=0).sum() == 1


def test_the_top_is_a_place_even_where_new_is_likelier() -> None:
    best = calibration.top(np.log([[0.1, 0.2, 0.7], [0.3, 0.1, 0.6]]), np.array([1, 2]))
    assert best.confidence.tolist() == pytest.approx([0.2, 0.3])
    assert best.hit.tolist() == [True, False]


def test_tempering_repairs_the_reliability_of_the_top() -> None:
    log_probs, target = made(n=30_000)
    said = calibration.with_unseen(calibration.scale(log_probs, 1 / 3), log_probs > -np.inf)
    right = calibration.with_unseen(log_probs, log_probs > -np.inf)

    def error(table: np.ndarray) -> float:
        best = calibration.top(table, target)
        return calibration.expected_calibration_error(best.confidence, best.hit)

    assert error(right) < 0.015 < 0.1 < error(said)


def test_recalibrated_forecasts_have_the_mean_and_the_slope_of_what_happens() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(2, 4, 20_000)
    y = (rng.uniform(size=len(p)) < p).astype(float)
    bent = 1 / (1 + np.exp(-(1.0 + 2.0 * calibration.logit(p))))
    assert calibration.recalibrated(bent, y, bent) == pytest.approx(p, abs=0.03)
    assert calibration.recalibrated(bent, np.zeros(len(p)), bent[:3]).tolist() == [0, 0, 0]


def test_of_two_forecasts_the_one_that_knows_is_heard() -> None:
    rng = np.random.default_rng(6)
    p, noise = rng.beta(2, 4, 20_000), rng.uniform(size=20_000)
    y = (rng.uniform(size=len(p)) < p).astype(float)
    both = np.column_stack([noise, p])
    assert calibration.recalibrated(both, y, both[:500]) == pytest.approx(p[:500], abs=0.04)


def test_the_floor_is_what_honest_forecasts_show_and_it_sinks_with_their_number() -> None:
    rng = np.random.default_rng(4)
    p = rng.beta(4, 2, 4000)
    error = []
    for _ in range(60):
        y = rng.uniform(size=len(p)) < p
        error.append(calibration.expected_calibration_error(p, y))
    mean, high = calibration.floor_of_error(p)
    assert mean == pytest.approx(np.mean(error), rel=0.1)
    assert np.mean(np.array(error) < high) == pytest.approx(0.95, abs=0.07)
    assert calibration.floor_of_error(np.tile(p, 16))[0] == pytest.approx(mean / 4, rel=0.1)
    # And what is not honest stands above it.
    assert calibration.expected_calibration_error(p, y * (rng.uniform(size=len(p)) < 0.8)) > high


@pytest.mark.parametrize(
    ("table", "t", "words"),
    [
        ([[0.0, 0.0]], 0.0, "above 0"),
        ([[-np.inf, -np.inf]], 1.0, "no possible answer"),
        ([[np.nan, 0.0]], 1.0, "no possible answer"),
        ([0.0, 0.0], 1.0, "one row a window"),
    ],
)
def test_what_is_no_table_or_temperature_is_refused(table: list, t: float, words: str) -> None:
    with pytest.raises(DataError, match=words):
        calibration.scale(table, t)
