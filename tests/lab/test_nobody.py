"""The reports on the predictor: parts add up, worlds that lack something are others."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from lab import data_sets, nobody, nobody_learning, pool
from wherenext.results import read_results

from pgt import NextLocation
from pgt.contextual import KERNELS, RIDGE
from pgt.metrics import evaluate
from pgt.predictor import nonconformity
from pgt.visits import check
from pgt.windows import prepare

from ..helpers import routine_visits

TINY = replace(
    nobody.FULL, worlds=4, held_out=3, windows=40, held_out_windows=40,
    training=replace(nobody.FULL.training, max_epochs=1),
)  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = prepare(check(routine_visits(users=3, days=60)), protocol="exact")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(data_sets, "dataset", lambda key: data)
    for module, name in ((nobody, "FULL"), (nobody_learning, "FULL"), (nobody_learning, "HALF")):
        monkeypatch.setattr(module, name, TINY)
    monkeypatch.setattr(nobody_learning, "KEYS", ("city",))
    monkeypatch.setattr(nobody_learning, "FEW_SEEDS", (42,))
    nobody.seen.cache_clear()


def test_parts_are_those_of_the_package() -> None:
    """The pool and each network rank as when they are asked alone."""
    experts, data = NextLocation.pretrained().experts["next_place"], nobody.seen("city")
    parts = nobody.parts_of(experts, data.train)
    one = experts.weighed(data.train)
    pd.testing.assert_frame_equal(evaluate(parts["predictor"], data.test), evaluate(one, data.test))
    for name, network in zip(nobody.NAMES, experts.experts, strict=True):
        alone = evaluate(network, data.test)
        assert (evaluate(parts[name], data.test).better == alone.better).mean() > 0.99


def test_what_sets_hold_is_what_the_package_says_they_hold() -> None:
    model, data = NextLocation.pretrained(), nobody.seen("city")
    part = nobody.parts_of(model.experts["next_place"], data.train)["predictor"]
    past, late = nobody.before_test(data)
    rows = pd.DataFrame(nobody.promised(model, part, past, late, data.test))
    experts = model.experts["next_place"].weighed(past)
    scores = nonconformity(experts, data.test, model.novelty)
    own = nonconformity(experts, past.subset(late), model.novelty)
    for row in rows[rows.table == "sets"].itertuples():
        calibration = own if row.calibration == "this table" else model.calibration
        limit = nobody.threshold(calibration, 1 - row.asked / 100)
        assert row.coverage == pytest.approx(100 * np.mean(scores <= limit), abs=0.01)
        assert row.size >= 1


def test_the_pool_is_the_one_that_was_chosen() -> None:
    rows = read_results("pool").rows
    rows = [{k: v for k, v in row.items() if v == v} for row in rows.to_dict("records")]
    kernels, ridge = pool.chosen(rows)
    assert [pool.TRIED[k] for k in kernels] == list(KERNELS) and ridge == RIDGE
    assert all(row["split"] == "valid" for row in rows)


@pytest.mark.slow
def test_worlds_that_lack_nothing_lose_nothing_and_others_are_other_worlds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = ("everything", "no gaps")
    worlds = {kind: nobody_learning.WORLDS[kind] for kind in kinds}
    monkeypatch.setattr(nobody_learning, "WORLDS", worlds)
    rows = pd.DataFrame(nobody_learning.ablated()).set_index("variant")
    assert (rows.loc["everything", ["acc@1", "low", "high"]] == 0).all()
    assert list(rows.index) == list(kinds)
    plans = [replace(TINY, config=nobody_learning.WorldConfig(**worlds[kind])) for kind in kinds]
    weights = [nobody.learned(plan, "all worlds", 42).state_dict() for plan in plans]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.slow
def test_a_curve_has_a_row_for_each_size_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nobody_learning, "SIZES", (20, 0))
    rows = pd.DataFrame(nobody_learning.curve("city"))
    everything = len(nobody.seen("city").train)
    assert sorted(rows.windows.unique()) == sorted({20, everything})
    for _, own in rows.groupby("windows"):
        by = own.set_index("model")["acc@1"]
        assert by["fine-tuned - trained"] == pytest.approx(by["fine-tuned"] - by["trained"])
