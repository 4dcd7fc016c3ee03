"""Simulated fixes: the truth is true, each imperfection is what it says, and alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from wherenext import city as cities
from wherenext.city import City
from wherenext.fixes import Streets, simulate_fixes, true_visits

from pgt import gps

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


def test_fixes_are_what_the_pipeline_takes(city: City) -> None:
    fixes = simulate_fixes(city, PEOPLE, days=DAYS)
    kept, dropped = gps.clean_fixes(fixes)
    assert dropped.sum() == 0
    pd.testing.assert_frame_equal(kept, fixes)  # in order already
    assert str(fixes.tracked_at.dt.tz) == "UTC"
    assert set(fixes.user_id) == set(PEOPLE)
    assert (
        fixes.tracked_at.is_monotonic_increasing
        or fixes.groupby("user_id").tracked_at.apply(lambda at: at.is_monotonic_increasing).all()
    )


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


def test_noise_has_its_size_and_fades_at_its_pace(
    city: City, perfect: pd.DataFrame, streets: Streets
) -> None:
    true = streets.plane.metres(perfect.lon, perfect.lat)
    for metres, minutes in ((10.0, 5.0), (40.0, 0.0)):
        noisy = simulate_fixes(
            city, PEOPLE, days=DAYS, **PERFECT | {"noise_m": metres}, noise_minutes=minutes
        )
        error = streets.plane.metres(noisy.lon, noisy.lat) - true
        np.testing.assert_allclose(error.std(axis=0), metres, rtol=0.08)
        lag = 10  # five minutes
        same = (perfect.tracked_at.diff(lag).dt.total_seconds() == 30 * lag).to_numpy()[lag:]
        faded = np.corrcoef(error[lag:, 0][same], error[:-lag, 0][same])[0, 1]
        assert faded == pytest.approx(np.exp(-1) if minutes else 0, abs=0.07)


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
