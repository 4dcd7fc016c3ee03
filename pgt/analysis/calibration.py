"""How good is a probability? Calibration, sharpness and skill of forecasts of yes or no.

Two questions must not be confused. *Discrimination* (`auc`, `auc_within`): do the cases that happen
get the high values? *Calibration* (`reliability`, `calibration_line`): does what is given 70 %
happen in 70 % of the cases? The Brier score holds both; `brier` takes it apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from pgt.analysis.intervals import drawn_people, ends
from pgt.errors import DataError
from pgt.table.rows import spread

Equal = Literal["count", "width"]


def _checked(p: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts and outcomes as float arrays of one length."""
    forecast, outcome = np.asarray(p, dtype=float), np.asarray(y, dtype=float)
    if forecast.ndim != 1 or forecast.shape != outcome.shape or len(forecast) == 0:
        raise DataError(
            f"Forecasts {forecast.shape} and outcomes {outcome.shape} must be two lists of one "
            "length, with something in them."
        )
    if not ((forecast >= 0) & (forecast <= 1)).all():
        raise DataError("A forecast is not between 0 and 1; pass probabilities, not log-odds.")
    if not np.isin(outcome, (0, 1)).all():
        raise DataError("An outcome is neither 0 nor 1; pass what happened, as yes or no.")
    return forecast, outcome


def bins_of(p: ArrayLike, bins: int = 10, equal: Equal = "count") -> np.ndarray:
    """(N,) the bin of each forecast, from 0.

    Parameters
    ----------
    bins : int
        At most so many; equal forecasts always share a bin.
    equal : {"count", "width"}
        Bins of as many forecasts each, or bins as wide as each other on the scale from 0 to 1.

    Examples
    --------
    >>> bins_of([0.1, 0.4, 0.6, 0.7], bins=2).tolist()
    [0, 0, 1, 1]
    """
    p = np.asarray(p, dtype=float)
    if equal == "width":
        return np.minimum((p * bins).astype(int), bins - 1)
    edges = np.unique(np.quantile(p, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]


def reliability(
    p: ArrayLike,
    y: ArrayLike,
    users: ArrayLike | None = None,
    *,
    bins: int = 10,
    equal: Equal = "count",
) -> pd.DataFrame:
    """The reliability table: what was forecast, and how often it happened.

    Parameters
    ----------
    p, y : array-like
        (N,) forecasts from 0 to 1, and what happened, 0 or 1.
    users : array-like, optional
        (N,) the person of each; adds a 95 % interval of the observed share, people resampled.
    bins, equal
        See `bins_of`.

    Returns
    -------
    DataFrame
        One row a bin that holds something: ``n``, ``forecast`` and ``observed`` (means, 0 to 1),
        ``low`` and ``high`` when ``users`` are given.

    Examples
    --------
    >>> reliability([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 0], bins=2).observed.tolist()
    [0.0, 0.5]
    """
    p, y = _checked(p, y)
    bin_ = bins_of(p, bins, equal)
    table = pd.DataFrame({"bin": bin_, "forecast": p, "observed": y})
    means = table.groupby("bin").agg(
        n=("forecast", "size"), forecast=("forecast", "mean"), observed=("observed", "mean")
    )
    if users is not None:
        who = np.asarray(users)
        found = [interval(np.mean, who[bin_ == k], y[bin_ == k]) for k in means.index]
        means[["low", "high"]] = np.array(found)
    return means.reset_index(drop=True)


@dataclass(frozen=True)
class Brier:
    """The Brier score and its parts: score = reliability - resolution + uncertainty + rest.

    Attributes
    ----------
    score : float
        Mean of (forecast - outcome)²; 0 is perfect.
    reliability : float
        How far bins lie from the diagonal, squared; 0 is calibrated.
    resolution : float
        How far the bins' outcomes lie from the overall share, squared; the more, the better.
    uncertainty : float
        share · (1 - share): the score of who always forecasts the overall share.
    rest : float
        What binning hides: variance within bins minus twice the covariance with the outcome.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    rest: float

    @property
    def skill(self) -> float:
        """1 is perfect, 0 as good as always forecasting the overall share, less is worse."""
        return 1 - self.score / self.uncertainty


def brier(p: ArrayLike, y: ArrayLike, *, bins: int = 10, equal: Equal = "count") -> Brier:
    """The Brier score (Brier 1950) with Murphy's (1973) parts.

    The parts add up exactly because of the two within-bin terms of Stephenson, Coelho and
    Jolliffe (2008, https://doi.org/10.1175/2007WAF2006116.1), here together as ``rest``.

    Takes what `reliability` takes.

    Examples
    --------
    >>> parts = brier([0.5, 0.5, 0.5, 0.5], [1, 0, 1, 1])
    >>> parts.score, parts.uncertainty, parts.resolution
    (0.25, 0.1875, 0.0)
    """
    p, y = _checked(p, y)
    table = pd.DataFrame({"bin": bins_of(p, bins, equal), "p": p, "y": y})
    mean = table.groupby("bin").transform("mean")  # of each one's bin
    share = y.mean()
    apart = p - mean.p.to_numpy()
    covariance = apart * (y - mean.y.to_numpy())
    return Brier(
        score=float(np.mean((p - y) ** 2)),
        reliability=float(np.mean((mean.p - mean.y) ** 2)),
        resolution=float(np.mean((mean.y - share) ** 2)),
        uncertainty=float(share * (1 - share)),
        rest=float(np.mean(apart**2 - 2 * covariance)),
    )


def expected_calibration_error(
    p: ArrayLike, y: ArrayLike, *, bins: int = 10, equal: Equal = "count"
) -> float:
    """Mean distance of the bins from the diagonal, weighted by their size, 0 to 1.

    Source: Guo et al. 2017, https://arxiv.org/abs/1706.04599, who take bins of equal width.

    Examples
    --------
    >>> round(expected_calibration_error([0.2, 0.2, 0.8, 0.8], [0, 0, 1, 0], bins=2), 3)
    0.25
    """
    table = reliability(p, y, bins=bins, equal=equal)
    gap = (table.forecast - table.observed).abs()
    return float((gap * table.n).sum() / table.n.sum())


def calibration_line(p: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Intercept and slope of logit P(y = 1) = intercept + slope · logit p.

    (0, 1) is calibrated. A slope above 1 means that the forecasts say less than they know (they
    hedge), below 1 that they say more. Source: Cox 1958, https://doi.org/10.1093/biomet/45.3-4.562.

    Forecasts of exactly 0 or 1 count as one millionth from there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=20_000)
    >>> abs(calibration_line(p, rng.uniform(size=len(p)) < p)[1] - 1) < 0.05
    True
    """
    from sklearn.linear_model import LogisticRegression

    p, y = _checked(p, y)
    if y.min() == y.max():
        return float("nan"), float("nan")
    # A penalty this weak is none, and its name is the same in all versions of scikit-learn.
    line = LogisticRegression(C=1e9, solver="newton-cholesky").fit(logit(p)[:, None], y)
    return float(line.intercept_[0]), float(line.coef_[0, 0])


def logit(p: ArrayLike) -> np.ndarray:
    """Log-odds, finite: forecasts are kept one millionth away from 0 and 1."""
    return np.asarray(special.logit(np.clip(np.asarray(p, dtype=float), 1e-6, 1 - 1e-6)))


def auc(p: ArrayLike, y: ArrayLike) -> float:
    """Share of pairs, one that happened and one that did not, in which the first has more.

    Half is chance, 1 is perfect; only the order of the forecasts matters, so they may be any
    scores. NaN where all outcomes are the same.

    Examples
    --------
    >>> auc([0.9, 0.6, 0.4], [1, 0, 1])
    0.5
    """
    from sklearn.metrics import roc_auc_score

    happened = np.asarray(y, dtype=bool)
    if happened.all() or not happened.any():
        return float("nan")
    return float(roc_auc_score(happened, np.asarray(p, dtype=float)))


def auc_within(p: ArrayLike, y: ArrayLike, users: ArrayLike) -> float:
    """The AUC over pairs of one and the same person.

    A forecast that only tells people apart, and never the moments of one person, has 0.5.

    Examples
    --------
    >>> who, y = [1, 1, 2, 2], [1, 0, 0, 0]
    >>> auc_within([0.9, 0.9, 0.1, 0.1], y, who), auc([0.9, 0.9, 0.1, 0.1], y)
    (0.5, 0.8333333333333334)
    """
    table = pd.DataFrame({"p": np.asarray(p, float), "y": np.asarray(y, bool), "u": users})
    people = table.groupby("u", sort=False)
    yes = people.y.sum()
    pairs = yes * (people.y.size() - yes)
    # As in `auc`, with ranks among each person's own forecasts.
    above = (people.p.rank() * table.y).groupby(table.u, sort=False).sum() - yes * (yes + 1) / 2
    return float(above[pairs > 0].sum() / pairs.sum()) if pairs.sum() else float("nan")


def resampled(
    users: ArrayLike, *columns: ArrayLike, n_resamples: int, seed: int = 0
) -> Iterator[list[np.ndarray]]:
    """Draw whole people with replacement, and give the columns of all their rows.

    Where ``users`` is passed again as a column, somebody who is drawn twice arrives as two people.
    """
    code, _ = pd.factorize(np.asarray(users))
    size = np.bincount(code)
    rows = np.argsort(code, kind="stable")  # person after person
    first = np.cumsum(size) - size
    arrays = [None if column is users else np.asarray(column) for column in columns]
    for block in drawn_people(len(size), n_resamples, np.random.default_rng(seed)):
        for drawn in block:
            who, number = spread(size[drawn])
            at = rows[first[drawn[who]] + number]
            yield [who if array is None else array[at] for array in arrays]


def interval(
    statistic: Callable[..., float],
    users: ArrayLike,
    *columns: ArrayLike,
    level: float = 0.95,
    n_resamples: int = 300,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of a statistic, by drawing whole people with replacement.

    Parameters
    ----------
    statistic : callable
        Gets the resampled columns, returns one number; NaN draws are left out.
    users : array-like
        (N,) the person of each row.
    *columns : array-like
        (N,) each; see `resampled`.

    Examples
    --------
    >>> low, high = interval(np.mean, [1, 1, 2, 2], [0.0, 0.0, 1.0, 1.0])
    >>> low, high
    (0.0, 1.0)
    """
    draws = resampled(users, *columns, n_resamples=n_resamples, seed=seed)
    low, high = ends([statistic(*drawn) for drawn in draws], level)
    return float(low), float(high)
