"""Results files of experiments: complete, consistent with their ranks, and reproducible."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest
from lab import data_sets, executing, runs
from lab.data_sets import DATA, Data
from lab.experiments import EXPERIMENTS, SEEDS, Experiment
from lab.models import Run
from wherenext.results import read_results

from pgt import metrics
from pgt.config import PRESETS, Preset, TrainConfig
from pgt.errors import DataError
from pgt.metrics import interval_of_mean

from ..helpers import random_visits

FILES = list(EXPERIMENTS)
KEYS = ["model", "variant", "target_time", "seed"]
COLUMNS = {
    "data", "protocol", "target_time", "model", "variant", "seed", "split", "group", "n",
    *metrics.METRICS,
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_results_file_is_complete(name: str) -> None:
    results = read_results(name)
    assert {
        "experiment",
        "command",
        "data",
        "code",
        "versions",
        "device",
        "seconds",
        "runs",
    } <= set(results.header)
    assert set(results.rows.columns) == COLUMNS
    assert set(results.rows.group) == set(metrics.GROUPS)
    rows = results.rows.astype(object).where(results.rows.notna(), None)
    found = set(map(tuple, rows[["data", "protocol", *KEYS]].to_numpy()))
    expected = {
        (DATA[key].name, DATA[key].protocol, *asdict(run).values())
        for key, run in EXPERIMENTS[name].jobs
    }
    assert found == expected
    assert len(rows) == len(expected) * 2 * len(metrics.GROUPS)
    assert len(SEEDS) >= 5
    sources = results.header["data"]
    for source in sources if isinstance(sources, list) else [sources]:
        n = results.select(data=source["name"], protocol=source["protocol"]).n
        assert set(n) == {source["windows"]["test"]}


def test_a_difference_is_that_of_the_seeds_that_both_have() -> None:
    results = read_results("geolife_published")
    few = {"model": "lstm", "variant": "tuned"}
    many = {"model": "pgt", "variant": "full", "target_time": "day"}
    seeds = set(results.select(**few).seed)
    assert 1 < len(seeds) < len(results.select(**many))
    rows = results.select(**many)
    gap, low, high = results.difference(few, many)
    assert gap == results.mean(**few) - rows[rows.seed.isin(seeds)]["acc@1"].mean()
    assert gap != results.mean(**few) - results.mean(**many)
    same = [run for run in results.ranks(**many) if run.seed.iloc[0] in seeds]
    assert (low, high) == interval_of_mean(list(results.ranks(**few)), against=same)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of three small runs; returns the folder for its results."""
    monkeypatch.setattr(runs.tempfile, "gettempdir", lambda: str(tmp_path / "work"))
    monkeypatch.setitem(PRESETS, "tiny", Preset({}, TrainConfig(max_epochs=1)))
    data = Data("tiny", lambda: random_visits(3, visits=400), "exact", preset="tiny")
    some = (Run("last"), Run("kernel"), Run("pgt", "full", "unknown", 1))
    monkeypatch.setitem(DATA, "tiny", data)
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("Does it run?", {"tiny": some}))
    data_sets.dataset.cache_clear()
    data_sets.data_fingerprint.cache_clear()
    return tmp_path


def test_an_experiment_runs_resumes_and_is_read_again(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Run] = []
    original = runs.one_run

    def counted(key: str, run: Run) -> dict[str, object]:
        calls.append(run)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(key, run)

    monkeypatch.setattr(runs, "one_run", counted)
    with pytest.raises(KeyboardInterrupt):
        executing.execute("tiny", tiny, workers=0)
    path = executing.execute("tiny", tiny, workers=0)
    assert [run.model for run in calls] == ["last", "kernel", "kernel", "pgt"]
    assert json.loads(path.read_text())["command"] == "python book/lab/run.py tiny"
    results = read_results("tiny", tiny)
    assert 0 <= results.mean(model="pgt") <= 100
    assert results.spread(model="pgt") == 0
    with pytest.raises(KeyError, match="no row"):
        results.mean(model="lstm")


def test_single_seeds_are_run_again_and_the_others_stay(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match=r"There is no tiny\.json"):
        executing.execute("tiny", tiny, workers=0, seeds=[1])
    some = (Run("last"), *(Run("pgt", "full", "unknown", seed) for seed in (1, 2)))
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("Does it run?", {"tiny": some}))
    executing.execute("tiny", tiny, workers=0)
    before = read_results("tiny", tiny)
    monkeypatch.setattr(runs, "code_hash", lambda: "another")
    monkeypatch.setattr(runs, "environment", lambda: {"versions": {}, "device": "another"})
    executing.execute("tiny", tiny, workers=0, seeds=[2])
    after = read_results("tiny", tiny)
    keys = ["seed", "split", "group"]
    pd.testing.assert_frame_equal(*(
        one.rows.sort_values(keys, ignore_index=True) for one in (before, after)
    ), check_like=True)  # fmt: skip
    assert len([*after.ranks()]) == len(some)
    assert after.header["device"] == "another" and after.header["earlier"]["seeds"] == [1]
    assert after.header["earlier"]["code"] == before.header["code"]
    executing.execute("tiny", tiny, workers=0, seeds=[2])
    assert read_results("tiny", tiny).header["earlier"] == after.header["earlier"]
    with pytest.raises(DataError, match="add 2 to --seeds"):
        executing.execute("tiny", tiny, workers=0, seeds=[1])
