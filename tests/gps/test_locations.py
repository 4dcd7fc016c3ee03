"""Locations are density clusters on the sphere; visits lose no time and merge only neighbours."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pgt.gps.locations import generate_locations, merge_staypoints

from pgt.errors import DataError
from pgt.visits import check

from ..gps_helpers import METRE, haversine

BEIJING = 39.9


def stays(lon: object, lat: object, users: object = 1, hours: object = None) -> pd.DataFrame:
    """Staypoints of an hour, one after the other."""
    n = len(np.atleast_1d(lat))
    since = np.arange(n) * 2.0 if hours is None else np.asarray(hours)
    start = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(np.round(since * 3600), unit="s")
    return pd.DataFrame(
        {"user_id": users, "started_at": start, "finished_at": start + pd.Timedelta(hours=1),
         "lon": lon, "lat": lat}
    )  # fmt: skip


def scattered(seed: int, n: int = 120) -> pd.DataFrame:
    """Staypoints around a few centres, some alone, of three people."""
    rng = np.random.default_rng(seed)
    centre = rng.integers(0, 12, n) * 60 * METRE
    noise = rng.normal(0, 9, (2, n)) * METRE
    users = np.sort(rng.integers(0, 3, n))
    return stays(116.3 + noise[0], BEIJING + centre + noise[1], users)


def slowly(table: pd.DataFrame, eps: float, min_samples: int, swapped: bool) -> list[int]:
    """DBSCAN by its definition, one staypoint after the other."""
    first, second = (table.lon, table.lat)[:: -1 if swapped else 1]
    points = list(zip(first, second, strict=True))
    near = [[j for j, b in enumerate(points) if haversine(*a, *b) <= eps] for a in points]
    label, known = [-1] * len(points), 0
    for i in range(len(points)):
        if label[i] >= 0 or len(near[i]) < min_samples:
            continue
        todo = [i]
        label[i] = known
        while todo:
            for j in near[todo.pop()]:
                if label[j] < 0:
                    label[j] = known
                    if len(near[j]) >= min_samples:
                        todo.append(j)
        known += 1
    return label


@pytest.mark.parametrize("order", ["right", "swapped"])
@pytest.mark.parametrize("min_samples", [1, 2, 4])
def test_equal_dbscan_by_its_definition(order: str, min_samples: int) -> None:
    for seed in range(8):
        table = scattered(seed)
        found, places = generate_locations(table, min_samples=min_samples, haversine_order=order)  # type: ignore[arg-type]
        expected = slowly(table, 20.0, min_samples, order == "swapped")
        assert found.location_id.fillna(-1).tolist() == expected
        assert places.location_id.tolist() == list(range(max(expected) + 1))
        assert places.n_staypoints.sum() == sum(label >= 0 for label in expected)


def test_the_swapped_order_stretches_north_and_squeezes_east() -> None:
    east = METRE / np.cos(np.radians(BEIJING))
    north = stays([116.3, 116.3], [BEIJING, BEIJING + 30 * METRE])
    beside = stays([116.3, 116.3 + 18 * east], [BEIJING, BEIJING])
    for table, right, swapped in ((north, False, True), (beside, True, False)):
        together = [
            bool(generate_locations(table, haversine_order=order)[0].location_id.notna().all())
            for order in ("right", "swapped")
        ]
        assert together == [right, swapped]


def test_people_share_locations_unless_told_otherwise() -> None:
    table = stays([16.4] * 4, [48.2] * 4, [1, 1, 2, 2])
    assert generate_locations(table)[0].location_id.tolist() == [0, 0, 0, 0]
    assert generate_locations(table)[1].n_users.tolist() == [2]
    assert generate_locations(table, per_user=True)[0].location_id.tolist() == [0, 0, 1, 1]


def test_per_user_is_everyone_alone() -> None:
    table = scattered(5)
    found, places = generate_locations(table, per_user=True)
    known = 0
    for _, part in table.groupby("user_id"):
        alone, theirs = generate_locations(part)
        expected = (alone.location_id + known).tolist()
        assert found.location_id[found.user_id == part.user_id.iloc[0]].tolist() == expected
        known += len(theirs)
    assert len(places) == known


def test_the_centre_of_a_location_crosses_the_date_line() -> None:
    _, places = generate_locations(stays([179.99999, -179.99997], [0.0, 0.0]))
    assert places.lon[0] == pytest.approx(-179.99999, abs=1e-9)


def test_the_centre_of_a_location_counts_each_position_once() -> None:
    _, places = generate_locations(stays(16.4, 48.2 + np.array([0, 0, 0, 10]) * METRE))
    assert places.n_staypoints.tolist() == [4]
    assert places.lat[0] == pytest.approx(48.2 + 5 * METRE, abs=1e-9)


def test_no_staypoints_or_none_together() -> None:
    for table in (stays([], []), stays([1.0, 2.0], [3.0, 4.0])):
        found, places = generate_locations(table)
        assert len(places) == 0 and found.location_id.isna().all()
        assert len(merge_staypoints(found, places)) == 0


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"eps": 0}, {"eps": float("nan")}, {"min_samples": 0}, {"haversine_order": "x"}):
        with pytest.raises(DataError):
            generate_locations(scattered(0), **wrong)
    with pytest.raises(DataError, match=r"'lat' is missing.*pgt.gps.generate_staypoints"):
        generate_locations(scattered(0).drop(columns="lat"))
    with pytest.raises(DataError, match=r"'location_id' is missing.*pgt.gps.generate_locations"):
        merge_staypoints(scattered(0))


def test_merging_needs_the_same_person_place_and_no_gap() -> None:
    minute = 1 / 60
    hours = [0, 1, 2 + minute, 3 + 2.1 * minute, 5, 6, 0, 1]
    users = [1, 1, 1, 1, 1, 1, 2, 2]
    table = stays(16.4, [48.2] * 8, users, hours)
    table["location_id"] = pd.array([7, 7, 7, 7, 7, 8, 8, 8], dtype="Int64")
    found = merge_staypoints(table)
    # Gaps of 0 and 1 minute are bridged, 1.1 minutes are not.
    assert found.n_staypoints.tolist() == [3, 1, 1, 1, 2]
    assert found.location_id.tolist() == [7, 7, 7, 8, 8]
    first = found.iloc[0]
    assert first.started_at == table.started_at[0] and first.finished_at == table.finished_at[2]
    assert merge_staypoints(table, merge_minutes=2).n_staypoints.tolist() == [4, 1, 1, 2]


def test_a_staypoint_elsewhere_does_not_part_what_it_does_not_separate_in_time() -> None:
    # What is at no location is left out before merging, as in the published protocol.
    table = stays(16.4, [48.2] * 3, 1, [0, 1, 1])
    table["location_id"] = pd.array([7, None, 7], dtype="Int64")
    assert merge_staypoints(table).n_staypoints.tolist() == [2]


def test_no_time_and_no_staypoint_is_lost() -> None:
    for seed in range(5):
        found, places = generate_locations(scattered(seed))
        here = found[found.location_id.notna()]
        table = check(merge_staypoints(found, places))
        assert table.n_staypoints.sum() == len(here)
        # Without bridging, the time in visits is the time in staypoints.
        table = merge_staypoints(found, places, merge_minutes=0)
        spent = (table.finished_at - table.started_at).sum()
        assert spent == (here.finished_at - here.started_at).sum()
        centre = places.set_index("location_id").lat[table.location_id]
        np.testing.assert_array_equal(table.lat, centre)


def test_short_staypoints_are_no_activity() -> None:
    table = stays(16.4, [48.2] * 2, 1)
    table["finished_at"] = table.started_at + pd.to_timedelta([25, 26], unit="min")
    table["location_id"] = pd.array([7, 7], dtype="Int64")
    assert merge_staypoints(table).started_at.tolist() == [table.started_at[1]]
