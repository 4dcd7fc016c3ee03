"""Cues are what one would count by hand, and they know nothing of the target."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from wherenext import window_features

from pgt.windows import Dataset, prepare

from ..helpers import random_visits


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(3, visits=300), protocol="exact")


def test_features_are_what_one_counts_in_the_window(data: Dataset) -> None:
    table = window_features.features_of(data.test)
    assert len(table) == len(data.test)
    for i in range(0, len(data.test), 5):
        seen, row = data.test.visits_of(i), table.iloc[i]
        counts, last = seen.location_id.value_counts(), seen.iloc[-1]
        assert row.length == len(seen)
        assert row.unique_share == pytest.approx(len(counts) / len(seen))
        assert row.top_share == pytest.approx(counts.iloc[0] / len(seen))
        assert row.here_share == pytest.approx(counts[last.location_id] / len(seen))
        assert row.here_first == (counts[last.location_id] == 1)
        assert row.days == seen.started_at.dt.date.nunique()
        stay = (last.finished_at - last.started_at).total_seconds() / 3600
        assert row.stay == pytest.approx(stay)
        assert row.hour == last.finished_at.hour
        assert row.weekday == last.started_at.weekday() + 1
        assert row.user_id == last.user_id


def test_features_do_not_see_the_target(data: Dataset) -> None:
    test = data.test
    other = test.features.clone()
    at = torch.from_numpy(test.target[-1:] + 1)  # the very last visit is nobody's past
    other[:, at] = other[:, 1:2]
    last = len(test) - 1
    blind = replace(test, features=other)
    one, two = (window_features.features_of(windows).iloc[last] for windows in (blind, test))
    assert one.equals(two)
