"""A grown table is a table of visits, as large as asked, whose people live like the city's."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
from wherenext import city

from pgt.visits import check

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "lab" / "bench"))

from grown import grown


@pytest.mark.parametrize(("n_visits", "n_places"), [(1000, 50), (60_000, 700), (60_000, 5000)])
def test_a_grown_table_has_the_size_that_was_asked(n_visits: int, n_places: int) -> None:
    table = grown(n_visits, n_places)
    pd.testing.assert_frame_equal(check(table), table)
    assert len(table) == n_visits
    assert table.location_id.between(0, n_places - 1).all()
    if n_visits > 10 * n_places:
        assert table.location_id.nunique() == n_places


def test_other_people_live_the_same_lives() -> None:
    one = city.load().visits
    table = grown(3 * len(one), 10_000)
    assert (table.groupby("user_id").size().value_counts()
            == 3 * one.groupby("user_id").size().value_counts()).all()  # fmt: skip
    second = table[len(one) : 2 * len(one)].reset_index(drop=True)
    assert (second.started_at - one.started_at).unique().tolist() == [pd.Timedelta(days=7)]
    stay = (second.finished_at - second.started_at) - (one.finished_at - one.started_at)
    assert not stay.any()
    assert second.location_id.nunique() == one.location_id.nunique()
