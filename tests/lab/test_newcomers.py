"""The rows of chapter 22's results file: who counts as new, and what they are asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import newcomers as report

from pgt.visits import split_by_days
from pgt.windows import Dataset

from ..helpers import random_visits

USERS, VISITS = 12, 160


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    """Twelve people; the last is the first one's twin for half the time."""
    table = random_visits(5, users=USERS - 1, visits=VISITS, places=30)
    twin = table[table.user_id == 0].tail(VISITS // 2).assign(user_id=USERS - 1)
    return split_by_days(pd.concat([table, twin], ignore_index=True))


@pytest.fixture(scope="module")
def new(visits: pd.DataFrame) -> np.ndarray:
    """(N,) whose visits are new people's."""
    return (visits.user_id.map(report.folds(visits)) == 0).to_numpy()


@pytest.fixture(scope="module")
def data(visits: pd.DataFrame, new: np.ndarray) -> Dataset:
    return report.without(visits, new)


def test_training_shows_nothing_of_new_people(
    visits: pd.DataFrame, data: Dataset, new: np.ndarray
) -> None:
    strangers = set(visits.user_id[new])
    assert strangers and not strangers & set(data.vocabulary.users)
    for part in (data.train, data.valid):
        assert len(part) and not strangers & set(part.visits.user_id)
    assert set(data.test.users) == strangers
    assert (data.test.batch(np.arange(len(data.test))).user == 0).all()
    known = set(visits.location_id[~new & (visits.split == "train")])
    assert set(data.vocabulary.locations[: data.vocabulary.n_known]) == known


def test_every_visit_but_the_first_is_asked_for(data: Dataset) -> None:
    test = data.test
    table = test.visits
    first = table.groupby("user_id").cumcount() == 0
    assert sorted(test.target) == np.flatnonzero(~first).tolist()
    assert (test.lengths >= 1).all()
    day = table.started_at.dt.tz_localize(None).dt.normalize()
    for i in range(len(test)):
        target, seen = table.iloc[test.target[i]], test.visits_of(i)
        assert set(seen.user_id) == {target.user_id}
        days = (day[test.target[i]] - day.iloc[test.first[i] : test.target[i]]).dt.days
        assert (days.iloc[:-1] <= report.DAYS).all()  # the last visit comes along, however old
        if test.first[i] and table.user_id[test.first[i] - 1] == target.user_id:
            assert (day[test.target[i]] - day[test.first[i] - 1]).days > report.DAYS
