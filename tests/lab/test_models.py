"""A run of the contextual pointer or of the kernel with a memory goes to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from lab import data_sets, models, runs, side_by_side
from wherenext.pointer_variants import VARIANTS

from pgt.baselines import ContextKernel
from pgt.config import ModelConfig, Protocol
from pgt.windows import prepare

from ..helpers import random_visits

FULL = VARIANTS["full"]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[[Protocol], str]:
    """Makes a small data set of a protocol an entry of `DATA`; training takes one epoch."""

    def entry(protocol: Protocol) -> str:
        data = data_sets.Data("tiny", lambda: random_visits(3, visits=120, places=60), protocol)
        monkeypatch.setitem(data_sets.DATA, "tiny", data)
        data_sets.dataset.cache_clear()
        return "tiny"

    short = replace(FULL, training=replace(FULL.training, max_epochs=1))
    monkeypatch.setitem(VARIANTS, "full", short)
    return entry


@pytest.mark.parametrize(
    ("protocol", "run"),
    [
        ("exact", models.Run("contextual", "full", "unknown", 1)),
        ("exact", models.Run("contextual", "full", "time", 1)),
        ("published", models.Run("contextual", "full", "hour", 1)),
        ("exact", models.Run("kernel_memory", "memory_30")),
    ],
    ids=lambda value: value.key if isinstance(value, models.Run) else value,
)
def test_a_run_goes_to_the_end(
    tiny: Callable[[Protocol], str], protocol: Protocol, run: models.Run
) -> None:
    key = tiny(protocol)
    result = runs.one_run(key, run)
    table: dict[str, Any] = {
        (row["group"], row["split"]): row for row in result["rows"]
    }  # fmt: skip
    data = data_sets.dataset(key)
    row = table["all", "test"]
    assert row["n"] == len(data.test) == len(result["ranks"])
    assert 0 < row["acc@10"] <= 100
    assert (row["model"], row["variant"], row["target_time"]) == (
        run.model,
        run.variant,
        run.target_time,
    )
    # The groups are those of the seven-day window, whatever the memory.
    assert table["in_window", "test"]["n"] == data.test.in_window.sum()
    assert table["unknown", "valid"]["n"] == (~data.vocabulary.is_known(data.valid.targets)).sum()
    if run.model == "contextual":
        assert 0 < result["notes"]["parameters"] < 10_000 and result["notes"]["epochs"] == 1
        again = runs.one_run(key, run)
        pd.testing.assert_frame_equal(again["ranks"], result["ranks"])
    else:
        assert set(result["notes"]) == set(ContextKernel.GRID)


def test_every_part_of_the_hybrids_is_in_use() -> None:
    data = prepare(random_visits(0, users=3, visits=60), protocol="exact")
    size = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, d_model=16)
    for make in side_by_side.MODELS.values():
        model = make(size)
        model.losses(data.train.batch([0, 1, 2])).sum().backward()
        trained = {name: one.grad for name, one in model.named_parameters() if one.requires_grad}
        assert trained and all(grad is not None for grad in trained.values()), make
