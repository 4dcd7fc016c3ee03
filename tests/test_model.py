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
from pgt.config import ABLATIONS, PARTS, PRESETS, ModelConfig, TrainConfig, WindowConfig, ablate
from pgt.model import (
    Embeddings,
    EncoderLayer,
    Output,
    Pointer,
    PointerGeneratorTransformer,
    logits_of,
    recency,
    sinusoids,
)
from pgt.sparse import DenseLogits, LinearLogits, cross_entropy
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


def test_erratum_8_the_gate_is_the_weight_of_copying(data: Dataset, batch: Batch) -> None:
    out = model_of(tiny_config(data))(batch)
    g = out.gate[:, None]
    mixed = g * out.pointer_log_probs.exp() + (1 - g) * out.generator_log_probs.exp()
    torch.testing.assert_close(out.log_probs.exp(), mixed, atol=1e-14, rtol=0)
    copied = torch.zeros_like(mixed).scatter_add(1, batch.location, out.pointer_attention)
    torch.testing.assert_close(out.pointer_log_probs.exp(), copied, atol=1e-14, rtol=0)


def test_ablated_gates(data: Dataset, batch: Batch) -> None:
    config = tiny_config(data)
    gates = {name: model_of(ablate(config, name))(batch) for name in ABLATIONS}
    assert (gates["no_gate"].gate == 0.5).all()
    assert (gates["no_generator"].gate == 1).all()
    assert (gates["no_pointer"].gate == 0).all()
    assert torch.equal(gates["no_generator"].log_probs, gates["no_generator"].pointer_log_probs)
    assert torch.equal(gates["no_pointer"].log_probs, gates["no_pointer"].generator_log_probs)


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


def test_nothing_but_the_listed_fields_is_read(data: Dataset, batch: Batch) -> None:
    nonsense = torch.full_like(batch.length, 10**9)
    other = changed(batch, index=nonsense, now_minute=nonsense, start_minute=batch.location * 0)
    model = model_of(tiny_config(data))
    assert torch.equal(model(batch).log_probs, model(other).log_probs)


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


@pytest.mark.parametrize("grad", [False, True])
def test_the_returned_self_attention_is_the_one_used(
    data: Dataset, batch: Batch, grad: bool
) -> None:
    config = tiny_config(data)
    model = model_of(config)
    with torch.set_grad_enabled(grad):
        plain, told = model(batch), model(batch, attention=True)
    close(plain, told)
    assert plain.self_attention == ()
    assert len(told.self_attention) == config.n_layers
    n = batch.location.shape[1]
    for weights in told.self_attention:
        assert weights.shape == (len(batch), config.n_heads, n, n)
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert (weights.masked_select(batch.padding[:, None, None, :]) == 0).all()


def test_the_self_attention_of_the_first_layer_recomputed(data: Dataset, batch: Batch) -> None:
    config = tiny_config(data)
    model = model_of(config)
    layer = model.encoder.layers[0]
    x = model.embeddings(batch) + model.encoder.positions[: batch.location.shape[1]]
    h = layer.norm_attention(x)
    query, key, _ = layer.attention.project(h).chunk(3, -1)
    size = config.d_model // config.n_heads
    for head in range(config.n_heads):
        part = slice(head * size, (head + 1) * size)
        scores = query[..., part] @ key[..., part].transpose(1, 2) / math.sqrt(size)
        expected = scores.masked_fill(batch.padding[:, None, :], -math.inf).softmax(-1)
        actual = model(batch, attention=True).self_attention[0][:, head]
        torch.testing.assert_close(actual, expected, atol=1e-12, rtol=0)


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
    loss = model.mixture(batch).cross_entropy(torch.tensor([5]))
    torch.testing.assert_close(loss, -out.log_probs[:, 5])
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
    assert json.loads(json.dumps(asdict(TrainConfig()))) == measured
    assert WindowConfig() == WindowConfig(days=7, min_visits=3, protocol="published")


def test_configuration_survives_json() -> None:
    config = ModelConfig(10, 3, without=("gate", "user"), target_time="day")
    assert ModelConfig.from_dict(asdict(config)) == config


def test_every_part_can_be_removed_alone(data: Dataset, batch: Batch) -> None:
    for part in PARTS:
        out = model_of(tiny_config(data, without=(part,)))(batch)
        assert (out.log_probs.logsumexp(1).abs() < 1e-12).all(), part


def test_bf16_in_the_encoder_gives_nearly_the_same(data: Dataset, batch: Batch) -> None:
    model = model_of(tiny_config(data)).float()
    with torch.no_grad():
        exact = model(batch)
        with torch.autocast("cpu", torch.bfloat16):
            half = model(batch)
    for name in FIELDS:
        assert getattr(half, name).dtype == torch.float32, name
    assert (half.log_probs.logsumexp(1).abs() < 1e-5).all()
    assert (half.log_probs - exact.log_probs).abs().max() < 0.15
    assert not torch.equal(half.log_probs, exact.log_probs)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        mixture = model.mixture(batch)
    assert {mixture.gate_logit.dtype, mixture.pointer.dtype} == {torch.float32}
    assert isinstance(mixture.logits, LinearLogits)
    assert mixture.logits.context.dtype == torch.float32


def test_only_a_generator_that_is_one_product_is_computed_in_stretches(data: Dataset) -> None:
    generator = model_of(tiny_config(data)).generator
    assert generator is not None
    context = torch.randn(3, 16, dtype=torch.float64)
    stretched = logits_of(generator, context, 2)
    whole = logits_of(torch.nn.Sequential(generator), context, 2)
    assert isinstance(stretched, LinearLogits) and isinstance(whole, DenseLogits)
    torch.testing.assert_close(whole.z, context @ stretched.weight.T + stretched.bias)
    assert whole.first == stretched.first == 2
    half = logits_of(generator.float(), context.bfloat16())
    assert isinstance(half, LinearLogits) and half.context.dtype == torch.float32


def test_without_a_pointer_a_mixture_has_no_slots(data: Dataset, batch: Batch) -> None:
    mixture = model_of(tiny_config(data, without=("pointer",))).mixture(batch)
    assert mixture.place.shape == mixture.pointer.shape == (len(batch), 0)


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


def test_a_constant_added_to_all_keys_changes_nothing(data: Dataset, batch: Batch) -> None:
    """A softmax forgets it: the key biases are parameters without effect."""
    model = model_of(tiny_config(data))
    before = model(batch)
    d = model.config.d_model
    with torch.no_grad():
        assert model.pointer is not None
        model.pointer.key.bias += torch.randn(d)
        for layer in model.encoder.layers:
            layer.attention.project.bias[d : 2 * d] += torch.randn(d)
    close(before, model(batch))
