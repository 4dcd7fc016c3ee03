"""How good a ranking of elements is when the truth is a set: recall, NDCG and hit ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.relatives.temporal_sets.sequences import Sequences

KS = (10, 20, 30, 40)
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg", "phr") for k in KS)
Scorer = Callable[[Sequences], Tensor]  # a batch of U sequences -> scores (U, V)


def quality(scores: Tensor, truth: Tensor, ks: tuple[int, ...] = KS) -> dict[str, Tensor]:
    """Recall, NDCG and hit of every sequence at several cut-offs.

    Parameters
    ----------
    scores : Tensor
        (U, V); minus infinity for an element that is not offered. It then counts as no guess.
        Equal scores are ranked by element number.
    truth : Tensor
        (U, V) bool, at least one True a row, or the row is NaN.
    ks : tuple of int

    Returns
    -------
    dict
        ``recall@k``, ``ndcg@k`` and ``phr@k``, each (U,) from 0 to 1. The mean of ``phr@k`` is
        the *personal hit ratio*: the share of sequences with at least one element found.

    Examples
    --------
    >>> scores = torch.tensor([[3.0, 2.0, 1.0, 0.0]])
    >>> found = quality(scores, torch.tensor([[True, False, True, False]]), ks=(2,))
    >>> {name: round(float(value[0]), 3) for name, value in found.items()}
    {'recall@2': 0.5, 'ndcg@2': 0.613, 'phr@2': 1.0}
    """
    return _found(*ranked(scores, max(ks)), truth, ks)


def ranked(scores: Tensor, deepest: int) -> tuple[Tensor, Tensor]:
    """The best elements in order, (U, K), and whether each is offered at all, (U, K)."""
    # A stable sort, so that ties do not depend on the machine.
    best = scores.argsort(dim=1, descending=True, stable=True)[:, :deepest]
    return best, scores.gather(1, best) > -torch.inf


def _found(best: Tensor, offered: Tensor, truth: Tensor, ks: tuple[int, ...]) -> dict[str, Tensor]:
    hit = (truth.gather(1, best) & offered).float()  # (U, K)
    size, deepest = truth.sum(1).float(), best.shape[1]
    discount = 1 / torch.log2(torch.arange(deepest) + 2.0)
    found = {}
    for k in ks:
        most = torch.arange(min(k, deepest)) < size[:, None]  # the best that could be
        ideal = (most * discount[:k]).sum(1)
        found[f"recall@{k}"] = hit[:, :k].sum(1) / size
        found[f"ndcg@{k}"] = (hit[:, :k] * discount[:k]).sum(1) / ideal  # 0 / 0 is NaN
        found[f"phr@{k}"] = torch.where(size > 0, hit[:, :k].amax(1), torch.nan)
    names = [f"{name}@{k}" for name in ("recall", "ndcg", "phr") for k in ks]
    return {name: found[name] for name in names}


def evaluate(score: Scorer, data: Sequences, batch_size: int = 256) -> pd.DataFrame:
    """One row a sequence: ``user_id``, the metrics of all targets, and recall by kind of target.

    ``repeated@k`` and ``new@k`` are the recall of the elements of the next set that the sequence
    holds, and of those that it does not; NaN where there is none.
    """
    parts = [_table(score, part) for part in _batches(data, batch_size)]
    return pd.concat(parts, ignore_index=True)


def mean_of(score: Scorer, data: Sequences, metric: str, batch_size: int = 256) -> float:
    """The mean of one metric such as ``ndcg@10``, from 0 to 1: what early stopping looks at."""
    k = int(metric.rpartition("@")[2])
    values = []
    with torch.inference_mode():
        for batch in _batches(data, batch_size):
            values.append(_found(*ranked(score(batch), k), batch.truth(), (k,))[metric])
    return float(torch.cat(values).mean())


def _batches(data: Sequences, size: int) -> Iterator[Sequences]:
    for start in range(0, len(data), size):
        yield data.batch(torch.arange(start, min(start + size, len(data))))


def _table(score: Scorer, batch: Sequences) -> pd.DataFrame:
    with torch.inference_mode():
        best, truth, seen = ranked(score(batch), max(KS)), batch.truth(), batch.seen()
        table: dict[str, np.ndarray] = {"user_id": batch.user.numpy()}
        table |= {name: value.numpy() for name, value in _found(*best, truth, KS).items()}
        for kind, part in (("repeated", truth & seen), ("new", truth & ~seen)):
            found = _found(*best, part, KS)
            table |= {f"{kind}@{k}": found[f"recall@{k}"].numpy() for k in KS}
    return pd.DataFrame(table)
