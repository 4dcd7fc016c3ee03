"""The variants of the contextual pointer change what they say, and a run of one goes to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from lab import data_sets, models, runs

from pgt import contextual
from pgt.baselines import ContextKernel
from pgt.config import Protocol, TargetTime
from pgt.contextual import (
    HISTORY_FEATURES,
    MEMORY,
    STEPS,
    VARIANTS,
    ContextualConfig,
    ContextualPointer,
    Variant,
)
from pgt.history import HistoryWindows
from pgt.visits import check, split_by_days
from pgt.windows import Dataset, prepare

from ..helpers import random_visits, routine_visits

FULL = VARIANTS["full"]


def config(variant: Variant) -> ContextualConfig:
    """What the variant makes of a vocabulary."""
    return ContextualConfig(40, 5, **variant.change)


def differences(variant: Variant) -> set[str]:
    """Names of settings in which a variant is not the full one: its own, and its model's."""
    one, other = config(variant), config(FULL)
    own = {f.name for f in fields(Variant)} - {"change"}
    found = {name for name in own if getattr(variant, name) != getattr(FULL, name)}
    return found | {f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)}


AROUND = {"encoder", "content", "without", "dropout", "training"}
CHANGES: dict[str, set[str]] = {
    "full": set(),
    "window": {"memory", "older"},
    "around": AROUND,
    "around_window": AROUND | {"memory", "older"},
    "no_scale": {"scaled"},
    "interaction": {"interaction"},
    "one_component": {"n_components", "from_kernel"},  # the kernel has three
    "random_start": {"from_kernel"},
    "no_pseudo_unknowns": {"pseudo_unknowns"},
    f"memory_{MEMORY}": {"older"},
} | {
    name: {"memory", "older"} for name in VARIANTS
    if name.startswith("memory_") and name != f"memory_{MEMORY}"
} | {f"no_{name}": {"features"} for name in HISTORY_FEATURES} | {
    name: {"features", "scaled", "older"} for name in STEPS
}  # fmt: skip


def test_a_variant_changes_what_its_name_says() -> None:
    assert {name: differences(variant) for name, variant in VARIANTS.items()} == CHANGES
    assert config(FULL).features == tuple(
        HISTORY_FEATURES
    )  # so that there is something to leave out


def test_every_term_is_left_out_once_and_nothing_else() -> None:
    for name in HISTORY_FEATURES:
        left = config(VARIANTS[f"no_{name}"]).features
        assert left == tuple(term for term in HISTORY_FEATURES if term != name)
    for name, variant in VARIANTS.items():
        if name.startswith("memory_"):
            assert variant.memory == int(name.removeprefix("memory_"))


def test_steps_add_terms_one_after_the_other() -> None:
    before: set[str] = set()
    for name, features in STEPS.items():
        assert before < set(features) <= set(HISTORY_FEATURES), name
        assert VARIANTS[name].change["features"] == features
        before = set(features)


def test_experiments_ask_for_variants_that_exist() -> None:
    for names in (contextual.VARIANTS_WHERE_NOTHING_IS_MERGED, contextual.VARIANTS_WITH_UNKNOWN):
        assert set(names) <= set(VARIANTS) and len(names) == len(set(names))


def tables(protocol: Protocol) -> Dataset:
    """Windows of people who often find new places."""
    return prepare(random_visits(3, visits=120, places=60), protocol=protocol)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_built_and_answers(name: str) -> None:
    for protocol in ("published", "exact"):
        data = tables(protocol)  # type: ignore[arg-type]
        variant = VARIANTS[name]
        model, training = contextual.build(variant, data, seed=3)
        assert training == replace(variant.training, seed=3)
        seen = contextual.windows(data, variant)
        assert isinstance(seen.test, HistoryWindows)
        size = variant.memory + variant.older
        assert seen.test.lengths.max() <= (size or data.test.lengths.max()) <= model.config.max_len
        batch = seen.test.batch(np.arange(3))
        total = model.scores(batch).exp().sum(1)  # type: ignore[arg-type]
        assert torch.allclose(total, torch.ones(3), atol=1e-5)
        opened = data.vocabulary.n_known + 2 if protocol == "exact" else 0
        assert model.config.n_trained_ids == opened


def test_a_seed_gives_the_same_weights_and_another_one_others() -> None:
    data = tables("exact")
    one, same, other = (
        contextual.build(VARIANTS["around"], data, seed)[0].state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_from_the_kernel_it_starts_as_the_kernel() -> None:
    """As far as its other terms, which are still faint, let it."""
    data = tables("exact")
    variant = replace(VARIANTS["and_clock"], memory=0)
    seen = contextual.windows(data, variant)
    batch = seen.test.batch(np.arange(len(seen.test)))
    votes = ContextKernel().fit(data.train).scores(data.test.batch(np.arange(len(data.test))))
    shares = votes.clamp(min=0) / votes.clamp(min=0).sum(1, keepdim=True)
    found = {
        start: contextual.build(replace(variant, from_kernel=start), data, 0)[0]
        .scores(batch).exp()  # type: ignore[arg-type]
        for start in (True, False)
    }  # fmt: skip
    assert torch.allclose(found[True], shares, atol=1e-5)
    assert not torch.allclose(found[False], shares, atol=1e-2)


def test_a_model_that_knows_the_time_has_features_that_look_at_it() -> None:
    data = tables("exact")
    times: dict[TargetTime, bool] = {"unknown": False, "day": False, "hour": True, "time": True}
    for target_time, knows in times.items():
        model, _ = contextual.build(FULL, data, 0, target_time)
        assert model.config.knows_time == knows
        assert ("then_clock" in model.config.used_features) == knows
        # PGT's parts know no hour: their recency counts back from the last visit.
        assert model.config.inner.target_time == ("day" if target_time == "day" else "unknown")


def test_unknown_places_are_rehearsed_where_there_are_any() -> None:
    for protocol, more in (("published", True), ("exact", False)):
        data = tables(protocol)  # type: ignore[arg-type]
        for name in ("full", "window"):
            seen = contextual.windows(data, VARIANTS[name])
            assert (len(seen.train) > len(data.train)) == more
            assert (seen.train.targets == 1).any() == more
            for split in ("valid", "test"):  # questions to answer are never made so
                assert (getattr(seen, split).targets == getattr(data, split).targets).all()
        assert len(contextual.windows(data, VARIANTS["no_pseudo_unknowns"]).train) == len(
            data.train
        )


@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_where_nothing_is_merged_nothing_is_rehearsed(protocol: Protocol) -> None:
    """Nobody finds a new place, so both protocols say the same, and so do their models."""
    data = prepare(routine_visits(days=40), protocol=protocol)
    assert data.vocabulary.n_known + 2 == data.vocabulary.n_locations  # as if places were merged
    for name in ("full", "window"):
        seen, plain = (contextual.windows(data, VARIANTS[v]) for v in (name, "no_pseudo_unknowns"))
        assert len(seen.train) == len(plain.train) == len(data.train)
    assert contextual.build(FULL, data, 0)[0].config.n_trained_ids == 0


@pytest.mark.parametrize(("split", "pseudo_unknowns"), [("valid", True), ("test", False)])
def test_one_unknown_place_in_validation_is_enough(split: str, pseudo_unknowns: bool) -> None:
    visits = split_by_days(check(routine_visits(days=40)))
    row = visits.index[visits.split == split][-1]
    visits.loc[row, "location_id"] = 999
    assert (
        contextual.has_unknown(prepare(visits)) is pseudo_unknowns
    )  # the test visits are not asked
    assert not contextual.has_unknown(prepare(visits, protocol="exact"))
    more = len(contextual.windows(prepare(visits), FULL).train) > len(prepare(visits).train)
    assert more is pseudo_unknowns


def test_an_open_vocabulary_has_nothing_to_rehearse() -> None:
    """Even where places are strange to it, as those of later visits are to a trained model's."""
    opened = tables("exact").vocabulary
    visits = random_visits(3, visits=120, places=60)
    strange = visits.location_id.where(visits.groupby("user_id").cumcount() < 100, 999)
    data = prepare(visits.assign(location_id=strange), vocabulary=opened)
    assert (data.test.targets == 1).any()
    assert len(contextual.windows(data, FULL).train) == len(data.train)


def test_older_places_are_summarized_in_every_split() -> None:
    for protocol in ("published", "exact"):
        seen = contextual.windows(tables(protocol), replace(FULL, memory=10))  # type: ignore[arg-type]
        for split in ("train", "valid", "test"):
            assert getattr(seen, split).lengths.max() > 10


@pytest.mark.parametrize("places", [1183, 2050])
def test_it_is_small_enough(places: int) -> None:
    """GeoLife's vocabularies, closed and open."""
    for n_known in (0, 1183):
        for variant in VARIANTS.values():
            one = ContextualConfig(places, 46, n_trained_ids=n_known, **variant.change)
            assert ContextualPointer(one).n_parameters() <= 500_000
        whole = ContextualConfig(places, 46, n_trained_ids=n_known, **FULL.change)
        assert ContextualPointer(whole).n_parameters() < 10_000


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[[Protocol], str]:
    """Makes a small data set of a protocol an entry of `DATA`; training takes one epoch."""

    def entry(protocol: Protocol) -> str:
        data = data_sets.Data("tiny", lambda: random_visits(3, visits=120, places=60), protocol)
        monkeypatch.setitem(data_sets.DATA, "tiny", data)
        data_sets.dataset.cache_clear()
        return "tiny"

    short = replace(FULL, training=replace(FULL.training, max_epochs=1))
    monkeypatch.setitem(contextual.VARIANTS, "full", short)
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


def test_a_run_sees_the_windows_of_its_variant(tiny: Callable[[Protocol], str]) -> None:
    key = tiny("exact")
    longest = {
        variant: models.windows_of(
            key, models.Run("contextual", variant, seed=1)
        ).test.lengths.max()
        for variant in ("memory_10", "memory_20", "window")
    }
    assert longest["memory_10"] == 10 and longest["memory_20"] == 20
    assert longest["window"] == data_sets.dataset(key).test.lengths.max()
    kernel = models.windows_of(key, models.Run("kernel_memory", "memory_20")).test
    assert kernel.lengths.max() == 20
    times: tuple[TargetTime, ...] = ("unknown", "hour", "time")
    for target_time in times:
        model, training = models.untrained(key, models.Run("contextual", "full", target_time, 7))
        assert asdict(model.config)["target_time"] == target_time and training.seed == 7
