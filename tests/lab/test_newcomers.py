"""The rows of chapter 22's results file: who counts as new, and what they are asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import newcomers as report
from wherenext.results import read_results

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


@pytest.mark.parametrize("seed", range(8))
def test_twins_share_a_fold(visits: pd.DataFrame, seed: int) -> None:
    fold = report.folds(visits, seed)
    assert fold[0] == fold[USERS - 1]


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


def test_been_there_and_so_far_are_those_of_a_loop(data: Dataset) -> None:
    test = data.test
    for i, (n, been) in enumerate(zip(report.so_far(test), report.been_there(test), strict=True)):
        target = test.target_of(i)
        own = test.visits[test.visits.user_id == target.user_id]
        past = own[own.index < test.target[i]]
        assert n == len(past) and been == (target.location_id in set(past.location_id))


def ranks(people: int, hits: np.ndarray) -> pd.DataFrame:
    n = len(hits)
    return pd.DataFrame(
        {
            "user_id": np.arange(n) % people, "better": np.where(hits, 0, 3), "tied": 1,
            "known": True, "in_window": True, "been_there": hits,
            "so_far": np.arange(n) // people % 300 + 1,
        }
    )  # fmt: skip


def test_rows_add_up_to_all() -> None:
    tables = [ranks(20, np.random.default_rng(seed).random(6000) < 0.4) for seed in (1, 2)]
    rows = pd.DataFrame(report.rows_of(tables, (1, 2), {}))
    for _, part in rows.groupby("seed", dropna=False):
        own = part.set_index("group")
        groups = own.drop(index="all")
        assert groups.n.sum() == own.n["all"] == 6000
        assert np.average(groups["acc@1"], weights=groups.n) == pytest.approx(own["acc@1"]["all"])
    whole = rows[rows.group == "all"]
    (mean,) = whole[whole.seed.isna()]["acc@1"]
    assert mean == pytest.approx(whole[whole.seed.notna()]["acc@1"].mean())


def test_the_results_file_is_whole_and_tells_of_nobody() -> None:
    results = read_results("newcomers")
    rows = results.rows
    assert results.header["command"] == "python book/lab/run.py newcomers"
    assert not {"user_id", "location_id", "started_at", "row"} & set(rows.columns)
    assert rows.people.min() >= report.ENOUGH_PEOPLE
    for _, part in rows.groupby("data"):
        for model, seeds in report.SEEDS.items():
            own = part[(part.model == model) & (part.variant == "new") & (part.group == "all")]
            expected = sum(seed is not None for seed in seeds)
            assert own.seed.notna().sum() == expected and own.seed.isna().sum() == 1
        assert set(part[part.variant == "seen - new"].model) == {"contextual", "pgt"}
    means = rows[rows.seed.isna() & (rows.variant == "new") & (rows.group != "test days")]
    pointed = means[means.model != "pgt"]  # PGT may generate what it has not seen
    assert (pointed["acc@1"] <= pointed.reach + 1e-9).all()
