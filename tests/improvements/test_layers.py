"""Feed-forward networks, experts, another encoder, and other embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from pgt.batch import QUARTERS, Batch
from pgt.config import ModelConfig
from pgt.improvements import (
    FREQUENT,
    MEDIUM,
    SHORTEST,
    AdaptiveEmbedding,
    AdditivePointer,
    CoveragePointer,
    CrossModalEmbeddings,
    CyclicTime,
    CyclicWeekday,
    Experts,
    GeGLU,
    RecurrentEncoder,
    cropped,
    occurrences,
)
from pgt.model import EncoderLayer, Pointer
from pgt.windows import Dataset, prepare

from ..helpers import changed, random_visits, tiny_config

CONFIG = ModelConfig(50, 5, d_model=16, n_heads=2, d_feedforward=48, dropout=0.0)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130, places=30), protocol="exact")


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    return data.train.batch(np.arange(0, len(data.train), 9))


def seeded(make: Any) -> Any:
    """A part with random weights, in double precision."""
    torch.manual_seed(0)
    part = make().double().eval()
    with torch.no_grad():
        for values in part.parameters():
            values += 0.3 * torch.randn_like(values)
        for table in part.modules():
            if isinstance(table, torch.nn.Embedding) and table.padding_idx is not None:
                table.weight[table.padding_idx] = 0
    return part


X = torch.randn(3, 7, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def n_parameters(part: torch.nn.Module) -> int:
    return sum(p.numel() for p in part.parameters())


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
    shares = part.shares(X)
    assert torch.allclose(shares.sum(-1), torch.ones((), dtype=torch.float64))
    expected = sum(shares[..., k : k + 1] * expert(X) for k, expert in enumerate(part.experts))
    torch.testing.assert_close(part(X), expected, atol=1e-12, rtol=0)
    assert shares.std() > 0.01  # it depends on the visit


def test_four_alike_experts_are_one() -> None:
    part = seeded(lambda: Experts(CONFIG))
    for expert in part.experts:
        expert.load_state_dict(part.experts[0].state_dict())
    torch.testing.assert_close(part(X), part.experts[0](X), atol=1e-12, rtol=0)


def test_the_recurrent_encoder_reads_both_ways_and_no_padding() -> None:
    part = seeded(lambda: RecurrentEncoder(CONFIG))
    lengths = torch.tensor([7, 4, 1])
    padding = torch.arange(7) >= lengths[:, None]
    out, weights = part(X, padding)
    assert weights == () and out.shape == X.shape
    for i, n in enumerate(lengths.tolist()):
        alone, _ = part(X[i : i + 1, :n], torch.zeros(1, n, dtype=torch.bool))
        torch.testing.assert_close(out[i : i + 1, :n], alone, atol=1e-12, rtol=0)
    last, first = X.clone(), X.clone()
    last[0, -1] += 1
    first[0, 0] += 1
    assert not torch.allclose(part(last, padding)[0][0, 0], out[0, 0])
    assert not torch.allclose(part(first, padding)[0][0, -1], out[0, -1])


# --- embeddings


def test_time_of_day_runs_in_a_circle_and_midnight_is_no_wall() -> None:
    part = seeded(lambda: CyclicTime(8))
    waves = part.waves
    assert not waves[0].any()
    step = (waves[2:] - waves[1:-1]).norm(dim=1)
    assert torch.allclose(step, step[:1].expand_as(step))  # even steps
    assert torch.allclose((waves[1] - waves[QUARTERS]).norm(), step[0])  # round the clock
    assert len({tuple(row) for row in waves[1:].numpy().round(9)}) == QUARTERS
    out = part(torch.arange(QUARTERS + 1)[None])[0]
    assert not out[0].any() and (out[1:].abs().sum(1) > 0).all()
    hours = part.hour.weight
    with torch.no_grad():
        hours[13] += 1.0  # 12:00 to 12:59 are quarters 49 to 52
    moved = ~torch.isclose(part(torch.arange(QUARTERS + 1)[None])[0], out).all(1)
    assert moved.nonzero().flatten().tolist() == [49, 50, 51, 52]


def test_the_week_is_a_circle_of_seven_days() -> None:
    part = seeded(lambda: CyclicWeekday(8))
    angle = torch.atan2(part.waves[1:, 0], part.waves[1:, 1])
    gaps = (angle[1:] - angle[:-1]) % (2 * torch.pi)
    assert torch.allclose(gaps, torch.full_like(gaps, 2 * torch.pi / 7), atol=1e-5)
    out = part(torch.arange(8)[None])[0]
    assert not out[0].any() and len({tuple(r) for r in out.detach().numpy().round(9)}) == 8


def counted(data: Dataset) -> np.ndarray:
    """Occurrences by a loop over windows."""
    count = np.zeros(data.vocabulary.n_locations)
    ids = data.train.features[0].numpy()[1:]
    for first, target in zip(data.train.first, data.train.target, strict=True):
        np.add.at(count, ids[first:target], 1)
    return count


def test_occurrences_are_those_of_a_loop(data: Dataset) -> None:
    assert np.array_equal(occurrences(data.train).numpy(), counted(data))
    assert occurrences(data.train)[0] == 0


@pytest.mark.parametrize(("widest", "widths"), [("frequent", (16, 8, 4)), ("rare", (4, 8, 16))])
def test_erratum_19_adaptive_widths_follow_the_counts(widest: str, widths: tuple[int, ...]) -> None:
    counts = torch.tensor([0, 5, FREQUENT, FREQUENT + 1, MEDIUM, MEDIUM - 1, 0, 5000])
    part = seeded(lambda: AdaptiveEmbedding(counts, 16, widest))
    groups = [[3, 7], [2, 4], [0, 1, 5, 6]]  # more than 1000, 100 to 1000, less
    for members, table, project, width in zip(
        groups, part.tables, part.projections, widths, strict=True
    ):
        assert table.weight.shape == (len(members), width)
        for row, location in enumerate(members):
            expected = project(table.weight[row]) * (location > 0)
            found = part(torch.tensor([[location]]))[0, 0]
            torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_adaptive_widths_must_be_one_of_the_two() -> None:
    with pytest.raises(ValueError, match="'frequent' or 'rare'"):
        AdaptiveEmbedding(torch.ones(5), 16, "medium")


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


def test_places_hear_of_the_times_of_all_visits(data: Dataset, batch: Batch) -> None:
    part = seeded(lambda: CrossModalEmbeddings(tiny_config(data, dropout=0.0)))
    out = part(batch)
    time = batch.time.clone()
    time[:, 0] = time[:, 0] % 96 + 1
    moved = part(changed(batch, time=time))
    assert not torch.allclose(moved[:, 1], out[:, 1])


# --- pointers


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


def test_coverage_adds_up_what_earlier_visits_pointed_at(data: Dataset, batch: Batch) -> None:
    config = tiny_config(data)
    part = seeded(lambda: CoveragePointer(config))
    context, encoded = pointer_inputs(batch)
    found, covered = part(context, encoded, batch), part.coverage(encoded, batch)
    plain = Pointer(config).double()
    plain.load_state_dict({k: v for k, v in part.state_dict().items() if k != "weight"})
    for i in range(0, len(batch), 7):
        n = int(batch.length[i])
        total = torch.zeros(n, dtype=torch.float64)
        for j in range(n - 1):  # each earlier visit asks about itself and those before it
            score = part.key(encoded[i, : j + 1]) @ part.query(encoded[i, j]) / 4
            back = torch.arange(j + 1, 0, -1)
            total[: j + 1] += (score + part.position_bias[back]).softmax(0)
        torch.testing.assert_close(covered[i, :n], total, atol=1e-12, rtol=0)
        assert not covered[i, n - 1 :].any()
        score = plain(context, encoded, batch)[i, :n] + part.weight * total
        torch.testing.assert_close(found[i, :n], score.log_softmax(0), atol=1e-12, rtol=0)


# --- augmentation


def test_cropped_windows_are_the_same_questions_with_less_past(data: Dataset) -> None:
    train, more = data.train, cropped(data.train)
    n = len(train)
    assert len(more) == 2 * n and more.features is train.features
    assert np.array_equal(more.first[:n], train.first)
    assert np.array_equal(more.target, np.tile(train.target, 2))
    assert (more.first[n:] >= train.first).all()
    assert (more.lengths[n:] >= np.minimum(train.lengths, SHORTEST)).all()
    assert (more.lengths[n:] < train.lengths).mean() > 0.5
    assert np.array_equal(cropped(data.train).first, more.first)  # the same every time
    assert not np.array_equal(cropped(data.train, seed=1).first, more.first)
