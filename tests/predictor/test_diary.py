"""A diary that grows visit by visit asks what the whole table would ask."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from pgt.predictor.asking import ask
from pgt.predictor.diary import SPARE, Diary

from pgt.errors import DataError
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


def test_its_size_is_bounded_in_every_field() -> None:
    visits = check(random_visits(5, users=1, visits=4000, places=1))
    visits["location_id"] = range(4000)  # a new place at each visit
    diary, sizes = Diary(memory=60, older=10), []
    for i, row in enumerate(visits.itertuples(), 1):
        diary.add(row.location_id, row.started_at, row.finished_at)
        if i % 1000 == 0:
            sizes.append(len(pickle.dumps(diary)))  # whatever its fields are
    most = 60 + SPARE * 10
    assert len(diary.rows) == most
    for name, value in vars(diary).items():
        assert not hasattr(value, "__len__") or len(value) <= most, name
    assert max(sizes) < 1.01 * sizes[0]
    # And nothing that a question shows is forgotten.
    ours, theirs = diary.batch(), ask(visits, memory=60, older=10)
    for name, value in vars(theirs.windows.batch([0])).items():
        assert torch.equal(getattr(ours, name), value), name
    assert np.array_equal(diary.new, theirs.new)


@pytest.mark.parametrize(("memory", "older", "places"), [(10, 3, 60), (30, 2, 90), (5, 1, 80)])
def test_who_comes_back_to_a_forgotten_place_is_at_a_new_one(
    memory: int, older: int, places: int
) -> None:
    visits = check(random_visits(6, users=1, visits=500, places=places))
    diary, renamed, names = Diary(memory, older), [], {}
    for i, row in enumerate(visits.itertuples(), 1):
        place = row.location_id
        if place in names and place not in diary.names:
            since = renamed[len(renamed) - renamed[::-1].index(names[place]) :]
            assert len(set(since)) >= diary.spare  # so many other places have been visited since
            names[place] += 1000
        renamed.append(names.setdefault(place, place))
        diary.add(place, row.started_at, row.finished_at)
        assert set(diary.names) == set(diary.places.values())
        assert set(diary.places) == set(diary.counts) == set(diary.rows[:, 0])
        if i % 37 == 0:
            asked = ask(visits.head(i).assign(location_id=renamed), memory=memory, older=older)
            ours, theirs = vars(diary.batch()), vars(asked.windows.batch([0]))
            for name in theirs:
                assert torch.equal(ours[name], theirs[name]), (i, name)
            assert np.array_equal(diary.new, asked.new)
    assert max(renamed) > 1000  # it happened


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
