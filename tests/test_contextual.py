"""The contextual pointer: PGT and the kernel are special cases, and it reads only what it may."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from pgt import beyond, metrics
from pgt.baselines import ContextKernel
from pgt.committee import Committee
from pgt.contextual import ContextualPointer
from pgt.contextual_config import ContextualConfig, kernel_config
from pgt.history import Histories, Past, remember
from pgt.model import PointerGeneratorTransformer
from pgt.reasons import like_kernel
from pgt.terms import NOW, TERMS, THEN, TOLD, hats
from pgt.train import TrainConfig, fit
from pgt.visits import DataError
from pgt.windows import Dataset, prepare

from .helpers import random_visits, tiny_config

ABOUT_TARGET = ("target", "target_time", "target_weekday", "gap_days", "target_minute", "wait")


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Windows with a memory of twenty visits, open vocabulary."""
    return remember(prepare(random_visits(4, visits=90, places=25), protocol="exact"), 20, 10)


def config(data: Dataset, **changes: Any) -> ContextualConfig:
    """A small configuration."""
    known = data.vocabulary.n_known + 2
    base = {name: getattr(tiny_config(data), name) for name in tiny_config(data).to_dict()}
    return ContextualConfig(**{**base, "n_known": known, "recent": 12, "interplay": 8, **changes})


def scrambled(model: ContextualPointer, seed: int = 0) -> ContextualPointer:
    """The model with random weights everywhere, as if it had learned something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for values in model.parameters():
            values.copy_(0.5 * torch.randn(values.shape, generator=generator))
    return model.eval()


def some(data: Dataset, n: int = 40) -> Past:
    """A batch of windows of different lengths."""
    test = cast(Histories, data.test)
    return test.batch(np.arange(min(n, len(test))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_terms_it_is_pgt(dtype: torch.dtype) -> None:
    plain = prepare(random_visits(4, visits=90), protocol="exact")
    torch.manual_seed(0)
    pgt = PointerGeneratorTransformer(tiny_config(plain)).to(dtype).eval()
    with torch.no_grad():
        for values in pgt.parameters():
            values.add_(0.3 * torch.randn_like(values))
    same = config(remember(plain), terms=(), interplay=0, scaled=False, n_known=0, recent=50)
    model = ContextualPointer(same).to(dtype).eval()
    model.load_state_dict(pgt.state_dict())
    index = np.arange(len(plain.test))
    one, two = pgt(plain.test.batch(index)), model(remember(plain).test.batch(index))  # type: ignore[arg-type]
    tight = 1e-5 if dtype == torch.float32 else 1e-12
    for name in ("log_probs", "gate", "pointer_attention"):
        assert torch.allclose(getattr(one, name), getattr(two, name), atol=tight), name


@pytest.mark.parametrize(
    "kernel", [ContextKernel(), ContextKernel(0.9, 0.3, 1.0, 0.5, 60.0), ContextKernel(clock=0.0)]
)
def test_with_the_kernels_terms_it_is_the_kernel(kernel: ContextKernel) -> None:
    plain = prepare(random_visits(5, visits=90), protocol="exact")
    seen = remember(plain)
    model = ContextualPointer(kernel_config(config(seen, n_known=0))).eval()
    assert model.reasons is not None
    like_kernel(model.reasons, kernel)
    votes = kernel.fit(plain.train).scores(plain.test.batch(np.arange(len(plain.test))))
    shares = votes.clamp(min=0) / votes.clamp(min=0).sum(1, keepdim=True)
    found = model(some(seen, 1000)).log_probs.exp()
    assert torch.allclose(found, shares, atol=1e-5)
    ranks = [
        metrics.evaluate(m, d.test) for m, d in ((model, seen), (kernel.fit(plain.train), plain))
    ]
    assert metrics.gains(ranks[0]).mean().to_list() == pytest.approx(
        metrics.gains(ranks[1]).mean().to_list(), abs=0.02
    )


@pytest.mark.parametrize("asks", ["where next", "at hour", "at time"])
def test_it_reads_of_the_target_only_what_it_is_told(data: Dataset, asks: Any) -> None:
    model, batch = scrambled(ContextualPointer(config(data, asks=asks))), some(data)
    before = model(batch).log_probs
    for name in ABOUT_TARGET:
        values = getattr(batch, name)
        other = replace(batch, **{name: (values + 1).clamp(max=values.max().clamp(min=2))})
        if name == "target_minute":
            other = replace(batch, target_minute=(values + 240) % 1440)
        if name == "wait":
            other = replace(batch, wait=(values + 600) % (7 * 1440))
        may = asks != "where next" and name in ("target_minute", "target_weekday", "wait")
        assert torch.equal(model(other).log_probs, before) != may, name


def test_told_the_hour_it_does_not_see_the_minute(data: Dataset) -> None:
    batch = some(data)
    early = batch.target_minute // 60 * 60 + 1
    moved = replace(batch, target_minute=early, wait=batch.wait + early - batch.target_minute)
    keep = (batch.wait > 60) & (batch.wait < 6 * 1440)
    for asks, same in (("at hour", True), ("at time", False)):
        model = scrambled(ContextualPointer(config(data, asks=asks)))
        one, two = model(batch).log_probs[keep], model(moved).log_probs[keep]
        assert torch.allclose(one, two) == same


def test_padding_and_batch_mates_change_nothing(data: Dataset) -> None:
    model, test = scrambled(ContextualPointer(config(data))), cast(Histories, data.test)
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
    alone = ContextualPointer(config(data, **beyond.ALONE | {"dropout": 0.0}))
    batch = some(data)
    other = replace(batch, user=batch.user.flip(0))
    assert torch.equal(scrambled(alone)(batch).log_probs, alone(other).log_probs)


def test_probabilities_sum_to_one_and_open_places_can_be_named(data: Dataset) -> None:
    known = data.vocabulary.n_known + 2
    batch = some(data, 1000)
    out = scrambled(ContextualPointer(config(data)))(batch)
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
    assert torch.allclose(larger(batch).log_probs[:, :size], before, atol=1e-5)


def test_gradients_are_finite_where_nobody_can_name_a_place(data: Dataset) -> None:
    model = ContextualPointer(config(data))
    batch = some(data)
    log_probs = model(batch).log_probs
    assert (log_probs == -torch.inf).any()
    log_probs.clamp(min=-20).mean().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


def test_a_plain_batch_is_refused(data: Dataset) -> None:
    plain = prepare(random_visits(4, visits=90, places=25), protocol="exact")
    with pytest.raises(DataError, match=r"pgt\.history\.remember"):
        ContextualPointer(config(data))(plain.test.batch([0]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"terms": ("hour",)}, "names 'hour'"),
        ({"asks": "when"}, "must be one of"),
        ({"terms": (), "content": False}, "needs terms or content"),
        ({"without": ("pointer",)}, "cannot do without"),
        ({"reasons": 0}, "must be at least"),
        ({"n_known": 10_000}, "must lie between"),
    ],
)
def test_a_wrong_configuration_is_named(data: Dataset, changes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        config(data, **changes)


def test_a_configuration_survives_json(data: Dataset) -> None:
    one = config(data, terms=("age", "clock"), asks="at hour")
    assert ContextualConfig.from_dict(one.to_dict()) == one


@pytest.mark.parametrize("places", [1183, 2050])
def test_it_is_small_enough(places: int) -> None:
    for variant in beyond.VARIANTS.values():
        model = ContextualPointer(ContextualConfig(places, 46, **variant.change))
        assert model.n_parameters() <= 500_000
    whole = ContextualConfig(places, 46, **beyond.VARIANTS["full"].change)
    assert ContextualPointer(whole).n_parameters() < 10_000


def test_every_term_is_ablated_and_a_variant_changes_what_it_says() -> None:
    full = beyond.VARIANTS["full"]
    for name in TERMS:
        variant = beyond.VARIANTS[f"no_{name}"]
        assert set(variant.change["terms"]) == set(TERMS) - {name}
        assert replace(variant, change=full.change) == full
    for name, changed in (
        ("memory_100", "older"), ("window", "memory"), ("memory_20", "memory"),
        ("no_rehearsal", "rehearsed"), ("random_start", "from_kernel"),
    ):  # fmt: skip
        assert getattr(beyond.VARIANTS[name], changed) != getattr(full, changed)
        assert beyond.VARIANTS[name].change == full.change


def test_facts_stay_within_their_tables(data: Dataset) -> None:
    batch = some(data, 1000)
    for fact in (NOW | THEN).values():
        index = fact.of(batch)
        assert index.shape == (len(batch),) and (index >= 0).all() and (index < fact.size).all()
    for term in (TERMS | TOLD).values():
        assert list(term.knots) == sorted(set(term.knots))
        assert term.of(batch).shape == batch.location.shape


def test_terms_equal_a_loop(data: Dataset) -> None:
    batch = some(data)
    found = {name: term.of(batch) for name, term in (TERMS | TOLD).items()}
    for i in range(0, len(batch), 4):
        n = int(batch.length[i])
        where = batch.location[i, :n].tolist()
        now = int(batch.now_minute[i])
        for k in range(n):
            start = int(batch.start_minute[i, k])
            apart = min(abs(start - now), 1440 - abs(start - now))
            assert found["clock"][i, k] == apart
            assert found["ahead"][i, k] == (start - now) % 1440
            assert found["count"][i, k] == pytest.approx(np.log2(where.count(where[k])), abs=1e-5)
            here = where[k] == where[-1]
            assert (found["here"][i, k] == 1) == here
            assert (found["before"][i, k] in (1, 2)) == (int(batch.before[i, k]) == where[-1])
            then = int(batch.target_minute[i])
            assert found["then_clock"][i, k] == min(abs(start - then), 1440 - abs(start - then))


def test_hats_draw_straight_lines() -> None:
    knots = torch.tensor([0.0, 1.0, 4.0, 10.0])
    table = torch.tensor([3.0, 1.0, 7.0, -2.0])
    value = torch.linspace(-2, 12, 57)
    low, high, share = hats(value, knots)
    drawn = torch.lerp(table[low], table[high], share)
    assert np.allclose(drawn, np.interp(value, knots, table), atol=1e-5)


def test_reasons_can_be_learned() -> None:
    """Everybody goes where they went at this hour: the terms find out, and beat chance by far."""
    from .helpers import routine_visits

    data = prepare(routine_visits(days=40), protocol="exact")
    model, _ = beyond.build(replace(beyond.VARIANTS["full"], from_kernel=False), data, seed=0)
    seen = beyond.windows(data, beyond.VARIANTS["full"])
    training = TrainConfig(learning_rate=2e-2, batch_size=32, warmup_epochs=1, max_epochs=6,
                           patience=6, monitor="acc@1")  # fmt: skip
    fit(model, seen.train, seen.valid, training, progress=False)  # type: ignore[arg-type]
    score = metrics.gains(metrics.evaluate(model, seen.test))["acc@1"].mean()  # type: ignore[arg-type]
    assert score > 0.95


def test_a_committee_learns_as_its_members_and_answers_with_their_mean(data: Dataset) -> None:
    torch.manual_seed(0)
    members = [scrambled(ContextualPointer(config(data, dropout=0.0)), seed) for seed in (1, 2)]
    committee, batch = Committee(members), some(data)
    each = [member(batch).log_probs for member in members]
    assert torch.allclose(
        committee.eval()(batch).log_probs.exp(), (each[0].exp() + each[1].exp()) / 2, atol=1e-6
    )
    learned = committee.train()(batch).log_probs
    seen = learned > -torch.inf
    assert torch.allclose(learned[seen], ((each[0] + each[1]) / 2)[seen], atol=1e-5)


def test_unknown_places_are_rehearsed_where_there_are_any() -> None:
    visits = random_visits(3, visits=120, places=60)
    full = beyond.VARIANTS["full"]
    for protocol, more in (("published", True), ("exact", False)):
        data = prepare(visits, protocol=protocol)  # type: ignore[arg-type]
        seen = beyond.windows(data, full)
        assert (len(seen.train) > len(data.train)) == more
        assert len(beyond.windows(data, beyond.VARIANTS["no_rehearsal"]).train) == len(data.train)
