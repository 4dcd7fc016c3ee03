"""Results files: complete, consistent with their ranks, and reproducible."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from pgt import experiments, metrics
from pgt.experiments import EXPERIMENTS, SEEDS, Experiment, Run, read_results
from pgt.visits import DataError

from .helpers import random_visits

FILES = ["city", "geolife_published", "geolife_exact"]
COLUMNS = {
    "data", "protocol", "when", "model", "variant", "seed", "split", "group", "n", *metrics.METRICS,
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_results_file_is_complete(name: str) -> None:
    results = read_results(name)
    assert {"experiment", "command", "data", "protocol", "versions", "device", "seconds"} <= set(
        results.header
    )
    assert set(results.rows.columns) == COLUMNS
    assert set(results.rows.group) == set(metrics.GROUPS)
    expected = {(r.model, r.variant, r.when, r.seed) for r in EXPERIMENTS[name].runs}
    rows = results.rows.astype(object).where(results.rows.notna(), None)
    found = set(zip(rows.model, rows.variant, rows.when, rows.seed, strict=True))
    assert found == expected
    assert len(rows) == len(expected) * 2 * len(metrics.GROUPS)
    assert len(SEEDS) >= 5
    n = results.select(model="kernel").n.iloc[0]
    assert n == results.header["data"]["windows"]["test"]


@pytest.mark.parametrize("name", FILES)
def test_the_ranks_give_the_rows(name: str) -> None:
    results = read_results(name)
    for run in EXPERIMENTS[name].runs[:6]:
        where = {"model": run.model, "variant": run.variant, "when": run.when}
        if run.seed is not None:
            where["seed"] = run.seed
        (ranks,) = results.ranks(**where)
        for group in metrics.GROUPS:
            row = results.select(group, **where).iloc[0]
            mask = metrics.group_mask(ranks, group)
            assert row.n == mask.sum()
            gains = 100 * metrics.gains(ranks)[mask].mean()
            assert gains["acc@1"] == pytest.approx(row["acc@1"], abs=1e-3, nan_ok=True)
            assert gains["mrr"] == pytest.approx(row["mrr"], abs=1e-3, nan_ok=True)
        low, high = results.interval(**where)
        assert low < results.mean(**where) < high


@pytest.mark.parametrize("name", FILES)
def test_the_ranks_tell_neither_places_nor_times(name: str) -> None:
    table = pd.read_parquet(experiments.results_folder() / f"{name}.ranks.parquet")
    assert set(table.columns) == {*experiments.RANKS, "model", "variant", "when", "seed"}


@pytest.mark.parametrize(
    "run", [Run("last"), Run("most_frequent"), Run("markov")], ids=lambda run: run.model
)
@pytest.mark.parametrize("name", FILES)
def test_a_cheap_row_is_made_again(name: str, run: Run) -> None:
    needs = {
        "geolife_published": experiments.GEOLIFE_WINDOWS, "geolife_exact": experiments.GEOLIFE,
    }.get(name)  # fmt: skip
    if needs and not experiments.has_data(needs):
        pytest.skip(f"{needs} is not set")
    results = read_results(name)
    data = experiments.dataset(name)
    assert experiments.fingerprint(data) == results.header["data"]["fingerprint"]
    for row in experiments.one_run(name, run)["rows"]:
        kept = results.select(row["group"], row["split"], model=run.model).iloc[0]
        for metric in metrics.METRICS:
            assert kept[metric] == pytest.approx(row[metric], abs=1e-3, nan_ok=True)


def test_an_experiment_runs_resumes_and_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments.tempfile, "gettempdir", lambda: str(tmp_path / "work"))
    runs = (Run("last"), Run("kernel"), Run("pgt", "full", "unknown", 1))
    tiny = Experiment(
        "tiny",
        lambda: random_visits(3, visits=400),
        "exact",
        runs,
        experiments.TrainConfig(max_epochs=1),
    )
    monkeypatch.setitem(EXPERIMENTS, "tiny", tiny)
    monkeypatch.setattr(experiments, "results_folder", lambda: tmp_path)
    calls: list[Run] = []
    original = experiments.one_run

    def counted(name: str, run: Run) -> dict[str, object]:
        calls.append(run)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(name, run)

    monkeypatch.setattr(experiments, "one_run", counted)
    with pytest.raises(KeyboardInterrupt):
        experiments.execute("tiny", tmp_path, workers=0)
    path = experiments.execute("tiny", tmp_path, workers=0)
    assert [run.model for run in calls] == ["last", "kernel", "kernel", "pgt"]
    assert json.loads(path.read_text())["command"] == "python -m pgt.experiments tiny"
    results = read_results("tiny", tmp_path)
    assert 0 <= results.mean(model="pgt") <= 100
    assert results.spread(model="pgt") == 0
    with pytest.raises(KeyError, match="no row"):
        results.mean(model="lstm")
    assert not list((tmp_path / "work").glob("pgt-*"))


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"python -m pgt\.experiments city"):
        read_results("city", tmp_path)


def test_missing_data_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, experiments.GEOLIFE, "")
    with pytest.raises(DataError, match=f"Set {experiments.GEOLIFE}"):
        experiments.from_environment(experiments.GEOLIFE)
