"""What a model can name, and the one answer for all that it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from wherenext import predictions

from pgt.predictor import calibration

from ..predictor.test_calibration import PLACES, answers


def test_somewhere_new_gets_exactly_what_cannot_be_named() -> None:
    log_probs, target = answers(n=800)
    named = np.random.default_rng(1).uniform(size=log_probs.shape) < 0.6
    named[:, 0] = True
    own = predictions.with_unseen(log_probs, named)
    p = np.exp(own)
    assert p.sum(1) == pytest.approx(1)
    assert np.where(named, p[:, :-1], 0) == pytest.approx(np.where(named, np.exp(log_probs), 0))
    assert p[:, -1] == pytest.approx(np.where(named, 0, np.exp(log_probs)).sum(1), abs=1e-8)
    assert (own[:, :-1][~named] == -np.inf).all()
    column = np.where(named[np.arange(800), target], target, PLACES)
    assert np.isfinite(calibration.of_target(own, column)).all()


def test_a_forecast_of_somewhere_new_shrinks_the_places_alike() -> None:
    log_probs, _ = answers(n=300)
    named = log_probs > -np.inf
    new = np.random.default_rng(2).uniform(size=300)
    p = np.exp(predictions.with_unseen(log_probs, named, new))
    assert p[:, -1] == pytest.approx(new)
    assert p[:, :-1] == pytest.approx(np.exp(log_probs) * (1 - new)[:, None])
    # Nothing is left for it by a model that names all: it comes last, and is possible still.
    least = predictions.with_unseen(log_probs, named)[:, -1]
    assert np.isfinite(least).all() and (np.exp(least) < 1e-8).all()
    assert np.isfinite(predictions.with_unseen(log_probs, named, np.ones(300))[:, 0]).all()
