"""The mixture in log space equals the printed formula where that can be written down."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from pgt.mixture import log_mixture, scatter_log_probs

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
