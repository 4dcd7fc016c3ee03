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


def test_life_changes_happen_while_tracked_and_show_in_the_visits(larkmere: City) -> None:
    kind = larkmere.places.set_index("location_id").kind
    moves = larkmere.moves.merge(larkmere.people, on="user_id", suffixes=("", "_first"))
    assert len(moves) == len(larkmere.moves) > 50
    assert (moves.day > moves.first_day).all()
    assert (moves.day <= moves.first_day + moves.n_days).all()
    assert moves.groupby("user_id").day.is_monotonic_increasing.all()
    assert (kind[moves.home] == "home").all()
    assert (moves.work[moves.role == "other"] == -1).all()
    assert (kind[moves.work[moves.role == "worker"]] == "work").all()
    assert (kind[moves.work[moves.role == "student"]] == "school").all()
    # Whoever still records weeks after a move goes home to the new place, not to the old one.
    local = larkmere.visits.started_at.dt.tz_localize(None)
    day = (local - pd.Timestamp(city.FIRST_MONDAY)).dt.days
    last = moves.groupby("user_id").tail(1).query("home != home_first")
    new, old = 0, 0
    for row in last.itertuples():
        after = larkmere.visits.location_id[
            (larkmere.visits.user_id == row.user_id) & (day > row.day)
        ]
        new, old = new + (after == row.home).sum(), old + (after == row.home_first).sum()
    assert new > 5 * old > 0


def test_people_do_not_stay_the_same(larkmere: City) -> None:
    """In GeoLife 53 % keep their most visited place from train to test; shares overlap by 46 %."""
    keys = ["split", "user_id", "location_id"]
    count = larkmere.visits.groupby(keys).size()
    share = count / count.groupby(["split", "user_id"]).transform("sum")
    top = share.groupby(["split", "user_id"]).idxmax().map(lambda key: key[2])
    assert 0.4 < (top["train"] == top["test"]).mean() < 0.65
    both = pd.concat([share["train"], share["test"]], axis=1).fillna(0).min(axis=1)
    assert 0.35 < both.groupby("user_id").sum().mean() < 0.55


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


def test_statistics_of_a_window_counted_by_hand() -> None:
    """Ten days of a, b, a, c, … : the only test window is long enough to count on paper."""
    day = pd.Timestamp("2024-03-04 09:00", tz="America/Regina")
    visits = pd.DataFrame(
        {
            "user_id": 1,
            "location_id": list("abacaabba"),
            "started_at": [day + pd.Timedelta(days=d) for d in range(9)],
            "split": "test",
        }
    ).assign(finished_at=lambda table: table.started_at + pd.Timedelta(hours=1))
    # a b a c a a b -> b: position 1, 3/7 unique; b a c a a b b -> a: position 3, 3/7 unique
    found = realism(visits)
    assert found["target_in_window"] == 100
    assert found["position_from_end"] == 2
    assert found["unique_share"] == pytest.approx(3 / 7)
    assert found["repeats"] == pytest.approx(100 * (1 / 6 + 2 / 6) / 2)
    assert found["target_is_last"] == 50
    assert found["target_is_top1"] == 0  # b of a, b, c; then a of b and a, and b was there first
    assert found["target_in_top3"] == 100
    assert found["length"] == 7
    assert found["target_unseen"] == 100
