"""Experts: networks from different worlds, weighed by how well each foretold these people's past.

One set of weights does not fit every table: whether it is a diary or check-ins, and how punctual
its people are, shows in their past. So every expert is asked for visits that have already happened,
and the mixture that made them most likely answers for the next one. Nothing is trained: a table
gets as many numbers as there are experts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from pgt.contextual import ContextualPointer
from pgt.history import HistoryBatch, HistoryWindows
from pgt.mixture import Mixture, MixtureModel, evaluating

STEPS = 200
PAST = 2000  # windows that are asked about, at most
PRIOR = 5.0  # windows that speak for all experts alike


class Experts(MixtureModel):
    """The mixture of several networks' answers.

    Parameters
    ----------
    experts : sequence of ContextualPointer
        Without generators.
    weights : Tensor, optional
        (K,) adding up to 1; equal ones otherwise.
    """

    weights: Tensor

    def __init__(self, experts: Sequence[ContextualPointer], weights: Tensor | None = None) -> None:
        super().__init__()
        self.experts = nn.ModuleList(experts)
        equal = torch.full((len(experts),), 1 / len(experts))
        self.register_buffer("weights", equal if weights is None else weights)

    @property
    def config(self) -> Any:
        """That of the first expert."""
        return self.networks[0].config

    @property
    def networks(self) -> list[ContextualPointer]:
        """The experts, one by one."""
        return [cast(ContextualPointer, expert) for expert in self.experts]

    @property
    def best(self) -> ContextualPointer:
        """The expert with the greatest weight."""
        return self.networks[int(self.weights.argmax())]

    def mixture(self, batch: HistoryBatch) -> Mixture:
        """Predict every window of a batch."""
        each = [expert.mixture(batch) for expert in self.networks]
        one: Mixture = each[0]
        pointers = torch.stack([mixture.pointer for mixture in each])  # (K, B, S)
        pointer = (pointers + self.weights.log()[:, None, None]).logsumexp(0)
        return Mixture(one.n_locations, one.gate_logit, one.place, pointer, None)

    @torch.no_grad()
    def weighed(self, past: HistoryWindows) -> Experts:
        """The same experts, with the weights that make these windows' targets most likely.

        Found by expectation maximization, which for the weights of a mixture climbs to the only
        summit. `PRIOR` windows in which all experts do equally well keep small tables from
        trusting one expert alone.

        Parameters
        ----------
        past : HistoryWindows
            Windows whose targets are known; those that no expert can name do not count. Of more
            than `PAST`, as many are drawn at random.
        """
        if len(self.experts) == 1:
            return self
        if len(past) > PAST:
            some = np.sort(np.random.default_rng(0).permutation(len(past))[:PAST])
            past = past.subset(some)
        found = np.full((len(past), len(self.experts)), -np.inf)
        with evaluating(self):
            for batch in past.batches(256):
                for k, expert in enumerate(self.networks):
                    assert isinstance(batch, HistoryBatch)
                    mixture = expert.mixture(batch)
                    hit = mixture.place == batch.target[:, None]
                    value = mixture.pointer.masked_fill(~hit, -torch.inf).logsumexp(1)
                    found[batch.index.numpy(), k] = value.numpy()
        found = found[np.isfinite(found).all(axis=1)]
        likely = np.exp(found - found.max(axis=1, keepdims=True, initial=-np.inf))
        equal = np.full(len(self.experts), 1 / len(self.experts))
        weights = equal
        for _ in range(STEPS):
            owed = likely * weights
            owed = (owed / owed.sum(axis=1, keepdims=True)).sum(axis=0) + PRIOR * equal
            weights = owed / owed.sum()
        return Experts(self.networks, torch.from_numpy(weights).float()).eval()
