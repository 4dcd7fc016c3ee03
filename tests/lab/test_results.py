"""Every results file is whole, says how to make it again, and tells of nobody."""

from __future__ import annotations

import pytest
from lab.reports import REPORTS
from wherenext.results import read_results

# Report -> the least people and windows behind a row that tells how many.
FEWEST = {"confidence": (20, 100), "gate": (0, 100), "newcomers": (5, 0), "wins": (5, 20)}
PERSONAL = {"user_id", "location_id", "started_at", "finished_at", "tracked_at", "lon", "lat"}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_whole_and_tells_of_nobody(name: str) -> None:
    report = read_results(name)
    rows = report.rows
    assert report.header["command"] == f"python book/lab/run.py {name}"
    assert report.header["question"].strip() and report.header["versions"]
    assert len(rows) and not rows.dropna(axis=1, how="all").empty
    assert not PERSONAL & set(rows.columns)
    people, windows = FEWEST.get(name, (0, 0))
    for column, least in (("people", people), ("n", windows)):
        if column in rows and least:
            counted = rows[column].dropna()
            assert len(counted) and counted.min() >= least
    if {"low", "high", "value"} <= set(rows.columns):
        ends = rows.dropna(subset=["low", "high", "value"])
        assert (ends.low <= ends.high).all()


def test_reports_agree_with_one_another() -> None:
    """The same windows give the same score, whichever report tells it."""
    exact, wins = read_results("geolife_exact"), read_results("wins").rows
    (whole,) = wins[(wins.table == "windows") & (wins.by == "all")].kernel
    assert whole == pytest.approx(exact.mean(model="kernel"), abs=0.01)
