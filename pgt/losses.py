"""The loss: how far log-probabilities are from what happened."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

# (B, V) log-probabilities, (B,) targets, label smoothing -> (B,) losses.
Loss = Callable[[Tensor, Tensor, float], Tensor]


def cross_entropy(log_probs: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """(B, V), (B,) -> (B,) cross-entropy in nats with label smoothing.

    The smoothed target is (1 - ε) · one-hot + ε / V (Szegedy et al. 2016). Locations that a model
    cannot name (-inf) count as log 1e-10, the constant of the design documents, without gradient;
    that only happens to the pure pointer.
    """
    log_probs = log_probs.clamp(min=math.log(1e-10)) if _has_gaps(log_probs) else log_probs
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    if label_smoothing == 0:
        return -own
    return -(1 - label_smoothing) * own - label_smoothing * log_probs.mean(1)


def _has_gaps(log_probs: Tensor) -> bool:
    return bool((log_probs[:, 0] == -math.inf).any())
