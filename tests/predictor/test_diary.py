"""A diary that grows visit by visit asks what the whole table would ask."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.errors import DataError
from pgt.predictor.asking import ask
from pgt.predictor.diary import SPARE, Diary
from pgt.visits import check

from ..helpers import random_visits


@pytest.mark.parametrize(("memory", "older"), [(100, 20), (10, 3), (5, 40)])
def test_a_growing_diary_asks_what_the_whole_table_asks(memory: int, older: int) -> None:
    visits = check(random_visits(4, users=1, visits=300, places=30))
    diary = Diary(memory, older)
    for i, row in enumerate(visits.itertuples(), 1):
        diary.add(row.location_id, row.started_at, row.finished_at)
        if i % 23 and i != 1:
            continue
        asked = ask(visits.iloc[:i], memory=memory, older=older)
        ours, theirs = vars(diary.batch()), vars(asked.windows.batch([0]))
        assert set(ours) == set(theirs)
        for name in theirs:
            assert torch.equal(ours[name], theirs[name]), (i, name)
        assert np.array_equal(diary.new, asked.new)


def test_its_size_is_bounded() -> None:
    visits = check(random_visits(5, users=1, visits=900, places=900))
    diary = Diary(memory=60, older=4)
    for row in visits.itertuples():
        diary.add(row.location_id, row.started_at, row.finished_at)
    assert len(diary.rows) <= 60 + SPARE * 4


def test_visits_come_in_order() -> None:
    at = pd.Timestamp("2024-05-01 09:00+02:00")
    hour = pd.Timedelta(hours=1)
    diary = Diary(10, 5)
    diary.add("home", at, at + hour)
    with pytest.raises(DataError, match="begins before the last one"):
        diary.add("work", at - hour, at)
    with pytest.raises(DataError, match="ends before it begins"):
        diary.add("work", at + hour, at)
    with pytest.raises(DataError, match="no time zone"):
        diary.add("work", at.tz_localize(None), at)
    assert len(diary.rows) == 1
