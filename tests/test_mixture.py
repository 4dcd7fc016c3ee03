"""Two distributions mixed: by the formula, by loops, and in stretches."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from wherenext import city

from pgt import mixture as mixture_module
from pgt import sparse, windows
from pgt.batch import Batch
from pgt.config import ABLATIONS, ModelConfig
from pgt.contextual import ContextualConfig, ContextualPointer
from pgt.history import with_history
from pgt.improvements import improved
from pgt.mixture import Mixture, MixtureModel, evaluating
from pgt.model import PointerGeneratorTransformer
from pgt.sparse import Slots, cross_entropy, log_mixture, rank_all, scatter_log_probs
from pgt.windows import Windows, prepare

from .helpers import random_visits, tiny_config

# --- the mixture in log space equals the printed formula where that can be written down


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


def data_and_models() -> Iterator[tuple[str, MixtureModel, Windows]]:
    """Every model that can do without (B, V), in float64 and away from its first weights."""
    data = windows.prepare(city.load().visits, protocol="exact")
    memory = with_history(data, memory=60, older=10)
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    config = ModelConfig(*size, dropout=0.0)
    for name, change in ABLATIONS.items():
        yield name, PointerGeneratorTransformer(replace(config, **change)), data.test
    known = 2 + data.vocabulary.n_known
    for changes in (
        {"without": ("generator", "gate")},
        {"n_trained_ids": 0},
        {"n_trained_ids": known},
        {"n_trained_ids": known, "without": ("gate",)},
    ):
        contextual = ContextualConfig(*size, dropout=0.0, **changes)  # type: ignore[arg-type]
        yield f"contextual {changes}", ContextualPointer(contextual), memory.test
    for name in ("mixture_of_softmaxes", "temperature"):
        yield name, improved(config, data.train, name), data.test


CASES = list(data_and_models())


@pytest.mark.parametrize("stretch", [2**20, 16 * 300], ids=["kept", "in stretches"])
@pytest.mark.parametrize(("name", "model", "part"), CASES, ids=[name for name, _, _ in CASES])
def test_without_all_places_loss_gradient_and_ranks_are_the_same(
    monkeypatch: pytest.MonkeyPatch, name: str, model: Any, part: Windows, stretch: int
) -> None:
    if stretch < 2**20:
        monkeypatch.setattr(sparse, "KEPT", 0)
        monkeypatch.setattr(mixture_module, "KEPT", 0)
        monkeypatch.setattr(sparse, "STRETCH", stretch)
    model = copy.deepcopy(model).double()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    batch = part.batch(np.arange(0, len(part), len(part) // 24)[:24])
    names, parameters = zip(*model.named_parameters(), strict=True)
    for smoothing in (0.0, 0.3):
        printed = cross_entropy(model(batch).log_probs, batch.target, smoothing)
        lean = model.mixture(batch).cross_entropy(batch.target, smoothing)
        torch.testing.assert_close(lean, printed, atol=1e-12, rtol=1e-12)
        both = [
            torch.autograd.grad(loss.mean(), parameters, allow_unused=True)
            for loss in (printed, lean)
        ]
        for parameter, one, other in zip(names, *both, strict=True):
            one, other = (torch.zeros(1) if g is None else g for g in (one, other))
            torch.testing.assert_close(other, one, atol=1e-12, rtol=1e-12, msg=parameter)
    dense = rank_all(model.scores(batch), batch.target, batch.index, k=5)
    found = model.rank(batch, k=5)
    assert torch.equal(found.better, dense.better) and torch.equal(found.tied, dense.tied)
    assert torch.equal(found.predicted, dense.predicted)
    torch.testing.assert_close(found.value[:, :5], dense.value[:, : found.value.shape[1]])


def small_mixture(seed: int, first: int, linear: bool) -> tuple[Mixture, Tensor]:
    """Few places, some named by neither side, and (B, V) the logarithms of what is mixed."""
    rng = torch.Generator().manual_seed(seed)
    b, size = 6, V - 1 - first
    place = 1 + torch.stack([torch.randperm(V - 1, generator=rng)[:4] for _ in range(b)])
    place[:, 1:] = place[:, 1:].masked_fill(torch.rand(b, 3, generator=rng) < 0.4, -1)
    place = place.sort(1).values
    scores = torch.randn(b, 4, generator=rng, dtype=torch.float64)
    pointer = scores.masked_fill(place < 0, -math.inf).log_softmax(1)
    gate, h = (torch.randn(n, generator=rng, dtype=torch.float64) for n in ((b,), (b, 3)))
    weight, bias = (torch.randn(n, generator=rng, dtype=torch.float64) for n in ((size, 3), size))
    z = h @ weight.T + bias
    made = sparse.LinearLogits(h, weight, bias, first) if linear else sparse.DenseLogits(z, first)
    generator = torch.full((b, V), -math.inf, dtype=torch.float64)
    generator[:, first : first + size] = z.log_softmax(1)
    copied = torch.full((b, 1 + V), -math.inf, dtype=torch.float64).scatter(1, 1 + place, pointer)
    return Mixture(V, gate, place, pointer, made), log_mixture(gate, copied[:, 1:], generator)


@pytest.mark.parametrize("stretch", [1, 10**6])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("first", [0, 1, 3, V - 2])
def test_a_mixture_of_few_places_is_what_it_says(
    monkeypatch: pytest.MonkeyPatch, first: int, linear: bool, stretch: int
) -> None:
    monkeypatch.setattr(sparse, "KEPT", stretch - 1)
    monkeypatch.setattr(mixture_module, "KEPT", stretch - 1)
    monkeypatch.setattr(sparse, "STRETCH", stretch)
    for seed in range(4):
        mixed, log_probs = small_mixture(seed, first, linear)
        index = torch.arange(len(log_probs))
        for target in range(V):
            asked = torch.full_like(index, target)
            dense = rank_all(log_probs, asked, index)
            found = mixed.rank(asked, index)
            assert torch.equal(found.better, dense.better) and torch.equal(found.tied, dense.tied)
            assert found.value.shape[1] == mixed.place.shape[1] + 1
            torch.testing.assert_close(mixed.cross_entropy(asked), cross_entropy(log_probs, asked))
            smooth = mixed.cross_entropy(asked, 0.2), cross_entropy(log_probs, asked, 0.2)
            torch.testing.assert_close(*smooth)
        check_best(mixed, log_probs)


def check_best(mixed: Mixture, log_probs: Tensor) -> None:
    """The best places, and how much of each the pointer gives, are those of all of them."""
    real = log_probs.clone()
    real[:, 0] = -math.inf  # padding is no answer
    for k in (1, 3, V + 2):
        value, place, copied = mixed.best(k)
        width = value.shape[1]
        assert width <= k and place.shape == copied.shape == value.shape
        order = real.sort(1, descending=True).values
        torch.testing.assert_close(value[:, :V], order[:, :width])
        assert (value[:, V:] == -math.inf).all()
        assert (order[:, width:] == -math.inf).all() or width == k
        for row, column in (value > -math.inf).nonzero().tolist():
            name = int(place[row, column])
            given = mixed.pointer[row][mixed.place[row] == name].exp().sum()
            share = mixed.gate_logit[row].sigmoid() * given / log_probs[row, name].exp()
            assert copied[row, column].item() == pytest.approx(share.item(), abs=1e-9)
        assert ((copied >= 0) & (copied <= 1)).all()


def test_slots_name_each_place_of_a_window_once() -> None:
    location = torch.tensor([[4, 2, 4, 9], [3, 3, 0, 0]])
    slots = Slots.of(location, location == 0)
    shown = slots.place.gather(1, slots.of_visit)
    assert torch.equal(shown, location.masked_fill(location == 0, -1))
    for row in slots.place.tolist():
        assert min(row) == -1  # both have more slots than places
        real = [place for place in row if place >= 0]
        assert real == sorted(set(real))


# --- what all networks share: scores and ranks without dropout, and the mode left as it was


@pytest.fixture(scope="module")
def asked() -> tuple[PointerGeneratorTransformer, Batch]:
    data = prepare(random_visits(1, users=3, visits=100))
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(tiny_config(data, dropout=0.5))
    return model, data.train.batch(np.arange(12))


@pytest.mark.parametrize("training", [True, False])
def test_scores_and_ranks_are_of_evaluation_and_leave_the_mode_as_it_was(
    asked: tuple[PointerGeneratorTransformer, Batch], training: bool
) -> None:
    model, batch = asked
    expected = model.eval()(batch).log_probs.detach()
    model.train(training)
    scores = model.scores(batch)
    assert torch.equal(scores, expected) and not scores.requires_grad
    found = model.rank(batch)
    own = scores.gather(1, batch.target[:, None])
    assert torch.equal(found.better, (scores > own).sum(1))
    assert torch.equal(found.predicted, scores.argmax(1))
    # All places of the window, and of the others one, unless more are wanted.
    width = batch.location.shape[1]
    assert found.place.shape == (12, width + 1) and model.rank(batch, 4).place.shape[1] == width + 4
    assert model.training == training and all(part.training == training for part in model.modules())


def test_the_mode_comes_back_after_an_error(
    asked: tuple[PointerGeneratorTransformer, Batch],
) -> None:
    model, _ = asked
    model.train()
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError(model.training)
    assert model.training


def test_only_what_is_trained_is_counted(asked: tuple[PointerGeneratorTransformer, Batch]) -> None:
    model, _ = asked
    before = model.n_parameters()
    weight = model.embeddings.tables["location"].weight
    assert before == sum(parameter.numel() for parameter in model.parameters())
    weight.requires_grad_(False)
    assert before - model.n_parameters() == weight.numel() > 0
    weight.requires_grad_(True)


def test_a_network_without_a_mixture_says_so() -> None:
    with pytest.raises(NotImplementedError):
        MixtureModel().mixture(None)
