"""Baselines: what a model must beat to be worth its parameters.

Three are in every paper; the context kernel is in none, and is the hardest to beat.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from pgt.batch import Batch, add_up, rounding
from pgt.progress import bar
from pgt.visits import around_the_clock
from pgt.windows import Windows


class Rule:
    """What the baselines share: visits vote for their places, all others are no answers."""

    n_locations: int

    def fit(self, train: Windows) -> Self:
        """Remember the size of the vocabulary."""
        self.n_locations = train.vocabulary.n_locations
        return self

    def weights(self, batch: Batch) -> Tensor:
        """(B, L) the vote of each visit, 0 at padding."""
        return (~batch.padding).float()

    def own_scores(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, S) places, each once a row (-1 = none), and (B, S) their scores."""
        slots = batch.slots
        return slots.place, add_up(slots, self.weights(batch))

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) the scores of all places, -inf for "not an answer"."""
        place, own = self.own_scores(batch)
        out = own.new_full((len(batch), 1 + self.n_locations), -math.inf)
        return out.scatter(1, 1 + place, own)[:, 1:]  # column 0 takes what belongs to no place


class Last(Rule):
    """Stay where you are: the last location, then the one before, and so on back."""

    def own_scores(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Minus how many visits ago each location was last seen."""
        slots = batch.slots
        ago = -batch.position_from_end.float().masked_fill(batch.padding, math.inf)  # (B, L)
        none = torch.full_like(ago, -math.inf)
        return slots.place, none.scatter_reduce(1, slots.of_visit, ago, "amax")


class MostFrequent(Rule):
    """The most visited location of the window; ties stay ties.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> batch = data.test.batch([0])
    >>> place = MostFrequent().fit(data.train).scores(batch).argmax()
    >>> bool(place == batch.location.mode().values)
    True
    """


class Markov:
    """First-order Markov chain: where the person, or else everybody, went from here in training.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> ranks = pgt.evaluate(Markov().fit(data.train), data.test)
    >>> f"{pgt.summarize(ranks, ['all'])['acc@1'].item():.0f} %"
    '21 %'
    """

    def fit(self, train: Windows) -> Self:
        """Count the transitions between consecutive visits of the training split."""
        self.n_locations = size = train.vocabulary.n_locations
        location, user = train.features[:2, 1:].long()
        same = user[1:] == user[:-1]
        here, there, who = location[:-1][same], location[1:][same], user[1:][same]
        visits = torch.bincount(location, minlength=size)  # (V,)
        popularity = torch.unique(visits, return_inverse=True)[1].float()
        self.popularity = popularity.masked_fill(visits == 0, -math.inf)
        self.everybody = _followers(here, there, size)
        self.own = _followers(who * size + here, there, size)
        return self

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) whole numbers, in the order of the own count, everybody's, and popularity."""
        out = self.popularity.repeat(len(batch), 1)
        here = batch.location[torch.arange(len(batch)), batch.length - 1]  # (B,)
        pairs = zip(here.tolist(), batch.user.tolist(), strict=True)
        for row, (place, person) in enumerate(pairs):
            if place in self.everybody:  # the person's own followers are among them
                there, everybody = self.everybody[place]
                own = torch.zeros_like(everybody)
                if (key := person * self.n_locations + place) in self.own:
                    own[torch.searchsorted(there, self.own[key][0])] = self.own[key][1]
                counts = torch.stack([own, everybody, self.popularity[there]], 1)
                order = torch.unique(counts, dim=0, return_inverse=True)[1]
                out[row, there] = (self.n_locations + order).to(out.dtype)
        return out


def _followers(origin: Tensor, there: Tensor, size: int) -> dict[int, tuple[Tensor, Tensor]]:
    """By origin, a place or a person at a place: the places that followed, and how often."""
    keys, n = torch.unique(origin * size + there, return_counts=True)
    origins, sizes = torch.unique_consecutive(keys // size, return_counts=True)
    parts = zip((keys % size).split(sizes.tolist()), n.float().split(sizes.tolist()), strict=True)
    return dict(zip(origins.tolist(), parts, strict=True))


@dataclass(frozen=True)
class ContextKernel(Rule):
    """Five numbers and no training: vote for past visits that began in a context like now. ::

        score(l) = Σ_{i: l_i = l} decay^age_i · (base + same · [the visit before i was here]
                   + clock · exp(-|start_i - now| / width))

    age counts visits back from the last one (0), "here" is the location of the last visit, now
    is when it ended; times of day are compared around the clock, ``width`` is in minutes.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
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
        "same": (1.0,),  # only the ratios of the weights matter
        "clock": (0.0, 0.5, 1.0, 2.0, 3.0, 5.0),
        "width": (30.0, 60.0, 100.0, 150.0, 240.0),
    }

    def without(self, cue: str) -> ContextKernel:
        """A copy without one cue: a visit's "age", what came "before" it, or the "clock"."""
        names = {"age": ("decay", 1.0), "before": ("same", 0.0), "clock": ("clock", 0.0)}
        change: dict[str, Any] = dict([names[cue]]) if cue in names else {}
        return replace(self, **change)

    def fit(self, train: Windows) -> ContextKernel:
        """Remember the size of the vocabulary."""
        return replace(self, n_locations=train.vocabulary.n_locations)

    def choose(self, valid: Windows) -> ContextKernel:
        """Choose the numbers with the best Acc@1 on validation windows, among `GRID`."""
        options: Any = itertools.product(*self.GRID.values())
        kernels = [replace(self, **dict(zip(self.GRID, values, strict=True))) for values in options]
        hits = [0.0] * len(kernels)
        for batch in bar(valid.batches(256), "choosing a kernel", -(-len(valid) // 256)):
            slots = batch.slots
            right = slots.place == batch.target[:, None]  # (B, L)
            for k, kernel in enumerate(kernels):
                total = add_up(slots, kernel.weights(batch))
                top = total.amax(1, keepdim=True)
                best = total >= top - rounding(top)
                hits[k] += float(((best & right).sum(1) / best.sum(1).double()).sum())  # ties share
        return kernels[[hit > max(hits) - 1e-6 for hit in hits].index(True)]

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
    """A baseline, fitted; the kernel's numbers are chosen on the validation windows, if any."""
    baseline = baselines()[name].fit(train)
    if isinstance(baseline, ContextKernel) and len(valid):
        return baseline.choose(valid)
    return baseline
