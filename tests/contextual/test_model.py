"""The contextual pointer: PGT and the kernel are special cases, and it reads only what it may."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from wherenext import city

from pgt import contextual, metrics
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, save_model
from pgt.config import TrainConfig
from pgt.contextual import (
    HISTORY_FEATURES,
    NOW,
    ContextualConfig,
    ContextualPointer,
    kernel_config,
    like_kernel,
    load_contextual,
)
from pgt.errors import DataError
from pgt.history import HistoryBatch, HistoryWindows, with_history
from pgt.model import PointerGeneratorTransformer
from pgt.sparse import cross_entropy
from pgt.train import fit
from pgt.windows import Dataset, prepare

from ..helpers import random_visits, tiny_config

ABOUT_TARGET = ("target", "target_time", "target_weekday", "gap_days", "target_minute", "wait")


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Windows with a memory of twenty visits, open vocabulary."""
    return with_history(prepare(random_visits(4, visits=90, places=25), protocol="exact"), 20, 10)


def config(data: Dataset, **changes: Any) -> ContextualConfig:
    """A small configuration."""
    known = data.vocabulary.n_known + 2
    base = {name: getattr(tiny_config(data), name) for name in asdict(tiny_config(data))}
    return ContextualConfig(
        **{**base, "n_trained_ids": known, "recent": 12, "interaction": 8, **changes}
    )


def scrambled(model: ContextualPointer, seed: int = 0) -> ContextualPointer:
    """The model with random weights everywhere, as if it had learned something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for values in model.parameters():
            values.copy_(0.5 * torch.randn(values.shape, generator=generator))
        if model.gate is not None:  # else it would be shut, and one half of the model unseen
            for values in list(model.gate.parameters())[-2:]:
                values.mul_(0.1)
    return model.eval()


def some(data: Dataset, n: int = 40) -> HistoryBatch:
    """A batch of windows of different lengths."""
    test = cast(HistoryWindows, data.test)
    return test.batch(np.arange(min(n, len(test))))


@pytest.fixture(scope="module")
def of_the_city() -> Dataset:
    """The simulated city's windows."""
    return prepare(city.load().visits, protocol="exact")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("where", ["random", "city"])
def test_without_terms_it_is_pgt(where: str, dtype: torch.dtype, of_the_city: Dataset) -> None:
    plain = of_the_city
    if where == "random":
        plain = prepare(random_visits(4, visits=90), protocol="exact")
    torch.manual_seed(0)
    pgt = PointerGeneratorTransformer(tiny_config(plain, max_len=150)).to(dtype).eval()
    with torch.no_grad():
        for values in pgt.parameters():
            values.add_(0.3 * torch.randn_like(values))
    same = config(plain, features=(), interaction=0, scaled=False, n_trained_ids=0, recent=150)
    model = ContextualPointer(same).to(dtype).eval()
    model.load_state_dict(pgt.state_dict())
    index = np.arange(len(plain.test))[:: 1 if where == "random" else 9]
    batch = plain.test.batch(index)
    assert batch.padding.any() and batch.location.shape[1] <= 150
    one = pgt(batch, attention=True)
    two = model(with_history(plain).test.batch(index), attention=True)  # type: ignore[arg-type]
    tight = 1e-5 if dtype == torch.float32 else 1e-12
    for name in ("log_probs", "gate", "pointer_attention", "generator_log_probs"):
        assert getattr(two, name).dtype == dtype
        assert torch.allclose(getattr(one, name), getattr(two, name), atol=tight), name
    for first, second in zip(one.self_attention, two.self_attention, strict=True):
        assert torch.allclose(first, second, atol=tight)


@pytest.mark.parametrize(
    "kernel", [ContextKernel(), ContextKernel(0.9, 0.3, 1.0, 0.5, 60.0), ContextKernel(clock=0.0)]
)
@pytest.mark.parametrize("where", ["random", "city"])
def test_with_the_kernels_terms_it_is_the_kernel(
    where: str, kernel: ContextKernel, of_the_city: Dataset
) -> None:
    plain = of_the_city
    if where == "random":
        plain = prepare(random_visits(5, visits=90), protocol="exact")
    seen = with_history(plain)
    model = ContextualPointer(kernel_config(config(seen, n_trained_ids=0))).eval()
    assert model.scorer is not None
    like_kernel(model.scorer, kernel)
    index = np.arange(len(plain.test))[:: 1 if where == "random" else 9]
    votes = kernel.fit(plain.train).scores(plain.test.batch(index))
    shares = votes.clamp(min=0) / votes.clamp(min=0).sum(1, keepdim=True)
    found = model(cast(HistoryWindows, seen.test).batch(index)).log_probs.exp()
    assert torch.allclose(found, shares, atol=1e-5)
    ranks = [
        metrics.evaluate(m, d.test) for m, d in ((model, seen), (kernel.fit(plain.train), plain))
    ]
    assert metrics.gains(ranks[0]).mean().to_list() == pytest.approx(
        metrics.gains(ranks[1]).mean().to_list(), abs=0.02 if where == "random" else 0.003
    )


def test_a_weight_is_what_the_equation_says(data: Dataset) -> None:
    """The sum over reasons of the products of scaled terms, by a plain loop."""
    model = scrambled(ContextualPointer(config(data, **contextual.ALONE | {"dropout": 0.0})))
    n_components, batch = model.scorer, some(data)
    assert n_components is not None and n_components.scale is not None
    now = torch.cat(
        [table(NOW[name].of(batch)) for name, table in n_components.now.items()], dim=-1
    )
    scales = (
        (1 + n_components.scale(now)).reshape(len(batch), len(HISTORY_FEATURES), 3).detach().numpy()
    )
    found = model(batch).pointer_attention.detach().numpy()
    facts = {name: term.of(batch).numpy() for name, term in HISTORY_FEATURES.items()}
    for i in range(0, len(batch), 8):
        weights = np.zeros(int(batch.length[i]))
        for k in range(len(weights)):
            for r in range(3):
                total = 0.0
                for t, (name, term) in enumerate(HISTORY_FEATURES.items()):
                    curve = n_components.tables[name][:, r].detach().numpy()
                    total += scales[i, t, r] * np.interp(facts[name][i, k], term.knots, curve)
                weights[k] += np.exp(total)
        assert found[i, : len(weights)] == pytest.approx(weights / weights.sum(), abs=1e-4)
        assert (found[i, len(weights) :] == 0).all()


def test_where_terms_meet_the_order_of_adding_does_not_matter(data: Dataset) -> None:
    """Interplay adds the same to every reason of a visit, and can tell what no sum can."""
    model = scrambled(ContextualPointer(config(data, dropout=0.0)))
    assert model.scorer is not None
    batch = some(data)
    each, together = model.scorer.parts(batch)
    assert each.shape == (*batch.location.shape, 3) and together.shape == batch.location.shape
    assert together.std() > 0
    weights = each.exp().sum(-1).log() + together
    assert torch.allclose(model.scorer(batch), weights, atol=1e-4)
    fresh = ContextualPointer(config(data)).scorer
    assert fresh is not None
    assert (fresh.parts(batch)[1] == 0).all()  # at first it says nothing


def test_beyond_the_recent_visits_only_terms_speak(data: Dataset) -> None:
    model = scrambled(ContextualPointer(config(data, features=(), recent=6)))
    batch = some(data)
    out = model(batch)
    far = (batch.position_from_end > 6) & ~batch.padding
    assert far.any() and (~far & ~batch.padding).any()
    for i in range(len(batch)):
        weights = out.pointer_attention[i][far[i]]
        assert torch.allclose(weights, weights[:1].expand_as(weights))
    # What they are like changes nothing, not even the gate; where they lead to is still copied.
    other = replace(batch, time=batch.time.masked_fill(far, 5),
                    duration=batch.duration.masked_fill(far, 7))  # fmt: skip
    assert torch.equal(model(other).log_probs, out.log_probs)
    near = replace(batch, time=batch.time.masked_fill(~far & ~batch.padding, 5))
    assert not torch.equal(model(near).gate, out.gate)
    # A pointer that finds all recent visits alike finds the others no better and no worse.
    assert model.pointer is not None and model.pointer.position_bias is not None
    with torch.no_grad():
        model.pointer.query.weight.zero_()
        model.pointer.query.bias.zero_()
        model.pointer.position_bias.zero_()
    alike = model(batch).pointer_attention
    assert torch.allclose(alike, ~batch.padding / batch.length[:, None], atol=1e-5)


@pytest.mark.parametrize("without", [(), ("generator", "gate"), ("gate",)])
def test_a_saved_model_is_the_same_again(
    data: Dataset, tmp_path: Path, without: tuple[str, ...]
) -> None:
    path = tmp_path / "m.safetensors"
    model = scrambled(ContextualPointer(config(data, target_time="hour", without=without)))
    save_model(path, model, data.vocabulary, {"days": 7})
    loaded, vocabulary = load_contextual(path)
    assert loaded.config == model.config and vocabulary == data.vocabulary and not loaded.training
    assert torch.equal(loaded(some(data)).log_probs, model(some(data)).log_probs)
    with pytest.raises(DataError, match=r"m\.safetensors .* open it with load_contextual"):
        load_model(path)


def test_an_interrupted_training_can_be_loaded(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    model = ContextualPointer(config(data))
    once = TrainConfig(max_epochs=1)
    fit(model, data.train, data.valid, once, checkpoint=path, progress=False)  # type: ignore[arg-type]
    loaded, _ = load_contextual(path)
    model.eval()
    assert torch.equal(loaded(some(data)).log_probs, model(some(data)).log_probs)


def test_a_pgt_is_no_contextual_pointer(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save_model(path, PointerGeneratorTransformer(tiny_config(data)), data.vocabulary)
    with pytest.raises(DataError, match="open it with load_model"):
        load_contextual(path)


@pytest.mark.parametrize("target_time", ["unknown", "day", "hour", "time"])
def test_it_reads_of_the_target_only_what_it_may_know(data: Dataset, target_time: Any) -> None:
    reads = {"unknown": (), "day": ("gap_days",)}
    model = scrambled(ContextualPointer(config(data, target_time=target_time)))
    batch = some(data)
    before = model(batch).log_probs
    for name in ABOUT_TARGET:
        values = getattr(batch, name)
        other = replace(batch, **{name: (values + 1).clamp(max=values.max().clamp(min=2))})
        if name == "target_minute":
            other = replace(batch, target_minute=(values + 240) % 1440)
        if name == "wait":
            other = replace(batch, wait=(values + 600) % (7 * 1440))
        may = name in reads.get(target_time, ("target_minute", "target_weekday", "wait"))
        assert torch.equal(model(other).log_probs, before) != may, name


def test_knowing_the_hour_it_does_not_see_the_minute(data: Dataset) -> None:
    batch = some(data)
    early = batch.target_minute // 60 * 60 + 1
    moved = replace(batch, target_minute=early, wait=batch.wait + early - batch.target_minute)
    keep = (batch.wait > 60) & (batch.wait < 6 * 1440)
    for target_time, same in (("hour", True), ("time", False)):
        model = scrambled(ContextualPointer(config(data, target_time=target_time)))
        one, two = model(batch).log_probs[keep], model(moved).log_probs[keep]
        assert torch.allclose(one, two) == same


def test_padding_and_batch_mates_change_nothing(data: Dataset) -> None:
    model, test = scrambled(ContextualPointer(config(data))), cast(HistoryWindows, data.test)
    together = model(some(data)).log_probs
    for i in range(0, len(together), 5):
        alone = model(test.batch([i])).log_probs
        assert torch.allclose(alone[0], together[i], atol=1e-4)
    batch = some(data)
    hidden = {
        f.name: getattr(batch, f.name).masked_fill(batch.padding, 3)
        for f in fields(batch)
        if getattr(batch, f.name).ndim == 2 and f.name != "location"
    }
    assert torch.allclose(model(replace(batch, **hidden)).log_probs, together, atol=1e-5)


def test_the_person_is_read_by_nothing_but_their_embedding(data: Dataset) -> None:
    alone = ContextualPointer(config(data, **contextual.ALONE | {"dropout": 0.0}))
    batch = some(data)
    other = replace(batch, user=batch.user.flip(0))
    assert torch.equal(scrambled(alone)(batch).log_probs, alone(other).log_probs)


def test_probabilities_sum_to_one_and_open_places_can_be_named(data: Dataset) -> None:
    known = data.vocabulary.n_known + 2
    batch = some(data, 1000)
    out = scrambled(ContextualPointer(config(data)))(batch)
    assert ((out.gate > 0.02) & (out.gate < 0.98)).all()
    probs = out.log_probs.exp()
    assert torch.allclose(probs.sum(1), torch.ones(len(batch)), atol=1e-5)
    assert (probs[:, :2] == 0).all()  # padding and "unknown" are no answers
    new = (batch.location >= known).any(1)
    assert new.any() and (probs[new][:, known:].sum(1) > 0).all()
    assert (probs[~new][:, known:] == 0).all()


def test_new_places_are_alike_but_for_their_name(data: Dataset) -> None:
    known, size = data.vocabulary.n_known + 2, data.vocabulary.n_locations
    model, batch = scrambled(ContextualPointer(config(data))), some(data)
    order = torch.cat([torch.arange(known), known + torch.randperm(size - known)])
    renamed = {name: getattr(batch, name).clone() for name in ("location", "before", "two_before")}
    for values in renamed.values():
        values[values >= known] = order[values[values >= known]]
    before, after = model(batch).log_probs, model(replace(batch, **renamed)).log_probs
    assert torch.allclose(after[:, order], before, atol=1e-5)
    larger = ContextualPointer(config(data, n_locations=size + 7)).eval()
    larger.load_state_dict(model.state_dict())
    assert larger.n_parameters() == model.n_parameters()
    assert torch.equal(larger(batch).log_probs[:, :size], before)
    assert (larger(batch).log_probs[:, size:] == -torch.inf).all()


@pytest.mark.parametrize("without", [(), ("generator", "gate"), ("gate",)])
def test_gradients_are_finite_where_nobody_can_name_a_place(
    data: Dataset, without: tuple[str, ...]
) -> None:
    model = ContextualPointer(config(data, without=without))
    batch = some(data)
    log_probs = model(batch).log_probs
    unnamed = log_probs == -torch.inf
    assert unnamed.any()
    for loss in (log_probs[~unnamed].mean(), log_probs.clamp(min=-20).mean(),
                 cross_entropy(log_probs, unnamed.int().argmax(1), 0.03).mean()):  # fmt: skip
        model.zero_grad()
        loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
        found = [p.grad for p in model.parameters() if p.grad is not None]
        assert found and all(torch.isfinite(gradient).all() for gradient in found)


def test_a_plain_batch_is_refused(data: Dataset) -> None:
    plain = prepare(random_visits(4, visits=90, places=25), protocol="exact")
    with pytest.raises(DataError, match=r"pgt\.contextual\.history\.with_history"):
        ContextualPointer(config(data))(plain.test.batch([0]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": ("hour",)}, "names 'hour'"),
        ({"target_time": "when"}, "must be one of unknown, day, hour, time"),
        ({"features": (), "content": False}, "needs features or content"),
        ({"without": ("pointer",)}, "cannot do without"),
        ({"n_components": 0}, "must be at least"),
        ({"interaction": -1}, "must be at least"),
        ({"recent": 0}, "must be at least"),
        ({"n_trained_ids": 10_000}, "must lie between"),
        ({"n_trained_ids": -1}, "must lie between"),
        ({"n_trained_ids": 1}, "it at least 3"),
        ({"n_trained_ids": 2}, "it at least 3"),
        ({"n_trained_ids": 2, "without": ("gate",)}, "it at least 3"),
        ({"n_trained_ids": 1, "without": ("generator", "gate")}, "it at least 2"),
        ({"features": (), "target_time": "hour"}, "target_time='hour' needs features"),
        ({"features": (), "target_time": "time"}, "target_time='time' needs features"),
        ({"without": ("hands",)}, "names 'hands'"),
    ],
)
def test_a_wrong_configuration_is_named(data: Dataset, changes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as found:
        config(data, **changes)
    assert str(found.value).endswith(".") and str(found.value).count(". ") == 0  # one sentence


@pytest.mark.parametrize("without", [(), ("gate",), ("generator", "gate")])
def test_the_smallest_open_vocabulary_answers(data: Dataset, without: tuple[str, ...]) -> None:
    """One known place if there is a generator to name it, and none without."""
    n_known = 2 if "generator" in without else 3
    model = scrambled(ContextualPointer(config(data, n_trained_ids=n_known, without=without)))
    probs = model(some(data)).log_probs.exp()
    assert torch.allclose(probs.sum(1), torch.ones(len(probs)), atol=1e-5)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("interaction", [0, 8])
def test_too_few_reasons_cannot_hold_the_kernels(
    data: Dataset, n_components: int, interaction: int
) -> None:
    """Nothing is written, least of all where the interaction's vectors are."""
    model = ContextualPointer(config(data, n_components=n_components, interaction=interaction))
    assert model.scorer is not None
    before = {name: values.clone() for name, values in model.state_dict().items()}
    with pytest.raises(
        ValueError, match=f"three components .* n_components={n_components} cannot hold them"
    ):
        like_kernel(model.scorer, ContextKernel())
    for name, values in model.state_dict().items():
        assert torch.equal(values, before[name]), name


def test_the_kernels_reasons_leave_others_and_the_interplay_alone(data: Dataset) -> None:
    model = ContextualPointer(config(data, n_components=4, interaction=8))
    assert model.scorer is not None
    before = {name: values.clone() for name, values in model.scorer.tables.items()}
    like_kernel(model.scorer, ContextKernel())
    for name, table in model.scorer.tables.items():
        assert torch.equal(table[:, 3:], before[name][:, 3:]), name
    assert not torch.equal(model.scorer.tables["before"][:, :3], before["before"][:, :3])


def test_a_configuration_survives_json(data: Dataset) -> None:
    one = config(data, features=("age", "clock"), target_time="hour", without=("gate",))
    read = ContextualConfig.from_dict(json.loads(json.dumps(asdict(one))))
    assert read == one and hash(read) == hash(one) and read.inner == one.inner


def test_reasons_can_be_learned() -> None:
    """Everybody goes where they went at this hour: the terms find out, and beat chance by far."""
    from ..helpers import routine_visits

    data = prepare(routine_visits(days=40), protocol="exact")
    model, _ = contextual.build(
        replace(contextual.VARIANTS["full"], from_kernel=False), data, seed=0
    )
    seen = contextual.windows(data, contextual.VARIANTS["full"])
    training = TrainConfig(learning_rate=2e-2, batch_size=32, warmup_epochs=1, max_epochs=6,
                           patience=6, monitor="acc@1")  # fmt: skip
    fit(model, seen.train, seen.valid, training, progress=False)  # type: ignore[arg-type]
    score = metrics.gains(metrics.evaluate(model, seen.test))["acc@1"].mean()  # type: ignore[arg-type]
    assert score > 0.95
