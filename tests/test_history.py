"""Windows that remember equal a plain loop over the person's past."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import cast

import numpy as np
import pandas as pd
import pytest
import torch
from wherenext.pointer_variants import as_if_earlier, with_pseudo_unknowns

from pgt.batch import Batch
from pgt.errors import DataError
from pgt.history import (
    NOT_SEEN,
    HistoryBatch,
    HistoryWindows,
    with_history,
)
from pgt.visits import SPLITS, split_by_days
from pgt.vocabulary import UNKNOWN
from pgt.windows import FEATURES, Dataset, prepare

from .helpers import minutes, random_visits

MEMORIES = [(0, 0), (5, 0), (40, 0), (8, 3), (8, 1000)]
BEFORE = ("before", "two_before", "end_before", "stay_before", "gap_before")


def same(one: Batch, two: Batch, kind: type[Batch] = HistoryBatch) -> bool:
    """Whether two batches are equal in all fields of a kind."""
    return all(torch.equal(getattr(one, f.name), getattr(two, f.name)) for f in fields(kind))


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
        assert same(plain, past, Batch)
        for name in BEFORE:
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


def test_changing_the_future_changes_nothing() -> None:
    visits = random_visits(1, visits=100, places=20)
    cut = visits.groupby("user_id").cumcount() >= 92
    other = visits.assign(location_id=visits.location_id.where(~cut, visits.location_id.iloc[0]))
    before, after = (
        cast(HistoryWindows, with_history(prepare(v, protocol="exact"), 20, 20).valid) for v in
        (visits, other)
    )  # fmt: skip
    index = np.arange(len(before))
    assert same(before.batch(index), after.batch(index))


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
    assert len(nothing) == 0 and not list(nothing.batches(8))
    # The device "meta" holds no numbers and refuses to mix with others.
    for batch in (seen.batch([0, 1]).to("meta"), seen.to("meta").batch([0, 1])):
        assert {getattr(batch, f.name).device.type for f in fields(HistoryBatch)} == {"meta"}


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


@pytest.mark.parametrize(
    ("memory", "older", "words"), [(-1, 0, "must not be negative"), (0, 5, "need a memory")]
)
def test_bad_numbers_are_refused(data: Dataset, memory: int, older: int, words: str) -> None:
    with pytest.raises(DataError, match=words):
        with_history(data, memory, older)


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
    with pytest.raises(DataError, match=words):
        with_history(prepare(visits.assign(split=wrong), min_visits=1), memory)


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
        with pytest.raises(DataError, match="remember already"):
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


# ---- Pseudo-unknown places ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def finders() -> Dataset:
    """People who find new places all the time."""
    return prepare(random_visits(3, visits=120, places=60), protocol="published")


@pytest.mark.parametrize("whole", [True, False])
def test_new_places_become_unknown_and_others_stay(finders: Dataset, whole: bool) -> None:
    train, later = finders.train, as_if_earlier(finders.train, 0.5, whole_windows=whole)
    number = train.visits.groupby("user_id").cumcount()
    half = number < 0.5 * train.visits.groupby("user_id").user_id.transform("size")
    known = set(train.visits.location_id[half])
    ids = later.features[0, 1:].numpy()
    for place, then, now in zip(
        train.visits.location_id, train.features[0, 1:].numpy(), ids, strict=True
    ):
        assert now == (then if place in known else UNKNOWN)
    assert (ids == UNKNOWN).any() and not (train.features[0, 1:] == UNKNOWN).any()
    asked = later.first if whole else later.target
    assert len(later) and not half.to_numpy()[asked].any()


@pytest.mark.parametrize(("memory", "older"), [(0, 0), (30, 10)])
def test_rehearsal_adds_windows_that_keep_to_themselves(
    finders: Dataset, memory: int, older: int
) -> None:
    taught = with_pseudo_unknowns(finders, memory, older, shares=(0.4, 0.7))
    size = len(finders.train.visits)
    rows = taught.rows(np.arange(len(taught))).numpy()
    copies = taught.target // size
    assert set(copies) == {0, 1, 2}
    for i in range(len(taught)):
        assert set(rows[i][rows[i] >= 0] // size) == {copies[i]}
    assert (taught.targets == UNKNOWN).any() and (copies == 0).sum() == len(finders.train)
    first = taught.batch(np.flatnonzero(copies == 0))
    assert not (first.target == UNKNOWN).any()
    batch = taught.batch(np.arange(len(taught)))
    assert (batch.target.numpy() == taught.targets).all()


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_without_a_memory_the_whole_window_lies_after_the_moment(
    finders: Dataset, share: float
) -> None:
    taught = with_pseudo_unknowns(finders, shares=(share,))
    size = len(finders.train.visits)
    of = finders.train.visits.groupby("user_id")
    late = of.cumcount() >= share * of.user_id.transform("size")
    batch = taught.batch(np.arange(len(taught)))
    again = np.flatnonzero(taught.target >= size)
    rows = taught.rows(again).numpy()
    assert late.to_numpy()[rows[rows >= 0] - size].all()
    # As in the splits: a window of the copy is one of the plain ones, all later ones are there.
    plain = finders.train.first[late.to_numpy()[finders.train.first]]
    assert (taught.first[again] - size == plain).all() and len(again) < len(finders.train)
    assert (batch.before[:, 0] == NOT_SEEN).all()


def test_with_a_memory_all_later_targets_are_asked(finders: Dataset) -> None:
    share = 0.5
    taught = with_pseudo_unknowns(finders, 1000, 10, shares=(share,))
    size = len(finders.train.visits)
    of = finders.train.visits.groupby("user_id")
    late = (of.cumcount() >= share * of.user_id.transform("size")).to_numpy()
    again = np.flatnonzero(taught.target >= size)
    expected = finders.train.target[late[finders.train.target]]
    assert (taught.target[again] - size == expected).all()
    # The past before the moment is remembered, and of that no place is unknown.
    batch = taught.batch(again)
    row = torch.from_numpy(taught.rows(again).numpy()) - size
    early = torch.from_numpy(~late)[row.clamp(min=0)] & (row >= 0)
    assert early.any() and (batch.location[early] > UNKNOWN).all()
    assert (batch.location[~early & (row >= 0)] == UNKNOWN).any()
    # What came before a visit is told in the words of the same copy.
    following = batch.before[:, 1:][~batch.padding[:, 1:]]
    assert (following == batch.location[:, :-1][~batch.padding[:, 1:]]).all()


def test_no_share_is_no_pseudo_unknown(finders: Dataset) -> None:
    plain, none = (
        with_history(finders, 20, 5).train,
        with_pseudo_unknowns(finders, 20, 5, shares=()),
    )
    index = np.arange(len(plain))
    assert len(none) == len(plain) and (none.in_window == plain.in_window).all()
    assert same(plain.batch(index), none.batch(index))


def test_text_ids_are_rehearsed_too(finders: Dataset) -> None:
    visits = random_visits(3, visits=120, places=60)
    named = prepare(visits.assign(location_id="place " + visits.location_id.astype(str)))
    assert (
        (with_pseudo_unknowns(named).targets == UNKNOWN)
        == (with_pseudo_unknowns(finders).targets == UNKNOWN)
    ).all()
