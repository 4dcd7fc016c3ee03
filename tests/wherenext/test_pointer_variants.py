"""The variants of the contextual pointer change what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from wherenext import pointer_variants
from wherenext.pointer_variants import VARIANTS

from pgt.baselines import ContextKernel
from pgt.config import Protocol
from pgt.history import HistoryWindows
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


def test_from_the_kernel_it_starts_as_the_kernel() -> None:
    """As far as its other terms, which are still faint, let it."""
    data = tables("exact")
    variant = replace(VARIANTS["and_clock"], memory=0)
    seen = pointer_variants.windows(data, variant)
    batch = seen.test.batch(np.arange(len(seen.test)))
    votes = ContextKernel().fit(data.train).scores(data.test.batch(np.arange(len(data.test))))
    shares = votes.clamp(min=0) / votes.clamp(min=0).sum(1, keepdim=True)
    found = {
        start: pointer_variants.build(replace(variant, from_kernel=start), data, 0)[0]
        .scores(batch).exp()  # type: ignore[arg-type]
        for start in (True, False)
    }  # fmt: skip
    assert torch.allclose(found[True], shares, atol=1e-5)
    assert not torch.allclose(found[False], shares, atol=1e-2)


def test_unknown_places_are_rehearsed_where_there_are_any() -> None:
    for protocol, more in (("published", True), ("exact", False)):
        data = tables(protocol)  # type: ignore[arg-type]
        for name in ("full", "window"):
            seen = pointer_variants.windows(data, VARIANTS[name])
            assert (len(seen.train) > len(data.train)) == more
            assert (seen.train.targets == 1).any() == more
            for split in ("valid", "test"):  # questions to answer are never made so
                assert (getattr(seen, split).targets == getattr(data, split).targets).all()
        assert len(pointer_variants.windows(data, VARIANTS["no_pseudo_unknowns"]).train) == len(
            data.train
        )
