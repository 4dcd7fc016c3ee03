"""Windows against plain loops, and features against clock and calendar."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgt.config import Anchor, WindowConfig
from pgt.visits import SPLITS, check, split_by_days
from pgt.vocabulary import PADDING, Vocabulary
from pgt.windows import ENCODED_FIELDS, Dataset, Windows, encode, prepare

from .helpers import at, minutes, pad_to, random_visits

PER_VISIT = ("location", "time", "weekday", "duration", "days_ago", "start_minute")


def days_between(first: pd.Timestamp, second: pd.Timestamp) -> int:
    return (second.date() - first.date()).days


def loop(visits: pd.DataFrame, config: WindowConfig) -> list[tuple[list[int], int]]:
    """The rows of every window and its target, one target after the other."""
    found = []
    user, start = visits.user_id.tolist(), visits.started_at.tolist()
    for target in range(len(visits)):
        own = [row for row in range(len(visits)) if user[row] == user[target]]
        before = [row for row in own if row < target]
        if not before:
            continue
        day = start[target if config.anchor == "target_day" else before[-1]]
        if days_between(start[own[0]], day) < config.days:
            continue
        rows = [row for row in before if days_between(start[row], day) <= config.days]
        if len(rows) >= config.min_visits:
            found.append((rows, target))
    return found


@given(st.integers(0, 99), st.integers(0, 9), st.integers(0, 6), st.sampled_from(get_args(Anchor)))
@settings(max_examples=10, derandomize=True, deadline=None)
@example(0, 7, 3, "target_day")
@example(1, 1, 1, "last_visit")
def test_windows_equal_a_plain_loop(seed: int, days: int, min_visits: int, anchor: Anchor) -> None:
    visits = random_visits(seed, users=3, visits=40 + seed % 4)
    # Pauses of days, so that the two anchors differ.
    pause = visits.groupby("user_id").cumcount() // 9 * pd.Timedelta(hours=50)
    visits = visits.assign(
        started_at=visits.started_at + pause, finished_at=visits.finished_at + pause
    )
    config = WindowConfig(1 + days, 1 + min_visits, anchor=anchor)
    data = prepare(visits.sample(frac=1, random_state=0), config=config)  # in any order
    assert data.config == config
    split = split_by_days(check(visits))
    for name in SPLITS:
        windows: Windows = getattr(data, name)
        part = split[split.split == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(windows.visits, part)
        expected = loop(part, config)
        assert [rows[0] for rows, _ in expected] == windows.first.tolist()
        assert [target for _, target in expected] == windows.target.tolist()
        assert [len(rows) for rows, _ in expected] == windows.lengths.tolist()
        assert set(windows.users) <= set(part.user_id) and set(part.split) <= {name}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130))


def test_a_batch_equals_the_visits_of_its_windows(data: Dataset) -> None:
    windows, vocabulary = data.train, data.vocabulary
    batch = windows.batch(np.arange(len(windows)))
    for i in range(len(windows)):
        seen, target, n = windows.visits_of(i), windows.target_of(i), int(batch.length[i])
        last = seen.iloc[-1]
        seconds = (seen.finished_at - seen.started_at).dt.total_seconds()
        expected = {
            "location": [2 + vocabulary.locations.index(place) for place in seen.location_id],
            "time": (1 + minutes(seen, "started_at") // 15).tolist(),
            "weekday": (1 + seen.started_at.dt.day_of_week).tolist(),
            "duration": [min(int(s // 1800), 99) + 1 for s in seconds],
            "days_ago": [days_between(t, last.started_at) for t in seen.started_at],
            "start_minute": minutes(seen, "started_at").tolist(),
        }
        assert n == len(seen)
        for name in PER_VISIT:
            values = getattr(batch, name)[i].tolist()
            assert values[:n] == expected[name], name
            assert set(values[n:]) <= {PADDING}, name
        single = {
            "user": 1 + vocabulary.users.index(target.user_id),
            "now_minute": last.finished_at.hour * 60 + last.finished_at.minute,
            "index": i,
            "target": 2 + vocabulary.locations.index(target.location_id),
            "target_time": 1 + (target.started_at.hour * 60 + target.started_at.minute) // 15,
            "target_weekday": 1 + target.started_at.day_of_week,
            "gap_days": days_between(last.started_at, target.started_at),
        }
        assert {name: int(getattr(batch, name)[i]) for name in single} == single


def test_in_window_equals_a_loop() -> None:
    visits = random_visits(3, users=3, visits=130, places=12)
    for protocol in ("published", "exact"):
        for name in SPLITS:
            windows = getattr(prepare(visits, protocol=protocol), name)
            batch = windows.batch(np.arange(len(windows)))
            expected = [
                int(batch.target[i]) in batch.location[i, : int(batch.length[i])].tolist()
                for i in range(len(windows))
            ]
            assert windows.in_window.tolist() == expected
            assert windows.targets.tolist() == batch.target.tolist()


def test_erratum_1_position_from_end_counts_down_to_one_and_zero_is_padding(data: Dataset) -> None:
    batch = data.train.batch(np.arange(0, len(data.train), 9))
    width = batch.location.shape[1]
    for row, n in enumerate(batch.length.tolist()):
        assert batch.position_from_end[row].tolist() == [*range(n, 0, -1)] + [0] * (width - n)


@pytest.mark.parametrize("max_len", [None, 1, 12])
def test_every_window_comes_once_and_those_of_like_length_together(
    data: Dataset, max_len: int | None
) -> None:
    lengths = np.minimum(data.train.lengths, max_len or 99)
    plain = list(data.train.batches(16, max_len=max_len))
    numbers = torch.cat([batch.index for batch in plain]).tolist()
    assert numbers == sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    assert all(b.location.shape[1] == int(b.length.max()) <= (max_len or 99) for b in plain)
    shuffled = [*data.train.batches(16, shuffle=np.random.default_rng(0), max_len=max_len)]
    other = torch.cat([batch.index for batch in shuffled]).tolist()
    assert sorted(other) == sorted(numbers) and other != numbers
    alike, others = (sorted(b.length.sort().values.tolist() for b in some)
                     for some in (plain, shuffled))  # fmt: skip
    assert alike == others


@pytest.mark.parametrize("n", [1, 13, 10**6])
def test_the_most_recent_visits_are_those_that_a_short_batch_gathers(data: Dataset, n: int) -> None:
    index = np.arange(0, len(data.train), 9)
    batch, cut = data.train.batch(index), data.train.batch(index, max_len=n)
    short = pad_to(batch, batch.location.shape[1] + 3).most_recent(n)
    for row, length in enumerate(batch.length.tolist()):
        kept = min(n, length)
        for name in PER_VISIT:
            last = getattr(batch, name)[row, length - kept : length]
            assert torch.equal(getattr(cut, name)[row, :kept], last), name
            assert torch.equal(getattr(short, name)[row, :kept], last), name
    assert torch.equal(short.length, cut.length) and len(cut) == len(index)
    assert torch.equal(cut.padding, torch.arange(cut.location.shape[1]) >= cut.length[:, None])


def one_visit(name: str, start: str, end: str) -> int:
    """What is encoded of a visit."""
    visits = pd.DataFrame({"user_id": 1, "location_id": 5, "started_at": at(start)})
    visits["finished_at"] = at(end)
    encoded = encode(check(visits), Vocabulary((5,), (1,), 1))  # column 0 is padding
    return int(encoded[ENCODED_FIELDS.index(name), 1])


@pytest.mark.parametrize(("clock", "quarter"), [("00:00", 1), ("00:15", 2), ("23:59", 96)])
def test_erratum_4_midnight_is_time_1_and_not_padding(clock: str, quarter: int) -> None:
    assert one_visit("time", f"2024-04-01 {clock}", f"2024-04-02 {clock}") == quarter


@pytest.mark.parametrize(
    ("stay", "bucket"),
    [("0min", 1), ("29min", 1), ("30min", 2), ("49h29min", 99), ("49h30min", 100), ("900h", 100)],
)
def test_erratum_4_duration_under_30_minutes_is_1_and_not_padding(stay: str, bucket: int) -> None:
    start = pd.Timestamp("2024-04-02 01:00")
    assert one_visit("duration", str(start), str(start + pd.Timedelta(stay))) == bucket


@pytest.mark.parametrize("min_visits", [1, 3])
def test_no_window_is_padding_alone(min_visits: int) -> None:
    """Attention over nothing is no number."""
    data = prepare(random_visits(3, users=6, visits=40), min_visits=min_visits, days=1)
    for part in (data.train, data.valid, data.test):
        assert len(part) and part.lengths.min() >= min_visits
        assert not any(batch.padding.all(1).any() for batch in part.batches(16))
