"""Windows that remember equal a plain loop over the person's past."""

from __future__ import annotations

from dataclasses import fields
from typing import cast

import numpy as np
import pandas as pd
import pytest
import torch
from wherenext.pointer_variants import as_if_earlier, with_pseudo_unknowns

from pgt.batch import Batch
from pgt.errors import DataError
from pgt.predictor.memory import NOT_SEEN, HistoryBatch, HistoryWindows, is_new, with_history
from pgt.visits import SPLITS
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset, prepare

from ..helpers import minutes, random_visits

MEMORIES = [(5, 0), (40, 0), (8, 3), (8, 1000)]
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
        windows, seen = getattr(data, split), getattr(with_history(data), split)
        index = np.arange(len(windows))
        plain, past = windows.batch(index), seen.batch(index)
        assert same(plain, past, Batch) and (past.stands_for == 0).all()
        for name in BEFORE:
            assert (getattr(past, name)[:, 0] == NOT_SEEN).all(), name  # it lies before the window
        assert (past.two_before[:, 1] == NOT_SEEN).all() and NOT_SEEN < 0  # no minute, no place
        assert torch.equal(past.before[:, 1:], plain.location[:, :-1] * (past.location[:, 1:] > 0))


@pytest.mark.parametrize(("memory", "older"), MEMORIES)
def test_a_memory_is_the_persons_past_and_no_more(data: Dataset, memory: int, older: int) -> None:
    for split in SPLITS:
        windows, seen = getattr(data, split), histories(data, split, memory, older)
        table, ids = seen.visits, seen.vocabulary.encode_locations(seen.visits.location_id)
        batch = seen.batch(np.arange(len(seen)))
        # The questions stay what they were.
        for name in ("targets", "users", "in_window"):
            assert (getattr(seen, name) == getattr(windows, name)).all(), name
        assert (batch.length.numpy() == seen.lengths).all() and max(seen.lengths) <= memory + older
        for i in range(0, len(seen), 7):
            target, first = seen.target[i], seen.target[i] - memory
            rows = past_of(table, table.iloc[target], memory, older)
            n = int(batch.length[i])
            assert batch.location[i, :n].tolist() == ids[rows].tolist()
            assert batch.age[i, :n].tolist() == [target - 1 - row for row in rows]
            own = (table.user_id == table.user_id[target]).to_numpy()
            so_far = [int(own[: row + 1][ids[: row + 1] == ids[row]].sum()) for row in rows]
            counts = [0 if row >= first else n for row, n in zip(rows, so_far, strict=True)]
            assert batch.stands_for[i, :n].tolist() == counts


@pytest.mark.parametrize(("split", "memory"), [("test", 12), ("valid", 60)])
def test_what_came_before_a_visit(data: Dataset, split: str, memory: int) -> None:
    seen = histories(data, split, memory, 4)
    table, ids = seen.visits, seen.vocabulary.encode_locations(seen.visits.location_id)
    start, end = minutes(table, "started_at"), minutes(table, "finished_at")
    stay = (table.finished_at - table.started_at).dt.total_seconds() // 60
    day = table.started_at.dt.tz_localize(None).dt.normalize()
    assert is_new(seen).tolist() == (~table.duplicated(["user_id", "location_id"])).tolist()
    batch = seen.batch(np.arange(len(seen)))
    for i in range(0, len(seen), 3):
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


def test_visits_that_overlap_have_no_gap() -> None:
    visits = random_visits(2, visits=100)
    late = visits.finished_at.where(visits.index != 50, visits.started_at + pd.Timedelta(days=2))
    seen = histories(prepare(visits.assign(finished_at=late)), "train", 50, 0)
    batch, table = seen.batch(np.arange(len(seen))), seen.visits
    assert ((batch.wait >= 0) & (batch.wait < 7 * 1440)).all()
    since = (table.started_at[51] - table.finished_at[50]) // pd.Timedelta(minutes=1)
    assert batch.wait[torch.from_numpy(seen.target == 51)].tolist() == [since % (7 * 1440)]
    followers = (batch.age == torch.from_numpy(seen.target - 52)[:, None]) & ~batch.padding
    followers &= torch.from_numpy(seen.users == table.user_id[51])[:, None]
    assert table.finished_at[50] > table.started_at[51] and followers.any()
    assert (batch.gap_before[followers] == 0).all()
    assert (batch.gap_before[~batch.padding] >= NOT_SEEN).all()


def test_what_cannot_be_remembered_is_refused(data: Dataset) -> None:
    for asked, memory, older, words in (
        (data, -1, 0, "must not be negative"), (data, 5, -1, "must not be negative"),
        (data, 0, 5, "need a memory"), (with_history(data, 5), 5, 0, "remember already"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=words):
            with_history(asked, memory, older)


def test_windows_move_to_another_device_whole(data: Dataset) -> None:
    for windows in (data.train, histories(data, "train", 5, 0)):
        kept, moved = vars(windows), vars(windows.to("meta"))
        for name in [name for name, value in kept.items() if isinstance(value, torch.Tensor)]:
            assert moved[name].is_meta and not kept[name].is_meta, name


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
    rows, size = taught.rows(np.arange(len(taught))), len(finders.train.visits)
    copies, inside = taught.target // size, rows >= 0
    assert set(copies) == {0, 1, 2} and (copies == 0).sum() == len(finders.train)
    assert torch.equal(rows // size * inside, torch.from_numpy(copies)[:, None] * inside)
    batch = taught.batch(np.arange(len(taught)))
    assert (batch.target.numpy() == taught.targets).all()
    asked = taught.targets == UNKNOWN
    assert asked.any() and not asked[copies == 0].any()
    if memory:  # what came before a visit is told in the words of the same copy
        known = ~batch.padding[:, 1:] & (batch.age[:, :-1] == batch.age[:, 1:] + 1)
        assert torch.equal(batch.before[:, 1:][known], batch.location[:, :-1][known])
