"""The features of a visit are what its clocks and its calendar say."""

from __future__ import annotations

import pandas as pd
import torch

from pgt.visits import check
from pgt.windows import DURATIONS, FEATURES, encode, gather, prepare

from ..helpers import random_visits


def test_features_are_those_of_each_visit() -> None:
    visits = check(random_visits(4, users=3, visits=40))
    vocabulary = prepare(visits, days=1, protocol="exact").vocabulary
    table = encode(visits, vocabulary)
    assert table.shape == (len(FEATURES), len(visits) + 1) and table.dtype == torch.int32
    assert (table[:, 0] == 0).all()
    for row, visit in enumerate(visits.itertuples(), start=1):
        start, end = visit.started_at, visit.finished_at
        assert dict(zip(FEATURES, table[:, row].tolist(), strict=True)) == {
            "location": 2 + vocabulary.locations.index(visit.location_id),
            "user": 1 + vocabulary.users.index(visit.user_id),
            "time": 1 + (start.hour * 60 + start.minute) // 15,
            "weekday": start.isoweekday(),
            "duration": min(1 + int((end - start) / pd.Timedelta(minutes=30)), 100),
            "start_minute": start.hour * 60 + start.minute,
            "end_minute": end.hour * 60 + end.minute,
            "start_day": start.date().toordinal() - 719_163,  # 1 January 1970
            "end_day": end.date().toordinal() - 719_163,
        }
    assert (table[FEATURES.index("start_day")] != table[FEATURES.index("end_day")]).any()


def test_the_longest_stays_share_one_level() -> None:
    visits = check(random_visits(4, users=1, visits=4))
    hours = pd.to_timedelta([0.4, 49.4, 49.6, 500], unit="h")
    visits["finished_at"] = visits.started_at + hours
    table = encode(visits, prepare(visits, days=1, protocol="exact").vocabulary)
    assert table[FEATURES.index("duration"), 1:].tolist() == [
        1,
        DURATIONS - 1,
        DURATIONS,
        DURATIONS,
    ]


def test_gathering_takes_rows_by_name_and_keeps_the_shape() -> None:
    table = torch.arange(6, dtype=torch.int32).view(2, 3)
    at = torch.tensor([[2, 0], [1, 1]])
    found = gather(table, ("one", "two"), at, "two", "one", "two")
    assert [part.tolist() for part in found] == [
        [[5, 3], [4, 4]],
        [[2, 0], [1, 1]],
        [[5, 3], [4, 4]],
    ]
    assert {part.dtype for part in found} == {torch.int64}
