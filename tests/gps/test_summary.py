"""The report on real fixes: coarse, complete, and true where the truth is known."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from pgt.io.fixes import read_fixes
from wherenext import gps_summary
from wherenext.gps_summary import CLASSES, FEWEST, Tally, histogram, measured
from wherenext.results import read_results

from pgt import gps

from ..gps_helpers import METRE, commuter, fixes_at

ALLOWED = {
    "table", "what", "low", "high", "n", "people", "distance", "minutes", "value", "timezone",
    "haversine_order", "step", "eps",
}  # fmt: skip


def test_the_file_tells_nothing_about_anybody() -> None:
    results = read_results("gps")
    assert set(results.rows.columns) == ALLOWED
    classes = results.rows[results.rows.table == "histogram"]
    assert (classes.people >= FEWEST).all()
    assert set(classes.what) == set(CLASSES)
    for row in classes.itertuples():
        assert row.low in CLASSES[row.what]
        assert np.isnan(row.high) or row.high in CLASSES[row.what]


def test_the_file_has_the_published_counts() -> None:
    rows = read_results("gps").rows
    steps = rows[rows.table == "steps"]
    assert len(steps.groupby(["timezone", "haversine_order"])) == 4
    published = steps[(steps.timezone == "UTC") & (steps.haversine_order == "swapped")]
    n = published.set_index("step").n
    assert (n["staypoints"], n["staypoints in locations"], n["locations"]) == (28865, 19579, 2048)
    assert [n[f"{split} windows"] for split in ("train", "valid", "test")] == [7424, 3334, 3500]


def test_classes_of_few_people_are_joined_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(1)
    what = "seconds between fixes"
    for _ in range(50):
        counts = pd.DataFrame(rng.poisson(0.4, (rng.integers(5, 12), len(CLASSES[what]))))
        rows = list(histogram(what, counts))
        if (counts.sum(axis=1) > 0).sum() < FEWEST:
            continue
        assert all(row["people"] >= FEWEST for row in rows)
        assert sum(row["n"] for row in rows) == counts.to_numpy().sum()
        assert [row["low"] for row in rows[1:]] == [row["high"] for row in rows[:-1]]
        assert rows[0]["low"] == 0 and rows[-1]["high"] is None


def test_fewer_than_five_people_in_all_are_not_told() -> None:
    rows = list(histogram("locations of a person", pd.DataFrame(np.eye(5, dtype=int)[[0, 0, 3]])))
    assert [(row["n"], row["people"]) for row in rows] == [(0, 0)]


def test_silence_and_the_two_middles_are_measured() -> None:
    # Ten minutes of walking up, four silent hours, one fix, and away.
    walk = np.arange(0, 601, 60)
    seconds = [*walk, 600 + 4 * 3600, 600 + 4 * 3600 + 60]
    lat = 48.2 + METRE * np.array([*np.arange(11) * 10.0, 100.0, 5000.0])
    tally = Tally()
    tally.look("ann", fixes_at(seconds, 16.37, lat, "ann"))
    assert tally.found[(200.0, 30.0)] == 1
    assert tally.stayed == pytest.approx((600 + 4 * 3600 + 60) / 3600)
    assert tally.silent == pytest.approx(4)
    longest = tally.parts["longest silence in a staypoint, minutes"][0]
    assert longest[CLASSES["longest silence in a staypoint, minutes"].index(240)] == 1
    # 100 m stands twice among the fixes: 50 m is the mean of the different, 54.2 that of all.
    apart = tally.parts["metres between two middles of a staypoint"][0]
    assert apart[CLASSES["metres between two middles of a staypoint"].index(2)] == 1


def test_the_silence_before_the_end_of_a_stay_counts() -> None:
    seconds = [0, 60, 60 + 5 * 3600]  # the last fix is elsewhere
    tally = Tally()
    tally.look("ann", fixes_at(seconds, 16.37, [48.2, 48.2, 48.3], "ann"))
    assert tally.silent == pytest.approx(5)


def test_the_report_of_commuters() -> None:
    frames = [commuter(f"p{k}", days=100).assign(lon=16 + 0.1 * k) for k in range(6)]
    rows = pd.DataFrame(measured(iter(frames)))
    assert set(rows.columns) <= ALLOWED
    lengths = rows[rows.what == "minutes of a staypoint"]
    assert lengths.n.sum() == 6 * (2 * 100 + 1)
    n = rows[(rows.timezone == "UTC") & (rows.haversine_order == "right")].set_index("step").n
    assert n["locations"] == 12
    per_person = rows[(rows.what == "locations of a person") & (rows.haversine_order == "right")]
    assert per_person[["low", "people"]].to_numpy().tolist() == [[0, 6]]


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get(gps.FIXES), reason=f"{gps.FIXES} is not set")
def test_geolife_gives_the_file_again() -> None:
    again = pd.DataFrame(gps_summary.measured(read_fixes(os.environ[gps.FIXES])))
    before = read_results("gps").rows
    pd.testing.assert_frame_equal(again[before.columns], before, check_dtype=False, atol=1e-3)
