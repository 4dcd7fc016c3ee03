"""Rows of sorted visits equal plain loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.rows import last_numbers, person_rows, same_place


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("names", [False, True])
def test_the_same_place_equals_a_loop(seed: int, names: bool) -> None:
    rng = np.random.default_rng(seed)
    user = pd.Series(np.sort(rng.integers(0, 5, 80)))
    place = rng.integers(-3, 6, 80)
    previous, number = same_place(user.map("user {}".format) if names else user, place)
    for row in range(80):
        own = [r for r in range(row) if user[r] == user[row] and place[r] == place[row]]
        assert previous[row] == (own[-1] if own else -1)
        assert number[row] == len(own) + 1


def test_people_stand_where_they_begin() -> None:
    person, begins = person_rows(pd.Series(["b", "b", "a", "c", "c", "c"]))
    assert person.tolist() == [0, 0, 1, 2, 2, 2]
    assert begins.tolist() == [0, 0, 2, 3, 3, 3]
    assert [len(part) for part in person_rows(pd.Series([], dtype=int))] == [0, 0]


@pytest.mark.parametrize("max_len", [None, 1, 3, 10**12])
def test_the_last_numbers_are_those_of_a_loop(max_len: int | None) -> None:
    length = np.array([4, 0, 1, 7], dtype=np.int32)
    shown = last_numbers(length, max_len)
    assert shown.dtype == torch.int64 and shown.shape[1] == min(max_len or 7, 7)
    for row, n in zip(shown.tolist(), length.tolist(), strict=True):
        expected = list(range(n))[max(n - (max_len or n), 0) :]
        assert row == expected + [-1] * (len(row) - len(expected))
