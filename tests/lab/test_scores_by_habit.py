"""Whom it serves: thirds hold everybody once, and the score of a third is that of its people."""

from __future__ import annotations

import numpy as np
import pandas as pd
from lab import scores_by_habit

USERS = np.repeat(np.arange(18), 20)


def ranks(right: np.ndarray) -> pd.DataFrame:
    """As of `pgt.metrics.evaluate`, for windows that are right or far from it."""
    return pd.DataFrame(
        {"user_id": USERS, "better": np.where(right, 0, 49), "tied": 1, "known": True,
         "in_window": True}
    )  # fmt: skip


def people(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(dict.fromkeys(scores_by_habit.HABITS, values))


def test_a_third_that_is_one_person_is_not_shown() -> None:
    values = np.full(18, np.nan)
    values[:3] = [1.0, 2.0, 3.0]
    right = np.ones(len(USERS), dtype=bool)
    rows = list(scores_by_habit.rows_of(ranks(right), ranks(right), people(values)))
    assert [row["habit"] for row in rows] == ["person by person"]
