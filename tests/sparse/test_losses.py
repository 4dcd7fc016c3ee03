"""The loss is PyTorch's cross-entropy, where that is finite."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from pgt.sparse import cross_entropy


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


def test_a_place_that_the_pure_pointer_cannot_name_costs_a_constant_without_gradient() -> None:
    scores = torch.randn(2, 3, requires_grad=True)
    log_probs = torch.full((2, 5), -math.inf).scatter(1, torch.tensor([[2, 3, 4]] * 2), 0.0)
    log_probs = log_probs + nn.functional.pad(scores.log_softmax(1), (2, 0))
    loss = cross_entropy(log_probs, torch.tensor([1, 3]), 0.1)
    assert loss.isfinite().all()
    plain = cross_entropy(log_probs, torch.tensor([1, 3]))
    assert plain[0].item() == pytest.approx(-math.log(1e-10))
    plain[0].backward()
    assert scores.grad is not None
    assert (scores.grad == 0).all()


def test_nothing_is_smoothed_unless_it_is_asked_for() -> None:
    log_probs, target = torch.randn(5, 4).log_softmax(1), torch.tensor([0, 1, 2, 3, 0])
    assert torch.equal(cross_entropy(log_probs, target), cross_entropy(log_probs, target, 0.0))
    assert not torch.equal(cross_entropy(log_probs, target), cross_entropy(log_probs, target, 0.1))


@pytest.mark.parametrize("smoothing", [0.0, 0.2, 1.0])
def test_impossible_places_cost_a_constant_in_both_terms(smoothing: float) -> None:
    log_probs = torch.tensor([[0.5, 0.5, 0.0, 0.0]], dtype=torch.float64).log()
    impossible = -math.log(1e-10)
    for target, own in ((0, math.log(2)), (3, impossible)):
        every = (2 * math.log(2) + 2 * impossible) / 4
        expected = (1 - smoothing) * own + smoothing * every
        found = cross_entropy(log_probs, torch.tensor([target]), smoothing)
        assert found.item() == pytest.approx(expected, rel=1e-12)
