"""Settings out of their range are refused in one sentence that names the field."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from pgt.config import (
    MOST_SEED,
    PRESETS,
    ModelConfig,
    TrainConfig,
    WindowConfig,
    ablate,
)
from pgt.errors import DataError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("kind", "field", "values"),
    [
        (ModelConfig, "dropout", [1, -0.1, NAN, "0.1", None]),
        (ModelConfig, "d_model", ["64", 64.0, 0, 10**10]),
        (ModelConfig, "n_heads", [0, True]),
        (ModelConfig, "n_layers", [0]),
        (ModelConfig, "d_feedforward", [0]),
        (ModelConfig, "max_len", [None, 0, 2**31]),
        (ModelConfig, "n_locations", [np.int64(9), 10**30]),  # NumPy's own are no JSON
        (ModelConfig, "n_users", [0]),
        (TrainConfig, "learning_rate", [NAN, "1e-3", 0, np.float32(0.1)]),
        (TrainConfig, "weight_decay", [-1e-9, INF]),
        (TrainConfig, "label_smoothing", [None, 1, -0.1]),
        (TrainConfig, "clip", [INF, 0, 10**400]),
        (TrainConfig, "eps", [0.0]),
        (TrainConfig, "batch_size", [0.5, 0, 2**31]),
        (TrainConfig, "max_epochs", [0]),
        (TrainConfig, "patience", [True, 0]),
        (TrainConfig, "warmup_epochs", [-1]),
        (TrainConfig, "seed", [-1, MOST_SEED + 1]),
        (WindowConfig, "days", [0, 7.5]),
        (WindowConfig, "min_visits", [True, 0]),
    ],
)
def test_what_is_out_of_range_is_refused(kind: Any, field: str, values: list[Any]) -> None:
    sizes = {"n_locations": 9, "n_users": 2} if kind is ModelConfig else {}
    for value in values:
        with pytest.raises(DataError, match=rf"^{field}=.* must be a (whole )?number .*from"):
            kind(**sizes | {field: value})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TrainConfig(monitor="f1"), "monitor is 'f1'; choose 'loss' or 'acc@1'"),
        (lambda: WindowConfig(protocol="both"), "protocol is 'both'; choose 'published' or"),
        (lambda: WindowConfig(anchor="now"), "anchor is 'now'; choose 'target_day' or 'last_vi"),
        (
            lambda: ModelConfig(9, 2, target_time="hour"),
            "target_time is 'hour'; choose 'unknown' or 'day'",
        ),
        (lambda: ModelConfig(9, 2, without=("encoder",)), "without names 'encoder'; it can name"),
        (lambda: ModelConfig(9, 2, without=("pointer", "generator")), "nothing is left to predict"),
        (lambda: ModelConfig(9, 2, d_model=66), "d_model=66 must be divisible by n_heads=4 and"),
        (lambda: ablate(ModelConfig(9, 2), "no_walls"), "There is no ablation 'no_walls'"),
    ],
)
def test_a_choice_that_is_none_is_refused(make: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        make()


def test_a_configuration_comes_back_from_json() -> None:
    model = ModelConfig(9, 2, without=("gate", "user"))
    assert ModelConfig.from_dict(json.loads(json.dumps(asdict(model)))) == model


def test_the_rate_rises_linearly_and_falls_along_a_cosine() -> None:
    config = TrainConfig(learning_rate=2.0, warmup_epochs=3, max_epochs=13)
    rates = [config.learning_rate_at(step, 10) for step in range(130)]
    assert rates[:30] == pytest.approx([2.0 * (step + 1) / 30 for step in range(30)])
    assert rates[30:] == pytest.approx([1 + math.cos(math.pi * k / 100) for k in range(100)])
    assert max(rates) == 2.0 and 0 < rates[-1] < 0.001


def test_presets_are_those_of_the_documents() -> None:
    names = ("learning_rate", "weight_decay", "batch_size", "label_smoothing", "warmup_epochs")
    shape = ("d_model", "n_heads", "n_layers", "d_feedforward", "dropout", "target_time")
    printed = {"diy": ([5e-4, 1e-5, 64, 0.05, 7], [64, 4, 2, 256, 0.2, "day"]),
               "geolife": ([1e-3, 1e-5, 64, 0.0, 5], [96, 2, 2, 192, 0.25, "day"])}  # fmt: skip
    for name, (training, model) in printed.items():
        config, made = PRESETS[name].training, ModelConfig(9, 2, **PRESETS[name].model)
        assert [getattr(config, n) for n in names] == training
        assert [getattr(made, n) for n in shape] == model
        assert (config.betas, config.eps, config.patience) == ((0.9, 0.98), 1e-9, 5)
        assert config.clip == 0.8
