"""Membership: perfect knowledge is always right, none half of the time, and twins stay together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import membership
from lab.newcomers import folds

from ..helpers import routine_visits

USERS = np.repeat(np.arange(12), 40)


def rows(more: np.ndarray) -> dict[str, dict[str, float]]:
    found = {}
    for row in membership.rows_of("any", more, USERS):
        found[str(row["group"])] = {name: row[name] for name in ("n", "right", "low", "high")}
    return found


def test_who_knows_everything_is_always_right() -> None:
    found = rows(np.full((3, len(USERS)), 0.1))
    assert found["people"] == {"n": 12, "right": 100, "low": 100, "high": 100}
    assert found["windows"] == {"n": len(USERS), "right": 100, "low": 100, "high": 100}


def test_who_knows_nothing_is_right_half_of_the_time() -> None:
    noise = np.random.default_rng(0).normal(size=(3, len(USERS)))
    found = rows(noise)["windows"]
    assert found["low"] < 50 < found["high"]
    assert rows(np.zeros((3, len(USERS))))["windows"]["right"] == 50


@pytest.mark.parametrize("seed", membership.SPLITS)
def test_twins_are_in_the_same_half(seed: int) -> None:
    visits = routine_visits(users=8, days=10)
    twin = visits[visits.user_id == 3].assign(user_id=99)
    half = folds(pd.concat([visits, twin]), seed, n=2)
    assert half[3] == half[99]
    assert abs((half == 0).sum() - (half == 1).sum()) <= 2
