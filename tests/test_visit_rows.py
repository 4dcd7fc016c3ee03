"""Rows and people of sorted visits equal plain loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.errors import DataError
from pgt.visits import (
    FIRST,
    by_length,
    by_person_and_time,
    check,
    find_user,
    first_visits,
    last_numbers,
    marks_of,
    person_rows,
    same_place,
    sorted_parts,
    until,
)

from .helpers import at, random_visits

# --- rows of sorted visits equal plain loops


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


def test_many_people_at_few_places_are_kept_apart() -> None:
    user, place = np.repeat(np.arange(40), 3), np.tile([0, 1, 0], 40)
    previous, number = same_place(user, place)
    assert previous.reshape(40, 3).tolist() == [[-1, -1, 3 * i] for i in range(40)]
    assert number.reshape(40, 3).tolist() == [[1, 1, 2]] * 40


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


def chunks(values: list[int], size: int) -> list[list[int]]:
    return [values[at : at + size] for at in range(0, len(values), size)]


@pytest.mark.parametrize("n", [0, 1, 8, 30])
@pytest.mark.parametrize("batch_size", [1, 4, 7])
def test_batches_hold_every_window_once_and_those_of_like_length_together(
    n: int, batch_size: int
) -> None:
    lengths = np.random.default_rng(n).integers(1, 9, n)
    plain = [part.tolist() for part in by_length(lengths, batch_size, None, 1)]
    assert plain == chunks(sorted(range(n), key=lambda i: (lengths[i], i)), batch_size)
    expected = chunks(sorted(lengths.tolist()), batch_size)
    # In one pool, batches of any order and any windows, but of the same lengths.
    for pool in (8, 100):
        parts = list(by_length(lengths, batch_size, np.random.default_rng(1), pool))
        assert sorted(i for part in parts for i in part.tolist()) == list(range(n))
        if pool * batch_size >= n:
            assert sorted(lengths[part].tolist() for part in parts) == sorted(expected)


def test_shuffled_batches_come_in_any_order_and_from_pools() -> None:
    lengths = np.arange(60)
    orders = set()
    for seed in range(4):
        parts = list(by_length(lengths, 5, np.random.default_rng(seed), 3))
        orders.add(tuple(int(part[0]) for part in parts))
        assert [len(part) for part in parts] == [5] * 12
        assert all((np.diff(lengths[part]) > 0).all() for part in parts)
        # The four pools are drawn from everywhere: no batch order sorts the lengths.
        assert sorted(lengths[part].tolist() for part in parts) != chunks(list(range(60)), 5)
        # Three batches of a pool follow each other in length, whatever their order here.
        by_start = sorted(parts, key=lambda part: part[0])
        follows = sum(one[-1] < two[0] for one in by_start for two in by_start)
        assert follows >= 4 * 3  # of each pool: first < second, first < third, second < third
    whole = [list(by_length(lengths, 5, np.random.default_rng(seed), 99)) for seed in range(4)]
    firsts = [[int(part[0]) for part in parts] for parts in whole]
    assert all(first != sorted(first) for first in firsts)
    assert len(orders) == 4


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_sorted_parts_are_sorted_as_any_table(seed: int, mixed: bool) -> None:
    rng = np.random.default_rng(seed)
    started = pd.Timestamp("2024-10-26", tz="Europe/Vienna") + pd.to_timedelta(
        np.sort(rng.integers(0, 60, 120)), unit="h"
    )  # many at one moment, and an hour that comes twice
    table = pd.DataFrame({"user_id": rng.choice(["cy", "ann", "bob"], 120), "started_at": started})
    part = rng.integers(0, 3, 120) if mixed else np.repeat([0, 1, 2], 40)
    later = (table.user_id != "ann") | (part > 0)  # whose id sorts first, begins in a later part
    parts = [table[later & (part == number)] for number in range(3)]
    table = pd.concat(
        [one.sort_values(["user_id", "started_at"], kind="stable") for one in parts],
        ignore_index=True,
    )
    bob = table[table.user_id == "bob"]  # the only one who may go back in time, behind another
    before = pd.DataFrame({"user_id": ["al"], "started_at": [started[0]]})
    for some in (table, pd.concat([before, bob], ignore_index=True)):
        assert sorted_parts(some).tolist() == by_person_and_time(some).tolist()


# --- people are told apart by their first visits, found by name, and known up to a moment


def test_three_visits_tell_people_apart_and_later_ones_do_not() -> None:
    visits = check(random_visits(users=3, visits=20))
    marks = marks_of(first_visits(visits))
    assert FIRST == 3 and len({*marks.values()}) == 3
    assert all(len(mark) == 12 and int(mark, 16) >= 0 for mark in marks.values())
    number = visits.groupby("user_id").cumcount()
    for row in range(5):
        other = visits.location_id.mask(number == row, visits.location_id + 1)
        changed = marks_of(first_visits(visits.assign(location_id=other)))
        assert (changed == marks) == (row >= 3)
        assert row >= 3 or not {*changed.values()} & {*marks.values()}


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(DataError, match=r"2024-05-01 09:00:00 has no time zone; write one"):
        until(check(random_visits()), pd.Timestamp("2024-05-01 09:00"))


def test_until_a_moment_visits_have_begun_and_end_by_then() -> None:
    start = at("2024-04-01 08:00", "2024-04-01 10:00", "2024-04-01 12:00")
    visits = pd.DataFrame({"user_id": 1, "location_id": [1, 2, 3], "started_at": start})
    visits["finished_at"] = visits.started_at + pd.Timedelta(hours=1)
    for clock, known, last in (("08:00", 1, "08:00"), ("10:59", 2, "10:59"), ("11:30", 2, "11:00"),
                               ("12:00", 3, "12:00"), ("20:00", 3, "13:00")):  # fmt: skip
        moment = at(f"2024-04-01 {clock}")[0]
        cut = until(visits, moment)
        assert cut.location_id.tolist() == [1, 2, 3][:known]
        assert cut.finished_at.iloc[-1] == at(f"2024-04-01 {last}")[0]
        assert cut.columns.equals(visits.columns) and cut.index.equals(pd.RangeIndex(known))
        assert until(visits, moment.tz_convert("Asia/Tokyo")).equals(cut)
    assert until(visits[1:], None).equals(visits[1:].reset_index(drop=True))


def test_people_are_found_by_how_they_are_written() -> None:
    visits = pd.DataFrame({"user_id": [3, 3, 7, 12, 40]})
    assert [find_user(visits, name) for name in (7, "7", "40")] == [7, 7, 40]
    with pytest.raises(DataError, match=r"no user '5' in the table \(it has 4: 3, 7, 12, …\)"):
        find_user(visits, 5)
    with pytest.raises(DataError, match=r"\(it has 3: 3, 7, 12\)"):
        find_user(visits[:-1], 5)
