"""A table that nobody prepared, from a file to scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import own_city
from lab.data_sets import sampled
from lab.own_city import SEEDS, as_checkins, measured
from wherenext import city


def test_a_file_becomes_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_city, "EPOCHS", 1)
    own = sampled(city.load().visits.drop(columns="split"), 8)
    rows = list(measured(tmp_path, as_checkins(own)))
    steps = [row["command"] for row in rows if row["table"] == "command"]
    assert steps == ["prepare", *["train", "evaluate"] * len(SEEDS)]
    every = [row for row in rows if row["table"] == "scores"]
    names = [row["model"] for row in every if row["seed"] in (None, SEEDS[0])]
    assert names == ["pgt", "last", "most_frequent", "markov", "kernel",
                     "most frequent, 100 visits", "kernel, 100 visits"]  # fmt: skip
    assert all(0 <= row["acc@1"] <= row["acc@10"] <= 100 for row in every)
