"""Metrics: every window is ranked once, everything else is computed from the ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor

from pgt import large_vocabulary
from pgt.batch import Batch, rounding, slot_of
from pgt.errors import DataError
from pgt.progress import bar
from pgt.windows import Windows

GROUPS = ("all", "known", "unknown", "in_window", "not_in_window")
KS = (1, 5, 10)
# Metrics that are a mean over windows, so that they can be resampled by user.
MEANS = ("acc@1", "acc@5", "acc@10", "mrr", "ndcg@10")
METRICS = (*MEANS, "f1")


class Predictor(Protocol):
    """Anything that scores every location.

    If it has ``own_scores(batch)``, that is used: (B, S) the window's candidates and their scores,
    or None when other places can be answers.
    """

    def scores(self, batch: Batch) -> Tensor:
        """(B, V) the higher the likelier; -inf means "not an answer"."""
        ...


@dataclass(frozen=True)
class Ranked:
    """Where the answers of a batch stand."""

    better: Tensor  # (B,) how many places score higher than the target
    tied: Tensor  # (B,) how many the same, itself included; 0: it is no answer at all
    predicted: Tensor  # (B,) one of the best, chosen by the window's number
    score: Tensor  # (B,) the target's; -inf: no answer


def rank(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Where the (B,) targets stand among all (B, V) scores: `Ranked.better` and `Ranked.tied`."""
    own = scores.gather(1, target[:, None])  # (B, 1)
    better = (scores > own + rounding(own)).sum(1)  # what differs by rounding alone is tied
    tied = (scores >= own - rounding(own)).sum(1) - better
    return better, tied.masked_fill(own.squeeze(1) == -math.inf, 0)


@torch.no_grad()
def ranked(predictor: Any, batch: Batch) -> Ranked:
    """Rank the targets of a batch, in evaluation mode."""
    if large_vocabulary.wanted(predictor):
        return Ranked(*large_vocabulary.rank_in_chunks(predictor, batch))
    own, target = getattr(predictor, "own_scores", lambda batch: None)(batch), batch.target
    if own is not None:  # a slot a place, and one for all others
        scores, target = F.pad(own[1], (0, 1), value=-math.inf), slot_of(own[0], target)
    else:
        scores = predictor.scores(batch)  # (B, V)
    best = _one_of_the_best(scores, batch.index)
    predicted = best if own is None else own[0].gather(1, best[:, None])[:, 0]
    return Ranked(*rank(scores, target), predicted, scores.gather(1, target[:, None])[:, 0])


def _one_of_the_best(scores: Tensor, index: Tensor) -> Tensor:
    """(B, N) scores -> (B,) columns of a largest one; the window's number throws the dice."""
    top = scores.max(1, keepdim=True).values
    best = scores >= top - rounding(top)  # (B, N)
    share = (index.double() * 0.6180339887498949) % 1  # the golden ratio's multiples: evenly spread
    nth = (share * best.sum(1)).long() + 1
    return (best.cumsum(1, dtype=torch.int32) == nth[:, None]).to(torch.uint8).argmax(1)


@torch.no_grad()
def evaluate(predictor: Predictor, windows: Windows, batch_size: int = 512) -> pd.DataFrame:
    """Rank the target of every window.

    Parameters
    ----------
    predictor, windows, batch_size

    Returns
    -------
    DataFrame
        A row a window; ``better`` and ``tied`` as in `pgt.metrics.Ranked`.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> len(evaluate(pgt.MostFrequent().fit(data.train), data.test)) == len(data.test)
    True
    """
    if not hasattr(windows, "batches"):
        raise DataError(f"windows is a {type(windows).__name__}; give windows, such as data.test.")
    windows.vocabulary.check_model(predictor)
    better, tied, predicted = np.zeros((3, len(windows)), dtype=np.int64)
    for batch in bar(windows.batches(batch_size), "ranking", -(-len(windows) // batch_size)):
        ranks, at = ranked(predictor, batch), batch.index.cpu()
        better[at], tied[at] = ranks.better.cpu(), ranks.tied.cpu()
        predicted[at] = ranks.predicted.cpu()
    table = {"user_id": windows.users, "target": windows.targets, "predicted": predicted}
    table |= {"better": better, "tied": tied}
    table["known"] = windows.vocabulary.is_known(windows.targets)
    return pd.DataFrame(table | {"in_window": windows.in_window})


def gains(ranks: pd.DataFrame) -> pd.DataFrame:
    """What each window contributes to each mean metric (`MEANS`), 0 to 1."""
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
    if group == "all":
        return np.ones(len(ranks), dtype=bool)
    column = {"unknown": "known", "not_in_window": "in_window"}.get(group, group)
    return ranks[column].to_numpy() == (column == group)


def weighted_f1(target: ArrayLike, predicted: ArrayLike) -> float:
    """F1 of each location's top-1 predictions, weighted by how often it is the target."""
    from sklearn.metrics import f1_score

    return float(f1_score(target, predicted, average="weighted", zero_division=0))


def summarize(ranks: pd.DataFrame, groups: Iterable[str] = GROUPS) -> pd.DataFrame:
    """One row a group: ``n`` and every metric of `METRICS` in percent (NaN for an empty group).

    Parameters
    ----------
    ranks, groups

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> rank = pd.DataFrame({"target": [2], "predicted": 2, "better": 0, "tied": 1})
    >>> summarize(rank, ["all"])[["n", "acc@1", "f1"]].values.tolist()
    [[1.0, 100.0, 100.0]]
    """
    all_gains = gains(ranks)
    rows = []
    for group in groups:
        mask = group_mask(ranks, group)
        means = 100 * all_gains.loc[mask, list(MEANS)].mean()
        part = ranks[mask]
        f1 = 100 * weighted_f1(part.target, part.predicted) if mask.any() else np.nan
        rows.append({"group": group, "n": len(part), **means, "f1": f1})
    return pd.DataFrame(rows)


def resampled_means(
    values: ArrayLike, users: ArrayLike, *, draws: int = 2000, seed: int = 0
) -> np.ndarray:
    """(draws, ...) means of (S, W, ...) values over seeds and windows, people and seeds redrawn."""
    values = np.asarray(values, dtype=float)
    person, people = pd.factorize(np.asarray(users))
    n_seeds, measures = len(values), values.shape[2:]
    if (np.isnan(values) != np.isnan(values[0])).any():
        raise ValueError("NaN stand in other places for other seeds.")
    flat = np.moveaxis(values, 1, 0).reshape(len(person), -1)  # (W, S * M)
    of_person = pd.DataFrame(flat).groupby(person)
    # What each person's windows add up to, and how many they are: (P, 2 * S * M)
    table = np.hstack([of_person.sum(), of_person.count()])
    rng = np.random.default_rng(seed)
    seeds = rng.integers(n_seeds, size=(draws, n_seeds))
    means = np.empty((draws, flat.shape[1] // n_seeds))
    for draw in range(draws):
        chosen = rng.integers(len(people), size=len(people))
        times = np.bincount(chosen, minlength=len(people))
        total, number = (times @ table).reshape(2, n_seeds, -1)
        with np.errstate(invalid="ignore"):
            means[draw] = total[seeds[draw]].mean(0) / number[0]
    return means.reshape(draws, *measures)


def percentile_interval(draws: ArrayLike, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval: the middle ``level`` of (draws, ...); NaN are left out."""
    tail = (1 - level) / 2
    low, high = np.nanquantile(np.asarray(draws, dtype=float), [tail, 1 - tail], axis=0)
    return low, high


def interval(
    ranks: pd.DataFrame, metric: str = "acc@1", *, against: pd.DataFrame | None = None,
    group: str = "all", level: float = 0.95, n_resamples: int = 2000, seed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """Confidence interval of a metric in percent, by resampling people (percentile interval).

    Parameters
    ----------
    ranks, metric, against, group, level, n_resamples, seed

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> rank = pd.DataFrame({"user_id": 1, "better": [0, 1], "tied": 1})
    >>> interval(rank)
    (50.0, 50.0)
    """
    other = None if against is None else [against]  # ranks of the same windows, to be taken off
    return interval_of_mean([ranks], metric, against=other, group=group, level=level,
                            n_resamples=n_resamples, seed=seed)  # fmt: skip


def interval_of_mean(
    runs: Sequence[pd.DataFrame], metric: str = "acc@1", *,
    against: Sequence[pd.DataFrame] | None = None, group: str = "all", seeds: bool = True,
    level: float = 0.95, n_resamples: int = 2000, seed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """As `interval`, for the mean over several runs (seeds), which are resampled like people."""
    users = runs[0].user_id.to_numpy()
    if any(not np.array_equal(run.user_id, users) for run in (*runs, *(against or ()))):
        raise ValueError("The tables of ranks are not of the same windows.")
    value = _gains(runs, metric, seeds)
    if against is not None:
        other = _gains(against, metric, seeds)
        if len(value) != len(other) and 1 not in (len(value), len(other)):
            raise ValueError(f"{len(value)} runs cannot be paired with {len(other)}.")
        value = value - other
    mask = group_mask(runs[0], group)
    if not mask.any():
        return float("nan"), float("nan")
    means = resampled_means(value[:, mask], users[mask], draws=n_resamples, seed=seed)
    low, high = percentile_interval(100 * means, level)
    return float(low), float(high)


def _gains(runs: Sequence[pd.DataFrame], metric: str, seeds: bool) -> np.ndarray:
    """(S, W) what each window contributes in each run, or (1, W) on average over runs."""
    if metric not in MEANS:
        raise ValueError(f"metric is {metric!r}; intervals exist for {', '.join(MEANS)}.")
    gained = np.stack([gains(ranks)[metric].to_numpy() for ranks in runs])
    return gained if seeds else gained.mean(0, keepdims=True)


FEW = 5  # fewer people carry no interval by people


def compare(ranked: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Score several models on the same windows, the first beside the others, in percent."""
    first = next(iter(ranked.values()))
    tables = []
    for name, ranks in ranked.items():
        table = summarize(ranks)
        masks = (group_mask(ranks, group) for group in table.group)
        table["people"] = [ranks.user_id[mask].nunique() for mask in masks]
        table[["low", "high", "lead_low", "lead_high"]] = [
            (*interval(ranks, group=group), *interval(first, against=ranks, group=group))
            if people >= FEW else (np.nan,) * 4
            for group, people in zip(table.group, table.people, strict=True)
        ]  # fmt: skip
        table["lead"] = summarize(first)["acc@1"] - table["acc@1"]
        tables.append(table.assign(model=name))
    columns = ["model", "group", "n", "acc@1", "low", "high", "acc@5", "acc@10", "mrr", "people",
               "lead", "lead_low", "lead_high"]  # fmt: skip
    return pd.concat(tables, ignore_index=True)[columns]
