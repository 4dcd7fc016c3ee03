"""Distributions over V places without a number for each, exact ranks, and counted transitions.

Of 10^5 places, no (B, V) table is held: the generator's logits come a stretch of V at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pgt.counter_random import uniform

STRETCH = 2**20  # so many logits exist at a time
KEPT = 2**21  # up to so many are kept for the backward pass: faster than computing them again
IMPOSSIBLE = math.log(1e-10)  # of the constant that the design documents add


@dataclass(frozen=True)
class Slots:
    """Each window's different places, once, in the order of their ids."""

    of_visit: Tensor  # (B, L) the slot of each visit; -1 at padding
    place: Tensor  # (B, L) the place of each slot, -1 where there is none

    @classmethod
    def of(cls, location: Tensor, padding: Tensor) -> Slots:
        """Number the places of (B, L) locations."""
        value, visit = location.masked_fill(padding, -1).sort(1)
        new = torch.ones_like(value)
        new[:, 1:] = value[:, 1:] != value[:, :-1]
        number = new.cumsum(1) - 1  # (B, L)
        of_visit = torch.empty_like(number).scatter_(1, visit, number)
        place = torch.full_like(value, -1).scatter_(1, number, value)
        return cls(of_visit, place)


def scatter_log_probs(log_weights: Tensor, location: Tensor, n_locations: int) -> Tensor:
    """(B, L) log-weights of visits -> (B, V) log Σ of each location's, -inf for those not seen."""
    shape = (len(location), n_locations)
    # The largest log-weight of each location is taken out before exponentiating, as in
    # log-sum-exp, so that even a weight of e^-200 keeps its logarithm and its gradient.
    peak = log_weights.new_full(shape, -math.inf).scatter_reduce(
        1, location, log_weights.detach(), "amax"
    )  # (B, V)
    seen = peak > -math.inf
    peak = peak.masked_fill(~seen, 0.0)
    relative = (log_weights - peak.gather(1, location)).exp()  # (B, L) in 0..1, 0 at padding
    total = torch.zeros_like(peak).scatter_add(1, location, relative)  # (B, V) at least 1 if seen
    return (total.masked_fill(~seen, 1.0).log() + peak).masked_fill(~seen, -math.inf)


def log_mixture(gate_logit: Tensor, pointer: Tensor, generator: Tensor) -> Tensor:
    """(B, V) log(g · exp(pointer) + (1 - g) · exp(generator)) with g = sigmoid(gate_logit)."""
    copied = F.logsigmoid(gate_logit)[:, None] + pointer  # (B, V)
    generated = F.logsigmoid(-gate_logit)[:, None] + generator
    return torch.logaddexp(copied, generated)


def add_up(slots: Slots, weight: Tensor) -> Tensor:
    """(B, L) weights of visits -> (B, L) their sum per slot, -inf where there is no place."""
    total = torch.zeros_like(weight).scatter_add_(1, slots.of_visit, weight)
    return total.masked_fill(slots.place < 0, -math.inf)


@dataclass(frozen=True)
class DenseLogits:
    """(B, V) logits that are there already; ``first`` is the id of their first column."""

    z: Tensor
    first: int = 0

    @property
    def size(self) -> int:
        return self.z.shape[1]

    def summary(self, at: Tensor, total: bool) -> tuple[Tensor, Tensor, Tensor]:
        """(B,) log Σ exp z, (B,) Σ z (0 unless wanted), and z at (B, K) columns."""
        sums = self.z.sum(1) if total else self.z.new_zeros(len(self.z))
        return self.z.logsumexp(1), sums, self.z.gather(1, at)

    def chunks(self) -> Iterator[tuple[int, Tensor]]:
        """The first column and the logits (B, n) of each stretch; not for gradients."""
        yield 0, self.z


@dataclass(frozen=True)
class LinearLogits:
    """z = h Wᵀ + b, a stretch of V at a time: (B, D), (V, D) and (V,)."""

    context: Tensor
    weight: Tensor
    bias: Tensor
    first: int = 0

    @property
    def size(self) -> int:
        return len(self.weight)

    def summary(self, at: Tensor, total: bool) -> tuple[Tensor, Tensor, Tensor]:
        lse, sums, own = _Summary.apply(self.context, self.weight, self.bias, at, total)
        return lse, sums, own

    def chunks(self) -> Iterator[tuple[int, Tensor]]:
        yield from _chunks(self.context.detach(), self.weight.detach(), self.bias.detach())


Logits = DenseLogits | LinearLogits


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


# (B, V) log-probabilities, (B,) targets, label smoothing -> (B,) losses.
Loss = Callable[[Tensor, Tensor, float], Tensor]


def cross_entropy(log_probs: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """(B, V), (B,) -> (B,) cross-entropy in nats with label smoothing (Szegedy et al. 2016)."""
    log_probs = log_probs.masked_fill(log_probs == -math.inf, IMPOSSIBLE)
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    if label_smoothing == 0:
        return -own
    return -(1 - label_smoothing) * own - label_smoothing * log_probs.mean(1)


@dataclass(frozen=True)
class Ranked:
    """What is known of a batch's answers without all their scores."""

    better: Tensor  # (B,) how many places score higher than the target
    tied: Tensor  # (B,) how many the same, itself included; 0: it is no answer at all
    predicted: Tensor  # (B,) one of the best, chosen by the window's number
    value: Tensor  # (B, K) the best scores, -inf where there are no more
    place: Tensor  # (B, K) and their places


def rank(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Where the (B,) targets stand among all (B, V) scores: `Ranked.better` and `Ranked.tied`."""
    own = scores.gather(1, target[:, None])  # (B, 1)
    better = (scores > own).sum(1)
    tied = (scores == own).sum(1)
    return better, tied.masked_fill(own.squeeze(1) == -math.inf, 0)


def rank_all(scores: Tensor, target: Tensor, index: Tensor, k: int = 1) -> Ranked:
    """Rank by (B, V) scores and list the ``k`` best; ``index`` is the (B,) windows' numbers."""
    better, tied = rank(scores, target)
    best = scores == scores.max(1, keepdim=True).values  # (B, V)
    number = best.sum(1)
    chosen = number.cumsum(0) - number + (uniform(index) * number).long()
    top = scores.topk(min(k, scores.shape[1]), dim=1)
    return Ranked(better, tied, best.nonzero()[chosen, 1], top.values, top.indices)


def rank_places(
    place: Tensor,
    own: Tensor,
    target: Tensor,
    index: Tensor,
    rest: LogitsRest | None = None,
    elsewhere: Tensor | None = None,
    k: int = 1,
) -> Ranked:
    """Rank by the scores of (B, S) own places, each once a row (-1 = none), and of the ``rest``."""
    used = place >= 0
    own = own.masked_fill(~used, -math.inf)
    hit = used & (place == target[:, None])  # (B, S)
    if elsewhere is None:
        elsewhere = own.new_full((len(own),), -math.inf)
    score = torch.where(hit.any(1), torch.where(hit, own, 0.0).sum(1), elsewhere)  # (B,)
    better = (own > score[:, None]).sum(1)
    tied = (used & (own == score[:, None])).sum(1)
    value, names = own, place
    if rest is not None:
        more, same, best, where = rest.scan(score, place, k)
        better, tied = better + more, tied + same
        value, names = torch.cat([own, best], 1), torch.cat([place, where], 1)
    value, names = best_first(value, names)
    first = (value == value[:, :1]).sum(1)
    predicted = names.gather(1, (uniform(index) * first).long()[:, None]).squeeze(1)
    return Ranked(better, tied.masked_fill(score == -math.inf, 0), predicted, value, names)


def best_first(value: Tensor, place: Tensor, k: int | None = None) -> tuple[Tensor, Tensor]:
    """(B, N) scores and their places, sorted and cut to the best k; equals stay in their order."""
    order = value.sort(dim=1, descending=True, stable=True)
    return order.values[:, :k], place.gather(1, order.indices[:, :k])


@dataclass(frozen=True)
class LogitsRest:
    """The generator's logits, each plus a number (B,) of its window, a stretch of V at a time."""

    chunks: Callable[[], Iterable[tuple[int, Tensor]]]  # as `DenseLogits.chunks`
    shift: Tensor
    first: int  # the id of column 0

    def scan(self, than: Tensor, without: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Count and choose among all places except (B, S) some: (B,) how many score higher than a
        (B,) score, (B,) how many the same, (B, K) the best, -inf where there are no more.
        """
        better = torch.zeros(len(than), dtype=torch.int64, device=than.device)
        tied = torch.zeros_like(better)
        value = than.new_empty(len(than), 0)
        place = better.new_empty(len(than), 0)
        for low, z in self.chunks():
            score = z + self.shift[:, None]  # (B, n)
            column = without - (self.first + low)
            inside = (without >= 0) & (column >= 0) & (column < z.shape[1])  # (B, S)
            # Column 0 stands in for places of other stretches, so it is put back.
            head = score[:, 0].masked_fill((inside & (column == 0)).any(1), -math.inf)
            score.scatter_(1, column.where(inside, 0), -math.inf)
            score[:, 0] = head
            better += (score > than[:, None]).sum(1)
            tied += (score == than[:, None]).sum(1)
            best = score.topk(min(k, z.shape[1]), dim=1)
            value = torch.cat([value, best.values], 1)
            place = torch.cat([place, best.indices + self.first + low], 1)
            value, place = best_first(value, place, k)
        return better, tied, value, place


@dataclass(frozen=True)
class Transitions:
    """How often each place followed: only those counts that are not 0, sorted by their keys."""

    keys: Tensor  # (T,) from * size + to
    counts: Tensor  # (T,)
    size: int  # V

    @classmethod
    def count(cls, origin: Tensor, there: Tensor, size: int) -> Transitions:
        """Count the places ``there`` after each origin: a place, or a person at a place."""
        keys, counts = torch.unique(origin * size + there, return_counts=True)
        return cls(keys, counts.float(), size)

    def after(self, origin: Tensor) -> tuple[Tensor, Tensor]:
        """(B,) origins -> (B, S) the places after each, -1 = no more, and their counts."""
        low = origin * self.size
        begin = torch.searchsorted(self.keys, low)
        n = torch.searchsorted(self.keys, low + self.size) - begin  # (B,)
        step = torch.arange(int(n.max()) if len(n) else 0)
        inside = step < n[:, None]  # (B, S)
        at = (begin[:, None] + step).where(inside, 0)
        place = (self.keys[at] - low[:, None]).where(inside, -1)
        return place, self.counts[at] * inside

    def count_of(self, origin: Tensor, place: Tensor) -> Tensor:
        """(B,), (B, S) -> (B, S) how often each place followed."""
        key = origin[:, None] * self.size + place
        at = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        return self.counts[at] * ((self.keys[at] == key) & (place >= 0))
