"""Windows that remember equal a plain loop over the person's past."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import cast

import numpy as np
import pandas as pd
import pytest
import torch
from wherenext import city

from pgt.batch import Batch
from pgt.errors import DataError
from pgt.history import NOT_SEEN, HistoryBatch, HistoryWindows, with_history
from pgt.visits import SPLITS, split_by_days
from pgt.windows import FEATURES, Dataset, prepare

from ..helpers import minutes, random_visits

MEMORIES = [(0, 0), (5, 0), (40, 0), (8, 3), (8, 1000)]


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Four people of a hundred visits, to more places than a short memory holds."""
    return prepare(random_visits(1, visits=100, places=20), protocol="exact")


def histories(data: Dataset, split: str, memory: int, older: int) -> HistoryWindows:
    """One split with a memory."""
    return cast(HistoryWindows, getattr(with_history(data, memory, older), split))


def past_of(table: pd.DataFrame, target: pd.Series, memory: int, older: int) -> list[int]:
    """Rows of the visits that should come with a question, by a loop."""
    own = table[(table.user_id == target.user_id) & (table.started_at < target.started_at)]
    rows = own.index.tolist()
    recent, far = rows[-memory:], rows[: max(len(rows) - memory, 0)]
    near = set(table.location_id[recent])
    latest = {table.location_id[row]: row for row in far if table.location_id[row] not in near}
    return sorted(latest.values())[max(len(latest) - older, 0) :] + recent


def test_without_a_memory_a_history_is_its_window(data: Dataset) -> None:
    for split in SPLITS:
        windows, seen = getattr(data, split), histories(data, split, 0, 0)
        index = np.arange(len(windows))
        plain, past = windows.batch(index), seen.batch(index)
        for field in fields(Batch):
            assert torch.equal(getattr(plain, field.name), getattr(past, field.name)), field.name
        for name in ("before", "two_before", "end_before", "stay_before", "gap_before"):
            assert (getattr(past, name)[:, 0] == NOT_SEEN).all(), name  # it lies before the window
        assert (past.two_before[:, 1] == NOT_SEEN).all()
        assert torch.equal(past.before[:, 1:], plain.location[:, :-1] * (past.location[:, 1:] > 0))
        assert (past.stands_for == 0).all()
        assert (seen.lengths == windows.lengths).all()


@pytest.mark.parametrize(("memory", "older"), MEMORIES)
def test_questions_stay_the_same(data: Dataset, memory: int, older: int) -> None:
    for split in SPLITS:
        windows, seen = getattr(data, split), histories(data, split, memory, older)
        assert (seen.targets == windows.targets).all() and (seen.users == windows.users).all()
        assert (seen.in_window == windows.in_window).all()
        batch = seen.batch(np.arange(len(seen)))
        assert (batch.length.numpy() == seen.lengths).all()
        if memory:
            assert seen.lengths.max() <= memory + older


@pytest.mark.parametrize(("memory", "older"), MEMORIES[1:])
def test_a_memory_is_the_persons_past_and_no_more(data: Dataset, memory: int, older: int) -> None:
    for split in SPLITS:
        seen = histories(data, split, memory, older)
        table, ids = seen.visits, seen.vocabulary.encode_locations(seen.visits.location_id)
        batch = seen.batch(np.arange(len(seen)))
        for i in range(0, len(seen), 7):
            target = table.iloc[seen.target[i]]
            rows = past_of(table, target, memory, older)
            n = int(batch.length[i])
            assert batch.location[i, :n].tolist() == ids[rows].tolist()
            assert batch.age[i, :n].tolist() == [seen.target[i] - 1 - row for row in rows]
            counts = [
                0 if row >= seen.target[i] - memory
                else int((ids[: row + 1][table.user_id[: row + 1] == target.user_id]
                          == ids[row]).sum())
                for row in rows
            ]  # fmt: skip
            assert batch.stands_for[i, :n].tolist() == counts


@pytest.mark.parametrize(("split", "memory"), [("test", 12), ("train", 60)])
def test_what_came_before_a_visit(data: Dataset, split: str, memory: int) -> None:
    seen = histories(data, split, memory, 4)
    table, ids = seen.visits, seen.vocabulary.encode_locations(seen.visits.location_id)
    start, end = minutes(table, "started_at"), minutes(table, "finished_at")
    stay = (table.finished_at - table.started_at).dt.total_seconds() // 60
    day = table.started_at.dt.tz_localize(None).dt.normalize()
    batch = seen.batch(np.arange(len(seen)))
    for i in range(0, len(seen), 5):
        target = seen.target[i]
        assert batch.gap_days[i] == (day[target] - day[target - 1]).days
        assert batch.now_minute[i] == end[target - 1] and batch.last_stay[i] == stay[target - 1]
        assert batch.target_minute[i] == start[target]
        wait = (table.started_at[target] - table.finished_at[target - 1]).total_seconds() // 60
        assert abs(int(batch.wait[i]) - wait % (7 * 1440)) <= 1  # seconds are cut off
        for k in range(int(batch.length[i])):
            row = target - 1 - int(batch.age[i, k])
            assert batch.stay[i, k] == stay[row] and batch.start_minute[i, k] == start[row]
            own = row > 0 and table.user_id[row - 1] == table.user_id[row]
            found = [batch.before[i, k], batch.end_before[i, k], batch.stay_before[i, k]]
            expected = [ids[row - 1], end[row - 1], stay[row - 1]] if own else [NOT_SEEN] * 3
            assert [int(value) for value in found] == [int(value) for value in expected]
            way = table.started_at[row] - table.finished_at[row - 1] if own else None
            gap = max(way.total_seconds() // 60, 0) if way is not None else NOT_SEEN
            assert batch.gap_before[i, k] == gap
            further = own and row > 1 and table.user_id[row - 2] == table.user_id[row]
            assert batch.two_before[i, k] == (ids[row - 2] if further else NOT_SEEN)
            days = day[target - 1] - day[row]
            assert batch.days_ago[i, k] == days.days
            assert batch.weekday[i, k] == table.started_at[row].day_of_week + 1


def test_nobody_sees_the_future_or_somebody_else(data: Dataset) -> None:
    for split in SPLITS:
        seen = histories(data, split, 30, 30)
        table = seen.visits
        rows = seen.rows(np.arange(len(seen))).numpy()
        for i, target in enumerate(seen.target):
            own = rows[i][rows[i] >= 0]
            assert (own < target).all() and (np.diff(own) > 0).all()
            assert set(table.user_id[own]) == {table.user_id[target]}
            order = SPLITS.index(split)
            assert {SPLITS.index(name) for name in table.split[own]} <= set(range(order + 1))


def test_changing_the_future_changes_nothing(data: Dataset) -> None:
    visits = random_visits(1, visits=100, places=20)
    cut = visits.groupby("user_id").cumcount() >= 92
    other = visits.assign(location_id=visits.location_id.where(~cut, visits.location_id.iloc[0]))
    before, after = (
        cast(HistoryWindows, with_history(prepare(v, protocol="exact"), 20, 20).valid) for v in
        (visits, other)
    )  # fmt: skip
    one, two = before.batch(np.arange(len(before))), after.batch(np.arange(len(after)))
    for field in fields(HistoryBatch):
        assert torch.equal(getattr(one, field.name), getattr(two, field.name)), field.name


def test_a_whole_past_has_every_place(data: Dataset) -> None:
    seen = histories(data, "test", 8, 1000)
    table, ids = seen.visits, seen.vocabulary.encode_locations(seen.visits.location_id)
    batch = seen.batch(np.arange(len(seen)))
    for i, target in enumerate(seen.target):
        own = (table.user_id == table.user_id[target]) & (np.arange(len(table)) < target)
        assert set(ids[own]) == set(batch.location[i, : int(batch.length[i])].tolist())


def test_a_batch_is_cut_moved_and_selected(data: Dataset) -> None:
    seen = histories(data, "test", 30, 10)
    whole, cut = seen.batch([0, 1, 2]), seen.batch([0, 1, 2], max_len=6)
    assert cut.location.shape[1] == 6 and torch.equal(cut.length, whole.length.clamp(max=6))
    for i in range(3):
        n = int(whole.length[i])
        assert torch.equal(cut.age[i], whole.age[i, n - 6 : n])
    part = seen.subset(np.array([2, 0]))
    assert torch.equal(part.batch([0]).location, seen.batch([2]).location)
    assert isinstance(whole.to("cpu"), HistoryBatch) and isinstance(seen.to("cpu"), HistoryWindows)
    nothing = seen.subset(np.empty(0, dtype=int))
    assert (
        len(nothing) == 0 and len(nothing.batch(np.arange(0))) == 0 and not list(nothing.batches(8))
    )


def test_a_summary_stands_for_the_visits_that_are_not_listed(data: Dataset) -> None:
    for memory, older in ((8, 1000), (3, 2)):
        seen = histories(data, "valid", memory, older)
        ids = seen.vocabulary.encode_locations(seen.visits.location_id)
        batch = seen.batch(np.arange(len(seen)))
        for i, target in enumerate(seen.target):
            n = int(batch.length[i])
            place, stands = batch.location[i, :n], batch.stands_for[i, :n]
            summaries = place[stands > 0].tolist()
            assert len(summaries) == len(set(summaries)) <= older  # each place once
            assert not set(summaries) & set(place[stands == 0].tolist())
            assert (stands[-memory:] == 0).all() and (
                batch.age[i, : len(summaries)] >= memory
            ).all()
            if older == 1000:  # nothing is lost: listed and stood for, all visits are counted
                own = (seen.visits.user_id == seen.visits.user_id[target])[:target].sum()
                near, far = ids[target - memory : target], ids[target - own : target - memory]
                assert int(stands.sum()) + memory + np.isin(far, near).sum() == own


def test_every_batch_is_gathered_on_its_device(data: Dataset) -> None:
    """The device "meta" holds no numbers and refuses to mix with others."""
    seen = histories(data, "test", 30, 10)
    moved = seen.to("meta")
    for batch in (seen.batch([0, 1]).to("meta"), moved.batch([0, 1])):
        assert isinstance(batch, HistoryBatch)
        assert {getattr(batch, field.name).device.type for field in fields(HistoryBatch)} == {
            "meta"
        }
        shape = seen.batch([0, 1]).location.shape
        assert batch.location.shape == shape == batch.most_recent(1000).age.shape


@pytest.mark.parametrize("max_len", [None, 7])
def test_batches_go_through_all_windows_once(data: Dataset, max_len: int | None) -> None:
    seen = histories(data, "test", 30, 10)
    batches = list(seen.batches(8, shuffle=np.random.default_rng(0), max_len=max_len))
    index = torch.cat([batch.index for batch in batches])
    assert sorted(index.tolist()) == list(range(len(seen)))
    assert (torch.cat([batch.target for batch in batches]).numpy() == seen.targets[index]).all()
    for batch in batches:
        length = seen.lengths[batch.index]
        assert (batch.length.numpy() == np.minimum(length, max_len or length)).all()


def test_one_visit_and_visits_that_overlap() -> None:
    visits = random_visits(2, visits=100)
    lonely = visits.iloc[[0]].assign(user_id=99)
    late = visits.finished_at.where(visits.index != 50, visits.started_at + pd.Timedelta(days=2))
    data = prepare(pd.concat([visits.assign(finished_at=late), lonely], ignore_index=True))
    seen = cast(HistoryWindows, with_history(data, 50).train)
    assert 99 not in seen.users and 99 in set(seen.visits.user_id)
    batch = seen.batch(np.arange(len(seen)))
    assert ((batch.wait >= 0) & (batch.wait < 7 * 1440)).all()
    table = seen.visits
    assert table.finished_at[50] > table.started_at[51]
    followers = batch.age == torch.from_numpy(seen.target - 1 - 51)[:, None]
    mine = torch.from_numpy(seen.users == table.user_id[51])[:, None]
    assert (followers & mine & ~batch.padding).any()
    assert (batch.gap_before[followers & mine & ~batch.padding] == 0).all()
    assert (batch.gap_before[~batch.padding] >= NOT_SEEN).all()


def test_a_persons_very_first_visit_has_nothing_before_it(data: Dataset) -> None:
    for split in SPLITS:
        seen = histories(data, split, 1000, 0)
        batch = seen.batch(np.arange(len(seen)))
        own = seen.visits.groupby("user_id").cumcount().to_numpy()[seen.target]
        assert (batch.length.numpy() == own).all()  # the whole past, and so its first visit
        for name in ("before", "two_before", "end_before", "stay_before", "gap_before"):
            assert (getattr(batch, name)[:, 0] == NOT_SEEN).all(), name
            assert (getattr(batch, name)[:, 2][batch.length > 2] != NOT_SEEN).all(), name


def test_the_citys_windows_stay_as_they_are() -> None:
    data = prepare(city.load().visits, protocol="exact")
    seen = cast(HistoryWindows, with_history(data).test)
    index = np.arange(0, len(data.test), 7)
    plain, past = data.test.batch(index, max_len=40), seen.batch(index, max_len=40)
    assert plain.padding.any()
    for field in fields(Batch):
        assert torch.equal(getattr(plain, field.name), getattr(past, field.name)), field.name


def test_bad_numbers_are_refused(data: Dataset) -> None:
    with pytest.raises(DataError, match="must not be negative"):
        with_history(data, -1)
    with pytest.raises(DataError, match="need a memory"):
        with_history(data, 0, 5)


@pytest.mark.parametrize("memory", [0, 20])
@pytest.mark.parametrize(
    ("order", "words"),
    [
        (("test", "valid", "train"), "A valid visit of user 3 follows a test visit"),
        (("train", "test", "valid"), "A valid visit of user 3 follows a test visit"),
        (("train", "valid", "train", "test"), "A train visit of user 3 follows a valid visit"),
    ],
)
def test_splits_out_of_order_are_refused(memory: int, order: tuple[str, ...], words: str) -> None:
    """One person is enough, and their visits before and after are told."""
    visits = split_by_days(random_visits(1, visits=100))
    part = visits.groupby("user_id").cumcount() * len(order) // 100
    wrong = visits.split.where(visits.user_id != 3, part.map(dict(enumerate(order))))
    with pytest.raises(DataError, match=words) as found:
        with_history(prepare(visits.assign(split=wrong), min_visits=1), memory)
    assert "split_by_days" in str(found.value)
    assert str(found.value).endswith(".") and str(found.value).count(". ") == 0  # one sentence


def test_splits_may_be_empty_or_touch() -> None:
    """One person is in test only, another has no valid, a third changes split at one moment."""
    visits = split_by_days(random_visits(1, visits=100))
    number = visits.groupby("user_id").cumcount()
    late = np.where(number < 60, "train", "test")
    split = visits.split.mask(visits.user_id == 0, "test")
    split = split.where(visits.user_id != 1, late).where(visits.user_id != 2, late)
    begin = visits.started_at.where(number != 60, visits.started_at.shift())
    begin = begin.where(visits.user_id == 2, visits.started_at)
    tied = visits.assign(split=split, started_at=begin)
    data = prepare(tied.iloc[::-1], min_visits=1)
    seen = with_history(data, 30)
    for name in SPLITS:
        assert (getattr(seen, name).targets == getattr(data, name).targets).all()
    assert set(cast(HistoryWindows, seen.train).visits.split) == set(SPLITS)


def test_windows_that_remember_are_refused(data: Dataset) -> None:
    once = with_history(data, 20, 5)
    half = Dataset(data.train, data.valid, once.test, data.vocabulary, data.config)
    for again in (once, half):
        with pytest.raises(DataError, match=r"remember already; .* pgt\.windows\.prepare\.$"):
            with_history(again, 20, 5)


@pytest.mark.parametrize("memory", [0, 20])
def test_a_memory_is_made_of_the_windows_as_they_are(data: Dataset, memory: int) -> None:
    """Whatever somebody wrote into the features of the windows is what a memory shows."""
    features = data.test.features.clone()
    features[FEATURES.index("weekday"), 1:] = 7
    seen = with_history(replace(data, test=replace(data.test, features=features)), memory)
    plain = with_history(data, memory).test.batch([3, 4])
    batch = seen.test.batch([3, 4])
    assert batch.target_weekday.tolist() == [7, 7]
    assert torch.equal(batch.location, plain.location)
    assert not torch.equal(batch.weekday, plain.weekday)
    assert isinstance(data, Dataset)
    assert with_history(data, memory).config == data.config
