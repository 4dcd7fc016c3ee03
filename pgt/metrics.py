"""Metrics: every window is ranked once, everything else is computed from the ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import Batch
from pgt.refusals.kinds import require_has
from pgt.refusals.settings import require_whole
from pgt.refusals.sizes import require_same_places
from pgt.sparse.ranking import Ranked, rank_all
from pgt.windows import Windows

GROUPS = ("all", "known", "unknown", "in_window", "not_in_window")
KS = (1, 5, 10)
# Metrics that are a mean over windows, so that they can be resampled by user.
MEANS = ("acc@1", "acc@5", "acc@10", "mrr", "ndcg@10")
METRICS = (*MEANS, "f1")


class Predictor(Protocol):
    """Anything that scores every location for every window of a batch.

    One that is a `Ranker` too is asked for ranks: then nothing of size (B, V) is written down.
    """

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) the higher the likelier; -inf means "not an answer"."""
        ...


@runtime_checkable
class Ranker(Protocol):
    """Anything that ranks the target of every window of a batch."""

    def rank(self, batch: Batch) -> Ranked:
        """Where the targets stand, and the best places."""
        ...


@torch.no_grad()
def evaluate(
    predictor: Predictor | Ranker, windows: Windows, batch_size: int = 512
) -> pd.DataFrame:
    """Rank the target of every window.

    Parameters
    ----------
    predictor : Predictor
        A model or a baseline: whatever has ``scores(batch)``.
    windows : Windows
    batch_size : int
        Windows that are scored together; it changes the speed alone.

    Returns
    -------
    DataFrame
        One row a window, in the windows' order: ``user_id``, ``target`` and ``predicted``
        (vocabulary ids), ``better``, ``tied`` (see `pgt.sparse.ranking.rank`), ``known``,
        ``in_window``. Where several locations share the top score, ``predicted`` is a random one
        of them (the same at every call).

    Raises
    ------
    DataError
        When the windows' vocabulary is of another size than the model's.
    ValueError
        When ``batch_size`` is no whole number of at least 1.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.city.load().visits)
    >>> ranks = evaluate(pgt.MostFrequent().fit(data.train), data.test)
    >>> len(ranks) == len(data.test)
    True
    >>> bool((ranks.tied > 1).any())  # several places are visited equally often
    True
    """
    require_has("windows", windows, "batches", "windows, such as data.test")
    require_same_places(predictor, windows.vocabulary)
    require_whole("batch_size", batch_size, 1)
    n = len(windows)
    better, tied, predicted = (np.zeros(n, dtype=np.int64) for _ in range(3))
    for batch in windows.batches(batch_size):
        if isinstance(predictor, Ranker):
            found = predictor.rank(batch)
        else:
            found = rank_all(predictor.scores(batch), batch.target, batch.index)
        at = batch.index.cpu().numpy()
        for column, value in ((better, found.better), (tied, found.tied),
                              (predicted, found.predicted)):  # fmt: skip
            column[at] = value.cpu().numpy()
    targets = windows.targets
    return pd.DataFrame(
        {
            "user_id": windows.users,
            "target": targets,
            "predicted": predicted,
            "better": better,
            "tied": tied,
            "known": windows.vocabulary.is_known(targets),
            "in_window": windows.in_window,
        }
    )


def gains(ranks: pd.DataFrame) -> pd.DataFrame:
    """What each window contributes to each mean metric (`MEANS`), 0 to 1, ties counted fairly.

    A target that shares its score with others is credited with the average over all orders of
    the tied locations: two tied for the first place are each half a hit at 1.
    """
    better = ranks.better.to_numpy()
    answered = ranks.tied.to_numpy() > 0
    tied = np.maximum(ranks.tied.to_numpy(), 1)
    out = {f"acc@{k}": np.clip((k - better) / tied, 0.0, 1.0) for k in KS}
    top = int((better + tied).max(initial=1))
    places = np.arange(1, top + 1)
    reciprocal = np.concatenate([[0.0], np.cumsum(1 / places)])
    discounted = np.concatenate([[0.0], np.cumsum((places <= 10) / np.log2(places + 1))])
    out["mrr"] = (reciprocal[better + tied] - reciprocal[better]) / tied
    out["ndcg@10"] = (discounted[better + tied] - discounted[better]) / tied
    return pd.DataFrame({name: value * answered for name, value in out.items()}, index=ranks.index)


def group_mask(ranks: pd.DataFrame, group: str) -> np.ndarray:
    """(W,) which windows belong to one of `GROUPS`."""
    known, inside = ranks.known.to_numpy(), ranks.in_window.to_numpy()
    masks = {
        "all": np.ones(len(ranks), dtype=bool),
        "known": known,
        "unknown": ~known,
        "in_window": inside,
        "not_in_window": ~inside,
    }
    return masks[group]


def weighted_f1(target: np.ndarray, predicted: np.ndarray) -> float:
    """F1 of each location's top-1 predictions, weighted by how often it is the target."""
    from sklearn.metrics import f1_score

    return float(f1_score(target, predicted, average="weighted", zero_division=0))


def summarize(ranks: pd.DataFrame, groups: Iterable[str] = GROUPS) -> pd.DataFrame:
    """One row a group: n and every metric in percent (NaN for an empty group).

    Parameters
    ----------
    ranks : DataFrame
        Of `evaluate`.
    groups : iterable of str
        Of `GROUPS`.

    Returns
    -------
    DataFrame
        Columns ``group``, ``n`` and `METRICS`.

    Examples
    --------
    >>> ranks = pd.DataFrame({"target": [2, 3], "predicted": [2, 4], "better": [0, 4],
    ...                       "tied": [1, 1], "known": True, "in_window": [True, False]})
    >>> summarize(ranks, ["all"])[["n", "acc@1", "acc@5"]].values.tolist()
    [[2.0, 50.0, 100.0]]
    """
    all_gains = gains(ranks)
    rows = []
    for group in groups:
        mask = group_mask(ranks, group)
        row: dict[str, object] = {"group": group, "n": int(mask.sum())}
        if mask.any():
            row |= {name: 100 * float(all_gains.loc[mask, name].mean()) for name in MEANS}
            part = ranks[mask]
            row["f1"] = 100 * weighted_f1(part.target.to_numpy(), part.predicted.to_numpy())
        else:
            row |= dict.fromkeys(METRICS, np.nan)
        rows.append(row)
    return pd.DataFrame(rows)
