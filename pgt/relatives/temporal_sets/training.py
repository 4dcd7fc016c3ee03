"""Training a predictor of sets: every element is a yes or no, and early stopping."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from pgt.errors import DataError
from pgt.relatives.temporal_sets.metrics import mean_of
from pgt.relatives.temporal_sets.sequences import Sequences

POOL = 16  # batches


@dataclass(frozen=True)
class SetTraining:
    """How a predictor of sets is trained.

    Attributes
    ----------
    epochs : int
        At most.
    patience : int
        Epochs without a better validation score before it stops.
    batch_size : int
    learning_rate : float
    metric : str
        What early stopping looks at, of `pgt.relatives.temporal_sets.metrics.METRICS`.
    seed : int
        Of the shuffling; the model's weights are made before.
    """

    epochs: int = 40
    patience: int = 5
    batch_size: int = 64
    learning_rate: float = 1e-3
    metric: str = "ndcg@10"
    seed: int = 42


def fit(
    model: nn.Module,
    train: Sequences,
    valid: Sequences,
    training: SetTraining | None = None,
    after_epoch: Callable[[dict[str, float]], None] | None = None,
) -> list[dict[str, float]]:
    """Train, leave the model with its best weights in evaluation mode, and tell every epoch.

    Parameters
    ----------
    model : Module
        A batch of U sequences -> scores (U, V) before the sigmoid.
    train, valid : Sequences
    training : SetTraining, optional
    after_epoch : callable, optional
        Gets every new row.

    Returns
    -------
    list of dict
        ``epoch``, ``loss`` (nats an element, training) and the validation metric, from 0 to 1.

    Raises
    ------
    DataError
        When there are no sequences.
    """
    training = training or SetTraining()
    for name, part in (("train", train), ("valid", valid)):
        if len(part) == 0:
            raise DataError(f"There are no {name} sequences; people need at least two sets.")
    shuffle = torch.Generator().manual_seed(training.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    history: list[dict[str, float]] = []
    best, weights = -1.0, copy.deepcopy(model.state_dict())
    for epoch in range(1, training.epochs + 1):
        model.train()
        total = 0.0
        for rows in batches(train, training.batch_size, shuffle):
            batch = train.batch(rows)
            loss = F.binary_cross_entropy_with_logits(model(batch), batch.truth().float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(rows)
        model.eval()
        score = mean_of(model, valid, training.metric)
        history.append({"epoch": epoch, "loss": total / len(train), training.metric: score})
        if after_epoch is not None:
            after_epoch(history[-1])
        if score > best:
            best, weights = score, copy.deepcopy(model.state_dict())
        elif epoch - _best_epoch(history, training.metric) >= training.patience:
            break
    model.load_state_dict(weights)
    model.eval()
    return history


def batches(data: Sequences, size: int, shuffle: torch.Generator) -> list[torch.Tensor]:
    """Rows of every batch of an epoch: at random, but sequences of one batch are alike in size.

    Pools of `POOL` batches are drawn, each is sorted by size and cut, and the batches come in
    random order. Padding then costs a quarter of what it would.
    """
    order = torch.randperm(len(data), generator=shuffle)
    width = (data.elements >= 0).sum(1)
    found: list[torch.Tensor] = []
    for pool in order.split(POOL * size):
        by_size = pool[(width[pool] * 1000 + data.length[pool]).argsort(stable=True)]
        found += by_size.split(size)
    return [found[int(k)] for k in torch.randperm(len(found), generator=shuffle)]


def _best_epoch(history: list[dict[str, float]], metric: str) -> int:
    return int(max(history, key=lambda row: row[metric])["epoch"])
