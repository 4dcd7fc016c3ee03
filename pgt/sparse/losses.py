"""The loss: how far log-probabilities are from what happened."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

# (B, V) log-probabilities, (B,) targets, label smoothing -> (B,) losses.
Loss = Callable[[Tensor, Tensor, float], Tensor]


# The logarithm of the constant that the design documents add to every probability.
IMPOSSIBLE = math.log(1e-10)


def cross_entropy(log_probs: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """(B, V), (B,) -> (B,) cross-entropy in nats with label smoothing.

    The smoothed target is (1 - ε) · one-hot + ε / V (Szegedy et al. 2016). Locations that a model
    cannot name (-inf) count as log 1e-10, the constant of the design documents, without gradient;
    that only happens where there is no generator, or one that does not know all places.
    `pgt.mixture.Mixture.cross_entropy` is the same without the (B, V) log-probabilities.
    """
    log_probs = log_probs.masked_fill(log_probs == -math.inf, IMPOSSIBLE)
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    if label_smoothing == 0:
        return -own
    return -(1 - label_smoothing) * own - label_smoothing * log_probs.mean(1)
