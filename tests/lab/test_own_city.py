"""A table that nobody prepared, from a file to scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import own_city
from lab.data_sets import sampled
from lab.own_city import EPOCHS, SEEDS, SHARE, as_checkins, measured
from wherenext import city
from wherenext.results import read_results


def test_a_file_becomes_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_city, "EPOCHS", 1)
    own = sampled(city.load().visits.drop(columns="split"), 8)
    rows = list(measured(tmp_path, as_checkins(own)))
    steps = [row["command"] for row in rows if row["table"] == "command"]
    assert steps == ["prepare", *["train", "evaluate"] * len(SEEDS)]
    every = [row for row in rows if row["table"] == "scores" and row["group"] == "all"]
    names = [row["model"] for row in every if row["seed"] in (None, SEEDS[0])]
    assert names == ["pgt", "last", "most_frequent", "markov", "kernel",
                     "most frequent, 100 visits", "kernel, 100 visits"]  # fmt: skip
    assert all(row["acc@1_low"] <= row["acc@1"] <= row["acc@1_high"] for row in every)


def test_the_results_file_is_whole() -> None:
    report = read_results("own_city")
    rows = report.rows
    assert report.header["data"]["people"] == 500
    assert report.header["training"]["epochs"] == EPOCHS
    scores = rows[(rows.table == "scores") & (rows.group == "all")]
    assert sorted(scores[scores.model == "pgt"].seed) == sorted(SEEDS)
    ends = rows[rows.table == "ends"].set_index(["share", "group", "model"])
    kernel = scores[scores.model == "kernel"].iloc[0]
    # Both ways from a table to windows give the same windows and the same rule.
    same = ends.loc[(SHARE, "unknown", "kernel")]
    assert same.n == kernel.n
    assert same.value == pytest.approx(kernel["acc@1"], abs=0.01)
    # A visit more is a window more, an end more is none.
    assert ends.loc[(1.0, "known", "kernel"), "n"] > same.n
    assert ends.loc[(SHARE, "known", "kernel"), "n"] == same.n
