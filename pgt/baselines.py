"""Baselines: what a model must beat to be worth its parameters.

Each has ``fit(train)`` and ``scores(batch)``, (B, V) with -inf for "not an answer". The first
three are in every paper; the context kernel is in none, and is the hardest to beat.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from pgt.batch import Batch
from pgt.units import around_the_clock
from pgt.windows import Windows


def _add_up(batch: Batch, weight: Tensor, n_locations: int) -> Tensor:
    """(B, L) weights -> (B, V) their sum per location, -inf where no visit is."""
    inside = ~batch.padding
    out = weight.new_zeros(len(batch), n_locations)
    out.scatter_add_(1, batch.location, weight * inside)
    seen = torch.zeros_like(out).scatter_add_(1, batch.location, inside.to(out.dtype))
    return out.masked_fill(seen == 0, -math.inf)


class Last:
    """Stay where you are: the last location, then the one before, and so on back."""

    def fit(self, train: Windows) -> Last:
        """Remember the size of the vocabulary."""
        self.n_locations = train.vocabulary.n_locations
        return self

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) minus how many visits ago each location was last seen."""
        out = torch.full((len(batch), self.n_locations), -math.inf)
        ago = -batch.position_from_end.float().masked_fill(batch.padding, math.inf)  # (B, L)
        return out.scatter_reduce(1, batch.location, ago, "amax")


class MostFrequent:
    """The most visited location of the window; ties stay ties.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> rule = MostFrequent().fit(data.train)
    >>> batch = data.test.batch([0])
    >>> place = int(rule.scores(batch).argmax())
    >>> place == int(batch.location.mode().values)
    True
    """

    def fit(self, train: Windows) -> MostFrequent:
        """Remember the size of the vocabulary."""
        self.n_locations = train.vocabulary.n_locations
        return self

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) visits in the window."""
        return _add_up(batch, torch.ones(batch.location.shape), self.n_locations)


@dataclass(frozen=True)
class _Transitions:
    """How often each place followed: only those counts that are not 0, sorted by their keys."""

    keys: Tensor  # (T,) from * size + to
    counts: Tensor  # (T,)
    size: int  # V

    @classmethod
    def count(cls, origin: Tensor, there: Tensor, size: int) -> _Transitions:
        """Count the places ``there`` after each origin: a place, or a person at a place."""
        keys, counts = torch.unique(origin * size + there, return_counts=True)
        return cls(keys, counts.float(), size)

    def rows(self, origin: Tensor) -> Tensor:
        """(B,) origins -> (B, V) the counts after each."""
        low = origin * self.size
        begin = torch.searchsorted(self.keys, low)
        n = torch.searchsorted(self.keys, low + self.size) - begin  # (B,)
        row = torch.repeat_interleave(n)  # (sum of n,) which origin each count is of
        at = torch.arange(len(row)) - (n.cumsum(0) - n)[row] + begin[row]
        out = self.counts.new_zeros(len(origin), self.size)
        out[row, self.keys[at] - low[row]] = self.counts[at]
        return out


class Markov:
    """First-order Markov chain: where people went from here in training.

    A person's own transitions come first; where there are none, everybody's; where there are
    none either, the places most visited.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> ranks = pgt.evaluate(Markov().fit(data.train), data.test)
    >>> f"{pgt.summarize(ranks, ['all'])['acc@1'].item():.0f} %"
    '21 %'
    """

    def fit(self, train: Windows) -> Markov:
        """Count the transitions between consecutive visits of the training split."""
        size = train.vocabulary.n_locations
        location, user = train.features[:2, 1:].long()
        same = user[1:] == user[:-1]
        here, there, who = location[:-1][same], location[1:][same], user[1:][same]
        self.n_locations = size
        self.visits = torch.bincount(location, minlength=size).float()  # (V,)
        self.everybody = _Transitions.count(here, there, size)
        self.own = _Transitions.count(who * size + here, there, size)
        return self

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) own count + a little of everybody's + a very little of popularity."""
        rows = torch.arange(len(batch))
        here = batch.location[rows, batch.length - 1]  # (B,)
        base = self.everybody.rows(here)  # (B, V)
        scores = base / base.sum(1, keepdim=True).clamp(min=1) * 1e-3
        scores = scores + self.visits / self.visits.sum() * 1e-6
        scores = scores + self.own.rows(batch.user * self.n_locations + here)
        return scores.masked_fill(scores == 0, -math.inf)


@dataclass(frozen=True)
class _Vote:
    """Who wins a vote, counted among a window's own places: small, so that many can be tried."""

    batch: Batch
    same: Tensor  # (B, L, L) 1 where two visits are to one place
    first: Tensor  # (B, L) True at each place's first visit
    right: Tensor  # (B, L) True at visits to the target's place

    @classmethod
    def of(cls, batch: Batch) -> _Vote:
        place, inside = batch.location, ~batch.padding
        same = (place[:, :, None] == place[:, None, :]) & inside[:, :, None] & inside[:, None, :]
        first = inside & ~same.tril(-1).any(-1)
        return cls(batch, same.float(), first, inside & (place == batch.target[:, None]))

    def hits(self, weights: Tensor) -> float:
        """(B, L) weights -> how many windows are right, a tie counting its fair share."""
        total = (self.same @ weights[:, :, None]).squeeze(-1)  # (B, L)
        total = total.masked_fill(~self.first, -math.inf)
        winners = total == total.amax(1, keepdim=True)
        return float(((winners & self.right).sum(1) / winners.sum(1)).sum())


@dataclass(frozen=True)
class ContextKernel:
    """Five numbers and no training: vote for past visits that began in a context like now. ::

        score(l) = Σ_{i: l_i = l} decay^age_i · (base + same · [the visit before i was here]
                   + clock · exp(-|start_i - now| / width))

    age counts visits back from the last one (0), "here" is the location of the last visit, now
    is when it ended, and times of day are compared around the clock.

    Attributes
    ----------
    decay, base, same, clock : float
        Weights without unit.
    width : float
        Minutes.
    n_locations : int
        Size of the vocabulary; `fit` sets it.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> ranks = pgt.evaluate(ContextKernel().fit(data.train), data.test)
    >>> f"{pgt.summarize(ranks, ['all'])['acc@1'].item():.0f} %"
    '42 %'
    """

    decay: float = 0.98
    base: float = 0.1
    same: float = 1.0
    clock: float = 3.0
    width: float = 150.0
    n_locations: int = 0

    GRID: ClassVar[dict[str, tuple[float, ...]]] = {
        "decay": (0.9, 0.95, 0.98, 0.99, 1.0),
        "base": (0.03, 0.1, 0.3, 1.0),
        "same": (1.0,),
        "clock": (0.0, 0.5, 1.0, 2.0, 3.0, 5.0),
        "width": (30.0, 60.0, 100.0, 150.0, 240.0),
    }

    def fit(self, train: Windows) -> ContextKernel:
        """Remember the size of the vocabulary."""
        return replace(self, n_locations=train.vocabulary.n_locations)

    def choose(self, valid: Windows) -> ContextKernel:
        """Choose the numbers with the best Acc@1 on validation windows, among `GRID`.

        ``same`` stays 1, since only the ratios of the weights matter.
        """
        kernels = []
        for option in itertools.product(*self.GRID.values()):
            numbers: dict[str, Any] = dict(zip(self.GRID, option, strict=True))
            kernels.append(replace(self, **numbers))
        hits = [0.0] * len(kernels)
        for vote in map(_Vote.of, valid.batches(256)):  # one at a time: it is (B, L, L)
            hits = [
                n + vote.hits(k.weights(vote.batch)) for n, k in zip(hits, kernels, strict=True)
            ]
        return kernels[hits.index(max(hits))]

    def weights(self, batch: Batch) -> Tensor:
        """(B, L) the vote of each visit, 0 at padding."""
        rows = torch.arange(len(batch), device=batch.length.device)
        here = batch.location[rows, batch.length - 1]  # (B,)
        before = torch.roll(batch.location, 1, dims=1)
        before[:, 0] = 0  # the window does not say what came before its first visit
        apart = around_the_clock(batch.start_minute, batch.now_minute[:, None])  # (B, L)
        vote = (
            self.base
            + self.same * (before == here[:, None])
            + self.clock * torch.exp(-apart / self.width)
        )
        age = (batch.position_from_end - 1).clamp(min=0)
        return self.decay**age * vote * ~batch.padding  # (B, L)

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) the votes added up."""
        return _add_up(batch, self.weights(batch), self.n_locations)


Baseline = Last | MostFrequent | Markov | ContextKernel


def baselines() -> dict[str, Baseline]:
    """The baselines by the names that results files use."""
    return {
        "last": Last(),
        "most_frequent": MostFrequent(),
        "markov": Markov(),
        "kernel": ContextKernel(),
    }


def fit_baseline(name: str, train: Windows, valid: Windows) -> Baseline:
    """A baseline, fitted; the kernel's numbers are chosen on the validation windows, if any.

    Examples
    --------
    >>> import numpy as np, pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits)
    >>> few = data.valid.subset(np.arange(len(data.valid)) % 10 == 0)
    >>> fit_baseline("kernel", data.train, few).scores(data.test.batch([0])).shape[0]
    1
    """
    baseline = baselines()[name].fit(train)
    if isinstance(baseline, ContextKernel) and len(valid):
        return baseline.choose(valid)
    return baseline
