"""Every improvement: the formula that it names, and what it must leave of PGT as it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt import improvements
from pgt.batch import QUARTERS, Batch
from pgt.config import ModelConfig, TrainConfig
from pgt.improvements import (
    DISTANCES,
    FREQUENT,
    IMPROVEMENTS,
    MEDIUM,
    RECENT,
    AdaptiveEmbedding,
    AdaptiveSoftmax,
    AdditivePointer,
    CausalSelfAttention,
    CrossModalEmbeddings,
    Cyclic,
    Experts,
    GeGLU,
    ManyHeads,
    MixtureOfSoftmaxes,
    PostNormLayer,
    RecentFirstSelfAttention,
    RelativeSelfAttention,
    RotarySelfAttention,
    Tempered,
    improved,
    occurrences,
)
from pgt.model import (
    EncoderLayer,
    Generator,
    PointerGeneratorTransformer,
    SelfAttention,
)
from pgt.train import fit
from pgt.windows import Dataset, prepare

from .helpers import changed, pad_to, random_visits, tiny_config

V, D, N = 60, 16, 200
CONFIG = ModelConfig(V, 5, d_model=D, n_heads=2, d_feedforward=32, dropout=0.0)
HEADS = ModelConfig(V, 5, d_model=8, n_heads=2)
KINDS = [RelativeSelfAttention, RecentFirstSelfAttention, CausalSelfAttention, RotarySelfAttention]
FIELDS = ("log_probs", "gate", "pointer_log_probs", "generator_log_probs")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130, places=30), protocol="exact")


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    lengths = data.train.lengths
    return data.train.batch([lengths.argmin(), lengths.argmax(), *range(0, len(lengths), 17)])


def seeded(make: Any) -> Any:
    """A part with random weights, in double precision."""
    torch.manual_seed(0)
    part = make().double().eval()
    with torch.no_grad():
        for values in part.parameters():
            values += 0.3 * torch.randn_like(values)
        for table in part.modules():
            if isinstance(table, nn.Embedding) and table.padding_idx is not None:
                table.weight[table.padding_idx] = 0
    return part


def of(kind: type[SelfAttention]) -> Any:
    """Attention with random weights, in double precision."""
    return seeded(lambda: kind(CONFIG))


def bias_of(part: Any, padding: Tensor) -> Tensor:
    """(B, H, L, L) the scores of visits that are all alike."""
    alike = torch.zeros(len(padding), 2, padding.shape[1], D // 2, dtype=torch.float64)
    return part.scores(alike, alike, padding).detach()


X = torch.randn(3, 9, D, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
PADDING = torch.arange(9) >= torch.tensor([[9], [7], [4]])


def n_parameters(part: nn.Module) -> int:
    return sum(p.numel() for p in part.parameters())


# ---- Attention ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_of_nothing_is_plain_attention(kind: type[SelfAttention]) -> None:
    x, padding = X, PADDING
    if kind in (CausalSelfAttention, RotarySelfAttention):  # nothing to hide, nothing to turn
        x, padding = x[:, :1], padding[:, :1]
    part, plain = of(kind), SelfAttention(CONFIG).double().eval()
    if hasattr(part, "table"):
        nn.init.zeros_(part.table)
    plain.load_state_dict({k: v for k, v in part.state_dict().items() if k != "table"})
    for ours, theirs in zip(part(x, padding), plain(x, padding), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_the_relative_bias_depends_on_the_distance_only() -> None:
    part = of(RelativeSelfAttention)
    bias = bias_of(part, torch.zeros(2, 80, dtype=torch.bool))[0]  # (H, L, L)
    for apart in range(-79, 80):
        line = torch.diagonal(bias, apart, 1, 2)  # (H, 80 - |apart|)
        assert (line == line[:, :1]).all()
        entry = min(max(apart, -DISTANCES), DISTANCES) + DISTANCES  # key minus query
        assert torch.equal(line[:, 0], part.table[entry])
    assert not torch.equal(bias[:, 0, 1], bias[:, 1, 0])  # before is not after
    assert torch.equal(bias[:, 0, DISTANCES], bias[:, 0, 79])  # far is far


def test_rotary_angles_are_those_of_the_paper() -> None:
    """Pairs of dimensions as complex numbers, multiplied by e^(i m theta_k)."""
    part = of(RotarySelfAttention)
    x = torch.randn(1, 1, 6, 8, dtype=torch.float64)
    pairs = x.numpy()[0, 0].reshape(6, 4, 2)
    numbers = pairs[..., 0] + 1j * pairs[..., 1]
    speed = 10000.0 ** (-2 * np.arange(4) / 8)
    turned = numbers * np.exp(1j * np.arange(6)[:, None] * speed)
    expected = np.stack([turned.real, turned.imag], axis=-1).reshape(6, 8)
    assert np.allclose(part.turn(x).numpy()[0, 0], expected, atol=1e-12)


def test_causal_attention_never_looks_ahead() -> None:
    part, (x, padding) = of(CausalSelfAttention), (X, PADDING)
    out, weights = part(x, padding)
    assert not weights.triu(1).any()
    for later in range(1, 9):
        other = x.clone()
        other[:, later:] = 5.0
        changed, _ = part(other, padding)
        assert torch.equal(changed[:, :later], out[:, :later])
        assert not torch.allclose(changed[0, later:], out[0, later:])


def test_the_bias_to_recent_and_first_visits_is_where_it_belongs() -> None:
    part = of(RecentFirstSelfAttention)
    assert (RecentFirstSelfAttention(CONFIG).table == 1).all()
    lengths = (12, 7, 3, 1)
    padding = torch.arange(12) >= torch.tensor(lengths)[:, None]
    bias = bias_of(part, padding).numpy()  # (B, H, L, L)
    table = part.table.detach().numpy()
    for b, length in enumerate(lengths):
        for j in range(length):
            expected = table[0] * (j == 0)
            if length - j <= RECENT:
                expected = expected + table[length - j]
            assert np.allclose(bias[b, :, :, j].T, expected), (length, j)


# ---- Layers ------------------------------------------------------------------------------------


def test_post_norm_is_pytorchs() -> None:
    torch.manual_seed(0)
    reference = nn.TransformerEncoderLayer(
        16, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=False
    ).double()
    layer = PostNormLayer(CONFIG).double().eval()
    with torch.no_grad():
        for values in reference.parameters():
            values.normal_()
    theirs = reference.state_dict()
    layer.load_state_dict(
        {
            "norm_attention.weight": theirs["norm1.weight"],
            "norm_attention.bias": theirs["norm1.bias"],
            "norm_feedforward.weight": theirs["norm2.weight"],
            "norm_feedforward.bias": theirs["norm2.bias"],
            "attention.project.weight": theirs["self_attn.in_proj_weight"],
            "attention.project.bias": theirs["self_attn.in_proj_bias"],
            "attention.out.weight": theirs["self_attn.out_proj.weight"],
            "attention.out.bias": theirs["self_attn.out_proj.bias"],
            "feedforward.0.weight": theirs["linear1.weight"],
            "feedforward.0.bias": theirs["linear1.bias"],
            "feedforward.3.weight": theirs["linear2.weight"],
            "feedforward.3.bias": theirs["linear2.bias"],
        }
    )
    x, padding = X, PADDING
    ours, _ = layer(x, padding)
    expected = reference(x, src_key_padding_mask=padding)
    torch.testing.assert_close(ours[~padding], expected[~padding], atol=1e-12, rtol=0)
    pre = EncoderLayer(CONFIG).double().eval()
    pre.load_state_dict(layer.state_dict())
    assert not torch.allclose(pre(x, padding)[0], ours)


def test_geglu_is_its_formula() -> None:
    part = seeded(lambda: GeGLU(CONFIG))
    wide, narrow = part.wide, part.narrow
    hidden = narrow.in_features
    value = X @ wide.weight[:hidden].T + wide.bias[:hidden]
    gate = X @ wide.weight[hidden:].T + wide.bias[hidden:]
    gelu = gate * (1 + torch.erf(gate / 2**0.5)) / 2
    expected = (value * gelu) @ narrow.weight.T + narrow.bias
    torch.testing.assert_close(part(X), expected, atol=1e-12, rtol=0)


def test_erratum_20_geglu_costs_what_the_layer_it_replaces_costs() -> None:
    for d, f in ((64, 128), (96, 192), (64, 256)):
        config = ModelConfig(50, 5, d_model=d, d_feedforward=f)
        plain = n_parameters(EncoderLayer(config).feedforward)
        assert abs(n_parameters(GeGLU(config)) / plain - 1) < 0.02


def test_experts_are_mixed_by_the_router() -> None:
    part = seeded(lambda: Experts(CONFIG))
    shares = part.router(X).softmax(-1)
    assert torch.allclose(shares.sum(-1), torch.ones((), dtype=torch.float64))
    expected = sum(shares[..., k : k + 1] * expert(X) for k, expert in enumerate(part.experts))
    torch.testing.assert_close(part(X), expected, atol=1e-12, rtol=0)
    assert shares.std() > 0.01  # it depends on the visit
    for expert in part.experts:
        expert.load_state_dict(part.experts[0].state_dict())
    torch.testing.assert_close(part(X), part.experts[0](X), atol=1e-12, rtol=0)


# ---- Embeddings --------------------------------------------------------------------------------


def test_time_of_day_runs_in_a_circle_and_midnight_is_no_wall() -> None:
    part = seeded(lambda: Cyclic(QUARTERS, 8, waves=4, per=4, shift=0.5))
    waves = part.waves
    assert not waves[0].any()
    step = (waves[2:] - waves[1:-1]).norm(dim=1)
    assert torch.allclose(step, step[:1].expand_as(step))  # even steps
    assert torch.allclose((waves[1] - waves[QUARTERS]).norm(), step[0])  # round the clock
    assert len({tuple(row) for row in waves[1:].numpy().round(9)}) == QUARTERS
    out = part(torch.arange(QUARTERS + 1)[None])[0]
    assert not out[0].any() and (out[1:].abs().sum(1) > 0).all()
    hours = part.own.weight
    with torch.no_grad():
        hours[13] += 1.0  # 12:00 to 12:59 are quarters 49 to 52
    moved = ~torch.isclose(part(torch.arange(QUARTERS + 1)[None])[0], out).all(1)
    assert moved.nonzero().flatten().tolist() == [49, 50, 51, 52]


def test_occurrences_are_those_of_a_loop(data: Dataset) -> None:
    count = np.zeros(data.vocabulary.n_locations)
    ids = data.train.features[0].numpy()[1:]
    for first, target in zip(data.train.first, data.train.target, strict=True):
        np.add.at(count, ids[first:target], 1)
    assert np.array_equal(occurrences(data.train).numpy(), count) and count[0] == 0


@pytest.mark.parametrize(("rare_wide", "widths"), [(False, (16, 8, 4)), (True, (4, 8, 16))])
def test_erratum_19_adaptive_widths_follow_the_counts(
    rare_wide: bool, widths: tuple[int, ...]
) -> None:
    counts = torch.tensor([0, 5, FREQUENT, FREQUENT + 1, MEDIUM, MEDIUM - 1, 0, 5000])
    part = seeded(lambda: AdaptiveEmbedding(counts, 16, rare_wide))
    groups = [[3, 7], [2, 4], [0, 1, 5, 6]]  # more than 1000, 100 to 1000, less
    for members, table, project, width in zip(
        groups, part.tables, part.projections, widths, strict=True
    ):
        assert table.weight.shape == (len(members), width)
        for row, location in enumerate(members):
            expected = project(table.weight[row]) * (location > 0)
            found = part(torch.tensor([[location]]))[0, 0]
            torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_erratum_20_to_the_person_attention_over_one_key_is_a_linear_map(
    data: Dataset, batch: Batch
) -> None:
    """A softmax over one thing is 1: what is said of the person does not depend on the place."""
    part = seeded(lambda: CrossModalEmbeddings(tiny_config(data, dropout=0.0)))
    person = part.tables["user"](batch.user)[:, None]
    places = part.tables["location"](batch.location)
    about, weights = part.to_person(places, person, person)
    assert (weights == 1).all()
    assert torch.allclose(about, about[:, :1].expand_as(about), atol=1e-12)
    other, _ = part.to_person(places.flip(1) * 3, person, person)
    torch.testing.assert_close(about, other, atol=1e-12, rtol=0)
    # Of the times of all visits places do hear.
    time = batch.time.clone()
    time[:, 0] = time[:, 0] % 96 + 1
    assert not torch.allclose(part(changed(batch, time=time))[:, 1], part(batch)[:, 1])


# ---- Pointers ----------------------------------------------------------------------------------


def pointer_inputs(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(4)
    encoded = torch.randn(*batch.location.shape, 16, dtype=torch.float64)
    return encoded[torch.arange(len(batch)), batch.length - 1], encoded


def test_additive_scores_are_the_formula(data: Dataset, batch: Batch) -> None:
    part = seeded(lambda: AdditivePointer(tiny_config(data)))
    context, encoded = pointer_inputs(batch)
    found = part(context, encoded, batch)
    for i in range(0, len(batch), 5):
        n = int(batch.length[i])
        inner = torch.tanh(part.query(context[i]) + part.key(encoded[i, :n]))
        score = inner @ part.score.weight[0] + part.position_bias[batch.position_from_end[i, :n]]
        torch.testing.assert_close(found[i, :n], F.log_softmax(score, 0), atol=1e-12, rtol=0)


# ---- Losses, and windows -----------------------------------------------------------------------


def test_balanced_weights_average_to_one_and_give_every_location_the_same(data: Dataset) -> None:
    balanced = improvements.balanced(data.train)
    targets = torch.from_numpy(data.train.targets)
    size = data.vocabulary.n_locations
    same = torch.full((len(targets), size), -np.log(size))
    weights = balanced(same, targets, 0.0) / np.log(size)
    assert np.isclose(float(weights.mean()), 1.0)
    total = torch.zeros(size).index_add(0, targets, weights)
    present = total[total > 0]
    assert torch.allclose(present, present[:1].expand_as(present), rtol=1e-5)
    count = torch.bincount(targets, minlength=size)
    assert count.max() > count[count > 0].min()  # so that there is something to balance
    never = (count == 0).nonzero().flatten()[:1]
    once = (count == 1).nonzero().flatten()[:1]
    if len(once):
        pair = balanced(same[:2], torch.cat([never, once]), 0.0)
        assert torch.isclose(pair[0], pair[1])


# ---- The last layer ----------------------------------------------------------------------------


def head(name: str) -> Any:
    torch.manual_seed(1)
    kinds: dict[str, Any] = {
        "plain": Generator, "many": ManyHeads, "mixture": MixtureOfSoftmaxes, "tempered": Tempered,
        "adaptive": lambda c: AdaptiveSoftmax(torch.randperm(V), c),
    }  # fmt: skip
    part = kinds[name](HEADS).double()
    with torch.no_grad():
        for values in part.parameters():
            values += torch.randn_like(values)
    return part


def contexts() -> Tensor:
    return torch.randn(N, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def test_a_mixture_of_softmaxes_is_its_formula() -> None:
    part, x = head("mixture"), contexts()
    share = part.prior(x).softmax(1)
    hidden = torch.tanh(part.contexts(x)).view(N, 4, 8)
    each = [(hidden[:, k] @ part.weight.T + part.bias).softmax(1) for k in range(4)]
    expected = sum(share[:, k, None] * each[k] for k in range(4))
    torch.testing.assert_close(part(x).exp(), expected)


def test_many_heads_are_added_with_the_contexts_weights() -> None:
    part, x = head("many"), contexts()
    weight = part.weigh(x).softmax(1)
    expected = sum(
        weight[:, k, None] * (x @ down.weight.T + down.bias) @ up.weight.T
        + weight[:, k, None] * up.bias
        for k, (down, up) in enumerate(zip(part.down, part.up, strict=True))
    )
    torch.testing.assert_close(part(x), expected)
    plain = Generator(ModelConfig(2050, 46)).weight.numel()
    assert sum(up.weight.numel() for up in ManyHeads(ModelConfig(2050, 46)).up) == plain


def test_the_adaptive_softmax_keeps_the_order_of_the_vocabulary() -> None:
    part = head("adaptive")
    x = contexts()
    shuffled = part.softmax.log_prob(x)  # most frequent first
    torch.manual_seed(1)
    occurrences = torch.randperm(V)
    order = occurrences.argsort(descending=True)
    out = part(x)
    for rank_, location in enumerate(order.tolist()):
        assert torch.equal(out[:, location], shuffled[:, rank_])
    first = occurrences.argmax()  # the most frequent is in the head, scored in all D dimensions
    assert part.rank_of[first] == 0


# ---- All of them in the model ------------------------------------------------------------------


def built(data: Dataset, name: str, seed: int = 0) -> PointerGeneratorTransformer:
    """A small model with its first weights."""
    torch.manual_seed(seed)
    return improved(tiny_config(data), data.train, name)


def scrambled(data: Dataset, name: str) -> PointerGeneratorTransformer:
    """The model in double precision, as if every part had learned something."""
    model = built(data, name).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for values in model.parameters():
            values += 0.3 * torch.randn(values.shape, generator=generator)
    return model


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_padding_batch_mates_and_batch_size_change_nothing(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = scrambled(data, name)
    with torch.no_grad():
        whole = model(batch)
        wider = model(pad_to(batch, batch.location.shape[1] + 7))
        numbers = batch.index.numpy()
        backwards = model(data.train.batch(numbers[::-1].copy()))
        for field in FIELDS:
            value = getattr(whole, field)
            torch.testing.assert_close(getattr(wider, field), value, atol=1e-11, rtol=0)
            torch.testing.assert_close(getattr(backwards, field).flip(0), value, atol=1e-11, rtol=0)
        for i in (0, 1, 3):
            alone = model(data.train.batch(numbers[[i]]))
            torch.testing.assert_close(alone.log_probs[0], whole.log_probs[i], atol=1e-11, rtol=0)
        hidden = {n: getattr(batch, n).masked_fill(batch.padding, 3)
                  for n in ("location", "time", "weekday", "duration", "days_ago")}  # fmt: skip
        other = model(changed(batch, **hidden)).log_probs
        torch.testing.assert_close(other, whole.log_probs, atol=1e-11, rtol=0)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_every_output_is_a_distribution_and_nothing_tells_of_the_target(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = scrambled(data, name)
    out = model(batch)
    for log_probs in (out.log_probs, out.pointer_log_probs, out.generator_log_probs):
        assert (log_probs.logsumexp(1).abs() < 1e-11).all()
    assert (out.pointer_attention[batch.padding] == 0).all()
    hidden = {n: torch.ones_like(getattr(batch, n))
              for n in ("target", "target_time", "target_weekday", "gap_days")}  # fmt: skip
    assert torch.equal(model(changed(batch, **hidden)).log_probs, out.log_probs)


@pytest.mark.parametrize("name", ["focal", "augmented", "temperature"])
def test_the_loss_reaches_the_training_and_not_the_validation(data: Dataset, name: str) -> None:
    """Two epochs with the proposal and without: other weights, validated by the same measure."""
    part, training = IMPROVEMENTS[name], TrainConfig(max_epochs=2, warmup_epochs=1)
    models, histories = [], []
    for loss, train in ((part.loss(data.train), part.windows(data.train)),
                        (IMPROVEMENTS["plain"].loss(data.train), data.train)):  # fmt: skip
        model = built(data, name)
        histories.append(fit(model, train, data.valid, training, progress=False, loss=loss))
        models.append(model)
    same = torch.equal(*(m(data.test.batch([0])).log_probs for m in models))
    assert same == (name == "temperature")
    model, history = models[0], histories[0]
    total = 0.0
    with torch.no_grad():
        for seen in data.valid.batches(512):
            total -= float(model(seen).log_probs.gather(1, seen.target[:, None]).sum())
    best = history.table().loc[history.best_epoch]
    assert math.isclose(total / len(data.valid), best.valid_loss, rel_tol=1e-5)
