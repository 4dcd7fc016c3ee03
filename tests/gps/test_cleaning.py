"""No fix is lost: each is kept, or counted under one reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from pgt.gps.cleaning import REASONS, clean_fixes

from pgt.errors import DataError
from pgt.visits import microseconds

from ..gps_helpers import fixes_at, wander

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


def test_users_as_categories_are_users() -> None:
    fixes = fixes_at([0, 1], 1.0, 2.0, user=["b", "a"])
    as_category = fixes.assign(user_id=pd.Categorical(["b", "a"], ["a", "b", "nobody"]))
    pd.testing.assert_frame_equal(
        clean_fixes(as_category)[0], clean_fixes(fixes)[0], check_dtype=False
    )
    assert clean_fixes(as_category)[0].user_id.value_counts().to_dict() == {"a": 1, "b": 1}


def test_users_as_text_and_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="mixes text and numbers"):
        clean_fixes(fixes_at([0, 1], 1.0, 2.0, user=pd.Series(["1", 1], dtype=object)))


def test_infinity_is_no_position() -> None:
    _, dropped = clean_fixes(fixes_at([0, 1], [np.inf, 1], [1, -np.inf]))
    assert dropped["no position"] == 2


def test_all_faults_at_once_add_up() -> None:
    fixes = clean_fixes(wander(1))[0]
    bad = fixes
    for row, values in enumerate(FAULTS.values()):
        bad = with_fault(bad, 10 * row, values)
    # One with two faults, which counts once; and three fixes that are there again.
    bad = with_fault(bad, 0, {"lat": np.nan})
    bad = pd.concat([bad, bad.iloc[[101, 102, 102]]])
    good, dropped = clean_fixes(bad)
    assert dropped.index.tolist() == list(REASONS)
    assert dropped.tolist() == [1, 1, 1, 1, 1, 1, 1, 3]
    assert len(good) + dropped.sum() == len(bad)
    pd.testing.assert_frame_equal(good, clean_fixes(good)[0])


def test_only_the_same_fix_is_dropped_not_the_same_moment() -> None:
    fixes = fixes_at([0, 0, 0, 0, 9], [1.0, 2.0, 1.0, 1.0, 1.0], 0.0)
    fixes.loc[3, "user_id"] = 2
    good, dropped = clean_fixes(fixes)
    assert dropped["the same fix again"] == 1
    assert good[["user_id", "lon"]].values.tolist() == [[1, 1], [1, 2], [1, 1], [2, 1]]


def test_unsorted_fixes_are_sorted_and_ties_keep_their_order() -> None:
    parts = [wander(seed, user=user) for seed, user in enumerate("ba")]
    ordered = clean_fixes(pd.concat(parts[::-1]))[0]
    assert ordered.tracked_at.duplicated().any()
    mixed = pd.concat(parts, ignore_index=True)
    mixed["order"] = np.arange(len(mixed))
    shuffled = mixed.sample(frac=1, random_state=0)
    found = clean_fixes(shuffled)[0]
    assert found.user_id.is_monotonic_increasing
    assert all(part.tracked_at.is_monotonic_increasing for _, part in found.groupby("user_id"))
    place = pd.Series(np.arange(len(shuffled)), index=shuffled.order)
    for _, tie in found.groupby(["user_id", "tracked_at"]):
        assert place[tie.order].is_monotonic_increasing
    pd.testing.assert_frame_equal(clean_fixes(mixed)[0][ordered.columns], ordered)


def test_the_input_is_not_changed() -> None:
    fixes = wander(1).iloc[::-1].reset_index(drop=True)
    before = fixes.copy()
    clean_fixes(fixes)
    pd.testing.assert_frame_equal(fixes, before)


def test_now_decides_what_the_future_is() -> None:
    fixes = fixes_at([0, 3600], 1.0, [1.0, 2.0])
    good, dropped = clean_fixes(fixes, now=pd.Timestamp("2024-01-01 00:30", tz="UTC"))
    assert len(good) == 1 and dropped["time in the future"] == 1


def test_an_empty_table_is_empty() -> None:
    good, dropped = clean_fixes(wander(1)[:0])
    assert len(good) == 0 and dropped.sum() == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: f.rename(columns={"lat": "latitude"}), "'lat' is missing.*latitude.*rename"),
        (lambda f: pd.concat([f, f[["lon"]]], axis=1), "'lon' appears twice"),
        (lambda f: f.assign(tracked_at=1_700_000_000), r"unit='s' for Unix seconds"),
        (lambda f: f.assign(tracked_at=f.tracked_at.dt.tz_localize(None)), "with a zone"),
        (lambda f: f.assign(lon="16.4"), "'lon' holds text"),
        (lambda _: pd.DataFrame(), "no columns"),
    ],
)
def test_tables_that_are_no_fixes(
    change: Callable[[pd.DataFrame], pd.DataFrame], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        clean_fixes(change(wander(1)))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_microseconds(unit: str) -> None:
    at = pd.Series(pd.to_datetime(["2024-01-01 08:00+08:00"], utc=True)).dt.as_unit(unit)
    assert microseconds(at).tolist() == [1_704_067_200_000_000]
