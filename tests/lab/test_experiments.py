"""Results files of experiments: complete, consistent with their ranks, and reproducible."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest
from lab import data_sets, executing, provenance, runs
from lab.data_sets import DATA, Data
from lab.experiments import EXPERIMENTS, SEEDS, Experiment
from lab.models import Run
from pandas.testing import assert_frame_equal
from wherenext.results import read_results

from pgt import metrics
from pgt.config import PRESETS, Preset, TrainConfig
from pgt.metrics import interval_of_mean

from ..helpers import random_visits

FILES = list(EXPERIMENTS)
KEYS = ["model", "variant", "target_time", "seed"]
COLUMNS = {
    "data", "protocol", "target_time", "model", "variant", "seed", "split", "group", "n",
    *metrics.METRICS,
}  # fmt: skip


def jobs(name: str) -> list[tuple[str, Run]]:
    """Some runs of each data set of an experiment: not all, since reading ranks takes time."""
    return [(key, run) for key, some in EXPERIMENTS[name].runs.items() for run in some[:6]]


def where(key: str, run: Run) -> dict[str, object]:
    """How `Results` finds a run."""
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol} | asdict(run)
    return {name: value for name, value in about.items() if value is not None}


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


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_ranks_give_the_rows(name: str) -> None:
    results = read_results(name)
    for key, run in jobs(name):
        (ranks,) = results.ranks(**where(key, run))
        for group in metrics.GROUPS:
            row = results.select(group, **where(key, run)).iloc[0]
            mask = metrics.group_mask(ranks, group)
            assert row.n == mask.sum()
            gains = 100 * metrics.gains(ranks)[mask].mean()
            assert gains["acc@1"] == pytest.approx(row["acc@1"], abs=1e-3, nan_ok=True)
            assert gains["mrr"] == pytest.approx(row["mrr"], abs=1e-3, nan_ok=True)
        low, high = results.interval(**where(key, run))
        assert low < results.mean(**where(key, run)) < high


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


def cheapest(name: str) -> list[tuple[str, Run]]:
    """For each data set the runs that take no training, or else the shortest one."""
    results, chosen = read_results(name), []
    for key, some in EXPERIMENTS[name].runs.items():
        quick = [run for run in some if run.model in ("last", "most_frequent", "markov")]
        notes = results.header["runs"]
        label = "{}" if len(EXPERIMENTS[name].runs) == 1 else f"{key}/{{}}"
        taken = {run: notes.get(label.format(run.key), {"seconds": 1e9})["seconds"] for run in some}
        chosen += [(key, run) for run in quick or [min(taken, key=lambda run: taken[run])]]
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "key", "run"),
    [pytest.param(name, *job, id=f"{name}-{job[0]}-{job[1].key}")
     for name in FILES for job in cheapest(name)],
)  # fmt: skip
def test_a_cheap_row_is_made_again(name: str, key: str, run: Run) -> None:
    if not DATA[key].there:
        pytest.skip(f"{DATA[key].needs} is not set")
    results = read_results(name)
    sources = results.header["data"]
    marks = {s["fingerprint"] for s in (sources if isinstance(sources, list) else [sources])}
    assert data_sets.data_fingerprint(key) in marks
    family = where(key, run) | {"seed": run.seed}
    if run.seed is None:
        del family["seed"]
    # Without a seed the same number; with one, other machines add up in another order.
    spread = {"all": 3 * results.spread(**{k: v for k, v in family.items() if k != "seed"})}
    for row in runs.one_run(key, run)["rows"]:
        if run.seed is not None and row["group"] != "all":
            continue
        before = results.select(row["group"], row["split"], **family).iloc[0]
        for metric in metrics.METRICS if run.seed is None else ["acc@1"]:
            allowed = 1e-3 if run.seed is None else spread["all"]
            assert before[metric] == pytest.approx(row[metric], abs=allowed, nan_ok=True)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of three small runs; returns the folder for its results."""
    monkeypatch.setattr(runs.tempfile, "gettempdir", lambda: str(tmp_path / "work"))
    monkeypatch.setitem(PRESETS, "tiny", Preset(training=TrainConfig(max_epochs=1)))
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


def test_a_run_that_the_file_holds_of_the_same_code_is_taken_from_it(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = executing.execute("tiny", tiny, workers=0)
    raw, ranks = json.loads(path.read_text()), pd.read_parquet(path.with_suffix(".ranks.parquet"))
    more = (*EXPERIMENTS["tiny"].runs["tiny"], Run("most_frequent"))
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("And more?", {"tiny": more}))
    made: list[str] = []
    original = runs.one_run
    monkeypatch.setattr(
        runs, "one_run", lambda key, run: made.append(run.model) or original(key, run)
    )

    # What was kept is gone, as on another day, and the experiment has a run more.
    def again() -> list[str]:
        shutil.rmtree(tiny / "work")
        made.clear()
        executing.execute("tiny", tiny, workers=0)
        return made

    assert again() == ["most_frequent"]
    now = json.loads(path.read_text())
    assert now["rows"][: len(raw["rows"])] == raw["rows"]
    assert now["runs"].items() >= raw["runs"].items()
    assert {"pgt/metrics.py", "lab/models.py"} <= now["code"]["files"].keys()
    after = pd.read_parquet(path.with_suffix(".ranks.parquet"))
    same = after[after.model != "most_frequent"].reset_index(drop=True)
    assert_frame_equal(same, ranks, check_categorical=False)
    assert again() == []
    # Of code that is another now, of other windows or of another machine nothing is taken.
    monkeypatch.setattr(executing, "unchanged", lambda files: False)
    assert len(again()) == 4
    monkeypatch.setattr(executing, "unchanged", provenance.unchanged)
    monkeypatch.setattr(executing, "environment", lambda: {"versions": {}, "device": "cuda"})
    assert len(again()) == 4
    assert again() == []
    monkeypatch.setitem(
        DATA, "tiny", replace(DATA["tiny"], load=lambda: random_visits(4, visits=400))
    )
    data_sets.dataset.cache_clear()
    data_sets.data_fingerprint.cache_clear()
    assert len(again()) == 4
