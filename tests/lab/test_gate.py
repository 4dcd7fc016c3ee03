"""The rows of chapter 11's results file are what the gates say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import forecasts
from lab import gate as gate_report

pytestmark = pytest.mark.slow  # each resamples people, many times
N, USERS = 2000, 25


def table(seed: int) -> pd.DataFrame:
    """Gates that know something, half a seed different each time."""
    rng = np.random.default_rng(7)
    p = rng.beta(5, 2, N)
    inside = rng.uniform(size=N) < p
    users = rng.integers(0, USERS, N)
    gate = np.clip(p + 0.1 * np.random.default_rng(seed).normal(size=N), 0.01, 0.99)
    return pd.DataFrame(
        {
            "user_id": users, "gate": gate, "correct": inside & (rng.uniform(size=N) < 0.5),
            "in_window": inside, "returned": inside | (rng.uniform(size=N) < 0.3),
            "known": rng.uniform(size=N) < 0.9,
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    tables = [table(seed) for seed in gate_report.SEEDS]
    return pd.DataFrame(gate_report.rows_of(tables, {"data": "made"}))


def test_scores_are_those_of_each_outcome(rows: pd.DataFrame) -> None:
    first, whole = table(42), rows[(rows.seed == 42) & (rows.group == "all")].iloc[0]
    for outcome in ("in_window", "returned"):
        expected = forecasts.auc(first.gate, first[outcome])
        assert whole[f"auc_{outcome}"] == pytest.approx(expected)
        slope = forecasts.calibration_line(first.gate, first[outcome])[1]
        assert whole[f"slope_{outcome}"] == pytest.approx(slope)
    assert whole["acc@1"] == pytest.approx(100 * first.correct.mean())
