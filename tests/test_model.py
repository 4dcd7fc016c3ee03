"""The model: what it reads, what it returns, and what changes nothing."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from wherenext.results import read_results

from pgt.batch import Batch
from pgt.config import ABLATIONS, PRESETS, ModelConfig, TrainConfig, WindowConfig, ablate
from pgt.model import (
    Dropout,
    Embeddings,
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

from .helpers import changed, model_of, pad_to, random_visits, tiny_config

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
    for name in FIELDS:
        torch.testing.assert_close(
            getattr(one, name)[rows], getattr(two, name), atol=atol, rtol=0, equal_nan=False
        )
    length = min(one.pointer_attention.shape[1], two.pointer_attention.shape[1])
    torch.testing.assert_close(
        one.pointer_attention[rows, :length], two.pointer_attention[:, :length], atol=atol, rtol=0
    )


@pytest.mark.parametrize("name", ABLATIONS)
def test_padding_batch_mates_and_batch_size_change_nothing(
    data: Dataset, batch: Batch, name: str
) -> None:
    model = model_of(ablate(tiny_config(data), name))
    with torch.no_grad():
        whole = model(batch)
        close(model(pad_to(batch, batch.location.shape[1] + 7)), whole)
        numbers = batch.index.numpy()
        for i in (0, 1, 3):
            alone = model(data.train.batch(numbers[[i]]))
            close(whole, alone, torch.tensor([i]))
        backwards = model(data.train.batch(numbers[::-1].copy()))
        close(whole, backwards, torch.arange(len(batch) - 1, -1, -1))


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_output_is_a_distribution(data: Dataset, batch: Batch, name: str) -> None:
    model = model_of(ablate(tiny_config(data), name))
    out = model(batch)
    for log_probs in (out.log_probs, out.pointer_log_probs, out.generator_log_probs):
        if (log_probs > -math.inf).any():
            assert (log_probs.logsumexp(1).abs() < 1e-12).all()
    assert ((out.gate >= 0) & (out.gate <= 1)).all()
    if model.pointer is not None:
        assert ((out.pointer_attention.sum(1) - 1).abs() < 1e-12).all()
        assert (out.pointer_attention[batch.padding] == 0).all()
        assert (out.pointer_attention[~batch.padding] > 0).all()
    fixed = {"no_gate": 0.5, "no_generator": 1.0, "no_pointer": 0.0}
    assert (out.gate == fixed[name]).all() if name in fixed else out.gate.std() > 0
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


# --- what is removed is not read, what is there is read


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

    def turn(x: Tensor) -> Tensor:
        x = x.clone()
        for i, n in enumerate(batch.length.tolist()):
            x[i, : n - 1] = x[i, : n - 1].flip(0)
        return x

    names = ("location", "time", "weekday", "duration", "days_ago", "start_minute")
    return changed(batch, **{name: turn(getattr(batch, name)) for name in names})


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


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_takes_a_step(data: Dataset, batch: Batch, name: str) -> None:
    model = model_of(ablate(tiny_config(data, dropout=0.0), name)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        loss = cross_entropy(model(batch).log_probs, batch.target).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), key
        assert parameter.grad.abs().sum() > 0, key


def test_ablations_are_one_field_each(data: Dataset) -> None:
    config = tiny_config(data)
    assert len(ABLATIONS) == 12
    for name, change in ABLATIONS.items():
        assert len(change) == (name != "full")
        sizes = PointerGeneratorTransformer(ablate(config, name)).n_parameters()
        whole = PointerGeneratorTransformer(config).n_parameters()
        assert (sizes < whole) == (name not in ("full", "no_sinusoid")), name
    with pytest.raises(ValueError, match="no_such"):
        ablate(config, "no_such")


# --- what the model is told of the target


@pytest.mark.parametrize("target_time", ["unknown", "day"])
def test_erratum_15_the_target_is_hidden_but_for_its_day_where_that_is_declared(
    data: Dataset, batch: Batch, target_time: str
) -> None:
    model = model_of(tiny_config(data, target_time=target_time))
    base = model(batch).log_probs
    hidden = changed(
        batch,
        target=torch.zeros_like(batch.target),
        target_time=torch.zeros_like(batch.target),
        target_weekday=torch.zeros_like(batch.target),
    )
    assert torch.equal(model(hidden).log_probs, base)
    moved = changed(batch, gap_days=batch.gap_days + 2)
    assert torch.equal(model(moved).log_probs, base) == (target_time == "unknown")


def test_erratum_3_recency_runs_from_1_to_8_and_0_is_padding(batch: Batch) -> None:
    days = torch.arange(batch.location.shape[1]).expand_as(batch.location)
    levels = recency(changed(batch, days_ago=days), "unknown")
    assert (levels[batch.padding] == 0).all()
    longest = int(batch.length.argmax())
    n = int(batch.length[longest])
    assert levels[longest, :n].tolist() == [min(d, 7) + 1 for d in range(n)]


def test_erratum_15_recency_counts_back_from_the_target_only_when_it_knows_its_day(
    batch: Batch,
) -> None:
    told = recency(batch, "day")
    inside = ~batch.padding
    expected = ((batch.days_ago + batch.gap_days[:, None]).clamp(max=7) + 1) * inside
    assert torch.equal(told, expected)
    assert torch.equal(recency(batch, "unknown"), (batch.days_ago.clamp(max=7) + 1) * inside)


# --- the parts


def test_embeddings_of_padding_are_zero_and_every_value_has_its_own(data: Dataset) -> None:
    tables = Embeddings(tiny_config(data, max_len=50)).tables
    rows = {name: table.num_embeddings for name, table in tables.items()}
    assert rows == {
        "location": data.vocabulary.n_locations,
        "user": data.vocabulary.n_users,
        "time": 97,
        "weekday": 8,
        "recency": 9,
        "duration": 101,
        "position_from_end": 51,
    }
    for table in tables.values():
        assert (table.weight[0] == 0).all()


def test_erratum_13_sinusoids_are_those_of_the_paper() -> None:
    table = sinusoids(20, 16).double()
    for position in range(20):
        for i in range(8):
            angle = position / 10000 ** (2 * i / 16)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("training", [False, True])
def test_erratum_9_the_encoder_layer_is_pytorchs_pre_norm_layer(
    data: Dataset, training: bool
) -> None:
    config = tiny_config(data, dropout=0.0)
    ours = EncoderLayer(config).double().train(training)
    theirs = nn.TransformerEncoderLayer(
        config.d_model, config.n_heads, config.d_feedforward, 0.0, "gelu",
        batch_first=True, norm_first=True, dtype=torch.float64,
    ).train(training)  # fmt: skip
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.3)
    names = {
        "self_attn.in_proj_": "attention.project.", "self_attn.out_proj.": "attention.out.",
        "linear1.": "feedforward.0.", "linear2.": "feedforward.3.",
        "norm1.": "norm_attention.", "norm2.": "norm_feedforward.",
    }  # fmt: skip
    own = ours.state_dict()
    theirs.load_state_dict(
        {
            their + part: own[our + part]
            for their, our in names.items()
            for part in ("weight", "bias")
        }
    )
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
        query = pointer.query(context[b])
        scores = [
            (query @ pointer.key(encoded[b, i])).item() / math.sqrt(config.d_model)
            + pointer.position_bias[n - i].item()
            for i in range(n)
        ]
        expected = torch.tensor(scores, dtype=torch.float64).softmax(0)
        torch.testing.assert_close(weights[b, :n], expected, atol=1e-12, rtol=0)
        assert (weights[b, n:] == 0).all()


def test_erratum_1_entry_0_of_the_position_bias_never_matters(data: Dataset, batch: Batch) -> None:
    model = model_of(tiny_config(data))
    assert model.pointer is not None and model.pointer.position_bias is not None
    base = model(batch).log_probs
    cross_entropy(base, batch.target).mean().backward()
    gradient = model.pointer.position_bias.grad
    assert gradient is not None
    assert gradient[0] == 0
    longest = int(batch.length.max())
    assert (gradient[1 : longest + 1] != 0).all()
    with torch.no_grad():
        model.pointer.position_bias[0] = 1e6
    assert torch.equal(model(batch).log_probs, base)


def test_erratum_1_all_visits_of_a_full_window_have_positions_of_their_own(data: Dataset) -> None:
    n = int(data.train.lengths.max())
    batch = data.train.batch([int(data.train.lengths.argmax())])
    config = tiny_config(data, max_len=n)
    assert batch.position_from_end.tolist() == [list(range(n, 0, -1))]
    model = model_of(config)
    assert model.pointer is not None and model.pointer.position_bias is not None
    cross_entropy(model(batch).log_probs, batch.target).mean().backward()
    gradient = model.embeddings.tables["position_from_end"].weight.grad
    assert isinstance(gradient, Tensor)
    assert (gradient[1:].abs().sum(1) > 0).all()  # every entry of the table is used …
    assert gradient[0].abs().sum() == 0  # … but for padding


def long_window(n: int) -> Batch:
    """A window of n visits: one every nine minutes of a single day."""
    start = pd.Timestamp("2024-04-01", tz="UTC") + pd.to_timedelta(np.arange(n + 1) * 9, unit="min")
    visits = pd.DataFrame(
        {
            "user_id": 1,
            "location_id": np.arange(n + 1) % 11,
            "started_at": start + pd.Timedelta(days=7),
            "finished_at": start + pd.Timedelta(days=7, minutes=5),
            "split": "train",
        }
    )
    early = visits.head(1).assign(started_at=start[0], finished_at=start[0])
    early["location_id"] = 0
    windows = prepare(pd.concat([early, visits.iloc[1:]]), days=7).train
    return windows.batch([int(windows.lengths.argmax())])


def test_erratum_2_a_window_of_153_visits_is_its_last_150() -> None:
    batch = long_window(153)
    assert batch.length.tolist() == [153]
    config = ModelConfig(13, 2, d_model=16, n_heads=2, d_feedforward=32, max_len=150)
    model = model_of(config)
    out = model(batch)
    assert out.pointer_attention.shape == (1, 150)
    close(out, model(batch.most_recent(150)), atol=0)
    first = batch.location.clone()
    first[0, :3] = 9
    close(out, model(changed(batch, location=first)), atol=0)
    third = batch.location.clone()
    third[0, 3] = 9
    assert not torch.equal(out.log_probs, model(changed(batch, location=third)).log_probs)


# --- configuration and presets


def test_erratum_5_parameters_of_the_printed_sizes() -> None:
    config = ModelConfig(n_locations=1_187, n_users=46)
    model = PointerGeneratorTransformer(config)
    count = {
        "location": model.embeddings.tables["location"],
        "query": model.pointer.query,  # type: ignore[union-attr]
        "key": model.pointer.key,  # type: ignore[union-attr]
    }
    sizes = {k: sum(p.numel() for p in module.parameters()) for k, module in count.items()}
    # 1.3 million location parameters at d = 64 would be 20,000 places.
    assert sizes["location"] == 1_187 * 64 < 1_300_000
    assert sizes["query"] == sizes["key"] == 64 * 64 + 64 == 4_160  # with biases: 8,320 for both
    assert model.pointer.position_bias.numel() == 151  # type: ignore[union-attr]
    assert config.max_len == 150
    assert model.n_parameters() == sum(p.numel() for p in model.parameters())


def test_presets_are_those_of_the_documents() -> None:
    diy, geolife = (
        ModelConfig(10, 10, **PRESETS["diy"].model),
        ModelConfig(10, 10, **PRESETS["geolife"].model),
    )
    shape = ("d_model", "n_heads", "n_layers", "d_feedforward", "dropout", "target_time")
    assert [getattr(diy, name) for name in shape] == [64, 4, 2, 256, 0.2, "day"]
    assert [getattr(geolife, name) for name in shape] == [96, 2, 2, 192, 0.25, "day"]


def test_the_default_values_are_those_that_results_were_measured_with() -> None:
    shape = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_feedforward": 128, "dropout": 0.15}
    assert ModelConfig(10, 3) == ModelConfig(10, 3, **shape, max_len=150)
    measured = read_results("new_york").header["data"]["training"]
    measured.pop("amp", None)  # which there was, and which gained nothing
    assert json.loads(json.dumps(asdict(TrainConfig()))) == measured
    assert WindowConfig() == WindowConfig(days=7, min_visits=3, protocol="published")


def test_erratum_11_the_parameters_of_gate_and_encoder_layer_are_these() -> None:
    config = ModelConfig(n_locations=20_000, n_users=2_000, **PRESETS["diy"].model)
    model = PointerGeneratorTransformer(config)

    def count(part: nn.Module | None) -> int:
        assert part is not None
        return sum(p.numel() for p in part.parameters())

    assert count(model.gate) == 64 * 32 + 32 + 32 + 1 == 2_113
    assert count(model.encoder.layers[0]) == 49_984
    assert model.n_parameters() == 2_837_912


def test_erratum_16_a_window_reaches_back_seven_days_and_no_further(data: Dataset) -> None:
    for part in (data.train, data.valid, data.test):
        for some in part.batches(512):
            from_target = (some.days_ago + some.gap_days[:, None]).masked_fill(some.padding, 0)
            assert int(some.days_ago.min()) >= 0 and int(from_target.max()) <= 7


# --- two distributions mixed, in log space, and the loss


V = 7


def distribution(seed: int, rows: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, V, generator=generator, dtype=torch.float64).softmax(1)


def test_mixture_equals_the_printed_formula_and_sums_to_one() -> None:
    p, q = distribution(0), distribution(1)
    logit = torch.linspace(-6, 6, 5, dtype=torch.float64)
    g = logit.sigmoid()[:, None]
    mixed = log_mixture(logit, p.log(), q.log())
    torch.testing.assert_close(mixed, (g * p + (1 - g) * q).log(), atol=1e-14, rtol=0)
    torch.testing.assert_close(mixed.exp().sum(1), torch.ones(5, dtype=torch.float64))


def test_erratum_6_the_log_probabilities_are_normalised_without_a_constant() -> None:
    p, q = distribution(0), distribution(1)
    logit = torch.zeros(5, dtype=torch.float64)
    ours = log_mixture(logit, p.log(), q.log()).logsumexp(1)
    printed = (0.5 * p + 0.5 * q + 1e-10).log().logsumexp(1)
    assert ours.abs().max() < 1e-15
    assert printed.abs().max() == pytest.approx(V * 1e-10, rel=1e-3)


def test_erratum_12_the_gradient_survives_where_the_printed_constant_drowns_it() -> None:
    small = 1e-30
    score = torch.tensor(math.log(small), dtype=torch.float64, requires_grad=True)
    pointer = torch.tensor([[0.0, -math.inf]], dtype=torch.float64)
    generator = torch.stack([torch.zeros((), dtype=torch.float64), score])[None]
    log_mixture(torch.zeros(1, dtype=torch.float64), pointer, generator)[0, 1].backward()
    assert score.grad is not None
    assert score.grad.item() == pytest.approx(1.0)  # log(q / 2) = score - log 2

    printed = torch.tensor(math.log(small), dtype=torch.float64, requires_grad=True)
    (0.5 * printed.exp() + 1e-10).log().backward()
    assert printed.grad is not None
    assert printed.grad.item() < 1e-19


def test_an_infinite_gate_is_one_side_alone() -> None:
    p, q = distribution(0), distribution(1)
    always, never = torch.full((5,), math.inf), torch.full((5,), -math.inf)
    assert torch.equal(log_mixture(always.double(), p.log(), q.log()), p.log())
    assert torch.equal(log_mixture(never.double(), p.log(), q.log()), q.log())


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_scatter_equals_a_loop(scale: float) -> None:
    generator = torch.Generator().manual_seed(2)
    log_weights = scale * torch.randn(6, 9, generator=generator, dtype=torch.float64)
    length = torch.tensor([9, 1, 4, 9, 2, 6])
    padding = torch.arange(9) >= length[:, None]
    log_weights = log_weights.masked_fill(padding, -math.inf).log_softmax(1)
    location = torch.randint(1, V, (6, 9), generator=generator).masked_fill(padding, 0)
    out = scatter_log_probs(log_weights, location, V)
    for b in range(6):
        for place in range(V):
            terms = [float(log_weights[b, i]) for i in range(length[b]) if location[b, i] == place]
            if not terms:
                assert out[b, place] == -math.inf
                continue
            peak = max(terms)
            expected = peak + math.log(sum(math.exp(t - peak) for t in terms))
            assert out[b, place].item() == pytest.approx(expected, abs=1e-12, rel=1e-12)
    torch.testing.assert_close(out.logsumexp(1), torch.zeros(6, dtype=torch.float64))


def test_scatter_keeps_weights_that_underflow_and_their_gradient() -> None:
    # e^-200 is no float32, let alone beside a weight of one.
    log_weights = torch.tensor([[0.0, -200.0, -200.0, -math.inf]], requires_grad=True)
    out = scatter_log_probs(log_weights, torch.tensor([[1, 2, 2, 0]]), 4)
    assert out[0, 2].item() == pytest.approx(-200 + math.log(2))
    assert out[0, [0, 3]].tolist() == [-math.inf, -math.inf]
    out[0, 2].backward()
    assert log_weights.grad is not None
    assert log_weights.grad.tolist() == [[0.0, 0.5, 0.5, 0.0]]


def test_gradients_are_those_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(3, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    other = torch.randn(3, V, generator=generator, dtype=torch.float64, requires_grad=True)
    gate = torch.randn(3, generator=generator, dtype=torch.float64, requires_grad=True)
    location = torch.randint(1, V, (3, 5), generator=generator)

    def mixed(scores: Tensor, other: Tensor, gate: Tensor) -> Tensor:
        pointer = scatter_log_probs(scores.log_softmax(1), location, V)
        return log_mixture(gate, pointer, other.log_softmax(1))

    assert torch.autograd.gradcheck(mixed, (scores, other, gate))


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


# --- where it begins, and dropout


def test_attention_begins_like_pytorchs() -> None:
    d = 96
    torch.manual_seed(0)
    config = ModelConfig(10, 3, d_model=d)
    ours, theirs = SelfAttention(config), nn.MultiheadAttention(d, 4)
    limit = math.sqrt(6 / (d + 3 * d))  # Glorot and Bengio (2010)
    for weight in (ours.project.weight, theirs.in_proj_weight):
        assert weight.abs().max() <= limit
        assert weight.abs().max() > 0.99 * limit
        assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)
    for one, other in (
        (ours.project.bias, theirs.in_proj_bias),
        (ours.out.bias, theirs.out_proj.bias),
    ):
        assert torch.equal(one, other) and (one == 0).all()


@pytest.mark.parametrize("p", [0.0, 0.1, 0.15, 0.5, 0.999])
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
    if p == 0.5:  # neighbours and rows know nothing of each other
        for other in (kept.roll(1, 0), kept.roll(1, 1)):
            assert abs((kept == other).float().mean().item() - 0.5) < 5 * 0.5 / math.sqrt(n)
