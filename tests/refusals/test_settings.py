"""Settings out of their range are refused in one sentence that names the field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import wherenext.city

import pgt
from pgt.config import PRESETS, ModelConfig, TrainConfig, WindowConfig
from pgt.contextual import ContextualConfig
from pgt.refusals.settings import MOST_SEED, require_whole
from pgt.train import fit

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("dropout", 2, "from 0 up to, but not including, 1"),
        ("dropout", 1, "from 0 up to"),
        ("dropout", -0.1, "from 0 up to"),
        ("dropout", NAN, "from 0 up to"),
        ("dropout", "0.1", "from 0 up to"),
        ("d_model", "64", "whole number"),
        ("d_model", 64.0, "whole number"),
        ("d_model", 0, "at least 1"),
        ("n_heads", 0, "at least 1"),
        ("n_heads", True, "whole number"),
        ("d_feedforward", 0, "at least 1"),
        ("max_len", None, "whole number"),
        ("n_locations", 9.5, "whole number"),
        ("n_locations", np.int64(9), "an int of Python"),
        ("n_locations", 10**30, "at most 2147483647"),
        ("max_len", 2**31, "at most 2147483647"),
        ("without", "gate", r"tuple of names, such as \('user',\)"),
        ("without", ["gate"], "tuple of names"),
        ("without", (1, "gate"), "tuple of names"),
    ],
)
def test_a_shape_out_of_range_is_refused(field: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=f"{field}=.*{says}"):
        ModelConfig(**{"n_locations": 9, "n_users": 2, field: value})


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("learning_rate", NAN, "a number"),
        ("learning_rate", "1e-3", "a number"),
        ("learning_rate", 0, "positive"),
        ("weight_decay", -1e-9, "at least 0"),
        ("weight_decay", INF, "a number"),
        ("label_smoothing", None, "a number"),
        ("label_smoothing", 1, r"\[0, 1\)"),
        ("clip", INF, "a number"),
        ("batch_size", 0.5, "whole number"),
        ("batch_size", 0, "positive"),
        ("max_epochs", 3.0, "whole number"),
        ("patience", True, "whole number"),
        ("warmup_epochs", -1, "at least 0"),
        ("seed", -1, "at least 0"),
        ("seed", "42", "whole number"),
        ("seed", 2**40 + 1, "at most 1099511627776"),
        ("batch_size", 2**31, "at most"),
        ("clip", 10**400, "a number"),
        ("learning_rate", np.float32(0.1), "a number"),
        ("betas", 0.9, "two numbers"),
        ("betas", (0.9,), "two numbers"),
        ("betas", (0.9, 1.0), "two numbers"),
        ("betas", (-0.1, 0.9), "two numbers"),
        ("betas", [0.9, 0.98], "two numbers"),
    ],
)
def test_a_training_out_of_range_is_refused(field: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=f"{field}=.*{says}"):
        TrainConfig(**{field: value})


def test_a_way_to_compute_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="amp is 'yes'; it must be one of auto, on, off"):
        TrainConfig(amp="yes")  # type: ignore[arg-type]


def test_the_features_of_the_contextual_pointer_are_a_tuple() -> None:
    with pytest.raises(ValueError, match="features='same_place' must be a tuple"):
        ContextualConfig(9, 2, features="same_place")  # type: ignore[arg-type]


def test_what_lies_at_the_edge_of_a_range_is_taken() -> None:
    assert ModelConfig(9, 2, dropout=0, d_feedforward=1, max_len=2**31 - 1).dropout == 0
    edge = TrainConfig(weight_decay=0, betas=(0, 0.5), warmup_epochs=0, seed=0, label_smoothing=0)
    assert edge.batch_size == TrainConfig(amp="off").batch_size
    for preset in PRESETS.values():
        ModelConfig(9, 2, **preset.model)
    assert WindowConfig(days=2**31 - 1).days == 2**31 - 1
    require_whole("n", 1, 1)


def test_windows_without_bounds_are_refused() -> None:
    for field in ("days", "min_visits"):
        with pytest.raises(ValueError, match=f"{field}={10**20} must be at most"):
            WindowConfig(**{field: 10**20})


@pytest.mark.parametrize("value", [0, -1, None, "3", 1.0, True])
def test_a_batch_has_a_whole_number_of_windows(value: Any) -> None:
    data = pgt.prepare(wherenext.city.load().visits)
    with pytest.raises(ValueError, match=r"batch_size=.* must be a whole number of at least 1"):
        pgt.evaluate(pgt.MostFrequent(), data.test, batch_size=value)


def test_the_largest_seed_can_be_trained_with() -> None:
    """An epoch's number is added to a multiple of it, and must still be one of 64 bits."""
    data = pgt.prepare(wherenext.city.load().visits)
    model = pgt.PointerGeneratorTransformer(
        ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, d_model=8, n_heads=1,
                    n_layers=1)
    )  # fmt: skip
    few = data.train.subset(np.arange(4))
    config = TrainConfig(seed=MOST_SEED, max_epochs=1, warmup_epochs=0)
    assert fit(model, few, few, config, progress=False).best_epoch == 1
