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
    return Predictions(log_probs, named, target, users, np.arange(n) < n // 2)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    both = {"valid": said(1), "test": said(2)}
    rng = np.random.default_rng(3)
    never = {split: rng.uniform(0.05, 0.4, len(part.target)) for split, part in both.items()}
    return pd.DataFrame(confidence.rows_of(both, never))


def test_no_stage_changes_who_is_right(rows: pd.DataFrame) -> None:
    own = rows[(rows.table == "calibration") & (rows.split == "test")]
    assert sorted(own.stage) == sorted(confidence.STAGES)
    assert own.accuracy.nunique() == 1
    assert (own.confidence - own.accuracy).to_numpy() == pytest.approx(own.gap.to_numpy())
    assert ((own.low < own.gap) & (own.gap < own.high)).all()
    # The made model is calibrated: a temperature near one, and no more error than by luck.
    assert (rows.temperature.dropna() - 1).abs().max() < 0.1
    assert (own.error < 1.5 * own.floor_high).all()
    bins = rows[(rows.table == "reliability") & (rows.stage == "as is")]
    assert bins.n.sum() == 1500 and set(bins.split) == {"test"}


def test_groups_of_sets_add_up(rows: pd.DataFrame) -> None:
    own = rows[(rows.table == "sets") & (rows.alpha == confidence.DETAILED)]
    for _, part in own[own.stage == "somewhere new"].groupby(["method", "limits"]):
        by = part.set_index("group")
        for names in (["new", "named"], ["early", "late"]):
            some = by.loc[names]
            assert some.n.sum() == by.n["all"] == 1500
            for value in ("coverage", "size", "holds_new", "by_name"):
                mean = np.average(some[value], weights=some.n)
                assert mean == pytest.approx(by.loc["all", value])
        assert by.by_name["new"] == 0 and by.by_name["named"] == by.coverage["named"]
        assert by.coverage["new"] == by.holds_new["new"]
