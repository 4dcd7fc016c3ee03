"""From fixes to visits: each step equals a slow loop, and nobody is lost unsaid."""

from __future__ import annotations

import os
import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pgt import gps
from pgt.datasets import read_fixes
from pgt.errors import DataError, DataNote
from pgt.gps import (
    FIXES,
    GpsResult,
    clean_fixes,
    fixes_to_visits,
    generate_locations,
    generate_staypoints,
    generate_triplegs,
    merge_staypoints,
    staypoints_and_triplegs,
    tracking_quality,
    tracks_to_visits,
)
from pgt.visits import check

from .gps_helpers import METRE, commuter, fixes_at, haversine, wander

# --- clean

FAULTS: dict[str, dict[str, object]] = {
    "no user": {"user_id": None},
    "no time": {"tracked_at": pd.NaT},
    "no position": {"lon": np.nan},
    "latitude beyond ±90": {"lat": 400.17},
    "longitude beyond ±180": {"lon": -180.5},
    "time before 2001": {"tracked_at": pd.Timestamp("2000-01-01 23:12:19", tz="UTC")},
    "time in the future": {"tracked_at": pd.Timestamp("2124-01-01", tz="UTC")},
}


def with_fault(fixes: pd.DataFrame, row: int, values: dict[str, object]) -> pd.DataFrame:
    fixes = fixes.copy()
    for name, value in values.items():
        if value is None:
            fixes[name] = fixes[name].astype(float)
        fixes.loc[row, name] = value
    return fixes


@pytest.mark.parametrize("reason", FAULTS)
def test_a_bad_fix_is_counted_and_the_others_are_kept(reason: str) -> None:
    fixes = clean_fixes(wander(1))[0]
    good, dropped = clean_fixes(with_fault(fixes, 7, FAULTS[reason]))
    assert dropped[dropped > 0].to_dict() == {reason: 1}
    pd.testing.assert_frame_equal(good, fixes.drop(7).reset_index(drop=True), check_dtype=False)
    assert good.user_id.dtype.kind == "i", "users are whole numbers again"


def test_all_faults_at_once_add_up() -> None:
    fixes = clean_fixes(wander(1))[0]
    bad = fixes
    for row, values in enumerate(FAULTS.values()):
        bad = with_fault(bad, 10 * row, values)
    # One with two faults, which counts once; and three fixes that are there again.
    bad = with_fault(bad, 0, {"lat": np.nan})
    bad = pd.concat([bad, bad.iloc[[101, 102, 102]]])
    good, dropped = clean_fixes(bad)
    assert dropped[dropped > 0].to_dict() == dict.fromkeys(FAULTS, 1) | {"the same fix again": 3}
    assert len(good) + dropped.sum() == len(bad)
    pd.testing.assert_frame_equal(good, clean_fixes(good)[0])


# --- staypoints


Stay = tuple[int, int, int]


def slow_stays(
    fixes: pd.DataFrame, distance: float, minutes: float, gap_minutes: float
) -> list[Stay]:
    """One person's stays as (first fix, one past the last, the fix that ends it)."""
    found, start = [], 0
    at, lon, lat = fixes.tracked_at.tolist(), fixes.lon.tolist(), fixes.lat.tolist()
    long_enough = pd.Timedelta(minutes=minutes)
    for i in range(1, len(fixes)):
        if at[i] - at[i - 1] > pd.Timedelta(minutes=gap_minutes):
            start = i
        elif haversine(lon[start], lat[start], lon[i], lat[i]) >= distance:
            if at[i] - at[start] >= long_enough:
                found.append((start, i, i))
            start = i
    if at[-1] - at[start] >= long_enough:
        found.append((start, len(fixes), len(fixes) - 1))
    return found


def rows(table: pd.DataFrame, fixes: pd.DataFrame) -> list[Stay]:
    """The same of the package's table."""
    at = fixes.tracked_at
    found = []
    for row in table.itertuples():
        stop = row.first_fix + row.n_fixes
        assert row.started_at == at[row.first_fix]
        end = stop if stop < len(fixes) and row.finished_at == at[stop] else stop - 1
        assert row.finished_at == at[end]
        found.append((row.first_fix, stop, end))
    return found


def test_equal_a_slow_loop() -> None:
    settings = list(product((50.0, 200.0, 5_000.0), (5.0, 30.0), (60.0, 1440.0)))
    n = 0
    for seed in range(16):
        fixes = wander(seed)
        names = ("distance", "minutes", "gap_minutes")
        for values in settings[seed % 2 :: 2]:
            expected = slow_stays(fixes, *values)
            assert (
                rows(generate_staypoints(fixes, **dict(zip(names, values, strict=True))), fixes)
                == expected
            )
            n += len(expected)
    assert n > 500


def test_limits_count_as_documented() -> None:
    north = 40 + np.array([0, 199.999, 200.001]) * METRE
    near = fixes_at([0, 1800, 3600], 0.0, north[[0, 1, 0]])
    assert generate_staypoints(near).n_fixes.tolist() == [3]
    away = fixes_at([0, 1800, 3600], 0.0, north[[0, 2, 2]])
    first = generate_staypoints(away)
    # Ends with the first fix away; thirty minutes are enough, one second less is not.
    assert first.finished_at[0] == away.tracked_at[1]
    assert first.n_fixes.tolist() == [1, 2]
    assert len(generate_staypoints(fixes_at([0, 1799], 0.0, north[[0, 2]]))) == 0
    # A silence of exactly the gap may be spanned, one second more may not.
    assert len(generate_staypoints(fixes_at([0, 86_400], 0.0, 40.0))) == 1
    assert len(generate_staypoints(fixes_at([0, 86_401], 0.0, 40.0))) == 0


def test_the_middle_counts_each_position_once() -> None:
    fixes = fixes_at([0, 60, 120, 1800, 2400], 10.0, [40.0, 40.0, 40.0, 40.001, 41.0])
    assert generate_staypoints(fixes).lat[0] == pytest.approx(40.0005, abs=1e-9)


def test_one_fix_or_none_is_no_staypoint() -> None:
    fixes = wander(0)
    for few in (fixes[:1], fixes[:0]):
        found = generate_staypoints(few)
        assert len(found) == 0
        assert found.dtypes.to_dict() == generate_staypoints(fixes).dtypes.to_dict()


# --- locations and visits

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


def slow_clusters(table: pd.DataFrame, eps: float, min_samples: int, swapped: bool) -> list[int]:
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
        expected = slow_clusters(table, 20.0, min_samples, order == "swapped")
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


def test_people_share_locations() -> None:
    table = stays([16.4] * 4, [48.2] * 4, [1, 1, 2, 2])
    assert generate_locations(table)[0].location_id.tolist() == [0, 0, 0, 0]
    assert generate_locations(table)[1].n_users.tolist() == [2]


def test_the_centre_of_a_location_crosses_the_date_line() -> None:
    _, places = generate_locations(stays([179.99999, -179.99997], [0.0, 0.0]))
    assert places.lon[0] == pytest.approx(-179.99999, abs=1e-9)


def test_no_staypoints_or_none_together() -> None:
    for table in (stays([], []), stays([1.0, 2.0], [3.0, 4.0])):
        found, places = generate_locations(table)
        assert len(places) == 0 and found.location_id.isna().all()
        assert len(merge_staypoints(found, places)) == 0


@pytest.mark.parametrize(
    ("step", "change"),
    [(step, {name: value}) for step, name, values in (
        (generate_staypoints, "distance", (0, -1, float("nan"))),
        (generate_staypoints, "minutes", (0, -1, float("nan"))),
        (generate_staypoints, "gap_minutes", (0, -1, float("nan"))),
        (generate_locations, "eps", (0, float("nan"))),
        (generate_locations, "min_samples", (0,)), (generate_locations, "haversine_order", ("x",)),
        (fixes_to_visits, "timezone", ("Mars",)), (fixes_to_visits, "eps", (-1,)),
        (fixes_to_visits, "min_samples", (0,)), (fixes_to_visits, "haversine_order", ("left",)),
    ) for value in values],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(step: Any, change: dict[str, Any]) -> None:
    given = {generate_staypoints: wander(2), generate_locations: scattered(0)}
    with pytest.raises(DataError):
        step(given.get(step, commuter(1)), **change)


def test_tables_without_the_columns_and_unknown_settings_are_refused() -> None:
    with pytest.raises(DataError, match=r"'lat' is missing.*pgt.gps.generate_staypoints"):
        generate_locations(scattered(0).drop(columns="lat"))
    with pytest.raises(DataError, match=r"'location_id' is missing.*pgt.gps.generate_locations"):
        merge_staypoints(scattered(0))
    with pytest.raises(TypeError, match="epsilon"):
        fixes_to_visits(commuter(1), epsilon=20)


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


# --- triplegs and quality


def slow_legs(fixes: pd.DataFrame, stays: pd.DataFrame, gap_minutes: float) -> list[list[int]]:
    """The rows of each tripleg, fix by fix."""
    inside = {
        i for row in stays.itertuples() for i in range(row.first_fix, row.first_fix + row.n_fixes)
    }
    legs: list[list[int]] = []
    before = None
    for i, (user, at) in enumerate(zip(fixes.user_id, fixes.tracked_at, strict=True)):
        if i not in inside:
            goes_on = (
                before is not None and i - 1 not in inside and user == before[0]
                and at - before[1] <= pd.Timedelta(minutes=gap_minutes)
            )  # fmt: skip
            if not goes_on:
                legs.append([])
            legs[-1].append(i)
        before = (user, at)
    place = list(zip(fixes.lon, fixes.lat, strict=True))
    return [leg for leg in legs if len({place[i] for i in leg}) > 1]


def test_triplegs_equal_a_slow_loop() -> None:
    n = 0
    for seed in range(10):
        parts = [clean_fixes(wander(seed + 100 * k, user=k))[0] for k in range(3)]
        fixes = pd.concat(parts, ignore_index=True)
        stays = generate_staypoints(fixes)
        for gap in (1.0, 15.0):
            expected = slow_legs(fixes, stays, gap)
            found = generate_triplegs(fixes, stays, gap_minutes=gap)
            assert found.n_fixes.tolist() == [len(leg) for leg in expected]
            assert found.user_id.tolist() == [fixes.user_id[leg[0]] for leg in expected]
            assert found.started_at.tolist() == [fixes.tracked_at[leg[0]] for leg in expected]
            assert found.finished_at.tolist() == [fixes.tracked_at[leg[-1]] for leg in expected]
            n += len(expected)
    assert n > 300


def records(seed: int, days: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Staypoints and triplegs of two people, one after the other, with long silences."""
    rng = np.random.default_rng(seed)
    n = 150
    hours = np.cumsum(rng.exponential(days * 24 / n / 2, 2 * n))
    silent = np.cumsum((rng.random(2 * n) < 0.01) * 24.0 * 80)
    edge = pd.Timestamp("2024-01-01 05:30", tz="Asia/Shanghai") + pd.to_timedelta(
        (hours + silent).round(2), unit="h"
    )
    table = pd.DataFrame(
        {"user_id": np.repeat([3, 1], n // 2), "started_at": edge[::2], "finished_at": edge[1::2]}
    )
    table.loc[4, "finished_at"] = table.started_at[4].normalize() + pd.Timedelta(days=1)
    return table[::2].reset_index(drop=True), table[1::2].reset_index(drop=True)


def slow_quality(table: pd.DataFrame, weeks: int) -> tuple[int, int]:
    """Whole days tracked, and the windows that hold a record, piece by piece by day."""
    begin, end = table.started_at.min(), table.finished_at.max()
    days = (end - begin).days
    pieces = []
    for row in table.itertuples():
        low = row.started_at
        while low < row.finished_at:
            high = min(row.finished_at, low.normalize() + pd.Timedelta(days=1))
            pieces.append((low, high))
            low = high
    windows = 0
    for i in range(days // 7 - weeks + 1):
        low = begin.normalize() + pd.Timedelta(weeks=i)
        high = low + pd.Timedelta(weeks=weeks)
        windows += any(a >= low and b < high for a, b in pieces)
    return days, windows


@pytest.mark.parametrize("weeks", [2, 10])
def test_quality_equals_a_slow_loop(weeks: int) -> None:
    for seed in range(10):
        stays, legs = records(seed)
        table = tracking_quality(stays, legs, weeks=weeks)
        assert table.user_id.tolist() == [1, 3]
        for row in table.itertuples():
            both = pd.concat([stays, legs])
            assert (row.days, row.windows) == slow_quality(both[both.user_id == row.user_id], weeks)


def test_a_window_asks_for_seventy_days() -> None:
    # More than 50 days are not enough: ten whole weeks must fit in between.
    for days, windows in ((69, 0), (70, 1), (77, 2)):
        at = pd.Timestamp("2024-01-01 09:00", tz="UTC")
        table = pd.DataFrame(
            {"user_id": 1, "started_at": at + pd.to_timedelta([0, 30, days - 1], unit="D"),
             "finished_at": at + pd.to_timedelta([1, 31, days], unit="D")}
        )  # fmt: skip
        found = tracking_quality(table, table[:0])
        assert (found.days[0], found.windows[0]) == (days, windows)


def test_nobody_tracked() -> None:
    stays, legs = records(0)
    assert len(tracking_quality(stays[:0], legs[:0])) == 0


# --- the whole way


@pytest.fixture(scope="module")
def frames() -> pd.DataFrame:
    """Two commuters; one tracked for a month, one nowhere twice, one seen once, one broken."""
    nomad = commuter("nomad", days=100)
    nomad["lat"] = 40 + np.arange(len(nomad)) // 24 * 2000 * METRE
    broken = commuter("broken", days=1).assign(lat=400.17)
    again = commuter("bob", days=150).assign(lon=16.5)
    again = pd.concat([again, again[100:200], again[:3].assign(lat=np.nan)])
    parts = [
        commuter("ann"), nomad, again, commuter("cy", days=30), commuter("dot")[:1], broken,
        commuter("hub", days=90).iloc[[0, 144 * 80]], commuter("six", days=60),
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def journey(frames: pd.DataFrame) -> GpsResult:
    return fixes_to_visits(frames)


def n_of(journey: GpsResult, step: str) -> int:
    return int(journey.counts.set_index("step").n[step])


def test_commuters_visits_are_known(journey: GpsResult) -> None:
    ann = journey.visits[journey.visits.user_id == "ann"]
    # Home until nine, work until five, home; the last night has no end yet.
    assert len(ann) == 2 * 120 + 1
    assert ann.location_id.nunique() == 2
    work = ann[ann.lat > 48.205]
    assert (work.started_at.dt.hour == 9).all() and (work.finished_at.dt.hour == 17).all()
    pd.testing.assert_frame_equal(check(journey.visits), journey.visits)


def test_everybody_has_one_fate(frames: pd.DataFrame, journey: GpsResult) -> None:
    left = journey.people.set_index("user_id")["left"].to_dict()
    assert left == {
        "ann": "", "bob": "", "nomad": "no location", "cy": "tracked for 50 days or less",
        "dot": "no staypoint", "hub": "no staypoint", "broken": "no fix that can be used",
        "six": "tracked for less than 10 weeks",
    }  # fmt: skip
    assert set(journey.visits.user_id) == {who for who, why in left.items() if why == ""}
    assert len(journey.people) == frames.user_id.nunique()


def test_every_fix_is_counted(frames: pd.DataFrame, journey: GpsResult) -> None:
    read_in = n_of(journey, "fixes read")
    dropped = journey.counts[journey.counts.step.str.startswith("dropped")]
    assert read_in == len(frames)
    assert read_in == n_of(journey, "fixes kept") + dropped.n.sum()
    assert dropped.set_index("step").n.to_dict() == {
        "dropped: no position": 3, "dropped: latitude beyond ±90": 144,
        "dropped: the same fix again": 100,
    }  # fmt: skip
    assert journey.people.n_fixes.sum() == n_of(journey, "fixes kept")


def test_time_zone_moves_days_not_moments(frames: pd.DataFrame) -> None:
    tracks = staypoints_and_triplegs(frames)
    utc = tracks_to_visits(tracks, everybody=True).visits
    beijing = tracks_to_visits(tracks, everybody=True, timezone="Asia/Shanghai").visits
    assert str(beijing.started_at.dt.tz) == str(beijing.finished_at.dt.tz) == "Asia/Shanghai"
    assert (beijing.started_at.to_numpy() == utc.started_at.to_numpy()).all()
    with pytest.raises(DataError, match="'Mars' is no known time zone"):
        tracks_to_visits(tracks, timezone="Mars")


def test_everybody_keeps_whoever_has_a_visit(frames: pd.DataFrame) -> None:
    journey = fixes_to_visits(frames, everybody=True)
    assert set(journey.visits.user_id) == {"ann", "bob", "cy", "six"}
    assert journey.all_visits.split.notna().all()


def test_the_last_filter_keeps_an_empty_split(frames: pd.DataFrame) -> None:
    # A month of visits, then none until the last day: windows in train, none in the others.
    rare = commuter("rare", days=100).iloc[[*range(144 * 30), *range(14_200, 14_400)]]
    journey = fixes_to_visits(pd.concat([frames, rare]))
    fate = journey.people.set_index("user_id").loc["rare"]
    assert fate["left"] == "no window in some split" and fate.n_visits > 0
    assert "rare" not in set(journey.visits.user_id)
    theirs = journey.all_visits[journey.all_visits.user_id == "rare"]
    assert len(theirs) == fate.n_visits and theirs.split.isna().all()


@pytest.mark.parametrize(
    ("fixes", "says"),
    [
        (commuter(1)[:0], "There are no position fixes"),
        (commuter(1).assign(lat=400.0), r"None .* \(latitude beyond ±90: 17280\)"),
        (pd.concat([commuter(1), commuter("1")]), "mixes text and numbers"),
        (commuter(1, days=20), "longest tracking is 19 days.*everybody=True"),
        (commuter(1)[:1], "none of 1 people has a staypoint.*give longer recordings"),
        (fixes_at([0, 3600], 1.0, 2.0), "longest tracking is 0 days"),
        (commuter(1).drop(columns="lat"), "no column 'lat'; pgt.read_fixes"),
        (commuter(1).assign(tracked_at="now"), "no times with a zone; pgt.read_fixes"),
        (commuter(1).assign(lon="16.4"), "'lon' holds text"),
        ([1, 2], "no column 'user_id'"),
    ],
)
def test_when_nothing_is_left_it_says_why(fixes: pd.DataFrame, says: str) -> None:
    with pytest.raises(DataError, match=says):
        fixes_to_visits(fixes)


def test_no_location_and_no_window_say_why() -> None:
    with pytest.raises(DataError, match="None of 1 staypoints has 1 more within 20 m"):
        fixes_to_visits(fixes_at([0, 3600], 1.0, 2.0), everybody=True)
    with pytest.raises(DataError, match="None of 1 people with visits has a window"):
        fixes_to_visits(commuter(1, days=100).iloc[[*range(200), *range(14_000, 14_200)]])


# What the published pipeline gives on these fixes, step by step.
PUBLISHED = {
    "fixes read": (24_657_818, 182), "staypoints": (28_865, 177),
    "staypoints of people tracked long enough": (26_684, 92),
    "staypoints in locations": (19_579, 91), "locations": (2_048, pd.NA),
    "visits": (19_186, 91), "visits of people with windows in every split": (16_598, 45),
    "train windows": (7_424, 45), "valid windows": (3_334, 45), "test windows": (3_500, 45),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get(FIXES), reason=f"{FIXES} names no folder of fixes")
def test_geolife_gives_the_published_visits() -> None:
    tracks = staypoints_and_triplegs(read_fixes(os.environ[FIXES]))
    journey = tracks_to_visits(tracks, haversine_order="swapped")
    counts = journey.counts.set_index("step")
    assert len(journey.all_visits) == 19_186
    # The reader keeps out the one fix at latitude 400.17 before it is counted here.
    assert counts.n["fixes read"] in (24_657_817, 24_657_818)
    for step, (n, people) in list(PUBLISHED.items())[1:]:
        assert counts.n[step] == n, step
        assert people is pd.NA or counts.people[step] == people, step


# --- anybody's fixes


def told(fixes: pd.DataFrame, **how: Any) -> tuple[pd.DataFrame, str]:
    """The visits, and all notes."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = gps.visits(fixes, timezone="UTC", **how)
    return table, " ".join(str(one.message) for one in said)


def test_anybodys_visits_are_checked_and_nothing_is_said_of_good_fixes() -> None:
    table, notes = told(commuter(days=10))
    pd.testing.assert_frame_equal(check(table), table)
    assert len(table) == 21 and notes == ""
    assert table.attrs["counts"][0] == ("fixes read", 1440, 1) and table.attrs["left"] == {}


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_types_of_arrow_and_nullable_ones_give_the_same(backend: str) -> None:
    fixes = commuter(days=10)
    found, _ = told(fixes.convert_dtypes(dtype_backend=backend))
    pd.testing.assert_frame_equal(found, told(fixes)[0])


@pytest.mark.parametrize(
    ("column", "bad", "good", "says"),
    [("accuracy", 2000.0, 12.0, "kept out: 12 accuracy worse than 200 m"),
     ("hdop", 40.0, 1.1, "hdop above 20"), ("valid", False, True, "marked as not valid")],
)  # fmt: skip
def test_a_records_own_word_on_its_quality_counts(
    column: str, bad: object, good: object, says: str
) -> None:
    fixes, expected = commuter(days=10), told(commuter(days=10))[0]
    poor = np.arange(len(fixes)) % 120 == 5
    fixes[column] = np.where(poor, bad, good)
    fixes.loc[poor, "lat"] += 0.05  # further away than the accuracy
    table, notes = told(fixes)
    assert says in notes and len(table) == len(expected)
    # A column that calls most fixes poor says nothing of any.
    _, notes = told(commuter(days=10).assign(**{column: bad}))
    assert f"column '{column}' would keep out 1,440 of 1,440 fixes" in notes
    assert "was not used" in notes


def test_a_poor_fix_is_where_the_good_one_within_its_accuracy_is() -> None:
    # At the shop for 40 minutes, of which the first fix is poor, and too far from home.
    at = [0, 30, 60, 61, 101, 102, 132, 162, 192, 252, 292]
    km = np.array([0, 0, 0, 5.0, 4.0, 4.0, 0, 0, 0, 4.0, 4.0])
    fixes = fixes_at(np.array(at) * 60.0, 16.4, 48.2 + km * 1000 * METRE)
    fixes["accuracy"] = np.where(km == 5, 2000.0, 10.0)
    clean, dropped = clean_fixes(fixes, mend=True)
    assert dropped.sum() == 0 and clean.lat[3] == clean.lat[4]
    clean, dropped = clean_fixes(fixes)
    assert dropped["accuracy worse than 200 m"] == 1 and len(clean) == 10


def test_lone_leaps_and_0_0_do_not_cut_a_stay() -> None:
    fixes, expected = commuter(days=10), told(commuter(days=10))[0]
    fixes.loc[40, ["lon", "lat"]] = 0.0
    fixes.loc[200, "lat"] += 4.0  # across the country and back in twenty minutes
    table, notes = told(fixes)
    assert "2 of 1,440 fixes are kept out: 1 position 0/0, 1 a leap away and back." in notes
    pd.testing.assert_frame_equal(table, expected)
    assert len(clean_fixes(fixes)[0]) == 1440, "the published protocol does not mend"
    away = commuter(days=10)
    away.loc[200:203, "lat"] += 4.0  # for longer, it was a journey
    assert "leap" not in told(away)[1]


def test_silence_at_one_place_is_a_stay_and_is_counted() -> None:
    fixes = commuter(days=10)
    silent = fixes.drop(range(144 * 2 + 130, 144 * 4 + 40))  # home, for a day and a half
    table, notes = told(silent)
    assert "1 silences of more than a day at one place are stays there" in notes
    assert (table.finished_at - table.started_at).max() > pd.Timedelta(hours=36)
    assert told(silent, max_gap=30)[0].finished_at.sub(table.started_at).max() < pd.Timedelta("24h")
    assert "1 others end a stay" in told(silent, max_gap=30)[1]
    # The published protocol drops what was open before so long a silence.
    cut, whole = (generate_staypoints(silent, max_gap=gap) for gap in (None, 72))
    hours = [(table.finished_at - table.started_at).sum() for table in (cut, whole)]
    assert hours[1] - hours[0] > pd.Timedelta("36h")
    # Between two places nobody knows; each stay ends at its last fix.
    away = fixes.drop(range(144 + 30, 144 * 2 + 80))
    stays = generate_staypoints(away, max_gap=72)
    assert (stays.finished_at == away.tracked_at[144 + 29]).any()


def test_a_shattered_recording_is_doubted() -> None:
    fixes = commuter(days=10)
    far = np.arange(len(fixes)) % 6 == 5
    fixes.loc[far, "lat"] += np.tile([0.02, -0.02], 999)[: far.sum()]
    assert "stays look cut into pieces" in told(fixes)[1]


def test_the_zone_comes_from_the_coordinates() -> None:
    fixes = commuter(days=10)
    with pytest.warns(DataNote, match="local clocks are those of Europe/Vienna"):
        assert str(gps.visits(fixes).started_at.dt.tz) == "Europe/Vienna"
    both = pd.concat([fixes, fixes.assign(user_id="bob", lon=139.7, lat=fixes.lat - 12.5)])
    with pytest.warns(DataNote, match="Europe/Vienna, Asia/Tokyo"):
        table = gps.visits(both)
    assert table.groupby("user_id").utc_offset.unique().map(list).to_dict() == {
        "ann": [60], "bob": [540]
    }  # fmt: skip
