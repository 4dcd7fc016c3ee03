"""The reports on the predictor: parts add up, worlds that lack something are others."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from lab import data_sets, nobody, nobody_learning, pool
from wherenext.results import read_results

from pgt import NextLocation
from pgt.metrics import evaluate
from pgt.predictor.contextual import new_network
from pgt.predictor.pool import KERNELS, RIDGE, Experts
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
    monkeypatch.setattr(nobody_learning, "SEEDS", (42,))
    nobody.seen.cache_clear()


def test_a_pool_without_networks_is_deaf_to_them() -> None:
    experts, data = NextLocation.pretrained().experts["next_place"], nobody.seen("city")
    others = Experts([new_network(seed, "unknown") for seed in (1, 2)]).eval()
    one, other = (nobody.without_networks(pool, data.train) for pool in (experts, others))
    assert (one.weights[:2] == 0).all() and (one.weights[2:] != 0).any()
    pd.testing.assert_frame_equal(evaluate(one, data.test), evaluate(other, data.test))


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
    assert (rows.groupby("windows").model.nunique() == 2).all()
