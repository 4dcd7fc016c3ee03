"""The report on real fixes: coarse, complete, and true where the truth is known."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from lab.gps import CLASSES, FEWEST, histogram, measured
from wherenext.results import read_results

from pgt import gps
from pgt.datasets import read_fixes

from ..gps_helpers import commuter

ALLOWED = {
    "table", "what", "low", "high", "n", "people", "distance", "minutes", "value", "timezone",
    "haversine_order", "step", "eps",
}  # fmt: skip


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


def test_the_report_of_commuters() -> None:
    frames = [commuter(f"p{k}", days=100).assign(lon=16 + 0.1 * k) for k in range(6)]
    rows = pd.DataFrame(measured(pd.concat(frames)))
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
    again = pd.DataFrame(measured(read_fixes(os.environ[gps.FIXES])))
    before = read_results("gps").rows
    pd.testing.assert_frame_equal(again[before.columns], before, check_dtype=False, atol=1e-3)
