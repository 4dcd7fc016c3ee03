"""From fixes to visits: each step equals a slow loop, and nobody is lost unsaid."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pgt.errors import DataError, DataNote
from pgt.readers import gps
from pgt.readers.gps import clean_fixes, generate_locations, generate_staypoints, merge_staypoints
from pgt.visits import check

from ..gps_helpers import METRE, commuter, fixes_at, haversine, wander

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
    assert good.user_id.dtype.kind == "i", "users are whole numbers again"


@pytest.mark.filterwarnings("error")
def test_of_few_fixes_or_none_nothing_is_computed_in_vain() -> None:
    one = fixes_at([0], 16.4, 48.2).assign(hdop=1.0, valid=True, accuracy=5.0)
    for lat, n in ((48.2, 1), (np.nan, 0)):
        assert len(clean_fixes(one.assign(lat=lat), mend=True)[0]) == n
    assert clean_fixes(one[:0], mend=True)[0].empty


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
    for seed in range(12):
        fixes = wander(seed)
        for distance, minutes, gap in settings[seed % 4 :: 4]:
            found = generate_staypoints(
                fixes, dist_threshold=distance, time_threshold=minutes, gap_threshold=gap
            )  # fmt: skip
            assert rows(found, fixes) == slow_stays(fixes, distance, minutes, gap)
            for a, n, lat in zip(found.first_fix, found.n_fixes, found["lat"], strict=True):
                different = {*zip(fixes.lon[a : a + n], fixes["lat"][a : a + n], strict=True)}
                assert lat == pytest.approx(np.mean([north for _, north in different]))


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
        (generate_staypoints, "dist_threshold", (0, float("nan"))),
        (generate_staypoints, "time_threshold", (-1, float("nan"))),
        (generate_staypoints, "gap_threshold", (0, float("nan"))),
        (generate_locations, "eps", (0, float("nan"))),
        (generate_locations, "min_samples", (0,)), (generate_locations, "haversine_order", ("x",)),
        (gps.visits, "timezone", ("Mars",)), (gps.visits, "eps", (-1,)),
    ) for value in values],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(step: Any, change: dict[str, Any]) -> None:
    given = {generate_staypoints: wander(2), generate_locations: scattered(0)}
    with pytest.raises(DataError):
        step(given.get(step, commuter(1)), **change)


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


def told(fixes: pd.DataFrame, **how: Any) -> tuple[pd.DataFrame, str]:
    """The visits, and all notes."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = gps.visits(fixes, timezone="UTC", **how)
    return table, " ".join(str(one.message) for one in said)


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_types_of_arrow_and_nullable_ones_give_the_same(backend: str) -> None:
    fixes = commuter(days=10)
    table, notes = told(fixes)
    pd.testing.assert_frame_equal(check(table), table)
    assert len(table) == 21 and notes == "", "nothing is said of good fixes"
    found, _ = told(fixes.convert_dtypes(dtype_backend=backend))
    pd.testing.assert_frame_equal(found, table)


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
    # A column that calls most fixes poor says nothing of any. An hdop that is never small is in
    # metres.
    _, notes = told(commuter(days=10).assign(**{column: 2000.0 if column == "hdop" else bad}))
    assert f"column '{column}' would keep out 1,440 of 1,440 fixes" in notes
    assert "was not used" in notes


def test_an_accuracy_below_zero_says_not_valid_and_an_hdop_may_be_metres() -> None:
    fixes, expected = commuter(days=10), told(commuter(days=10))[0]
    far = np.arange(len(fixes)) % 4 == 1  # a quarter, as of a phone indoors
    fixes.loc[far, "lat"] += 0.05
    table, notes = told(fixes.assign(accuracy=np.where(far, -1.0, 12.0)))
    assert len(table) == len(expected) and "360 accuracy below 0" in notes
    table, notes = told(commuter(days=10).assign(hdop=35.0))
    assert len(table) == len(expected) and "kept out" not in notes
    table, notes = told(fixes.assign(hdop=np.where(far, 1500.0, 35.0)))
    assert len(table) == len(expected) and "360 hdop, in metres, above 200" in notes


@pytest.mark.parametrize("drift", [0.0, 25.0])
def test_the_distance_of_a_place_follows_the_scatter_of_its_fixes(drift: float) -> None:
    """Fixes that wander indoors give as many visits and places as fixes that do not."""
    expected = told(commuter(days=12))[0]
    fixes, rng = commuter(days=12), np.random.default_rng(3)
    slow = np.repeat(rng.normal(0, drift, (len(fixes) // 6 + 1, 2)), 6, axis=0)[: len(fixes)]
    fixes["lat"] += slow[:, 0] / 111_000
    fixes["lon"] += slow[:, 1] / 74_000
    table, notes = told(fixes)
    assert len(table) == len(expected)
    assert table.location_id.nunique() == expected.location_id.nunique()
    assert ("--eps" in notes) == (drift > 0)


def test_stays_at_no_place_are_counted_and_short_stays_are_kept_if_asked_for() -> None:
    fixes = commuter(days=10)
    once = fixes.tracked_at.dt.day == fixes.tracked_at.dt.day.iloc[700]
    fixes.loc[once, "lat"] += 0.3  # a day somewhere else
    _, notes = told(fixes)
    assert "stays are at no place" in notes and "--min-samples" in notes
    stays = gps.generate_staypoints(clean_fixes(commuter(days=3))[0], time_threshold=10)
    brief = stays.assign(location_id=1, finished_at=stays.started_at + pd.Timedelta(minutes=12))
    assert merge_staypoints(brief).empty and len(merge_staypoints(brief, activity=10)) == len(brief)
    short = commuter(days=10)
    assert len(gps.visits(short, time_threshold=10, timezone="UTC")) >= len(told(short)[0])


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


def test_the_zone_comes_from_the_coordinates() -> None:
    fixes = commuter(days=10)
    with pytest.warns(DataNote, match="^by the coordinates, local clocks are those of Europe/V"):
        assert str(gps.visits(fixes).started_at.dt.tz) == "Europe/Vienna"
    both = pd.concat([fixes, fixes.assign(user_id="bob", lon=139.7, lat=fixes.lat - 12.5)])
    with pytest.warns(DataNote, match="Europe/Vienna, Asia/Tokyo"):
        table = gps.visits(both)
    assert table.groupby("user_id").utc_offset.unique().map(list).to_dict() == {
        "ann": [60], "bob": [540]
    }  # fmt: skip
