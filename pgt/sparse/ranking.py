"""Ranks and best places when few places have scores of their own.

A model or a rule scores a window's own places one by one; all other places share something: no
answer, everybody's popularity, or the logits of a generator. So nothing of size B x V is needed,
and a place's rank is the number of better ones among both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from pgt.reproducible.counter_random import uniform


class Rest(Protocol):
    """The scores of all places that have none of their own."""

    def scan(self, than: Tensor, without: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Count and choose among all places except some.

        Parameters
        ----------
        than : Tensor
            (B,) a score.
        without : Tensor
            (B, S) places to leave out; -1 = none.
        k : int
            How many of the best to return, at most.

        Returns
        -------
        better, tied : Tensor
            (B,) how many score higher, and the same.
        value, place : Tensor
            (B, K) the best, K <= k; -inf where there are no more.
        """
        ...


@dataclass(frozen=True)
class Ranked:
    """What is known of a batch's answers without all their scores.

    Attributes
    ----------
    better, tied : Tensor
        (B,) how many places score higher than the target, and how many the same, the target
        included; a target that is no answer at all has ``tied`` = 0: a miss everywhere.
    predicted : Tensor
        (B,) the best place; one of them, drawn by the window's number, where several share the
        first place.
    value, place : Tensor
        (B, K) the best places and their scores, the best first; -inf where there are no more.
    """

    better: Tensor
    tied: Tensor
    predicted: Tensor
    value: Tensor
    place: Tensor


def rank(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Where the target stands among all scores.

    Parameters
    ----------
    scores : Tensor
        (B, V).
    target : Tensor
        (B,).

    Returns
    -------
    better, tied : Tensor
        As in `Ranked`.

    Examples
    --------
    >>> rank(torch.tensor([[3.0, 2.0, 2.0, 0.0]]), torch.tensor([2]))
    (tensor([1]), tensor([2]))
    """
    own = scores.gather(1, target[:, None])  # (B, 1)
    better = (scores > own).sum(1)
    tied = (scores == own).sum(1)
    return better, tied.masked_fill(own.squeeze(1) == -math.inf, 0)


def rank_all(scores: Tensor, target: Tensor, index: Tensor, k: int = 1) -> Ranked:
    """Rank by (B, V) scores, for those who have them.

    Parameters
    ----------
    scores : Tensor
        (B, V).
    target, index : Tensor
        (B,) the target and the window's number.
    k : int
        How many best places to list.

    Examples
    --------
    >>> scores = torch.tensor([[0.0, 2.0, 2.0, 3.0]])
    >>> found = rank_all(scores, torch.tensor([2]), torch.tensor([0]))
    >>> int(found.better), int(found.tied), int(found.predicted)
    (1, 2, 3)
    """
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
    rest: Rest | None = None,
    elsewhere: Tensor | None = None,
    k: int = 1,
) -> Ranked:
    """Rank by the scores of a window's own places and of all the others together.

    Parameters
    ----------
    place, own : Tensor
        (B, S) places with scores of their own, each once a row (-1 = none), and these scores.
    target, index : Tensor
        (B,) the target and the window's number.
    rest : Rest, optional
        The other places; without it they are no answers.
    elsewhere : Tensor, optional
        (B,) what ``rest`` scores the target, which counts where it is not one of the places.
    k : int
        How many of the others to list, at most, beside all the places.

    Examples
    --------
    >>> place, own = torch.tensor([[4, 7]]), torch.tensor([[2.0, 1.0]])
    >>> found = rank_places(place, own, torch.tensor([7]), torch.tensor([0]))
    >>> int(found.better), int(found.tied), found.place.tolist()
    (1, 1, [[4, 7]])
    """
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
    """(B, N) scores and their places, sorted and cut to the best k; equals stay in their order.

    Examples
    --------
    >>> value, place = best_first(torch.tensor([[1.0, 3.0, 3.0]]), torch.tensor([[4, 7, 9]]), 2)
    >>> place.tolist()
    [[7, 9]]
    """
    order = value.sort(dim=1, descending=True, stable=True)
    return order.values[:, :k], place.gather(1, order.indices[:, :k])


@dataclass(frozen=True)
class LogitsRest:
    """The generator's logits, each plus a number of its window, a stretch of V at a time.

    Attributes
    ----------
    chunks : callable
        Makes an iterator over the stretches, as `pgt.sparse.logits.Logits.chunks`.
    shift : Tensor
        (B,).
    first : int
        The id of column 0.
    """

    chunks: Callable[[], Iterable[tuple[int, Tensor]]]
    shift: Tensor
    first: int

    def scan(self, than: Tensor, without: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See `Rest.scan`."""
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
class SharedRest:
    """One score a place, the same for every window, such as its popularity.

    Attributes
    ----------
    scores : Tensor
        (V,) of all places; -inf = no answer.
    """

    scores: Tensor

    @cached_property
    def _order(self) -> tuple[Tensor, Tensor]:
        """Places, the best first, and the scores the other way round, as searching wants them."""
        order = self.scores.sort(descending=True, stable=True)
        return order.indices, order.values.flip(0)

    def scan(self, than: Tensor, without: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See `Rest.scan`."""
        place, climbing = self._order
        up_to = torch.searchsorted(climbing, than.contiguous(), right=True)
        better = len(climbing) - up_to
        tied = up_to - torch.searchsorted(climbing, than.contiguous())
        used = without >= 0
        left_out = self.scores[without.clamp(min=0)].masked_fill(~used, math.nan)  # (B, S)
        better = better - (left_out > than[:, None]).sum(1)
        tied = tied - (left_out == than[:, None]).sum(1)
        # The best k of those not left out are among the best k + S of all.
        few = place[: k + without.shape[1]].expand(len(than), -1).contiguous()
        names = without.sort(1).values
        at = torch.searchsorted(names, few).clamp(max=max(names.shape[1] - 1, 0))
        free = names.gather(1, at) != few if names.shape[1] else torch.ones_like(few) > 0
        best = self.scores[few].masked_fill(~free, -math.inf)
        return better, tied, *best_first(best, few, k)
