"""Seven further towns are of people that no other town has, and are measured as the first three."""

from __future__ import annotations

from typing import Any

import pytest
from lab import position_bias, position_bias_towns, reports
from wherenext.results import read_results


def test_with_the_first_three_there_are_ten_towns_each_with_its_own_people() -> None:
    mine, before = position_bias_towns.jobs(), position_bias.jobs()
    assert not set(mine) & set(before)
    alike = [
        job for job in [*before, *mine] if (job.what, job.variant) == ("other people", "fast bias")
    ]
    assert len(alike) == len({job.seed for job in alike}) == 10


def test_a_row_is_a_town_without_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(job: position_bias.Job) -> dict[str, Any]:
        return {"what": job.what, "seed": job.seed, "seconds": 1.0, "acc@1": 40.0, "b1": 0.5}

    monkeypatch.setattr(position_bias_towns, "one", one)
    rows = list(reports.report("position_bias_towns").rows())
    assert [row["seed"] for row in rows] == list(range(3, 10))
    assert all("seconds" not in row and row["b1"] == 0.5 for row in rows)


def test_the_results_file_is_whole_and_tells_of_nobody() -> None:
    report = read_results("position_bias_towns")
    made = list(zip(report.rows.what, report.rows.variant, report.rows.seed, strict=True))
    assert made == [(job.what, job.variant, job.seed) for job in position_bias_towns.jobs()]
    assert not {"user_id", "location_id", "started_at"} & set(report.rows.columns)
    first = read_results("position_bias").rows
    first = first[first.what == "other people"].dropna(axis=1)
    assert set(report.rows.columns) == set(first.columns)
    assert (report.rows["acc@1"] - first["acc@1"].mean()).abs().max() < 10  # it has been trained
