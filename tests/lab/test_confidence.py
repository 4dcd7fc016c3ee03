"""The rows on confidence and sets are what the models say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import confidence
from wherenext.predictions import Predictions

from ..test_calibration import answers

USERS = 25


def said(seed: int, n: int = 1500) -> Predictions:
    """Log-probabilities of twelve places, the last of which cannot be named."""
    log_probs, target = answers(seed, n)
    named = log_probs > -np.inf
    named[:, -1] = False
    users = np.random.default_rng(seed).integers(0, USERS, n)
    return Predictions(log_probs, named, target, users)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    both = {"valid": said(1), "test": said(2)}
    rng = np.random.default_rng(3)
    never = {split: rng.uniform(0.05, 0.4, len(part.target)) for split, part in both.items()}
    return pd.DataFrame(confidence.rows_of(both, never))


def test_no_stage_changes_who_is_right(rows: pd.DataFrame) -> None:
    own = rows[rows.table == "calibration"]
    assert sorted(own.stage) == sorted(confidence.STAGES)
    assert own.accuracy.nunique() == 1
    assert (own.error >= (own.confidence - own.accuracy).abs() - 1e-9).all()
    bins = rows[(rows.table == "reliability") & (rows.stage == "as is")]
    assert bins.n.sum() == 1500


def test_sets_hold_about_what_they_promise_and_less_by_name(rows: pd.DataFrame) -> None:
    own = rows[rows.table == "sets"]
    assert list(own.limits) == ["all", "all", "people"] and (own.n == 1500).all()
    assert (own.coverage - (1 - confidence.ALPHA)).abs().max() < 0.03
    assert (own.by_name < own.coverage).all() and (own["size"] >= 1).all()
    people = rows[rows.table == "people"]
    assert (people.q10 < people.q90).all() and (people.people == USERS).all()
