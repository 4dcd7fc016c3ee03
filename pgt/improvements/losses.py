"""Other losses in place of the cross-entropy; `pgt.train.fit` takes them as its ``loss``."""

from __future__ import annotations

import torch
from torch import Tensor

from pgt.sparse.losses import Loss, cross_entropy
from pgt.windows import Windows


def focal(gamma: float = 2.0) -> Loss:
    """(1 - p)^γ · cross-entropy: what the model is sure of already counts little.

    Source: Lin et al. (2017); improvements document, proposal 9.

    Examples
    --------
    >>> sure = torch.tensor([[0.9, 0.1]]).log()
    >>> loss = focal(2.0)(sure, torch.tensor([0]), 0.0)
    >>> bool(torch.isclose(loss, 0.1**2 * -sure[:, 0])[0])
    True
    """

    def focal_loss(log_probs: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
        own = cross_entropy(log_probs, target)  # (B,)
        chance = (-own).exp()
        return (1 - chance) ** gamma * cross_entropy(log_probs, target, label_smoothing)

    focal_loss.__name__ = f"focal_{gamma:g}"
    return focal_loss


def balanced(train: Windows) -> Loss:
    """Each window's cross-entropy divided by how often its target is one in training.

    The weights average to one over the training windows, so that every location counts alike and
    the learning rate keeps its meaning; targets that training does not have weigh as one that
    occurs once. Source: improvements document, proposal 9.
    """
    counts = torch.bincount(torch.from_numpy(train.targets), minlength=train.vocabulary.n_locations)
    present = int((counts > 0).sum())
    weights = len(train) / (max(present, 1) * counts.clamp(min=1).float())  # (V,)

    def balanced_loss(log_probs: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
        weight = weights.to(log_probs.device)[target]
        return weight * cross_entropy(log_probs, target, label_smoothing)

    return balanced_loss
