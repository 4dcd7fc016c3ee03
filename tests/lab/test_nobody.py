"""The zero-shot report: other worlds give other networks, and a curve has all its windows."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from lab import data_sets, nobody

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
    for name in ("FULL", "HALF"):
        monkeypatch.setattr(nobody, name, TINY)
    monkeypatch.setattr(nobody, "KEYS", ("city",))
    monkeypatch.setattr(nobody, "FEW_SEEDS", (42,))
    nobody.seen.cache_clear()


@pytest.mark.slow
def test_worlds_that_lack_nothing_lose_nothing_and_others_are_other_worlds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = ("everything", "no gaps")
    monkeypatch.setattr(nobody, "WORLDS", {kind: nobody.WORLDS[kind] for kind in kinds})
    rows = pd.DataFrame(nobody.ablated()).set_index("variant")
    assert (rows.loc["everything", ["acc@1", "low", "high"]] == 0).all()
    assert list(rows.index) == list(kinds)
    plans = [replace(TINY, config=nobody.WorldConfig(**nobody.WORLDS[kind])) for kind in kinds]
    weights = [nobody.learned(plan, "all worlds", 42).state_dict() for plan in plans]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.slow
def test_a_curve_has_a_row_for_each_size_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nobody, "SIZES", (20, 0))
    rows = pd.DataFrame(nobody.curve("city"))
    everything = len(nobody.seen("city").train)
    assert sorted(rows.windows.unique()) == sorted({20, everything})
    for _, own in rows.groupby("windows"):
        by = own.set_index("model")["acc@1"]
        assert by["fine-tuned - trained"] == pytest.approx(by["fine-tuned"] - by["trained"])
