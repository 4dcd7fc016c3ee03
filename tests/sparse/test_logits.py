"""Logits a stretch at a time are the logits, and so are their gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pgt import sparse
from pgt.sparse import DenseLogits, LinearLogits, at_least_float32

B, D, V, K = 5, 4, 23, 3


def leaves() -> list[Tensor]:
    torch.manual_seed(0)
    shapes = (B, D), (V, D), (V,)
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize(
    ("kept", "stretch"), [(10**6, 10**6), (0, 10**6), (0, 7 * B), (0, B), (0, 1)]
)
@pytest.mark.parametrize("total", [True, False])
def test_summary_and_gradients(
    monkeypatch: pytest.MonkeyPatch, kept: int, stretch: int, total: bool
) -> None:
    monkeypatch.setattr(sparse, "KEPT", kept)
    monkeypatch.setattr(sparse, "STRETCH", stretch)
    h, weight, bias = leaves()
    at = torch.tensor([[0, 22, 5], [1, 1, 1], [3, 2, 1], [7, 0, 0], [22, 21, 20]])
    ways = LinearLogits(h, weight, bias), DenseLogits(h @ weight.T + bias)
    gradients = []
    results = [way.summary(at, total) for way in ways]
    for lse, sums, own in results:
        weights = torch.arange(1.0, B + 1, dtype=torch.float64)
        loss = (weights * lse).sum() + (own**2).sum()
        if total:
            loss = loss + (weights * sums**2).sum()
        gradients.append(torch.autograd.grad(loss, (h, weight, bias)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-13, rtol=1e-13)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


def test_large_logits_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "KEPT", 0)
    monkeypatch.setattr(sparse, "STRETCH", 2 * B)
    h, weight, bias = leaves()
    lse, _, _ = LinearLogits(h * 1e4, weight, bias).summary(torch.zeros(B, 1).long(), total=False)
    torch.testing.assert_close(lse, (h * 1e4 @ weight.T + bias).logsumexp(1))


def test_chunks_cover_every_column_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "STRETCH", 4 * B)
    h, weight, bias = leaves()
    parts = list(LinearLogits(h, weight, bias).chunks())
    assert [low for low, _ in parts] == [0, 4, 8, 12, 16, 20]
    torch.testing.assert_close(torch.cat([z for _, z in parts], 1), h @ weight.T + bias)


@pytest.mark.parametrize("kept", [0, 10**6])
def test_half_precision_around_them_leaves_the_sums_as_they_are(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(sparse, "KEPT", kept)
    at = torch.tensor([[0, 5]] * B)
    results = []
    for half in (False, True):
        h, weight, bias = (leaf.detach().float().requires_grad_() for leaf in leaves())
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            lse, sums, own = LinearLogits(h, weight, bias).summary(at, total=True)
            gradients = torch.autograd.grad((lse + sums + own.sum(1)).sum(), (h, weight, bias))
        results.append((lse, sums, own, *gradients))
    for one, other in zip(*results, strict=True):
        assert one.dtype == torch.float32 and torch.equal(one, other)


def test_both_ways_say_which_columns_they_have() -> None:
    h, weight, bias = leaves()
    for made in (LinearLogits(h, weight, bias), DenseLogits(h @ weight.T + bias)):
        assert (made.first, made.size) == (0, V)
        columns = [low + column for low, z in made.chunks() for column in range(z.shape[1])]
        assert columns == list(range(V))
    assert LinearLogits(h, weight, bias, 4).first == DenseLogits(weight, 4).first == 4


def test_half_precision_is_widened_and_the_rest_left() -> None:
    for kind in (torch.bfloat16, torch.float16):
        assert at_least_float32(torch.ones(1, dtype=kind)).dtype == torch.float32
    for kind in (torch.float32, torch.float64):
        x = torch.ones(1, dtype=kind)
        assert at_least_float32(x) is x
