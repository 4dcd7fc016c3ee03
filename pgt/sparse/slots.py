"""The places of a window, each once, and the mixture of two distributions written out.

The design documents print ``log(g · P_pointer + (1 - g) · P_generator + 1e-10)``. The constant
keeps the logarithm finite, but it also flattens everything below it: a place with probability
1e-14 gets log 1e-10, and no gradient. Here the same sum is taken with log-sum-exp and needs no
constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


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


def add_up(slots: Slots, weight: Tensor) -> Tensor:
    """(B, L) weights of visits -> (B, L) their sum per slot, -inf where there is no place."""
    total = torch.zeros_like(weight).scatter_add_(1, slots.of_visit, weight)
    return total.masked_fill(slots.place < 0, -math.inf)
