"""The recipe of training: its settings, its schedule, its loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor


@dataclass(frozen=True)
class TrainConfig:
    """Everything that shapes a training run.

    Parameters
    ----------
    learning_rate, weight_decay, betas, eps
        Of AdamW.
    batch_size : int
        Windows a step.
    label_smoothing : float
        Share of the target's probability that is spread over all V locations.
    warmup_epochs, max_epochs : int
        The rate rises linearly from 0, then falls along a cosine to 0 at ``max_epochs``.
    patience : int
        Stop after so many epochs without a better validation score.
    clip : float
        Longest gradient, as a norm.
    monitor : {"loss", "acc@1"}
        What "better" means on validation.
    seed : int
        Of shuffling and dropout. (Initial weights are the model's: seed before building it.)
    amp : {"auto", "on", "off"}
        bf16 in the encoder; auto is on for GPUs that have it.
    """

    learning_rate: float = 6.5e-4
    weight_decay: float = 0.015
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    batch_size: int = 128
    label_smoothing: float = 0.03
    warmup_epochs: int = 5
    max_epochs: int = 50
    patience: int = 5
    clip: float = 0.8
    monitor: Literal["loss", "acc@1"] = "loss"
    seed: int = 42
    amp: Literal["auto", "on", "off"] = "auto"

    def __post_init__(self) -> None:
        for name in ("learning_rate", "batch_size", "max_epochs", "patience", "clip", "eps"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}={getattr(self, name)} must be positive.")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing={self.label_smoothing} must lie in [0, 1).")
        if self.monitor not in ("loss", "acc@1"):
            raise ValueError(f"monitor is {self.monitor!r}; it must be 'loss' or 'acc@1'.")

    def rate(self, step: int, steps_per_epoch: int) -> float:
        """Learning rate of a step, counted from 0.

        Examples
        --------
        >>> config = TrainConfig(learning_rate=1.0, warmup_epochs=1, max_epochs=3)
        >>> [round(config.rate(step, 2), 2) for step in range(6)]
        [0.5, 1.0, 1.0, 0.85, 0.5, 0.15]
        """
        warmup = self.warmup_epochs * steps_per_epoch
        if step < warmup:
            return self.learning_rate * (step + 1) / warmup
        total = max(self.max_epochs * steps_per_epoch - warmup, 1)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / total))


# The two configurations of the design documents.
DIY = TrainConfig(
    learning_rate=5e-4, weight_decay=1e-5, batch_size=64, label_smoothing=0.05, warmup_epochs=7
)
GEOLIFE = TrainConfig(
    learning_rate=1e-3, weight_decay=1e-5, batch_size=64, label_smoothing=0.0, warmup_epochs=5
)

# For the simulated city: stop on the accuracy. Chosen on its validation windows; chapter 10 shows
# why the loss stops too early there.
CITY = TrainConfig(monitor="acc@1")


def loss_of(log_probs: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
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
