"""The mixture of the two distributions, in log space and safe from underflow.

The design documents print ``log(g · P_pointer + (1 - g) · P_generator + 1e-10)``. The constant
keeps the logarithm finite, but it also flattens everything below it: a place with probability
1e-14 gets log 1e-10, and no gradient. Here the same sum is taken with log-sum-exp and needs no
constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from pgt.sparse.logits import KEPT, Logits
from pgt.sparse.losses import IMPOSSIBLE
from pgt.sparse.ranking import LogitsRest, Ranked, best_first, rank_places


def scatter_log_probs(log_weights: Tensor, location: Tensor, n_locations: int) -> Tensor:
    """Add up the weight of each location's visits: log Σ_{i: location_i = l} w_i.

    Parameters
    ----------
    log_weights : Tensor
        (B, L) log-weights of the visits; -inf at padding.
    location : Tensor
        (B, L) location ids.
    n_locations : int
        V.

    Returns
    -------
    Tensor
        (B, V); -inf for locations that no visit shows.

    Examples
    --------
    >>> weights = torch.tensor([[0.1, 0.3, 0.6]])
    >>> scatter_log_probs(weights.log(), torch.tensor([[2, 1, 2]]), 4).exp()
    tensor([[0.0000, 0.3000, 0.7000, 0.0000]])
    """
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
    """log(g · exp(pointer) + (1 - g) · exp(generator)) with g = sigmoid(gate_logit).

    Parameters
    ----------
    gate_logit : Tensor
        (B,).
    pointer, generator : Tensor
        (B, V) log-probabilities; -inf is allowed in one of the two.

    Examples
    --------
    >>> p, q = torch.tensor([[0.2, 0.8]]), torch.tensor([[0.5, 0.5]])
    >>> log_mixture(torch.zeros(1), p.log(), q.log()).exp()
    tensor([[0.3500, 0.6500]])
    """
    copied = F.logsigmoid(gate_logit)[:, None] + pointer  # (B, V)
    generated = F.logsigmoid(-gate_logit)[:, None] + generator
    return torch.logaddexp(copied, generated)


@dataclass(frozen=True)
class Slots:
    """Each window's different places, once, in the order of their ids.

    Attributes
    ----------
    of_visit : Tensor
        (B, L) the slot of each visit.
    place : Tensor
        (B, L) the place of each slot; -1 where there is none, and for the slot of the padding.
    """

    of_visit: Tensor
    place: Tensor

    @classmethod
    def of(cls, location: Tensor, padding: Tensor) -> Slots:
        """Number the places of (B, L) locations.

        Examples
        --------
        >>> slots = Slots.of(torch.tensor([[7, 5, 7, 0]]), torch.tensor([[False] * 3 + [True]]))
        >>> slots.of_visit.tolist(), slots.place.tolist()
        ([[2, 1, 2, 0]], [[-1, 5, 7, -1]])
        """
        value, visit = location.masked_fill(padding, -1).sort(1)
        new = torch.ones_like(value)
        new[:, 1:] = value[:, 1:] != value[:, :-1]
        number = new.cumsum(1) - 1  # (B, L)
        of_visit = torch.empty_like(number).scatter_(1, visit, number)
        place = torch.full_like(value, -1).scatter_(1, number, value)
        return cls(of_visit, place)


@dataclass(frozen=True)
class Mixture:
    """P(l) = g · P_pointer(l) + (1 - g) · P_generator(l), not written out for all V places.

    The pointer can name the window's places only, so every other place has the generator's
    probability alone. With its logits z, lse = log Σ exp z, c = log (1 - g) and a = log g::

        log P_v = c + z_v - lse                              v not in the window
        log P_s = log(exp(a + pointer_s) + exp(c + z_s - lse))     s in the window

    Places that cannot be named at all, by neither of the two, count as log 1e-10 in the loss (the
    constant of the design documents).

    Attributes
    ----------
    n_locations : int
        V.
    gate_logit : Tensor
        (B,).
    place, pointer : Tensor
        (B, S) the window's places (-1 where there is none) and the pointer's log-probability of
        each, -inf where there is none; S = 0 without a pointer.
    logits : Logits, optional
        The generator's; none without a generator.
    """

    n_locations: int
    gate_logit: Tensor
    place: Tensor
    pointer: Tensor
    logits: Logits | None

    @property
    def used(self) -> Tensor:
        """(B, S) whether the slot holds a place."""
        return self.place >= 0

    @property
    def copied(self) -> Tensor:
        """(B, S) the logarithm of what the pointer gives each slot, the gate included."""
        return F.logsigmoid(self.gate_logit)[:, None] + self.pointer

    def cross_entropy(self, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """(B,) what `pgt.sparse.losses.cross_entropy` is of all the log-probabilities, in nats."""
        smooth = label_smoothing != 0
        slot, base, every = self._summary(target, smooth)
        hit = self.used & (self.place == target[:, None])  # (B, S)
        own = torch.where(hit.any(1), torch.where(hit, slot, 0.0).sum(1), base[:, -1])
        own = own.masked_fill(own == -math.inf, IMPOSSIBLE)  # (B,)
        if not smooth:
            return -own
        # Of all places: the generator's share of each, plus what the pointer adds to its own.
        generated = base[:, :-1]
        named = generated > -math.inf  # (B, S)
        more = torch.where(self.used, slot, 0.0) - torch.where(named, generated, 0.0)
        every = every + more.sum(1)
        size = self.logits.size if self.logits is not None else 0
        nobody = self.n_locations - size - (self.used & ~named).sum(1)
        every = every + nobody.to(every.dtype) * IMPOSSIBLE
        return -(1 - label_smoothing) * own - label_smoothing / self.n_locations * every

    @torch.no_grad()
    def rank(self, target: Tensor, index: Tensor, k: int = 1) -> Ranked:
        """Where the target stands among all places, and the best ones.

        Parameters
        ----------
        target, index : Tensor
            (B,) the target and the window's number.
        k : int
            How many of the best places outside the window to list.
        """
        nothing = self.gate_logit.new_full((len(target),), -math.inf)
        if self.logits is None:
            return rank_places(self.place, self.copied, target, index)
        chunks: Callable[[], Iterable[tuple[int, Tensor]]] = self.logits.chunks
        if len(target) * self.logits.size <= KEPT:
            chunks = list(chunks()).copy  # computed once for both passes
        column, inside = self._columns(target)
        # The logits that matter come from the same products as those that they are compared with:
        # what is equal stays equal.
        lse, own = nothing, nothing[:, None].expand_as(column)
        for low, z in chunks():
            lse = torch.logaddexp(lse, z.logsumexp(1))
            here = inside & (column >= low) & (column < low + z.shape[1])
            own = torch.where(here, z.gather(1, (column - low).where(here, 0)), own)
        shift = F.logsigmoid(-self.gate_logit) - lse  # (B,)
        base = own + shift[:, None]  # (B, S + 1)
        rest = LogitsRest(chunks, shift, self.logits.first)
        slot = torch.logaddexp(self.copied, base[:, :-1])
        return rank_places(self.place, slot, target, index, rest, base[:, -1], k)

    def best(self, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """The likeliest places; padding (id 0), to which a generator gives a score too, is none.

        Returns
        -------
        value, place : Tensor
            (B, K) log-probabilities, the best first, and the places; K <= k, -inf = no more.
        copied : Tensor
            (B, K) the share of each probability that the pointer gives, 0 to 1.
        """
        any_target = self.place.new_zeros(len(self.gate_logit))
        found = self.rank(any_target, any_target, k + 1)
        value = found.value.masked_fill(found.place <= 0, -math.inf)
        value, place = best_first(value, found.place, k)
        here = (place[:, :, None] == self.place[:, None]) & self.used[:, None]  # (B, K, S)
        share = torch.where(here, self.copied.exp()[:, None], 0.0).sum(2) / value.exp()
        return value, place, share.nan_to_num(0.0).clamp(0, 1)

    def _columns(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S + 1) the generator's columns of the slots and the target; whether they exist."""
        assert self.logits is not None
        column = torch.cat([self.place, target[:, None]], 1) - self.logits.first
        inside = (column >= 0) & (column < self.logits.size)
        inside[:, :-1] &= self.used
        return column, inside

    def _summary(self, target: Tensor, total: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities at the slots (B, S); the generator's share there and at the target
        (B, S + 1); Σ of the logarithms of the generator's shares (B,).
        """
        copied = self.copied
        if self.logits is None:
            nothing = copied.new_full((len(target), self.place.shape[1] + 1), -math.inf)
            return copied, nothing, copied.new_zeros(len(target))
        column, inside = self._columns(target)
        lse, sums, own = self.logits.summary(column.where(inside, 0), total)
        shift = F.logsigmoid(-self.gate_logit) - lse  # (B,)
        base = torch.where(inside, own + shift[:, None], -math.inf)
        # log (0 + 0) has no gradient, so slots that hold nothing stay out of it.
        used = self.used
        slot = torch.logaddexp(copied.where(used, 0.0), base[:, :-1].where(used, 0.0))
        every = sums + self.logits.size * shift
        return slot.masked_fill(~used, -math.inf), base, every
