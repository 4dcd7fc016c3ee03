"""The model: what it reads, what it returns, and what changes nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pgt.batch import Batch
from pgt.config import ABLATIONS, PRESETS, ModelConfig, ablate
from pgt.fast_dropout import Dropout
from pgt.model import (
    EncoderLayer,
    Output,
    Pointer,
    PointerGeneratorTransformer,
    SelfAttention,
    cross_entropy,
    log_mixture,
    recency,
    scatter_log_probs,
    sinusoids,
)
from pgt.windows import Dataset, prepare

from .helpers import changed, model_of, pad_to, pytorch_layer, random_visits, tiny_config

FIELDS = ("log_probs", "gate", "pointer_log_probs", "generator_log_probs")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130))


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    lengths = data.train.lengths
    some = [lengths.argmin(), lengths.argmax(), *range(0, len(lengths), 17)]
    return data.train.batch(some)


def close(
    one: Output, two: Output, rows: Tensor | slice = slice(None), atol: float = 1e-12
) -> None:
    """Every field of both is the same."""
    length = min(one.pointer_attention.shape[1], two.pointer_attention.shape[1])
    pairs = [(getattr(one, name)[rows], getattr(two, name)) for name in FIELDS]
    pairs.append((one.pointer_attention[rows, :length], two.pointer_attention[:, :length]))
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, atol=atol, rtol=0)


@pytest.mark.parametrize("name", ABLATIONS)
def test_outputs_are_distributions_that_padding_and_batch_mates_do_not_change(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = model_of(ablate(tiny_config(data), name))
    with torch.no_grad():
        out = model(batch)
        close(model(pad_to(batch, batch.location.shape[1] + 7)), out)
        numbers = batch.index.numpy()
        for i in (0, 1, 3):
            close(out, model(data.train.batch(numbers[[i]])), torch.tensor([i]))
        backwards = model(data.train.batch(numbers[::-1].copy()))
        close(out, backwards, torch.arange(len(batch) - 1, -1, -1))
    for log_probs in (out.log_probs, out.pointer_log_probs, out.generator_log_probs):
        if (log_probs > -math.inf).any():
            assert (log_probs.logsumexp(1).abs() < 1e-12).all()
    if model.pointer is not None:
        assert ((out.pointer_attention.sum(1) - 1).abs() < 1e-12).all()
        assert torch.equal(out.pointer_attention == 0, batch.padding)
    fixed = {"no_gate": 0.5, "no_generator": 1.0, "no_pointer": 0.0}
    assert (out.gate == fixed[name]).all() if name in fixed else 0 < out.gate.min() < out.gate.max()
    assert len(out.self_attention) == model.config.n_layers
    for weights in out.self_attention:  # (B, H, L, L)
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert (weights.masked_select(batch.padding[:, None, None, :]) == 0).all()


def test_erratum_8_the_gate_is_the_weight_of_copying(data: Dataset, batch: Batch) -> None:
    out = model_of(tiny_config(data))(batch)
    g = out.gate[:, None]
    mixed = g * out.pointer_log_probs.exp() + (1 - g) * out.generator_log_probs.exp()
    torch.testing.assert_close(out.log_probs.exp(), mixed, atol=1e-14, rtol=0)
    copied = torch.zeros_like(mixed).scatter_add(1, batch.location, out.pointer_attention)
    torch.testing.assert_close(out.pointer_log_probs.exp(), copied, atol=1e-14, rtol=0)


def test_scores_know_no_dropout_and_leave_the_model_as_it_was(data: Dataset, batch: Batch) -> None:
    model = model_of(tiny_config(data, dropout=0.5))
    expected = model(batch).log_probs
    for training in (True, False):
        assert torch.equal(model.train(training).scores(batch), expected)
        assert model.training == training


def shuffled(batch: Batch, part: str) -> Batch:
    """The batch with the values that a part reads replaced by others."""
    inside = ~batch.padding
    if part == "user":
        return changed(batch, user=(batch.user + 1) % 3 + 1)
    if part == "recency":
        return changed(batch, days_ago=(batch.days_ago + 1) % 8 * inside)
    highest = {"time": 96, "weekday": 7, "duration": 100}[part]
    return changed(batch, **{part: (getattr(batch, part) % highest + 1) * inside})


@pytest.mark.parametrize("part", ["user", "time", "weekday", "recency", "duration"])
def test_a_part_is_read_exactly_when_it_is_there(data: Dataset, batch: Batch, part: str) -> None:
    other = shuffled(batch, part)
    for name in ("full", f"no_{part}"):
        model = model_of(ablate(tiny_config(data), name))
        same = torch.equal(model(batch).log_probs, model(other).log_probs)
        assert same == (name != "full"), name


def rotated(batch: Batch) -> Batch:
    """The same visits in another order, the last one last."""
    place = torch.arange(batch.location.shape[1]).expand_as(batch.location)
    last = batch.length[:, None] - 1
    order = torch.where(place < last, last - 1 - place, place)
    names = ("location", "time", "weekday", "duration", "days_ago", "start_minute")
    return changed(batch, **{name: getattr(batch, name).gather(1, order) for name in names})


def test_erratum_14_order_is_read_through_three_parts_only(data: Dataset, batch: Batch) -> None:
    parts = ("position_from_end", "sinusoid", "position_bias")
    config = tiny_config(data)
    blind = model_of(replace(config, without=parts))
    torch.testing.assert_close(
        blind(batch).log_probs, blind(rotated(batch)).log_probs, atol=1e-12, rtol=0
    )
    for part in parts:  # each of them alone sees the order
        model = model_of(replace(config, without=tuple(p for p in parts if p != part)))
        difference = model(batch).log_probs - model(rotated(batch)).log_probs
        assert difference.abs().max() > 1e-6, part


def test_ablations_are_one_field_each_and_cost_their_parameters(data: Dataset) -> None:
    config = tiny_config(data)
    whole = PointerGeneratorTransformer(config).n_parameters()
    for name, change in ABLATIONS.items():
        size = PointerGeneratorTransformer(ablate(config, name)).n_parameters()
        assert len(change) == (name != "full")
        assert (size < whole) == (name not in ("full", "no_sinusoid")), name


@pytest.mark.parametrize("target_time", ["unknown", "day"])
def test_erratum_15_the_target_is_hidden_but_for_its_day_where_that_is_declared(
    data: Dataset, batch: Batch, target_time: str
) -> None:
    model = model_of(tiny_config(data, target_time=target_time))
    base = model(batch).log_probs
    names = ("target", "target_time", "target_weekday")
    hidden = changed(batch, **dict.fromkeys(names, torch.zeros_like(batch.target)))
    assert torch.equal(model(hidden).log_probs, base)
    moved = changed(batch, gap_days=batch.gap_days + 2)
    assert torch.equal(model(moved).log_probs, base) == (target_time == "unknown")


@pytest.mark.parametrize("target_time", ["unknown", "day"])
def test_errata_3_and_15_recency_runs_from_1_to_8_and_counts_from_a_day_that_is_known(
    batch: Batch, target_time: str
) -> None:
    levels = recency(batch, target_time)
    for row, n in enumerate(batch.length.tolist()):
        ahead = int(batch.gap_days[row]) if target_time == "day" else 0
        expected = [min(days + ahead, 7) + 1 for days in batch.days_ago[row, :n].tolist()]
        assert levels[row].tolist() == expected + [0] * (levels.shape[1] - n)
    assert levels.max() == 8


def test_erratum_13_sinusoids_are_those_of_the_paper() -> None:
    angle = np.arange(20)[:, None] / 10000 ** (2 * np.arange(8) / 16)
    table = sinusoids(20, 16).numpy()
    assert table[:, ::2] == pytest.approx(np.sin(angle), abs=1e-6)
    assert table[:, 1::2] == pytest.approx(np.cos(angle), abs=1e-6)


def test_erratum_9_the_encoder_layer_is_pytorchs_pre_norm_layer(data: Dataset) -> None:
    config = tiny_config(data, dropout=0.0)
    ours = EncoderLayer(config)
    theirs = pytorch_layer(ours, config, norm_first=True)
    x = torch.randn(5, 9, config.d_model, dtype=torch.float64)
    length = torch.tensor([9, 1, 4, 7, 2])
    padding = torch.arange(9) >= length[:, None]
    one, _ = ours(x, padding)
    two = theirs(x, src_key_padding_mask=padding)
    torch.testing.assert_close(one[~padding], two[~padding], atol=1e-12, rtol=0)


def test_the_pointer_is_attention_from_the_last_visit_plus_the_bias(
    data: Dataset, batch: Batch
) -> None:
    config = tiny_config(data)
    pointer = model_of(config).pointer
    assert isinstance(pointer, Pointer) and pointer.position_bias is not None
    encoded = torch.randn(*batch.location.shape, config.d_model, dtype=torch.float64)
    context = torch.randn(len(batch), config.d_model, dtype=torch.float64)
    weights = pointer(context, encoded, batch).exp()
    for b, n in enumerate(batch.length.tolist()):
        scores = pointer.key(encoded[b, :n]) @ pointer.query(context[b]) / math.sqrt(config.d_model)
        expected = (scores + pointer.position_bias[1 : n + 1].flip(0)).softmax(0)
        torch.testing.assert_close(weights[b, :n], expected, atol=1e-12, rtol=0)
        assert (weights[b, n:] == 0).all()


def test_erratum_1_every_visit_has_its_entry_of_the_bias_and_entry_0_never_matters(
    data: Dataset,
) -> None:
    n = int(data.train.lengths.max())
    batch = data.train.batch([int(data.train.lengths.argmax()), int(data.train.lengths.argmin())])
    model = model_of(tiny_config(data, max_len=n))
    base = model(batch).log_probs
    cross_entropy(base, batch.target).mean().backward()
    assert model.pointer is not None and model.pointer.position_bias is not None
    bias = model.pointer.position_bias
    for table in (bias, model.embeddings.tables["position_from_end"].weight):
        assert isinstance(table.grad, Tensor) and len(table) == n + 1
        used = table.grad.reshape(n + 1, -1).abs().sum(1) > 0
        assert used.tolist() == [False] + [True] * n
    with torch.no_grad():
        bias[0] = 1e6
    assert torch.equal(model(batch).log_probs, base)


def test_erratum_2_a_window_that_is_too_long_is_its_most_recent_visits(data: Dataset) -> None:
    batch = data.train.batch([int(data.train.lengths.argmax())])
    n = int(batch.length) - 3
    assert ModelConfig(9, 2).max_len == 150
    model = model_of(tiny_config(data, max_len=n))
    out = model(batch)
    assert out.pointer_attention.shape == (1, n)
    close(out, model(batch.most_recent(n)), atol=0)
    for at in (2, 3):
        location = batch.location.clone()
        location[0, at] = location[0, at] % 5 + 2
        other = model(changed(batch, location=location)).log_probs
        assert torch.equal(other, out.log_probs) == (at < 3)


def test_errata_5_and_11_parameters_are_those_of_the_printed_sizes() -> None:
    # 1.3 million parameters of locations at d = 64 would be 20,000 places.
    model = PointerGeneratorTransformer(ModelConfig(20_000, 2_000, **PRESETS["diy"].model))

    def count(part: nn.Module | None) -> int:
        assert part is not None
        return sum(p.numel() for p in part.parameters())

    assert model.pointer is not None and model.pointer.position_bias is not None
    assert count(model.pointer.query) == count(model.pointer.key) == 64 * 64 + 64
    assert model.pointer.position_bias.numel() == 151
    assert count(model.embeddings.tables["location"]) == 20_000 * 64
    assert count(model.gate) == 64 * 32 + 32 + 32 + 1 == 2_113
    assert count(model.encoder.layers[0]) == 49_984
    assert model.n_parameters() == count(model) == 2_837_912


def test_erratum_16_a_window_reaches_back_seven_days_and_no_further(data: Dataset) -> None:
    for part in (data.train, data.valid, data.test):
        for some in part.batches(512):
            from_target = (some.days_ago + some.gap_days[:, None]).masked_fill(some.padding, 0)
            assert int(some.days_ago.min()) >= 0 and int(from_target.max()) <= 7


V = 7


def distribution(seed: int, rows: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, V, generator=generator, dtype=torch.float64).softmax(1)


def test_erratum_6_the_mixture_is_the_printed_formula_and_normalised_without_a_constant() -> None:
    p, q = distribution(0), distribution(1)
    logit = torch.linspace(-6, 6, 5, dtype=torch.float64)
    g = logit.sigmoid()[:, None]
    mixed = log_mixture(logit, p.log(), q.log())
    torch.testing.assert_close(mixed, (g * p + (1 - g) * q).log(), atol=1e-14, rtol=0)
    assert mixed.logsumexp(1).abs().max() < 1e-15
    printed = (g * p + (1 - g) * q + 1e-10).log().logsumexp(1)
    assert printed.abs().max() == pytest.approx(V * 1e-10, rel=1e-3)


def test_erratum_12_the_gradient_survives_where_the_printed_constant_drowns_it() -> None:
    score = torch.tensor(math.log(1e-30), dtype=torch.float64, requires_grad=True)
    pointer = torch.tensor([[0.0, -math.inf]], dtype=torch.float64)
    generator = torch.stack([torch.zeros((), dtype=torch.float64), score])[None]
    ours = log_mixture(torch.zeros(1, dtype=torch.float64), pointer, generator)[0, 1]
    printed = (0.5 * score.exp() + 1e-10).log()
    gradients = [float(torch.autograd.grad(one, score)[0]) for one in (ours, printed)]
    assert gradients[0] == pytest.approx(1.0) and gradients[1] < 1e-19


def test_scatter_keeps_weights_that_underflow_and_their_gradient() -> None:
    # e^-200 is no float32, let alone beside a weight of one.
    log_weights = torch.tensor([[0.0, -200.0, -200.0, -math.inf]], requires_grad=True)
    out = scatter_log_probs(log_weights, torch.tensor([[1, 2, 2, 0]]), 4)
    assert out[0, 2].item() == pytest.approx(-200 + math.log(2))
    assert out[0, [0, 3]].tolist() == [-math.inf, -math.inf]
    out[0, 2].backward()
    assert log_weights.grad is not None
    assert log_weights.grad.tolist() == [[0.0, 0.5, 0.5, 0.0]]


@pytest.mark.parametrize("smoothing", [0.0, 0.03, 0.3])
def test_erratum_6_the_loss_is_pytorchs_cross_entropy_on_logits_and_on_log_probs(
    smoothing: float,
) -> None:
    logits = 3 * torch.randn(9, 12, dtype=torch.float64)
    target = torch.randint(12, (9,))
    ours = cross_entropy(logits.log_softmax(1), target, smoothing)
    theirs = nn.CrossEntropyLoss(label_smoothing=smoothing, reduction="none")
    torch.testing.assert_close(ours, theirs(logits, target))
    torch.testing.assert_close(ours, theirs(logits.log_softmax(1), target))


def test_smoothing_is_over_the_places_that_can_be_named() -> None:
    log_probs = torch.tensor([[0.5, 0.25, 0.25, 0.0]], dtype=torch.float64).log()
    (loss,) = cross_entropy(log_probs, torch.tensor([0]), 0.3)
    assert loss.item() == pytest.approx(-0.7 * math.log(0.5) - 0.1 * math.log(0.5 / 16))
    (loss,) = cross_entropy(log_probs, torch.tensor([3]), 0.0)
    assert loss.item() == pytest.approx(-math.log(1e-10))


def test_attention_begins_like_pytorchs() -> None:
    torch.manual_seed(0)
    ours, theirs = SelfAttention(ModelConfig(10, 3, d_model=96)), nn.MultiheadAttention(96, 4)
    limit = math.sqrt(6 / (96 + 3 * 96))  # Glorot and Bengio (2010)
    for weight in (ours.project.weight, theirs.in_proj_weight):
        assert 0.99 * limit < weight.abs().max() <= limit
        assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)
    for bias in (ours.project.bias, theirs.in_proj_bias, ours.out.bias, theirs.out_proj.bias):
        assert (bias == 0).all()


@pytest.mark.parametrize("p", [0.0, 0.15, 0.5, 0.999])
def test_dropout_drops_so_many_keeps_the_mean_and_acts_in_training_alone(p: float) -> None:
    torch.manual_seed(0)
    part, x = Dropout(p), torch.ones(300, 1001)
    out = part(x)
    kept = out != 0
    n, dropped = x.numel(), 1 - kept.float().mean().item()
    assert abs(dropped - p) < 5 * math.sqrt(p * (1 - p) / n) + 2**-16
    assert torch.equal(out[kept], torch.full_like(out[kept], 1 / (1 - p)))
    assert torch.equal(part(x), out) == (p == 0)
    assert part.eval()(x) is x or torch.equal(part(x), x)
    if p > 0:  # of all numbers that 16 bits can be, so many are dropped
        every = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.int64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Tensor, "random_", lambda bits, *_: bits.copy_(every))
            assert (part.train()(torch.ones(2**16)) == 0).sum() == round(p * 2**16)
    if p == 0.5:  # neighbours and rows know nothing of each other
        for other in (kept.roll(1, 0), kept.roll(1, 1)):
            assert abs((kept == other).float().mean().item() - 0.5) < 5 * 0.5 / math.sqrt(n)
