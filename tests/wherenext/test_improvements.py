"""Every improvement: the formula that it names, and what it must leave of PGT as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from wherenext.relatives import improvements
from wherenext.relatives.improvements import (
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
    improved,
    occurrences,
)

from pgt.batch import QUARTERS, Batch
from pgt.config import ModelConfig, TrainConfig
from pgt.model import EncoderLayer, SelfAttention, cross_entropy
from pgt.train import fit
from pgt.windows import Dataset, prepare

from ..helpers import changed, pad_to, pytorch_layer, random_visits, tiny_config

V, D = 60, 16
CONFIG = ModelConfig(V, 5, d_model=D, n_heads=2, d_feedforward=32, dropout=0.0)
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


def bias_of(part: Any, padding: Tensor) -> Tensor:
    """(B, H, L, L) the scores of visits that are all alike."""
    alike = torch.zeros(len(padding), 2, padding.shape[1], D // 2, dtype=torch.float64)
    return part.scores(alike, alike, padding).detach()


X = torch.randn(3, 9, D, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
PADDING = torch.arange(9) >= torch.tensor([[9], [7], [4]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_of_nothing_is_plain_attention(kind: type[SelfAttention]) -> None:
    x, padding = X, PADDING
    if kind in (CausalSelfAttention, RotarySelfAttention):  # nothing to hide, nothing to turn
        x, padding = x[:, :1], padding[:, :1]
    part, plain = seeded(lambda: kind(CONFIG)), SelfAttention(CONFIG).double().eval()
    if hasattr(part, "table"):
        nn.init.zeros_(part.table)
    plain.load_state_dict({k: v for k, v in part.state_dict().items() if k != "table"})
    for ours, theirs in zip(part(x, padding), plain(x, padding), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_the_relative_bias_depends_on_the_distance_only() -> None:
    part = seeded(lambda: RelativeSelfAttention(CONFIG))
    bias = bias_of(part, torch.zeros(2, 80, dtype=torch.bool))[0]  # (H, L, L)
    for apart in range(-79, 80):
        line = torch.diagonal(bias, apart, 1, 2)  # (H, 80 - |apart|)
        assert (line == line[:, :1]).all()
        entry = min(max(apart, -DISTANCES), DISTANCES) + DISTANCES  # key minus query
        assert torch.equal(line[:, 0], part.table[entry])


def test_rotary_angles_are_those_of_the_paper() -> None:
    """Pairs of dimensions as complex numbers, multiplied by e^(i m theta_k)."""
    part = seeded(lambda: RotarySelfAttention(CONFIG))
    x = torch.randn(1, 1, 6, 8, dtype=torch.float64)
    pairs = x.numpy()[0, 0].reshape(6, 4, 2)
    numbers = pairs[..., 0] + 1j * pairs[..., 1]
    speed = 10000.0 ** (-2 * np.arange(4) / 8)
    turned = numbers * np.exp(1j * np.arange(6)[:, None] * speed)
    expected = np.stack([turned.real, turned.imag], axis=-1).reshape(6, 8)
    assert np.allclose(part.turn(x).numpy()[0, 0], expected, atol=1e-12)


def test_causal_attention_never_looks_ahead() -> None:
    part, (x, padding) = seeded(lambda: CausalSelfAttention(CONFIG)), (X, PADDING)
    out, weights = part(x, padding)
    assert not weights.triu(1).any()
    for later in range(1, 9):
        other = x.clone()
        other[:, later:] = 5.0
        found, _ = part(other, padding)
        assert torch.equal(found[:, :later], out[:, :later])


def test_the_bias_to_recent_and_first_visits_is_where_it_belongs() -> None:
    part = seeded(lambda: RecentFirstSelfAttention(CONFIG))
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


def test_post_norm_is_pytorchs() -> None:
    layer = PostNormLayer(CONFIG)
    reference = pytorch_layer(layer, CONFIG, norm_first=False)
    ours, expected = layer(X, PADDING)[0], reference(X, src_key_padding_mask=PADDING)
    torch.testing.assert_close(ours[~PADDING], expected[~PADDING], atol=1e-12, rtol=0)


def test_erratum_20_geglu_costs_what_the_layer_it_replaces_costs() -> None:
    for d, f in ((64, 128), (96, 192), (64, 256)):
        config = ModelConfig(50, 5, d_model=d, d_feedforward=f)
        parts = GeGLU(config), EncoderLayer(config).feedforward
        ours, plain = (sum(p.numel() for p in part.parameters()) for part in parts)
        assert abs(ours / plain - 1) < 0.02


def test_time_of_day_runs_in_a_circle_and_midnight_is_no_wall() -> None:
    part = seeded(lambda: Cyclic(QUARTERS, 8, waves=4, per=4, shift=0.5))
    waves = part.waves
    step = (waves[2:] - waves[1:-1]).norm(dim=1)
    assert torch.allclose(step, step[:1].expand_as(step))  # even steps
    assert torch.allclose((waves[1] - waves[QUARTERS]).norm(), step[0])  # round the clock
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


def test_additive_scores_are_the_formula(data: Dataset, batch: Batch) -> None:
    part = seeded(lambda: AdditivePointer(tiny_config(data)))
    encoded = torch.randn(*batch.location.shape, 16, dtype=torch.float64)
    found = part(encoded[:, 0], encoded, batch)
    for i, n in enumerate(batch.length.tolist()):
        inner = torch.tanh(part.query(encoded[i, 0]) + part.key(encoded[i, :n]))
        score = inner @ part.score.weight[0] + part.position_bias[1 : n + 1].flip(0)
        torch.testing.assert_close(found[i, :n], score.log_softmax(0), atol=1e-12, rtol=0)


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
    never = (total == 0).nonzero().flatten()[:1]
    assert float(balanced(same[:1], never, 0.0)) == pytest.approx(present[0] * np.log(size))


def geglu(part: Any, x: Tensor) -> Tensor:
    value, gate = part.wide(x).chunk(2, -1)
    return part.narrow(value * gate * (1 + torch.erf(gate / 2**0.5)) / 2)


def experts(part: Any, x: Tensor) -> Tensor:
    return weighed(part.router(x), torch.stack([one(x) for one in part.experts], -1))


def mixture(part: Any, x: Tensor) -> Tensor:
    hidden = torch.tanh(part.contexts(x)).unflatten(-1, (4, D))  # (N, K, D)
    each = (hidden @ part.weight.T + part.bias).softmax(-1)
    return weighed(part.prior(x), each.transpose(-2, -1)).log()


def heads(part: Any, x: Tensor) -> Tensor:
    each = [up(down(x)) for down, up in zip(part.down, part.up, strict=True)]
    return weighed(part.weigh(x), torch.stack(each, -1))


def weighed(scores: Tensor, each: Tensor) -> Tensor:
    """(N, K) and (N, ..., K): the mean with the shares that scores stand for."""
    return (scores.softmax(-1)[..., None, :] * each).sum(-1)


FORMULAS = {GeGLU: geglu, Experts: experts, MixtureOfSoftmaxes: mixture, ManyHeads: heads}


@pytest.mark.parametrize("kind", FORMULAS)
def test_a_part_is_its_formula(kind: Any) -> None:
    part, x = seeded(lambda: kind(CONFIG)), X.flatten(0, 1)
    torch.testing.assert_close(part(x), FORMULAS[kind](part, x))


def test_the_adaptive_softmax_keeps_the_order_of_the_vocabulary() -> None:
    counts, x = torch.randperm(V), X.flatten(0, 1)
    part = seeded(lambda: AdaptiveSoftmax(counts, CONFIG))
    expected = part.softmax.log_prob(x)  # the most frequent first
    assert torch.equal(part(x)[:, counts.argsort(descending=True)], expected)


def built(data: Dataset, name: str) -> Any:
    """A small model with its first weights."""
    torch.manual_seed(0)
    return improved(tiny_config(data), data.train, name)


@pytest.mark.parametrize("name", IMPROVEMENTS)
def test_each_gives_distributions_that_neither_company_nor_the_target_changes(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = seeded(lambda: built(data, name))
    with torch.no_grad():
        whole = model(batch)
        wider = model(pad_to(batch, batch.location.shape[1] + 7))
        numbers = batch.index.numpy()
        backwards = model(data.train.batch(numbers[::-1].copy()))
        for field in FIELDS:
            for other in (getattr(wider, field), getattr(backwards, field).flip(0)):
                torch.testing.assert_close(other, getattr(whole, field), atol=1e-11, rtol=0)
        for i in (0, 1, 3):
            alone = model(data.train.batch(numbers[[i]]))
            torch.testing.assert_close(alone.log_probs[0], whole.log_probs[i], atol=1e-11, rtol=0)
        hidden = {n: getattr(batch, n).masked_fill(batch.padding, 3)
                  for n in ("location", "time", "weekday", "duration", "days_ago")}  # fmt: skip
        other = model(changed(batch, **hidden)).log_probs
        torch.testing.assert_close(other, whole.log_probs, atol=1e-11, rtol=0)
        untold = {n: torch.ones_like(getattr(batch, n))
                  for n in ("target", "target_time", "target_weekday", "gap_days")}  # fmt: skip
        assert torch.equal(model(changed(batch, **untold)).log_probs, whole.log_probs)
    for log_probs in (whole.log_probs, whole.pointer_log_probs, whole.generator_log_probs):
        assert (log_probs.logsumexp(1).abs() < 1e-11).all()
    assert (whole.pointer_attention[batch.padding] == 0).all()


@pytest.mark.parametrize("name", ["focal", "augmented", "temperature"])
def test_the_loss_reaches_the_training_and_not_the_validation(data: Dataset, name: str) -> None:
    part, training = IMPROVEMENTS[name], TrainConfig(max_epochs=1, warmup_epochs=0)
    few, models = data.train.subset(np.arange(100)), []
    for loss, train in ((part.loss(few), part.windows(few)), (None, few)):
        model = built(data, name)
        log = fit(model, train, data.valid, training, progress=False, loss=loss)
        models.append(model)
        own = model(data.valid.batch(np.arange(len(data.valid))))
        expected = cross_entropy(own.log_probs, torch.from_numpy(data.valid.targets)).mean()
        assert log.rows[0]["valid_loss"] == pytest.approx(expected.item(), rel=1e-5)
    same = torch.equal(*(m(data.test.batch([0])).log_probs for m in models))
    assert same == (name == "temperature")
