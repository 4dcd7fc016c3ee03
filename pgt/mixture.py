"""The mixture of the two distributions, and what all networks that predict places share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.batch import Batch
from pgt.sparse import IMPOSSIBLE, KEPT, Logits, LogitsRest, Ranked, best_first, rank_places


@dataclass(frozen=True)
class Mixture:
    """P(l) = g · P_pointer(l) + (1 - g) · P_generator(l), not written out for all V places.

    With the generator's logits z, lse = log Σ exp z, c = log (1 - g) and a = log g::

        log P_v = c + z_v - lse                              v not in the window
        log P_s = log(exp(a + pointer_s) + exp(c + z_s - lse))     s in the window

    Places that neither of the two can name count as log 1e-10 in the loss.
    """

    n_locations: int | None  # V, or None: there are no places but those that the window lists
    gate_logit: Tensor  # (B,)
    place: Tensor  # (B, S) the window's places, -1 where there is none; S = 0 without a pointer
    pointer: Tensor  # (B, S) the pointer's log-probability of each, -inf where there is none
    logits: Logits | None  # the generator's

    @property
    def used(self) -> Tensor:
        """(B, S) whether the slot holds a place."""
        return self.place >= 0

    @property
    def copied(self) -> Tensor:
        """(B, S) the logarithm of what the pointer gives each slot, the gate included."""
        return F.logsigmoid(self.gate_logit)[:, None] + self.pointer

    def cross_entropy(self, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """(B,) what `pgt.sparse.cross_entropy` is of all the log-probabilities, in nats."""
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
        places = self.used.sum(1) if self.n_locations is None else self.n_locations
        nobody = places - size - (self.used & ~named).sum(1)
        every = every + nobody.to(every.dtype) * IMPOSSIBLE
        return -(1 - label_smoothing) * own - label_smoothing / places * every

    @torch.no_grad()
    def rank(self, target: Tensor, index: Tensor, k: int = 1) -> Ranked:
        """Rank the (B,) targets of windows of (B,) numbers, and list ``k`` places besides."""
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
        """The likeliest places: (B, K <= k) log-probabilities, places, and the pointer's share.

        Padding (id 0), to which a generator gives a score too, is none.
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
        """(B, S) log-probabilities at the slots, (B, S + 1) the generator's share there and at the
        target, and (B,) the sum of the logarithms of its shares.
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


class PlaceModel(nn.Module):
    """What all networks share that score places."""

    config: Any

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """(B, V) log-probabilities, in evaluation mode; the interface that baselines share."""
        with evaluating(self):
            scores: Tensor = self(batch).log_probs
        return scores

    def n_parameters(self: nn.Module) -> int:
        """Count the trained numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


class MixtureModel(PlaceModel):
    """A `PlaceModel` that can do without (B, V): `pgt.mixture.Mixture` says how."""

    def mixture(self, batch: Any) -> Mixture:
        """Predict every window of a batch, and write down what a loss or a rank needs."""
        raise NotImplementedError

    @torch.no_grad()
    def rank(self, batch: Batch, k: int = 1) -> Ranked:
        """Rank the targets of a batch, in evaluation mode, see `pgt.mixture.Mixture.rank`."""
        with evaluating(self):
            return self.mixture(batch).rank(batch.target, batch.index, k)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, and leave the model as it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
