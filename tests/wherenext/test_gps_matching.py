"""Recovery: a copy is perfect, and every kind of mistake costs the score that it should."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from wherenext import city as cities
from wherenext.fixes import true_visits
from wherenext.gps_matching import match, recovery

from ..gps_helpers import METRE

MINUTE = pd.Timedelta(minutes=1)


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    return true_visits(cities.load(), [4, 5, 6], days=30)


def of_all(found: pd.DataFrame, truth: pd.DataFrame) -> pd.Series:
    table = recovery(found, truth)
    assert table.group.tolist() == ["all", *map(str, sorted(truth.user_id.unique()))]
    return table.iloc[0]


def test_the_truth_recovers_itself(truth: pd.DataFrame) -> None:
    score = of_all(truth.reset_index(drop=True), truth)
    assert (score[["precision", "recall", "f1"]] == 100).all()
    assert (score[["start_error", "end_error", "end_late"]] == 0).all()
    assert score.apart == pytest.approx(0, abs=1e-6)
    assert score[["rand", "unmixed", "unsplit"]].tolist() == pytest.approx([1, 1, 1])
    assert score.n_true == score.n_found == score.n_matched == len(truth)


def test_time_place_and_person_must_all_agree(truth: pd.DataFrame) -> None:
    assert of_all(truth.assign(lat=truth.lat + 199 * METRE), truth).recall == 100
    far = of_all(truth.assign(lat=truth.lat + 201 * METRE), truth)
    assert far.n_matched == 0 and np.isnan(far.rand) and np.isnan(far.start_error)
    assert of_all(truth.assign(user_id=truth.user_id + 100), truth).n_matched == 0
    length = truth.finished_at - truth.started_at
    for covered, recall in ((0.55, 100), (0.45, 0)):
        shorter = truth.assign(finished_at=truth.started_at + covered * length)
        assert of_all(shorter, truth).recall == recall


def test_one_found_visit_stands_for_one_true_visit_only() -> None:
    at = pd.Timestamp("2024-05-01 09:00", tz="UTC")
    truth = pd.DataFrame(
        {"user_id": 1, "lon": 16.37, "lat": 48.2, "location_id": 3,
         "started_at": [at, at + 60 * MINUTE], "finished_at": [at + 40 * MINUTE, at + 120 * MINUTE]}
    )  # fmt: skip
    one = truth[:1].assign(finished_at=at + 120 * MINUTE)
    pairs = match(one, truth)
    assert pairs.found.isna().tolist() == [True, False]  # the longer of the two
    score = of_all(one, truth)
    assert (score.precision, score.recall) == (100, 50)
    assert pairs.start_error[1] == -60
    # The most common time in all, not the best for the first to come.
    two = pd.concat([one, truth[:1]], ignore_index=True)
    assert match(two, truth).found.tolist() == [1, 0]
