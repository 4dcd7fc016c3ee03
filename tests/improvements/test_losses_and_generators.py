"""Losses and output heads: the formulas they name, and what they can say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from pgt import improvements
from pgt.config import ModelConfig
from pgt.improvements import AdaptiveSoftmax, ManyHeads, MixtureOfSoftmaxes, Tempered
from pgt.model import Generator
from pgt.sparse import cross_entropy
from pgt.windows import Dataset, prepare

from ..helpers import random_visits

V, D, N = 60, 8, 200
CONFIG = ModelConfig(V, 5, d_model=D, n_heads=2)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130, places=30), protocol="exact")


def predictions() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(N, V, dtype=torch.float64).log_softmax(1), torch.randint(0, V, (N,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_focal_without_focus_is_cross_entropy(smoothing: float) -> None:
    log_probs, target = predictions()
    plain = cross_entropy(log_probs, target, smoothing)
    assert torch.equal(improvements.focal(0.0)(log_probs, target, smoothing), plain)
    focal = improvements.focal(2.0)(log_probs, target, smoothing)
    chance = log_probs.exp()[torch.arange(N), target]
    torch.testing.assert_close(focal, (1 - chance) ** 2 * plain)
    assert (focal < plain).all()


def test_focal_loss_forgets_what_is_sure() -> None:
    log_probs = torch.tensor([[0.99, 0.01], [0.01, 0.99]], dtype=torch.float64).log()
    target = torch.tensor([0, 0])
    easy, hard = improvements.focal(2.0)(log_probs, target, 0.0) / cross_entropy(log_probs, target)
    assert np.isclose(easy, 1e-4) and np.isclose(hard, 0.99**2)


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


def test_balanced_loss_smooths_as_the_plain_one(data: Dataset) -> None:
    targets = torch.from_numpy(data.train.targets[:50])
    log_probs = torch.randn(50, data.vocabulary.n_locations).log_softmax(1)
    balanced = improvements.balanced(data.train)
    weight = balanced(log_probs, targets, 0.0) / cross_entropy(log_probs, targets, 0.0)
    torch.testing.assert_close(balanced(log_probs, targets, 0.1),
                               weight * cross_entropy(log_probs, targets, 0.1))  # fmt: skip


# --- heads


def head(name: str) -> Any:
    torch.manual_seed(1)
    kinds: dict[str, Any] = {
        "plain": Generator, "many": ManyHeads, "mixture": MixtureOfSoftmaxes, "tempered": Tempered,
        "adaptive": lambda c: AdaptiveSoftmax(torch.randperm(V), c),
    }  # fmt: skip
    part = kinds[name](CONFIG).double()
    with torch.no_grad():
        for values in part.parameters():
            values += torch.randn_like(values)
    return part


def contexts() -> Tensor:
    return torch.randn(N, D, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("name", ["mixture", "adaptive"])
def test_log_probabilities_sum_to_one(name: str) -> None:
    out = head(name)(contexts())
    assert out.shape == (N, V)
    assert (out.logsumexp(1).abs() < 1e-11).all()
    torch.testing.assert_close(out.log_softmax(1), out, atol=1e-11, rtol=0)  # once more is harmless


def rank(log_probs: Tensor) -> int:
    """Rank of the matrix of log-probabilities, without what a constant a row adds."""
    centred = log_probs - log_probs.mean(1, keepdim=True)
    values = torch.linalg.svdvals(centred)
    return int((values > 1e-9 * values[0]).sum())


def test_only_a_mixture_goes_beyond_the_rank_of_one_softmax() -> None:
    x = contexts()
    for name in ("plain", "tempered"):
        assert rank(F.log_softmax(head(name)(x), 1)) <= D + 1
    assert rank(head("mixture")(x)) > 2 * (D + 1)
    # Scores weighed by the context: four times as many features, of rank D / 4 each.
    many = F.log_softmax(head("many")(x), 1)
    assert D + 1 < rank(many) <= D + 4


def test_one_softmax_of_a_mixture_is_a_softmax() -> None:
    part = MixtureOfSoftmaxes(CONFIG, n_softmaxes=1).double()
    x = contexts()
    plain = F.log_softmax(torch.tanh(part.contexts(x)) @ part.weight.T + part.bias, 1)
    torch.testing.assert_close(part(x), plain)


def test_a_mixture_of_softmaxes_is_its_formula() -> None:
    part, x = head("mixture"), contexts()
    share = part.prior(x).softmax(1)
    hidden = torch.tanh(part.contexts(x)).view(N, 4, D)
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


def test_a_temperature_leaves_the_ranking_of_the_generator() -> None:
    part, x = head("tempered"), contexts()
    plain = Generator(CONFIG).double()
    plain.load_state_dict({"weight": part.weight, "bias": part.bias})
    temperature = float(part.log_temperature.detach().exp())
    assert abs(temperature - 1) > 0.1
    torch.testing.assert_close(part(x) * temperature, plain(x))
    assert torch.equal(part(x).argsort(1), plain(x).argsort(1))
    assert not Tempered(CONFIG).log_temperature.any()
