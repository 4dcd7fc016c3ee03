"""Summaries found by stretches of rows equal those of a loop over every window's past."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pgt.history import candidates, latest_in_force
from pgt.visits import person_rows, same_place


def summaries(place: np.ndarray, begin: int, target: int, memory: int) -> list[int]:
    """Rows of one target's summaries, by a loop over the visits before its memory."""
    first = max(begin, target - memory)
    latest = {place[row]: row for row in range(begin, target)}
    return sorted(row for row in latest.values() if row < first)


@pytest.mark.parametrize("memory", [1, 4, 30, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_summaries_equal_a_loop(seed: int, memory: int) -> None:
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(6), rng.integers(1, 60, 6))
    place = rng.zipf(1.3, len(user)).clip(max=25)
    _, begins = person_rows(pd.Series(user))
    older, count = candidates(same_place(user, place)[0], begins, memory)
    # Behind a person's last visit is a target, too; the very first row has no past.
    targets = np.arange(1, len(user) + 1)
    floor = begins[targets - 1]
    expected = [summaries(place, low, t, memory) for low, t in zip(floor, targets, strict=True)]
    assert count[0] == 0 and count[targets].tolist() == [len(rows) for rows in expected]
    end = np.searchsorted(older[0], np.maximum(floor, targets - memory))
    begin = np.searchsorted(older[0], floor)
    for most in (0, 1, 3, 1000):
        n = np.minimum(count[targets], most)
        found = latest_in_force(older, begin, end, targets, n)
        assert found.shape == (len(targets), n.max())
        for i, rows in enumerate(expected):
            assert found[i, : n[i]].tolist() == rows[len(rows) - n[i] :]
            assert not found[i, n[i] :].any()


def test_no_visits_have_no_summaries() -> None:
    nothing = np.empty(0, dtype=np.int32)
    older, count = candidates(nothing, nothing, 3)
    assert older.shape == (2, 0) and count.tolist() == [0]
