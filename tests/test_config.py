"""Settings out of their range are refused in one sentence that names the field."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from pgt.config import (
    ABLATIONS,
    MOST_SEED,
    PARTS,
    PRESETS,
    ModelConfig,
    TrainConfig,
    WindowConfig,
    ablate,
)
from pgt.errors import DataError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("dropout", [2, 1, -0.1, NAN, "0.1", None]),
        ("d_model", ["64", 64.0, 0, 10**10]),
        ("n_heads", [0, True, 4.0]),
        ("n_layers", [0]),
        ("d_feedforward", [0]),
        ("max_len", [None, 0, 2**31]),
        ("n_locations", [9.5, np.int64(9), 10**30]),  # NumPy's own are no JSON
        ("n_users", [0]),
    ],
)
def test_a_shape_out_of_range_is_refused(field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(DataError, match=rf"^{field}=.* must be a (whole )?number .*from"):
            ModelConfig(**{"n_locations": 9, "n_users": 2, field: value})


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("learning_rate", [NAN, "1e-3", 0, -1.0, np.float32(0.1)]),
        ("weight_decay", [-1e-9, INF]),
        ("label_smoothing", [None, 1, -0.1]),
        ("clip", [INF, 0, 10**400]),
        ("eps", [0.0]),
        ("batch_size", [0.5, 0, 2**31]),
        ("max_epochs", [3.0, 0]),
        ("patience", [True, 0]),
        ("warmup_epochs", [-1]),
        ("seed", [-1, "42", MOST_SEED + 1]),
    ],
)
def test_a_training_out_of_range_is_refused(field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(DataError, match=rf"^{field}=.* must be a (whole )?number .*from"):
            TrainConfig(**{field: value})


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
    assert ModelConfig.from_dict(asdict(model) | {"without": ["gate", "user"]}) == model
    windows = WindowConfig(days=3, protocol="exact", anchor="target_day")
    assert WindowConfig(**asdict(windows)) == windows


def test_the_rate_rises_linearly_and_falls_along_a_cosine() -> None:
    config = TrainConfig(learning_rate=2.0, warmup_epochs=3, max_epochs=13)
    rates = [config.learning_rate_at(step, 10) for step in range(130)]
    assert rates[:30] == pytest.approx([2.0 * (step + 1) / 30 for step in range(30)])
    assert rates[30:] == pytest.approx([1 + math.cos(math.pi * k / 100) for k in range(100)])
    assert max(rates) == 2.0 and 0 < rates[-1] < 0.001


def test_presets_are_those_of_the_documents() -> None:
    names = ("learning_rate", "weight_decay", "batch_size", "label_smoothing", "warmup_epochs")
    assert [getattr(PRESETS["diy"].training, n) for n in names] == [5e-4, 1e-5, 64, 0.05, 7]
    assert [getattr(PRESETS["geolife"].training, n) for n in names] == [1e-3, 1e-5, 64, 0.0, 5]
    for name, preset in PRESETS.items():
        assert ModelConfig(9, 2, **preset.model).has("pointer")
        if name in ("diy", "geolife"):
            config = preset.training
            assert (config.betas, config.eps, config.patience) == ((0.9, 0.98), 1e-9, 5)
            assert config.clip == 0.8


def test_an_ablation_changes_one_field_and_a_part_at_most() -> None:
    full = ModelConfig(9, 2)
    assert len(ABLATIONS) == 12 and ablate(full, "full") == full
    for name in ABLATIONS:
        without = ablate(full, name).without
        assert len(without) <= 1 and set(without) <= set(PARTS)
        assert name == "full" or ablate(full, name) != full
