"""Staypoints are what a slow, obviously right loop finds, and what trackintel finds."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from pgt.gps.cleaning import clean_fixes
from pgt.gps.staypoints import generate_staypoints

from pgt.errors import DataError

from ..gps_helpers import METRE, fixes_at, haversine, wander

Stay = tuple[int, int, int]


def slowly(
    fixes: pd.DataFrame, distance: float, minutes: float, gap_minutes: float, include_last: bool
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
    if include_last and at[-1] - at[start] >= long_enough:
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
    settings = list(product((50.0, 200.0, 5_000.0), (5.0, 30.0), (60.0, 1440.0), (True, False)))
    n = 0
    for seed in range(60):
        fixes = wander(seed)
        names = ("distance", "minutes", "gap_minutes", "include_last")
        for values in settings[seed % 4 :: 4]:
            expected = slowly(fixes, *values)
            assert (
                rows(generate_staypoints(fixes, **dict(zip(names, values, strict=True))), fixes)
                == expected
            )
            n += len(expected)
    assert n > 1000


def test_a_long_stay_with_jitter_and_a_track_around_the_earth() -> None:
    # Ten thousand fixes after which the next departure is found across a long, noisy path.
    rng = np.random.default_rng(1)
    lat = 40 + rng.normal(0, 15, 10_000) * METRE
    lon = np.full(10_000, 116.0)
    lat[5_000:5_400] += np.arange(400) * 50 * METRE
    lon[7_000:7_100] = rng.uniform(-180, 180, 100)
    fixes = fixes_at(np.arange(10_000) * 20.0, lon, lat)
    assert rows(generate_staypoints(fixes), fixes) == slowly(fixes, 200, 30, 1440, True)


def test_limits_count_as_documented() -> None:
    north = 40 + np.array([0, 199.999, 200.001]) * METRE
    near = fixes_at([0, 1800, 3600], 0.0, north[[0, 1, 0]])
    assert len(generate_staypoints(near, include_last=False)) == 0
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


def test_the_middle_across_the_date_line() -> None:
    fixes = fixes_at([0, 1800, 2400], [179.9999, -179.9997, 0.0], [0.0, 0.0, 0.0])
    assert generate_staypoints(fixes).lon[0] == pytest.approx(-179.9999, abs=1e-9)


def test_people_do_not_mix() -> None:
    parts = [wander(seed, user=user) for seed, user in enumerate(("a", "b", "c"))]
    alone = pd.concat([generate_staypoints(part) for part in parts], ignore_index=True)
    together = generate_staypoints(pd.concat(parts, ignore_index=True))
    assert len(together) > 10
    columns = ["user_id", "started_at", "finished_at", "lon", "lat", "n_fixes"]
    pd.testing.assert_frame_equal(together[columns], alone[columns])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_any_resolution_and_zone_of_times(unit: str) -> None:
    fixes = wander(3)
    other = fixes.assign(
        tracked_at=fixes.tracked_at.dt.floor("s").dt.as_unit(unit).dt.tz_convert("Asia/Shanghai")
    )
    expected = generate_staypoints(fixes.assign(tracked_at=fixes.tracked_at.dt.floor("s")))
    found = generate_staypoints(other)
    assert found.first_fix.tolist() == expected.first_fix.tolist()
    assert (found.started_at == expected.started_at).all()
    assert str(found.started_at.dt.tz) == "Asia/Shanghai"


def test_one_fix_or_none_is_no_staypoint() -> None:
    fixes = wander(0)
    for few in (fixes[:1], fixes[:0]):
        found = generate_staypoints(few)
        assert len(found) == 0
        assert found.dtypes.to_dict() == generate_staypoints(fixes).dtypes.to_dict()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: f.iloc[::-1], "not sorted"),
        (lambda f: pd.concat([f, f.assign(user_id=2), f], ignore_index=True), "not sorted"),
        (lambda f: f.assign(lat=f.lat.where(f.index != 3)), r"row 3; pgt.gps.clean"),
        (lambda f: f.assign(lat=f.lat.where(f.index != 4, 400.17)), "row 4"),
        (lambda f: f.drop(columns="lon"), "'lon' is missing"),
        (lambda f: f.assign(tracked_at=f.tracked_at.dt.tz_localize(None)), "utc=True"),
        (lambda f: f.assign(lat=f.lat.astype(str)), "holds text"),
    ],
)
def test_fixes_that_are_not_clean_are_refused(change, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=says):
        generate_staypoints(change(wander(2)))


@pytest.mark.parametrize("name", ["distance", "minutes", "gap_minutes"])
def test_settings_that_make_no_sense_are_refused(name: str) -> None:
    for value in (0, -1, float("nan")):
        with pytest.raises(DataError, match="above 0"):
            generate_staypoints(wander(2), **{name: value})


@pytest.mark.slow
def test_equal_trackintel() -> None:
    ti = pytest.importorskip("trackintel", reason="trackintel is not installed")
    gpd = pytest.importorskip("geopandas")
    for seed in range(30):
        fixes, _ = clean_fixes(wander(seed))
        points = gpd.GeoDataFrame(
            fixes[["user_id", "tracked_at"]].rename_axis("id"),
            geometry=gpd.points_from_xy(fixes.lon, fixes.lat), crs=4326,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, theirs = ti.preprocessing.generate_staypoints(
                ti.Positionfixes(points), dist_threshold=200, time_threshold=30,
                gap_threshold=24 * 60, include_last=True,
            )  # fmt: skip
        ours = generate_staypoints(fixes)
        assert len(ours) == len(theirs)
        assert (ours.started_at.to_numpy() == theirs.started_at.to_numpy()).all()
        assert (ours.finished_at.to_numpy() == theirs.finished_at.to_numpy()).all()
        np.testing.assert_allclose(ours.lon, theirs.geometry.x, atol=1e-9)
        np.testing.assert_allclose(ours.lat, theirs.geometry.y, atol=1e-9)
