"""Simulated fixes: the truth is true, each imperfection is what it says, and alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from wherenext import city as cities
from wherenext.city import City
from wherenext.fixes import Streets, simulate_fixes, true_visits

PERFECT: dict[str, Any] = {
    "noise_m": 0, "jumps_per_day": 0, "gaps_per_day": 0, "indoor_loss": 0,
}  # fmt: skip
PEOPLE = [4, 5]
DAYS = 12


@pytest.fixture(scope="module")
def city() -> City:
    return cities.load()


@pytest.fixture(scope="module")
def streets(city: City) -> Streets:
    return Streets(city.base)


@pytest.fixture(scope="module")
def perfect(city: City) -> pd.DataFrame:
    return simulate_fixes(city, PEOPLE, days=DAYS, **PERFECT)


def test_a_visits_fixes_lie_in_its_time_and_at_its_place(city: City, perfect: pd.DataFrame) -> None:
    truth = true_visits(city, PEOPLE, days=DAYS)
    inside = perfect[perfect.visit >= 0]
    visit = truth.loc[inside.visit]
    at = inside.tracked_at.array
    assert (visit.user_id.to_numpy() == inside.user_id.to_numpy()).all()
    assert ((visit.started_at.array <= at) & (at <= visit.finished_at.array)).all()
    np.testing.assert_allclose(inside[["lon", "lat"]], visit[["lon", "lat"]], atol=1e-6)
    # Every thirty seconds, and no visit is forgotten.
    lasts = (truth.finished_at - truth.started_at).dt.total_seconds()
    seen = inside.visit.value_counts().reindex(truth.index)
    assert (seen == lasts // 30 + 1).all()
    # On the way means: between two visits, and of none of them.
    way = perfect[perfect.visit == -1]
    for user, own in way.groupby("user_id"):
        theirs = truth[truth.user_id == user]
        row = theirs.started_at.searchsorted(own.tracked_at, side="right") - 1
        assert (own.tracked_at.array > theirs.finished_at.iloc[row].array).all()


def test_one_imperfection_leaves_the_others_as_they_were(
    city: City, perfect: pd.DataFrame, streets: Streets
) -> None:
    """Twice the noise is the same error, twice as large; more gaps keep those there were."""
    key = ["user_id", "tracked_at"]
    both = simulate_fixes(city, PEOPLE, days=DAYS, gaps_per_day=0, indoor_loss=0)
    fewer = simulate_fixes(city, PEOPLE, days=DAYS, gaps_per_day=6, indoor_loss=0.5)
    fewest = simulate_fixes(city, PEOPLE, days=DAYS, gaps_per_day=12, indoor_loss=0.5)
    assert len(fewest) < len(fewer) < len(both)
    assert len(fewer.merge(both)) == len(fewer)  # the same positions at the same times
    assert len(fewest.merge(fewer)) == len(fewest)
    true = streets.plane.metres(perfect.lon, perfect.lat)
    errors = []
    for metres in (7, 14):
        noisy = simulate_fixes(city, PEOPLE, days=DAYS, **PERFECT | {"noise_m": metres})
        errors.append(streets.plane.metres(noisy.lon, noisy.lat) - true)
        assert noisy[key].equals(perfect[key])
    np.testing.assert_allclose(errors[1], 2 * errors[0], atol=0.5)
