"""Questions: the window that the next visit would have had, and nothing of what comes later."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from pgt.predictor.asking import ask, new_places, past

from pgt.errors import DataError
from pgt.history import with_history
from pgt.visits import check
from pgt.windows import prepare

from ..helpers import random_visits

# What a question cannot know, or numbers otherwise: places and people are numbered as they come.
HIDDEN = {"target", "target_time", "target_weekday", "gap_days", "target_minute", "wait", "user",
          "index", "location", "before", "two_before"}  # fmt: skip


@pytest.mark.parametrize(("memory", "older"), [(10, 0), (10, 5), (200, 20)])
def test_a_question_is_the_window_that_the_next_visit_would_have_had(
    memory: int, older: int
) -> None:
    visits = check(random_visits(1, users=3, visits=60, places=12))
    last = visits.groupby("user_id").tail(1).index
    seen = with_history(prepare(visits.assign(split="train"), protocol="exact"), memory, older)
    rows = np.flatnonzero(np.isin(seen.train.target, last))
    asked = ask(visits.drop(last), memory=memory, older=older)
    ours = vars(asked.windows.batch(np.arange(3)))
    theirs = vars(seen.train.batch(rows))
    for name in set(ours) - HIDDEN:
        assert torch.equal(ours[name], theirs[name]), name
    for row in range(3):  # the same places, by other numbers
        one, other = ours["location"][row].tolist(), theirs["location"][row].tolist()
        assert len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def test_what_comes_after_the_moment_is_not_seen() -> None:
    visits = check(random_visits(2, users=2, visits=50))
    at = visits.started_at.sort_values().iloc[60]
    early = visits[visits.started_at <= at]
    one = ask(visits, memory=20, older=5, at=at).windows.batch([0, 1])
    other = ask(early, memory=20, older=5, at=at).windows.batch([0, 1])
    assert all(torch.equal(a, vars(other)[name]) for name, a in vars(one).items())
    with pytest.raises(DataError, match="no time zone"):
        ask(visits, memory=20, older=5, at=at.tz_localize(None))
    with pytest.raises(DataError, match="Nobody"):
        ask(visits, memory=20, older=5, at=at - pd.Timedelta(days=9999))


@pytest.mark.parametrize("days", [0, 9])
def test_of_the_target_a_question_knows_the_moment(days: int) -> None:
    visits = check(random_visits(2, users=2, visits=50))
    at = visits.finished_at.max() + pd.Timedelta(days=days, minutes=90)
    asked = ask(visits, memory=20, older=5, at=at.tz_convert("Asia/Tokyo"))  # by the table's clock
    windows = asked.windows.subset(np.array([1, 0]))
    batch, last = windows.batch([0, 1]), visits.iloc[windows.target - 1]
    minutes = (at - last.finished_at) // pd.Timedelta(minutes=1)
    assert batch.wait.tolist() == (minutes % (7 * 1440)).tolist()
    assert batch.target_minute.tolist() == [at.hour * 60 + at.minute] * 2
    assert batch.target_weekday.tolist() == [1 + at.day_of_week] * 2
    gap = at.normalize() - last.started_at.dt.normalize()
    assert batch.gap_days.tolist() == gap.dt.days.tolist()
    assert batch.target.tolist() == [0, 0]


def test_past_windows_ask_for_visits_that_have_happened() -> None:
    visits = check(random_visits(3, users=4, visits=40))
    asked = ask(visits, memory=20, older=5)
    windows = past(asked, 50, memory=20, older=5)
    assert 0 < len(windows) <= 50
    assert set(windows.target) & set(asked.windows.target) == set()


def test_new_places_are_counted_over_the_latest_visits() -> None:
    at = pd.Timestamp("2024-05-01", tz="Asia/Tokyo") + pd.to_timedelta(range(7), unit="h")
    visits = pd.DataFrame({"user_id": [1] * 5 + [2] * 2, "location_id": [1, 2, 1, 3, 3, 1, 1],
                           "started_at": at, "finished_at": at})  # fmt: skip
    asked = ask(visits, memory=3, older=0)
    assert new_places(asked.windows).tolist() == asked.new.tolist() == [[3, 5], [1, 2]]
