"""What a network of sets must compute: an element in each of its sets, and once out of all others.

What is outside a set is joined to nothing in it, so its vector is the same for all sets that it is
not in. One vector then stands for all of them. An array of all elements at all times would mostly
hold copies of it. U sequences, N elements, T sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pgt.relatives.temporal_sets.sequences import Sequences


def members(present: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sequence, set and element of all that is in a set, each (M,), set after set.

    Parameters
    ----------
    present : Tensor
        (U, N, T) bool.

    Examples
    --------
    >>> present = torch.tensor([[[1, 0], [1, 1]]]).bool()  # both in set 0, the second in set 1
    >>> [one.tolist() for one in members(present)]
    [[0, 0, 0], [0, 0, 1], [0, 1, 1]]
    """
    person, time, element = present.transpose(1, 2).nonzero(as_tuple=True)
    return person, time, element


@dataclass(frozen=True)
class States:
    """The states of a batch: M of elements in a set, then R of elements out of a set.

    Attributes
    ----------
    person, element : Tensor
        (M + R,) the sequence, and the column of ``elements``.
    time : Tensor
        (M,) the set.
    times : Tensor
        (M + R,) how many sets of the sequence a state stands for: 1 in a set; out of a set from 0.
    at : Tensor
        (R, T) the state of a row, which is an element of a sequence, at every set. Padding of time
        counts as out of a set.

    Examples
    --------
    >>> from pgt.relatives.temporal_sets.sequences import padded
    >>> states = States.of(padded([[[4], [2, 4], [4]]], [[2]], n_elements=5))
    >>> states.at.tolist()  # 4 is in all three sets; 2 in the second, and out in state 5
    [[0, 1, 3], [5, 2, 5]]
    >>> states.times.tolist()
    [1, 1, 1, 1, 0, 2]
    """

    person: Tensor
    element: Tensor
    time: Tensor
    times: Tensor
    at: Tensor

    @classmethod
    def of(cls, batch: Sequences) -> States:
        """The states of a batch."""
        person, time, element = members(batch.present)
        real = batch.elements >= 0  # (U, N)
        whose, which = real.nonzero(as_tuple=True)
        m, r = len(person), len(whose)
        row = torch.zeros_like(batch.elements)
        row[real] = torch.arange(r)
        at = (m + torch.arange(r))[:, None].repeat(1, batch.present.shape[2])
        at[row[person, element], time] = torch.arange(m)
        out = batch.length[whose] - batch.present.sum(2)[real]
        return cls(
            torch.cat([person, whose]),
            torch.cat([element, which]),
            time,
            torch.cat([torch.ones_like(person), out]),
            at,
        )
