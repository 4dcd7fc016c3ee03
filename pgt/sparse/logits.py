"""The generator's logits, never all at once: exact sums over all places, a stretch at a time.

Of V logits a window, the loss and the ranks need few numbers: log Σ exp z, Σ z, and the logits at
the places that matter (the target and those of the window). A matrix of B x V numbers would be
written down to be summed up. Here a stretch of V is computed, summed and thrown away; the backward
pass computes it again (Chen et al. 2016, "Training deep nets with sublinear memory cost").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

STRETCH = 2**20  # so many logits exist at a time
KEPT = 2**21  # up to so many are kept for the backward pass: faster than computing them again


class Logits(Protocol):
    """The logits of B windows for the ids ``first`` … ``first + size - 1``."""

    @property
    def first(self) -> int: ...

    @property
    def size(self) -> int: ...

    def summary(self, at: Tensor, total: bool) -> tuple[Tensor, Tensor, Tensor]:
        """(B, K) columns -> log Σ exp z (B,), Σ z (B,; 0 unless wanted), z at the columns (B, K).

        Differentiable.
        """
        ...

    def chunks(self) -> Iterator[tuple[int, Tensor]]:
        """The first column and the logits (B, n) of each stretch; not for gradients."""
        ...


@dataclass(frozen=True)
class DenseLogits:
    """Logits that are there already, of a generator that is more than one product.

    Attributes
    ----------
    z : Tensor
        (B, V).
    first : int
        The id of the first column.
    """

    z: Tensor
    first: int = 0

    @property
    def size(self) -> int:
        """How many columns."""
        return self.z.shape[1]

    def summary(self, at: Tensor, total: bool) -> tuple[Tensor, Tensor, Tensor]:
        """See `Logits.summary`."""
        sums = self.z.sum(1) if total else self.z.new_zeros(len(self.z))
        return self.z.logsumexp(1), sums, self.z.gather(1, at)

    def chunks(self) -> Iterator[tuple[int, Tensor]]:
        """See `Logits.chunks`."""
        yield 0, self.z


@dataclass(frozen=True)
class LinearLogits:
    """z = h Wᵀ + b, a stretch of V at a time.

    Attributes
    ----------
    context : Tensor
        (B, D).
    weight, bias : Tensor
        (V, D) and (V,).
    first : int
        The id of the first column.

    Examples
    --------
    >>> h, weight, bias = torch.ones(1, 2), torch.eye(2), torch.zeros(2)
    >>> lse, total, own = LinearLogits(h, weight, bias).summary(torch.tensor([[1]]), total=True)
    >>> [round(float(x), 4) for x in (lse, total, own)]
    [1.6931, 2.0, 1.0]
    """

    context: Tensor
    weight: Tensor
    bias: Tensor
    first: int = 0

    @property
    def size(self) -> int:
        """How many columns."""
        return len(self.weight)

    def summary(self, at: Tensor, total: bool) -> tuple[Tensor, Tensor, Tensor]:
        """See `Logits.summary`."""
        lse, sums, own = _Summary.apply(self.context, self.weight, self.bias, at, total)
        return lse, sums, own

    def chunks(self) -> Iterator[tuple[int, Tensor]]:
        """See `Logits.chunks`."""
        yield from _chunks(self.context.detach(), self.weight.detach(), self.bias.detach())


def _chunks(h: Tensor, weight: Tensor, bias: Tensor) -> Iterator[tuple[int, Tensor]]:
    step = max(STRETCH // max(len(h), 1), 1)
    for low in range(0, len(weight), step):
        part = slice(low, low + step)
        yield low, torch.addmm(bias[part], h, weight[part].T)  # (B, step)


class _Summary(torch.autograd.Function):
    """dz_v = g_lse · exp(z_v - lse) + g_total for every v, and the gradient at the few columns."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, at: Tensor, total: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        with torch.autocast(h.device.type, enabled=False):
            keep = len(h) * len(weight) <= KEPT
            if keep:
                kept = torch.addmm(bias, h, weight.T)  # (B, V)
                lse, own = kept.logsumexp(1), kept.gather(1, at)
                sums = kept.sum(1) if total else h.new_zeros(len(h))
            else:
                kept = h.new_empty(0)
                top, rest = h.new_full((len(h),), -math.inf), h.new_zeros(len(h))
                sums = h.new_zeros(len(h))
                for _, z in _chunks(h, weight, bias):
                    higher = torch.maximum(top, z.amax(1))
                    if total:
                        sums += z.sum(1)
                    rest = rest * (top - higher).exp() + z.sub_(higher[:, None]).exp_().sum(1)
                    top = higher
                lse = top + rest.log()
                own = torch.einsum("bkd,bd->bk", weight[at], h) + bias[at]
        ctx.save_for_backward(h, weight, bias, at, lse, kept)
        ctx.total, ctx.keep = total, keep
        return lse, sums, own

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        g_lse, g_sums, g_own = gradients
        h, weight, bias, at, lse, kept = ctx.saved_tensors
        with torch.autocast(h.device.type, enabled=False):
            of_h, of_weight = torch.zeros_like(h), torch.empty_like(weight)
            of_bias = torch.empty_like(bias)
            for low, z in ((0, kept.clone()),) if ctx.keep else _chunks(h, weight, bias):
                part = slice(low, low + z.shape[1])
                z.sub_(lse[:, None]).exp_().mul_(g_lse[:, None])
                if ctx.total:
                    z.add_(g_sums[:, None])
                if ctx.keep:
                    z.scatter_add_(1, at, g_own)
                of_h.addmm_(z, weight[part])
                torch.mm(z.T, h, out=of_weight[part])
                torch.sum(z, 0, out=of_bias[part])
            if not ctx.keep:
                of_h += torch.einsum("bk,bkd->bd", g_own, weight[at])
                few = at.flatten()
                own = g_own[:, :, None] * h[:, None]  # (B, K, D)
                of_weight.index_add_(0, few, own.flatten(0, 1))
                of_bias.index_add_(0, few, g_own.flatten())
        return of_h, of_weight, of_bias, None, None


def at_least_float32(x: Tensor) -> Tensor:
    """Widen half precision, leave the rest."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
