"""Exact loss and ranks over so many places that no (B, V) table is to be held.

The generator's logits z come a chunk of V at a time, and are computed again for the gradient.
With lse = log Σ exp z, c = log (1 - g) and a = log g, the loss needs only two sums over V::

    log P_v = c + z_v - lse                                    v not in the window
    log P_s = log(exp(a + pointer_s) + exp(c + z_s - lse))     s in the window

Shapes: B windows, L visits, D = d_model, V locations, S = L slots for a window's places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pgt.batch import Batch, rounding, slot_of
from pgt.model import Generator, PointerGeneratorTransformer, evaluating, scatter_log_probs

PLACES = 10_000  # up to so many, the dense model is faster
CHUNK = 2**20  # so many logits exist at a time


def wanted(model: Any) -> bool:
    """Whether a model is PGT with its own generator, and has more than `PLACES`."""
    ours = isinstance(model, PointerGeneratorTransformer) and type(model.generator) is Generator
    return ours and model.config.n_locations > PLACES


def losses(
    model: PointerGeneratorTransformer, batch: Batch, label_smoothing: float = 0.0
) -> Tensor:
    """(B,) what `pgt.model.cross_entropy` is of all the log-probabilities, in nats."""
    context, place, copied, rest, weight, bias = _parts(model, batch)
    at = torch.cat([place.clamp(min=0), batch.target[:, None]], 1)  # (B, S + 1)
    lse, total, z = _Sums.apply(context, weight, bias, at)
    generated = z + (rest - lse)[:, None]
    base, used = generated[:, :-1], place >= 0
    # log (0 + 0) has no gradient, so slots that hold nothing stay out of it.
    slot = torch.logaddexp(copied.where(used, 0.0), base.where(used, 0.0))
    at = slot_of(place, batch.target)[:, None]
    own = torch.cat([slot, generated[:, -1:]], 1).gather(1, at)[:, 0]
    if label_smoothing == 0:
        return -own
    # Of all places: the generator's share of each, plus what the pointer adds to its own.
    every = total + len(weight) * (rest - lse) + (slot - base).where(used, 0.0).sum(1)
    return -(1 - label_smoothing) * own - label_smoothing / len(weight) * every


@torch.no_grad()
def rank_in_chunks(
    model: PointerGeneratorTransformer, batch: Batch
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(B,) places better than the target, as good (itself too), the best one, its own score."""
    with evaluating(model):
        context, place, copied, rest, weight, bias = _parts(model, batch)
    at = torch.cat([place, batch.target[:, None]], 1)  # (B, S + 1)
    lse, own = torch.full_like(rest, -math.inf), torch.zeros_like(copied[:, :1]).expand_as(at)
    # The logits that matter come from the same products as those that they are compared with:
    # what is equal stays equal.
    for low, z in _stretches(context, weight, bias):
        lse = torch.logaddexp(lse, z.logsumexp(1))
        here = (at >= low) & (at < low + z.shape[1])
        own = torch.where(here, z.gather(1, (at - low).where(here, 0)), own)
    shift = (rest - lse)[:, None]
    used = place >= 0
    slot = torch.logaddexp(copied, own[:, :-1] + shift).masked_fill(~used, -math.inf)
    at = slot_of(place, batch.target)[:, None]
    score = torch.cat([slot, own[:, -1:] + shift], 1).gather(1, at)  # (B, 1)
    least, most = score - rounding(score), score + rounding(score)
    better, listed = (slot > most).sum(1), (slot >= least).sum(1)
    value, best = slot.max(1)
    predicted = place.gather(1, best[:, None])[:, 0]
    for low, z in _stretches(context, weight, bias):
        width = z.shape[1]
        column = (place - low).where((place >= low) & (place < low + width), width)
        # The window's own places count above; what is no column falls into the one more.
        others = F.pad(z + shift, (0, 1)).scatter(1, column, -math.inf)[:, :width]
        better += (others > most).sum(1)
        listed += (others >= least).sum(1)
        top, column = others.max(1)
        predicted = torch.where(top > value, column + low, predicted)
        value = torch.maximum(top, value)
    return better, listed - better, predicted, score[:, 0]


def _parts(model: PointerGeneratorTransformer, batch: Batch) -> tuple[Tensor, ...]:
    """(B, D) contexts, (B, S) places, their log-shares (g included), (B,) log (1 - g), W and b."""
    assert model.generator is not None
    batch = batch.most_recent(model.config.max_len)
    context, log_weights, _ = model.encode(batch)
    logit = model.gate_logit(context)
    slots = batch.slots
    copied = torch.full_like(slots.place, -math.inf, dtype=context.dtype)
    if log_weights is not None:
        copied = scatter_log_probs(log_weights, slots.of_visit, slots.place.shape[1])
    copied, rest = F.logsigmoid(logit)[:, None] + copied, F.logsigmoid(-logit)
    return context, slots.place, copied, rest, model.generator.weight, model.generator.bias


def _stretches(h: Tensor, weight: Tensor, bias: Tensor) -> Iterator[tuple[int, Tensor]]:
    """The first column and the logits (B, n) of each chunk of V."""
    step = max(CHUNK // max(len(h), 1), 1)
    for low in range(0, len(weight), step):
        part = slice(low, low + step)
        yield low, torch.addmm(bias[part], h, weight[part].T)


class _Sums(torch.autograd.Function):
    """(B,) log Σ exp z, (B,) Σ z, and z at (B, K) columns, for z = h Wᵀ + b.

    dz_v = g_lse · exp(z_v - lse) + g_total for every v, and the gradient at the few columns.
    """

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, at: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        top, (rest, total) = h.new_full((len(h),), -math.inf), h.new_zeros(2, len(h))
        for _, z in _stretches(h, weight, bias):
            higher = torch.maximum(top, z.amax(1))
            total = total + z.sum(1)
            rest = rest * (top - higher).exp() + z.sub_(higher[:, None]).exp_().sum(1)
            top = higher
        lse = top + rest.log()
        ctx.save_for_backward(h, weight, bias, at, lse)
        return lse, total, torch.einsum("bkd,bd->bk", weight[at], h) + bias[at]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        g_lse, g_total, g_own = gradients
        h, weight, bias, at, lse = ctx.saved_tensors
        of_h = torch.einsum("bk,bkd->bd", g_own, weight[at])
        of_weight, of_bias = torch.empty_like(weight), torch.empty_like(bias)
        for low, z in _stretches(h, weight, bias):
            part = slice(low, low + z.shape[1])
            z.sub_(lse[:, None]).exp_().mul_(g_lse[:, None]).add_(g_total[:, None])
            of_h.addmm_(z, weight[part])
            torch.mm(z.T, h, out=of_weight[part])
            torch.sum(z, 0, out=of_bias[part])
        own = g_own[:, :, None] * h[:, None]  # (B, K, D)
        of_weight.index_add_(0, at.flatten(), own.flatten(0, 1))
        of_bias.index_add_(0, at.flatten(), g_own.flatten())
        return of_h, of_weight, of_bias, None
