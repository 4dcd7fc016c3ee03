"""The mixture of the two distributions, in log space and safe from underflow.

The design documents print ``log(g · P_pointer + (1 - g) · P_generator + 1e-10)``. The constant
keeps the logarithm finite, but it also flattens everything below it: a place with probability
1e-14 gets log 1e-10, and no gradient. Here the same sum is taken with log-sum-exp and needs no
constant.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


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
