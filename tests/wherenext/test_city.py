"""The simulated city: deterministic, consistent, truthful, and close to real mobility."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from wherenext import city
from wherenext.city import City
from wherenext.people import WHY
from wherenext.realism import REFERENCE, realism
from wherenext.town_map import KINDS

COMMITTED = Path(__file__).resolve().parents[2] / "data" / "city"
FILES = ("base.geojson", "city.json", "moves.csv", "people.csv", "places.csv", "visits.csv")


@pytest.fixture(scope="module")
def larkmere() -> City:
    return city.load()


@pytest.fixture(scope="module")
def statistics(larkmere: City) -> pd.Series:
    return realism(larkmere.visits)


def test_same_seed_gives_the_same_bytes_and_they_are_the_committed_ones(tmp_path: Path) -> None:
    for name in ("one", "two"):
        city.save(city.simulate("small", seed=7), tmp_path / name)
    for name in FILES:
        once = (tmp_path / "one" / name).read_bytes()
        assert once == (tmp_path / "two" / name).read_bytes(), name
        assert once == (COMMITTED / name).read_bytes(), (
            f"{name} differs from data/city: run `python -m pgt city --out data/city`"
        )
    assert sorted(p.name for p in COMMITTED.iterdir()) == sorted(FILES)
    assert sum(p.stat().st_size for p in COMMITTED.iterdir()) < 3e6


def test_visits_happen_at_places_of_the_town(larkmere: City) -> None:
    places, visits = larkmere.places, larkmere.visits
    assert places.location_id.is_unique
    assert places.name.is_unique
    assert set(places.kind) == set(KINDS)
    assert set(visits.location_id) <= set(places.location_id)
    west, south, east, north = larkmere.bounds
    assert places.lon.between(west, east).all()
    assert places.lat.between(south, north).all()
    at = places.set_index("location_id").loc[visits.location_id]
    assert (at.lon.to_numpy() == visits.lon.to_numpy()).all()
    assert (at.kind.to_numpy() == visits.kind.to_numpy()).all()


def test_erratum_18_explored_is_the_first_visit_to_a_place(larkmere: City) -> None:
    visits = larkmere.visits
    first = ~visits.duplicated(["user_id", "location_id"])
    assert (visits.explored == first).all()
    assert set(visits.why) == set(WHY)
    assert visits.explored[visits.why == "explore"].all()
    assert not visits.explored[visits.why.isin(["return", "habit"])].any()


def test_probability_of_exploring_is_calibrated(larkmere: City) -> None:
    p, explored = larkmere.visits.p_explore, larkmere.visits.explored
    assert p.between(0, 1).all()
    assert abs(p.mean() - explored.mean()) < 0.01
    assert not explored[p == 0].any()
    assert explored[p == 1].all()
    for _, rows in explored.groupby(pd.qcut(p, 10, duplicates="drop"), observed=True):
        expected = p[rows.index]
        error = np.sqrt((expected * (1 - expected)).sum()) / len(rows)
        assert abs(rows.mean() - expected.mean()) < 4 * error + 1e-9


@pytest.mark.parametrize("name", [n for n in REFERENCE.index if n != "target_unseen"])
def test_city_is_as_real_as_geolife(statistics: pd.Series, name: str) -> None:
    assert statistics[name] == pytest.approx(REFERENCE.real_locations[name], rel=0.15)
