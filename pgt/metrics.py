"""Metrics: every window is ranked once, everything else is computed from the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pgt.batch import Batch
from pgt.errors import DataError
from pgt.sparse import Ranked, rank_all
from pgt.windows import Windows

GROUPS = ("all", "known", "unknown", "in_window", "not_in_window")
KS = (1, 5, 10)
# Metrics that are a mean over windows, so that they can be resampled by user.
MEANS = ("acc@1", "acc@5", "acc@10", "mrr", "ndcg@10")
METRICS = (*MEANS, "f1")


class Predictor(Protocol):
    """Anything that scores every location; one that is a `Ranker` too is asked for ranks."""

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
        (vocabulary ids), ``better``, ``tied`` (see `pgt.sparse.rank`), ``known``,
        ``in_window``. Where several locations share the top score, ``predicted`` is a random one
        of them (the same at every call).

    Raises
    ------
    DataError
        When the windows' vocabulary is another than the model's.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> ranks = evaluate(pgt.MostFrequent().fit(data.train), data.test)
    >>> len(ranks) == len(data.test)
    True
    >>> bool((ranks.tied > 1).any())  # several places are visited equally often
    True
    """
    if not hasattr(windows, "batches"):
        raise DataError(f"windows is a {type(windows).__name__}; give windows, such as data.test.")
    if batch_size < 1:
        raise DataError(f"batch_size is {batch_size}; it must be at least 1.")
    windows.vocabulary.check_model(predictor)
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


BLOCK = 2**18  # people that are drawn at once, over all draws of a block: a few MiB


def resample_people(n_people: int, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw as many people as there are, with replacement, ``draws`` times.

    Yields blocks (D, n_people) of numbers of people; their size does not change what is drawn.
    """
    block = max(1, BLOCK // max(1, n_people))
    for first in range(0, draws, block):
        yield rng.integers(n_people, size=(min(block, draws - first), n_people))


def resampled_means(
    values: ArrayLike, users: ArrayLike, *, draws: int = 2000, seed: int = 0
) -> np.ndarray:
    """(draws, ...) means over seeds and windows when people, and seeds, are drawn anew.

    ``values`` are (S, W, ...) for S seeds, W windows and any measures, ``users`` the (W,) windows'
    people. NaN are left out, and must stand in the same places for all seeds. Seeds are drawn,
    independently of people, where there is more than one. All measures get the same draws.
    """
    values = np.asarray(values, dtype=float)
    person, people = pd.factorize(np.asarray(users))
    if values.shape[1] != len(person) or not len(person):
        raise ValueError(f"Values {values.shape} and the people of {len(person)} windows.")
    n_seeds, measures = values.shape[0], values.shape[2:]
    sums = _sums(values.reshape(n_seeds, len(person), -1), person, len(people))  # (P, S + 1, M)
    rng = np.random.default_rng(seed)
    shares = np.ones((draws, 1))
    if n_seeds > 1:
        shares = _how_often(rng.integers(n_seeds, size=(draws, n_seeds)), n_seeds) / n_seeds
    means = np.empty((draws, sums.shape[2]))
    first = 0
    for chosen in resample_people(len(people), draws, rng):
        at = slice(first, first := first + len(chosen))
        times = _how_often(chosen, len(people))
        found = (times @ sums.reshape(len(people), -1)).reshape(len(chosen), *sums.shape[1:])
        with np.errstate(invalid="ignore"):
            means[at] = np.einsum("ds,dsm->dm", shares[at], found[:, :-1]) / found[:, -1]
    return means.reshape(draws, *measures)


def _sums(values: np.ndarray, person: np.ndarray, n_people: int) -> np.ndarray:
    """(P, S + 1, M) what a person's windows add up to with each seed; last, how many they are."""
    there = ~np.isnan(values)
    if (there != there[0]).any():
        raise ValueError("NaN stand in other places for other seeds.")
    sums = np.empty((n_people, len(values) + 1, values.shape[2]))
    for s, m in np.ndindex(sums.shape[1:]):
        counted = there[0, :, m]
        own = np.where(counted, values[s, :, m], 0.0) if s < len(values) else counted
        sums[:, s, m] = np.bincount(person, weights=own, minlength=n_people)
    return sums


def _how_often(chosen: np.ndarray, n: int) -> np.ndarray:
    """(D, n) how often each of n was chosen in each of D rows, as floats."""
    rows = len(chosen)
    flat = (chosen + n * np.arange(rows)[:, None]).ravel() if rows > 1 else chosen.ravel()
    return np.bincount(flat, minlength=rows * n).reshape(rows, n).astype(float)


def ends(draws: ArrayLike, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval: the middle ``level`` of (draws, ...); NaN are left out."""
    tail = (1 - level) / 2
    low, high = np.nanquantile(np.asarray(draws, dtype=float), [tail, 1 - tail], axis=0)
    return low, high


def interval(
    ranks: pd.DataFrame, metric: str = "acc@1", *, against: pd.DataFrame | None = None,
    group: str = "all", level: float = 0.95, n_resamples: int = 2000, seed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """Confidence interval of a metric in percent, by resampling people (percentile interval).

    One run says nothing of other seeds; for several runs see `interval_of_mean`.

    Parameters
    ----------
    ranks : DataFrame
        Of `pgt.metrics.evaluate`.
    metric : str
        One of `pgt.metrics.MEANS`.
    against : DataFrame, optional
        The ranks of another predictor on the same windows: the interval is then that of the
        paired difference ``ranks - against``.
    group : str
        One of `pgt.metrics.GROUPS`.
    level : float
        How much of the bootstrap's distribution the interval covers, 0 to 1.
    n_resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    low, high : float
        Percent; NaN for an empty group.

    Raises
    ------
    ValueError
        For another metric, or when the two tables are not of the same windows.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> kernel = pgt.evaluate(pgt.ContextKernel().fit(data.train), data.test)
    >>> frequent = pgt.evaluate(pgt.MostFrequent().fit(data.train), data.test)
    >>> low, high = interval(kernel, against=frequent)
    >>> 0 < low < high
    True
    """
    other = None if against is None else [against]
    return interval_of_mean([ranks], metric, against=other, group=group, level=level,
                            n_resamples=n_resamples, seed=seed)  # fmt: skip


def interval_of_mean(
    runs: Sequence[pd.DataFrame], metric: str = "acc@1", *,
    against: Sequence[pd.DataFrame] | None = None, group: str = "all", seeds: bool = True,
    level: float = 0.95, n_resamples: int = 2000, seed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """As `interval`, for the mean over several runs (seeds) on the same windows.

    People and, where there are several, runs are resampled (without ``seeds``, only people are, as
    if these runs were the only ones there could be). With ``against``, the interval of the
    difference of the two means: the runs are paired in the order given and drawn in pairs, and a
    single run, such as a rule's, counts for every run of the other.
    """
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
    low, high = ends(100 * means, level)
    return float(low), float(high)


def _gains(runs: Sequence[pd.DataFrame], metric: str, seeds: bool) -> np.ndarray:
    """(S, W) what each window contributes in each run, or (1, W) on average over runs."""
    if metric not in MEANS:
        raise ValueError(f"metric is {metric!r}; intervals exist for {', '.join(MEANS)}.")
    found = np.stack([gains(ranks)[metric].to_numpy() for ranks in runs])
    return found if seeds else found.mean(0, keepdims=True)


FEW = 5  # fewer people carry no interval by people


def compare(ranked: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Score several models on the same windows, the first beside the others.

    Parameters
    ----------
    ranked : mapping
        By name, ranks of `evaluate`.

    Returns
    -------
    DataFrame
        By ``model`` and ``group`` (`GROUPS`): ``n`` windows, ``acc@1`` with ``low`` and ``high``
        (95 % interval, people resampled), ``acc@5``, ``acc@10`` and ``mrr``, in percent;
        ``people``; and by how many points the first model's acc@1 is above the row's, paired:
        ``lead``, ``lead_low``, ``lead_high``. Fewer than five people have no interval.
    """
    first = next(iter(ranked.values()))
    tables = []
    for name, ranks in ranked.items():
        table = summarize(ranks)
        table["people"] = [ranks.user_id[group_mask(ranks, one)].nunique() for one in table.group]
        table[["low", "high", "lead_low", "lead_high"]] = [
            (*interval(ranks, group=one), *interval(first, against=ranks, group=one))
            if people >= FEW else (np.nan,) * 4
            for one, people in zip(table.group, table.people, strict=True)
        ]  # fmt: skip
        table["lead"] = summarize(first)["acc@1"] - table["acc@1"]
        tables.append(table.assign(model=name))
    columns = ["model", "group", "n", "acc@1", "low", "high", "acc@5", "acc@10", "mrr", "people",
               "lead", "lead_low", "lead_high"]  # fmt: skip
    return pd.concat(tables, ignore_index=True)[columns]
