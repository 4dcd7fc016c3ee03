"""What needs no training: what everybody takes, what this person took, and both in turn."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from pgt.relatives.temporal_sets.metrics import mean_of
from pgt.relatives.temporal_sets.sequences import Sequences

HALF_LIVES = (0.5, 1.0, 2.0, 4.0, 8.0, float("inf"))  # sets


class Popular:
    """The same ranking for everybody: how often an element is in a set.

    Examples
    --------
    >>> from pgt.relatives.temporal_sets.sequences import padded
    >>> people = padded([[[1, 2], [1]], [[0]]], [[2], [1]], n_elements=4)
    >>> Popular().fit(people)(people)[0].tolist()  # the next sets count as well
    [1.0, 3.0, 2.0, 0.0]
    """

    def fit(self, train: Sequences) -> Popular:
        """Count in the histories and the next sets."""
        counts = torch.zeros(train.n_elements)
        real = train.elements >= 0
        times = train.present.sum(2).float()
        counts.index_add_(0, train.elements[real], times[real])
        following = train.target[train.target >= 0]
        counts.index_add_(0, following, torch.ones(len(following)))
        self.counts = counts
        return self

    def __call__(self, batch: Sequences) -> Tensor:
        """(U, V)."""
        return self.counts.expand(len(batch), -1)


class Personal:
    """How many of somebody's own sets hold an element; the later one wins a tie.

    Parameters
    ----------
    half_life : float
        A set that is so many sets older than the last counts half; infinite: all count alike.
    backoff : bool
        Rank what the person never took by `Popular`, below all that they took; without, it is not
        offered. Equal counts and equal recency are decided by `Popular` in both.

    Examples
    --------
    >>> from pgt.relatives.temporal_sets.sequences import padded
    >>> people = padded([[[1, 2], [1], [0]]], [[2]], n_elements=4)
    >>> scores = Personal(backoff=False).fit(people)(people)
    >>> scores.argsort(descending=True).tolist()  # 1 twice, then 0 because it is later
    [[1, 0, 2, 3]]
    """

    def __init__(self, half_life: float = float("inf"), *, backoff: bool = True) -> None:
        self.half_life, self.backoff = half_life, backoff

    def fit(self, train: Sequences) -> Personal:
        """Learn what is popular, for ties and for the rest."""
        self.popular = Popular().fit(train)
        return self

    def __call__(self, batch: Sequences) -> Tensor:
        """(U, V): in double precision, since three criteria share one number."""
        t = torch.arange(batch.present.shape[2])
        age = (batch.length[:, None] - 1 - t).clamp(min=0).double()  # (U, T) 0 = the last set
        worth = torch.exp2(-age / self.half_life)  # 1 everywhere for an infinite half-life
        there = batch.present.double()
        taken = (there * worth[:, None]).sum(2)  # (U, N)
        latest = (there * (t + 1)).amax(2) / (batch.length[:, None] + 1)  # in (0, 1)
        rank = self.popular.counts.argsort().argsort().double() / batch.n_elements  # in [0, 1)
        everyone = rank * 1e-6 if self.backoff else torch.full_like(rank, -torch.inf)
        own = taken + 1e-3 * latest + 1e-6 * rank[batch.elements.clamp(min=0)]
        wide = everyone.expand(len(batch), -1)
        wide = torch.cat([wide, wide.new_zeros(len(batch), 1)], 1)
        return wide.scatter(
            1, torch.where(batch.elements >= 0, batch.elements, batch.n_elements), own
        )[:, :-1]


def chosen(
    train: Sequences, valid: Sequences, metric: str = "ndcg@10",
    half_lives: Iterable[float] = HALF_LIVES,
) -> Personal:  # fmt: skip
    """`Personal` with the half-life that does best on the validation sequences."""
    rivals = (Personal(half).fit(train) for half in half_lives)
    return max(rivals, key=lambda one: mean_of(one, valid, metric))
