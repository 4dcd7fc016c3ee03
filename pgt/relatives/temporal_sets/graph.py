"""Which elements go together: a small weighted graph for every set, and convolutions on it.

U sequences, N elements, T sets, F features. Graphs are dense (N, N) blocks: sequences hold a
handful of elements, so a batched matrix product is the whole convolution.
Source: Yu et al. 2020, section 3.2 (https://arxiv.org/abs/2006.11483) and the code beside it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def co_occurrence(present: Tensor) -> Tensor:
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
    Tensor
        (U, T, N, N).

    Examples
    --------
    >>> present = torch.tensor([[[1, 1, 0], [1, 1, 1]]]).bool()  # together in two sets of three
    >>> co_occurrence(present)[0, :, 0].tolist()  # element 0: to itself, to its neighbour
    [[0.5, 1.0], [0.5, 1.0], [0.5, 0.0]]
    """
    there = present.float()
    together = there @ there.transpose(1, 2)  # (U, N, N) sets shared
    itself = torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    together = together.masked_fill(itself, 1.0)
    together = together / together.amax((1, 2), keepdim=True)
    at = there.transpose(1, 2)  # (U, T, N)
    both = at[..., :, None] * at[..., None, :]  # (U, T, N, N)
    return together[:, None] * both.masked_fill(itself, 1.0)


class GraphConvolution(nn.Module):
    """Sum what the neighbours say, weighted; then a linear map, batch norm and a ReLU.

    Parameters
    ----------
    width : int
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor, graph: Tensor, real: Tensor) -> Tensor:
        """(U, T, N, F), (U, T, N, N) and (U, T, N) bool -> (U, T, N, F), 0 where not real.

        Batch norm sees real elements at real times only, so padding moves no statistic.
        """
        mixed = graph @ x
        out = torch.zeros_like(mixed)
        out[real] = self.norm(self.linear(mixed[real])).relu()
        return out
