"""People are told apart by their first visits, found by name, and known up to a moment."""

from __future__ import annotations

import pandas as pd
import pytest

from pgt.errors import DataError
from pgt.visits import FIRST, check, find_user, first_visits, marks_of, until

from ..helpers import at, random_visits


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
