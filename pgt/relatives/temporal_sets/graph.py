"""Which elements go together: a small weighted graph for every set, and convolutions on it.

U sequences, N elements, T sets, F features, E edges. A graph is the list of its edges, so it costs
what its own set holds, however long the history is and whatever else is in it.
Source: Yu et al. 2020, section 3.2 (https://arxiv.org/abs/2006.11483) and the code beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pgt.relatives.temporal_sets.states import States, members


@dataclass(frozen=True)
class SetGraphs:
    """The graphs of all sets: edges within sets, and what an element out of a set has to itself.

    Attributes
    ----------
    present : Tensor
        (U, N, T) bool, what the graphs are made of.
    start, end : Tensor
        (E,) two elements of a set, each one of `members`, by ``start``; they may be the same.
    weight : Tensor
        (E,) of the edges, above 0 to 1.
    itself : Tensor
        (U,) the weight of an element to itself, in a set or out.
    """

    present: Tensor
    start: Tensor
    end: Tensor
    weight: Tensor
    itself: Tensor

    def mix(self, x: Tensor, states: States) -> Tensor:
        """What the neighbours say, weighted and summed: (M + R, F) -> (M + R, F)."""
        m = len(states.time)
        first = torch.searchsorted(self.start, torch.arange(m))
        weight = self.weight.to(x.dtype)
        inside = F.embedding_bag(self.end, x, first, mode="sum", per_sample_weights=weight)
        alone = self.itself.to(x.dtype)[states.person[m:], None]
        return torch.cat([inside, alone * x[m:]])

    def dense(self) -> Tensor:
        """One (N, N) graph for every set, (U, T, N, N), to look at."""
        _, n, t = self.present.shape
        person, time, element = members(self.present)
        graph = (self.itself[:, None, None, None] * torch.eye(n)).repeat(1, t, 1, 1)
        one, other = element[self.start], element[self.end]
        graph[person[self.start], time[self.start], one, other] = self.weight
        return graph


def co_occurrence(present: Tensor) -> SetGraphs:
    """The graph of every set, weighted by how often two elements met in the whole sequence.

    Two elements are joined at time t if both are in set t, with the number of sets that they
    share; every element is joined to itself at all times, with 1. Each sequence's weights are
    divided by its largest.

    Parameters
    ----------
    present : Tensor
        (U, N, T) bool.

    Returns
    -------
    SetGraphs

    Examples
    --------
    >>> present = torch.tensor([[[1, 1, 0], [1, 1, 1]]]).bool()  # together in two sets of three
    >>> graphs = co_occurrence(present)
    >>> graphs.dense()[0, :, 0].tolist()  # element 0: to itself, to its neighbour
    [[0.5, 1.0], [0.5, 1.0], [0.5, 0.0]]
    >>> len(graphs.weight)  # two sets with 2 × 2 edges, one with 1
    9
    """
    u, n, t = present.shape
    person, time, element = members(present)
    _, group, size = torch.unique_consecutive(
        person * t + time, return_inverse=True, return_counts=True
    )
    first = size.cumsum(0) - size  # of every set, where it starts among the members
    many = size[group]  # of every member, how many share its set
    start = torch.arange(len(group)).repeat_interleave(many)
    before = (many.cumsum(0) - many)[start]  # edges of earlier members
    end = first[group[start]] + torch.arange(len(start)) - before
    # Two elements share as many sets as there are edges between them in all sets.
    pair = (person[start] * n + element[start]) * n + element[end]
    _, which, shared = torch.unique(pair, return_inverse=True, return_counts=True)
    weight = torch.where(start == end, 1.0, shared[which].float())
    largest = torch.ones(u).scatter_reduce(0, person[start], weight, "amax")
    return SetGraphs(present, start, end, weight / largest[person[start]], 1 / largest)


class CountedNorm(nn.BatchNorm1d):
    """Batch norm over rows of which each stands for so many equal ones."""

    def forward(self, x: Tensor, times: Tensor) -> Tensor:  # type: ignore[override]
        """(rows, F) and (rows,) -> (rows, F)."""
        if not self.training:
            return super().forward(x)
        total = times.sum()
        share = times.to(x.dtype) / total
        mean = share @ x
        apart = x - mean
        variance = share @ apart.square()
        with torch.no_grad():
            self._follow(mean, variance * total / (total - 1).clamp(min=1))
        return apart * (variance + self.eps).rsqrt() * self.weight + self.bias

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics; here, unlike in general, there always are some."""
        assert self.running_mean is not None and self.running_var is not None
        assert self.momentum is not None and self.num_batches_tracked is not None
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance, self.momentum)
        self.num_batches_tracked.add_(1)


class GraphConvolution(nn.Module):
    """Sum what the neighbours say, weighted; then a linear map, batch norm and a ReLU.

    Parameters
    ----------
    width : int
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = CountedNorm(width)

    def forward(self, x: Tensor, states: States, graphs: SetGraphs | None) -> Tensor:
        """(M + R, F) -> (M + R, F); without graphs, every element hears itself only."""
        mixed = x if graphs is None else graphs.mix(x, states)
        return self.norm(self.linear(mixed), states.times).relu()
