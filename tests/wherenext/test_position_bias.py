"""The position bias, set by hand: what is read, hurried, held and fitted is what is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from lab import recency_world
from wherenext.position_bias import by_position

from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset, prepare

UPTO = recency_world.MEMORY


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(
        recency_world.simulate_copying(recency_world.fading(), people=40), protocol="exact"
    )


def model_for(data: Dataset, **changes: Any) -> PointerGeneratorTransformer:
    """A small model for the copying world, untrained."""
    torch.manual_seed(0)
    vocabulary = data.vocabulary
    config = ModelConfig(
        vocabulary.n_locations, vocabulary.n_users, d_model=16, n_heads=1, n_layers=1,
        d_feedforward=32, dropout=0.0, max_len=30,
    )  # fmt: skip
    return PointerGeneratorTransformer(replace(config, **changes)).eval()


def silent(data: Dataset, curve: np.ndarray, **changes: Any) -> PointerGeneratorTransformer:
    """A pointer whose content says nothing, with a bias set by hand."""
    model = model_for(data, **changes)
    assert model.pointer is not None and model.pointer.position_bias is not None
    with torch.no_grad():
        model.pointer.query.weight.zero_()
        model.pointer.query.bias.zero_()
        model.pointer.position_bias[1 : len(curve) + 1] = torch.as_tensor(curve).float()
    return model


def test_a_bias_set_by_hand_is_read_back(data: Dataset) -> None:
    curve = np.sin(np.arange(UPTO))
    bias, content = by_position(silent(data, curve), data.test, UPTO)
    np.testing.assert_allclose(bias, curve - curve.mean(), atol=1e-6)
    np.testing.assert_allclose(content, 0, atol=1e-5)
