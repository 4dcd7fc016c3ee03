"""The variants of the contextual pointer change what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from wherenext import pointer_variants
from wherenext.pointer_variants import STEPS, VARIANTS, Variant

from pgt.baselines import ContextKernel
from pgt.config import Protocol
from pgt.contextual import (
    HISTORY_FEATURES,
    ContextualConfig,
    ContextualPointer,
)
from pgt.history import HistoryWindows
from pgt.visits import check, split_by_days
from pgt.windows import Dataset, prepare

from ..helpers import random_visits, routine_visits

FULL = VARIANTS["full"]


def config(variant: Variant) -> ContextualConfig:
    """What the variant makes of a vocabulary."""
    return ContextualConfig(40, 5, **variant.change)


def test_steps_add_terms_one_after_the_other() -> None:
    before: set[str] = set()
    for name, features in STEPS.items():
        assert before < set(features) <= set(HISTORY_FEATURES), name
        assert VARIANTS[name].change["features"] == features
        before = set(features)


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


@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_where_nothing_is_merged_nothing_is_rehearsed(protocol: Protocol) -> None:
    """Nobody finds a new place, so both protocols say the same, and so do their models."""
    data = prepare(routine_visits(days=40), protocol=protocol)
    assert data.vocabulary.n_known + 2 == data.vocabulary.n_locations  # as if places were merged
    for name in ("full", "window"):
        seen, plain = (
            pointer_variants.windows(data, VARIANTS[v]) for v in (name, "no_pseudo_unknowns")
        )
        assert len(seen.train) == len(plain.train) == len(data.train)
    assert pointer_variants.build(FULL, data, 0)[0].config.n_trained_ids == 0


@pytest.mark.parametrize(("split", "pseudo_unknowns"), [("valid", True), ("test", False)])
def test_one_unknown_place_in_validation_is_enough(split: str, pseudo_unknowns: bool) -> None:
    visits = split_by_days(check(routine_visits(days=40)))
    row = visits.index[visits.split == split][-1]
    visits.loc[row, "location_id"] = 999
    assert (
        pointer_variants.has_unknown(prepare(visits)) is pseudo_unknowns
    )  # the test visits are not asked
    assert not pointer_variants.has_unknown(prepare(visits, protocol="exact"))
    more = len(pointer_variants.windows(prepare(visits), FULL).train) > len(prepare(visits).train)
    assert more is pseudo_unknowns


@pytest.mark.parametrize("places", [1183, 2050])
def test_it_is_small_enough(places: int) -> None:
    """GeoLife's vocabularies, closed and open."""
    for n_known in (0, 1183):
        for variant in VARIANTS.values():
            one = ContextualConfig(places, 46, n_trained_ids=n_known, **variant.change)
            assert ContextualPointer(one).n_parameters() <= 500_000
        whole = ContextualConfig(places, 46, n_trained_ids=n_known, **FULL.change)
        assert ContextualPointer(whole).n_parameters() < 10_000
