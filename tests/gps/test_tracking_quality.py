"""Triplegs are the runs between staypoints; the quality is the covered share of each window."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pgt.gps.cleaning import clean_fixes
from pgt.gps.staypoints import generate_staypoints
from pgt.gps.tracking_quality import generate_triplegs, tracking_quality

from pgt.errors import DataError

from ..gps_helpers import wander


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
    for seed in range(40):
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
    assert n > 1000


def test_without_fixes_there_is_no_tripleg() -> None:
    fixes = wander(0)
    for few in (fixes[:0], fixes[:1]):
        assert len(generate_triplegs(few, generate_staypoints(few))) == 0


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


def slow_quality(table: pd.DataFrame, weeks: int) -> tuple[int, list[float]]:
    """Whole days tracked, and each window's share, minute by piece by day."""
    begin, end = table.started_at.min(), table.finished_at.max()
    days = (end - begin).days
    pieces = []
    for row in table.itertuples():
        low = row.started_at
        while low < row.finished_at:
            high = min(row.finished_at, low.normalize() + pd.Timedelta(days=1))
            pieces.append((low, high))
            low = high
    shares = []
    for i in range(days // 7 - weeks + 1):
        low = begin.normalize() + pd.Timedelta(weeks=i)
        high = low + pd.Timedelta(weeks=weeks)
        inside = [b - a for a, b in pieces if a >= low and b < high]
        if inside:
            shares.append(sum(inside, pd.Timedelta(0)) / (high - low))
    return days, shares


@pytest.mark.parametrize("weeks", [2, 10])
def test_quality_equals_a_slow_loop(weeks: int) -> None:
    for seed in range(10):
        stays, legs = records(seed)
        table = tracking_quality(stays, legs, weeks=weeks)
        assert table.user_id.tolist() == [1, 3]
        for row in table.itertuples():
            both = pd.concat([stays, legs])
            days, shares = slow_quality(both[both.user_id == row.user_id], weeks)
            assert (row.days, row.windows) == (days, len(shares))
            if shares:
                assert row.quality == pytest.approx(np.mean(shares), abs=1e-12)
            else:
                assert np.isnan(row.quality)


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
    with pytest.raises(DataError, match="weeks=0"):
        tracking_quality(stays, legs, weeks=0)
