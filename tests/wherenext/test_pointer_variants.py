"""The variants of the contextual pointer change what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from wherenext import pointer_variants
from wherenext.pointer_variants import VARIANTS

from pgt.config import Protocol
from pgt.predictor.memory import HistoryWindows
from pgt.windows import Dataset, prepare

from ..helpers import random_visits


def tables(protocol: Protocol) -> Dataset:
    """Windows of people who often find new places."""
    return prepare(random_visits(3, visits=120, places=60), protocol=protocol)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_built_and_answers(name: str) -> None:
    for protocol in ("published", "exact"):
        data = tables(protocol)  # type: ignore[arg-type]
        variant = VARIANTS[name]
        model, training = pointer_variants.build(variant, data, seed=3)
        assert training == replace(variant.training, seed=3)
        seen = pointer_variants.windows(data, variant)
        assert isinstance(seen.test, HistoryWindows)
        size = variant.memory + variant.older
        assert seen.test.lengths.max() <= (size or data.test.lengths.max()) <= model.config.max_len
        batch = seen.test.batch(np.arange(3))
        total = model.scores(batch).exp().sum(1)  # type: ignore[arg-type]
        assert torch.allclose(total, torch.ones(3), atol=1e-5)
        opened = data.vocabulary.n_known + 2 if protocol == "exact" else 0
        assert model.config.n_trained_ids == opened
