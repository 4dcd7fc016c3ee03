"""People are told apart by their first visits, found by name, and known up to a moment."""

from __future__ import annotations

import pandas as pd
import pytest

from pgt.errors import DataError
from pgt.table.people import FIRST, find_user, first_visits, marks_of, until
from pgt.visits import check

from ..helpers import random_visits


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


def test_only_what_began_is_known_and_what_goes_on_ends_now() -> None:
    visits = check(random_visits(users=2, visits=30))
    for row in (3, 40):
        visit = visits.iloc[row]
        middle = visit.started_at + (visit.finished_at - visit.started_at) / 2
        for at in (visit.started_at, middle, visit.finished_at):
            known = until(visits, at.tz_convert("Asia/Tokyo"))
            expected = visits[visits.started_at <= at]
            ended = [min(end, at) for end in expected.finished_at]
            assert known.finished_at.tolist() == ended
            assert known.finished_at.dt.tz == visits.started_at.dt.tz
            assert known.columns.equals(visits.columns)
            assert known.index.equals(pd.RangeIndex(len(expected)))
            assert known.location_id.tolist() == expected.location_id.tolist()


def test_without_a_moment_all_is_known() -> None:
    visits = check(random_visits(users=1, visits=9))
    pd.testing.assert_frame_equal(until(visits.iloc[4:], None), visits[4:].reset_index(drop=True))


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(DataError, match=r"2024-05-01 09:00:00 has no time zone; write one"):
        until(check(random_visits()), pd.Timestamp("2024-05-01 09:00"))


def test_people_are_found_by_what_their_id_reads() -> None:
    visits = random_visits(users=4)
    assert find_user(visits, "2") == find_user(visits, 2) == 2
    with pytest.raises(DataError, match=r"no user 'ann' in the table \(it has 4: .*, …\)"):
        find_user(visits, "ann")
