"""Every fact that a term looks at equals a plain loop over the table of visits."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.contextual import HISTORY_FEATURES, NOW, TARGET_FEATURES, THEN, hats, to_the_hour
from pgt.history import HistoryBatch, HistoryWindows, with_history
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset, prepare

from ..helpers import ZONE, at, random_visits

MEMORY, OLDER = 15, 10
ALL = HISTORY_FEATURES | TARGET_FEATURES
WEEK = 7 * 1440


@pytest.fixture(scope="module", params=["published", "exact"])
def data(request: pytest.FixtureRequest) -> Dataset:
    """Windows with summaries; published, so that some places are unknown, and exact."""
    visits = random_visits(4, users=3, visits=90, places=25)
    return with_history(prepare(visits, protocol=request.param), MEMORY, OLDER)


def everything(data: Dataset) -> HistoryBatch:
    """The test windows as one batch, with lengths that differ."""
    test = cast(HistoryWindows, data.test)
    return test.batch(np.arange(len(test)))


def apart(one: float, other: float) -> float:
    """Minutes around the clock."""
    return min((one - other) % 1440, (other - one) % 1440)


def ratio(one: float, other: float) -> float:
    """How many octaves two durations are apart."""
    return abs(np.log2((one + 15) / (other + 15)))


def minute(when: pd.Timestamp) -> int:
    """Of the day."""
    return int(when.hour * 60 + when.minute)


def kind(one: pd.Timestamp, other: pd.Timestamp) -> int:
    """0 = a working day and a weekend, 1 = alike, 2 = the same weekday."""
    if one.day_of_week == other.day_of_week:
        return 2
    return int((one.day_of_week >= 5) == (other.day_of_week >= 5))


def facts(data: Dataset, i: int, row: int, rows: list[int]) -> dict[str, float]:
    """All facts about one visit of window ``i``, straight from the table."""
    test = cast(HistoryWindows, data.test)
    table, target = test.visits, int(test.target[i])
    place = data.vocabulary.encode_locations(table.location_id)
    own = np.flatnonzero(table.user_id == table.user_id[target])

    def stay(k: int) -> int:
        return int((table.finished_at[k] - table.started_at[k]).total_seconds() // 60)

    def earlier(k: int, back: int) -> int | None:
        return k - back if k - back >= own[0] else None

    visit, last, then = table.loc[row], table.loc[target - 1], table.loc[target]
    now = minute(last.finished_at)
    start = minute(visit.started_at)
    one, two = earlier(row, 1), earlier(row, 2)
    mine, mine_before = place[target - 1], earlier(target - 1, 1)
    same_one = one is not None and place[one] == mine
    same_two = two is not None and mine_before is not None and place[two] == place[mine_before]
    days = (visit.started_at.tz_localize(None).normalize(),
            last.started_at.tz_localize(None).normalize())  # fmt: skip
    gap = None if one is None else max(
        (visit.started_at - table.finished_at[one]).total_seconds() // 60, 0
    )  # fmt: skip
    listed = [place[k] for k in rows]
    so_far = sum(place[k] == place[row] for k in own if k <= row)
    walls = [t.tz_localize(None) for t in (then.started_at, last.finished_at)]
    wait = ((walls[0].floor("min") - walls[1].floor("min")).total_seconds() // 60) % WEEK
    return {
        "age": target - 1 - row,
        "days": (days[1] - days[0]).days,
        "clock": apart(start, now),
        "ahead": (start - now) % 1440,
        "weekday": kind(visit.started_at, last.finished_at),
        "stay": np.log2(stay(row) + 15),
        "before": 2 if same_one and same_two else 1 if same_one else 3 if same_two else 0,
        "left": -1 if one is None else apart(minute(table.finished_at[one]), now),
        "stayed": -1 if one is None else ratio(stay(one), stay(target - 1)),
        "gap": -1 if gap is None else np.log2(gap + 5),
        "here": 1 if place[row] == mine
        else 2 * (mine_before is not None and place[row] == place[mine_before]),
        "count": np.log2(listed.count(place[row])),
        "unknown": (place[row] == UNKNOWN) + 2 * (mine == UNKNOWN),
        "older": np.log2(1 + so_far) if row < target - MEMORY else 0,
        "then_clock": apart(start, minute(then.started_at)),
        "then_weekday": kind(visit.started_at, then.started_at),
        "then_gap": -1 if gap is None else ratio(min(gap, WEEK), wait),
    }  # fmt: skip


def test_every_fact_equals_a_loop(data: Dataset) -> None:
    test, batch = cast(HistoryWindows, data.test), everything(data)
    found = {name: term.of(batch) for name, term in ALL.items()}
    kinds: dict[str, set[float]] = {name: set() for name in ALL}
    for i in range(0, len(batch), 3):
        n = int(batch.length[i])
        rows = [int(test.target[i]) - 1 - int(age) for age in batch.age[i, :n]]
        for k, row in enumerate(rows):
            expected = facts(data, i, row, rows)
            assert expected.keys() == ALL.keys()
            for name, value in expected.items():
                assert float(found[name][i, k]) == pytest.approx(value, abs=1e-4), (name, i, k)
                kinds[name].add(round(float(value), 3))
    # The table is varied enough for every kind of fact to occur.
    for name in ("weekday", "before", "here", "then_weekday"):
        assert len(kinds[name]) >= len(HISTORY_FEATURES["weekday"].knots), name
    if data.vocabulary.n_known + 2 == data.vocabulary.n_locations:
        assert kinds["unknown"] == {0, 1, 2, 3}
    assert len(kinds["older"]) > 2


def test_facts_about_now_and_then_equal_a_loop(data: Dataset) -> None:
    test, batch = cast(HistoryWindows, data.test), everything(data)
    found = {name: fact.of(batch) for name, fact in (NOW | THEN).items()}
    for name, fact in (NOW | THEN).items():
        assert (found[name] >= 0).all() and (found[name] < fact.size).all(), name
    for i, target in enumerate(test.target):
        last, then = test.visits.loc[target - 1], test.visits.loc[target]
        stay = (last.finished_at - last.started_at).total_seconds() // 60
        wait = int(batch.wait[i])
        assert found["hour"][i] == last.finished_at.hour
        assert found["weekday"][i] == last.finished_at.day_of_week + 1
        assert found["stay"][i] == min(int(2 * np.log2(stay + 1) + 1e-5), 23)
        assert found["visits"][i] == min(int(2 * np.log2(int(batch.length[i]) + 1) + 1e-5), 15)
        assert found["then_hour"][i] == then.started_at.hour
        assert found["then_weekday"][i] == then.started_at.day_of_week + 1
        assert found["wait"][i] == min(int(2 * np.log2(wait + 1) + 1e-5), 27)


def test_now_is_the_day_on_which_the_last_visit_ended() -> None:
    """From Sunday evening over midnight it is Monday; a visit of three days is counted through."""
    days = pd.date_range("2024-04-01 01:00", "2024-04-13", tz=ZONE)
    table = pd.DataFrame({"user_id": 1, "location_id": 5, "started_at": days,
                          "finished_at": days + pd.Timedelta(hours=1)})  # fmt: skip
    ends = {
        ("2024-04-14 22:00", "2024-04-15 01:00"): 1,  # Sunday -> Monday
        ("2024-04-14 22:00", "2024-04-14 23:59"): 7,
        ("2024-04-12 09:00", "2024-04-15 10:00"): 1,  # Friday -> Monday
        ("2024-04-13 00:00", "2024-04-14 00:00"): 7,  # to midnight sharp
    }
    for (start, end), weekday in ends.items():
        last = pd.DataFrame({"user_id": 1, "location_id": 6, "started_at": at(start),
                             "finished_at": at(end)})  # fmt: skip
        after = last.assign(started_at=at("2024-04-16 08:00"), finished_at=at("2024-04-16 09:00"))
        before = table[table.started_at < last.started_at[0]]
        visits = pd.concat([before, last, after], ignore_index=True).assign(split="train")
        train = with_history(prepare(visits), 100).train
        batch = cast(HistoryBatch, train.batch([len(train) - 1]))
        assert batch.target_minute == 8 * 60 and batch.length == len(before) + 1
        assert int(NOW["weekday"].of(batch)) == weekday
        monday = batch.weekday[0, :-1] == weekday
        same = HISTORY_FEATURES["weekday"].of(batch)[0, :-1] == 2
        assert torch.equal(same, monday)


def test_of_a_single_visit_nothing_is_known_to_come_before() -> None:
    visits = random_visits(4, users=3, visits=90, places=25)
    test = cast(HistoryWindows, with_history(prepare(visits, days=1, min_visits=1)).test)
    batch = test.batch(np.flatnonzero(test.lengths == 1))
    assert len(batch) and batch.location.shape[1] == 1
    for name, value in (("before", 0), ("left", -1), ("stayed", -1), ("gap", -1),
                        ("then_gap", -1), ("here", 1), ("count", 0), ("age", 0)):  # fmt: skip
        assert (ALL[name].of(batch) == value).all(), name


def test_no_fact_is_about_the_person_or_the_rest_of_the_batch(data: Dataset) -> None:
    test, batch = cast(HistoryWindows, data.test), everything(data)
    other = replace(batch, user=batch.user.flip(0) + 1, index=batch.index + 3)
    for name, term in ALL.items():
        together = term.of(batch)
        assert torch.equal(term.of(other), together), name
        for i in range(0, len(batch), 9):
            alone = term.of(cast(HistoryBatch, test.batch([i])))[0]
            assert torch.equal(alone, together[i, : len(alone)]), name
    for name, fact in (NOW | THEN).items():
        assert torch.equal(fact.of(other), fact.of(batch)), name


def test_what_is_not_known_is_not_read(data: Dataset) -> None:
    batch = everything(data)
    about_target = ("target", "target_time", "target_weekday", "gap_days", "target_minute", "wait")
    assert {f.name for f in fields(batch) if "target" in f.name} <= set(about_target)
    none: dict[str, Any] = {name: torch.full_like(batch.target, 3) for name in about_target}
    silent = replace(batch, **none)
    for name, one in (HISTORY_FEATURES | NOW).items():
        assert torch.equal(one.of(silent), one.of(batch)), name
    for name, one in (TARGET_FEATURES | THEN).items():
        assert not torch.equal(one.of(silent), one.of(batch)), name


def test_to_the_hour_keeps_the_hour_and_nothing_finer(data: Dataset) -> None:
    batch = everything(data)
    # Every minute of the hour in which the target begins, wherever the last visit ended.
    for now in (0, 9 * 60 + 20, 9 * 60 + 59):
        for hour, days in ((9, 0), (9, 6), (23, 2), (0, 0), (10, 6)):
            told = []
            for past in range(60):
                then = 60 * hour + past
                wait = (1440 * days + then - now) % WEEK
                if days == 0 and hour == now // 60 and then < now:
                    continue  # before now
                one = replace(batch, now_minute=torch.full_like(batch.now_minute, now),
                              target_minute=torch.full_like(batch.now_minute, then),
                              wait=torch.full_like(batch.now_minute, wait))  # fmt: skip
                hourly = to_the_hour(one)
                told.append((int(hourly.target_minute[0]), int(hourly.wait[0])))
                assert torch.equal(hourly.now_minute, one.now_minute)
            assert len(set(told)) == 1, (now, hour, days)
            middle, wait = told[0]
            assert middle == 60 * hour + 30
            if days or hour != now // 60:
                assert wait == (1440 * days + middle - now) % WEEK
            else:  # within the hour that it already is
                assert wait == max(middle - now, 0)
    twice = to_the_hour(to_the_hour(batch))
    assert torch.equal(twice.wait, to_the_hour(batch).wait)


def test_tables_have_a_row_for_every_kind_of_fact(data: Dataset) -> None:
    for name, term in ALL.items():
        assert list(term.knots) == sorted(set(term.knots)) and len(term.knots) > 1, name
        value = term.of(everything(data))
        inside = value[~everything(data).padding].float()
        # Above, tables go on as they end; below, they begin with the least there is.
        assert float(inside.min()) >= term.knots[0], name


@pytest.mark.parametrize("name", ALL)
def test_between_knots_a_table_draws_straight_lines(name: str) -> None:
    knots = torch.tensor(ALL[name].knots).float()
    table = torch.randn(len(knots), generator=torch.Generator().manual_seed(0))
    low, high, share = hats(knots, knots)
    assert torch.equal(torch.lerp(table[low], table[high], share), table)  # exact at the knots
    span = float(knots[-1] - knots[0])
    value = torch.linspace(float(knots[0]) - 0.2 * span, float(knots[-1]) + 0.2 * span, 301)
    low, high, share = hats(value, knots)
    drawn = torch.lerp(table[low], table[high], share)
    assert np.allclose(drawn, np.interp(value, knots, table), atol=1e-4)


def test_whole_numbers_and_double_precision_lie_between_knots_too() -> None:
    knots = torch.tensor([0.0, 1.0, 4.0])
    for value in (torch.tensor([0, 2, 9]), torch.tensor([[0, 2], [9, 3]])):
        low, high, share = hats(value, knots.double())
        assert share.dtype == torch.float64 and low.shape == value.shape
        assert (high == low + 1).all()
    assert hats(torch.tensor([2]), knots.double())[2].item() == pytest.approx(1 / 3, abs=1e-12)
