"""How good is a probability? Calibration, temperature and conformal sets.

Calibrated (`reliability`) means: what is given 70 % happens in 70 % of the cases. Shapes: N
forecasts ``p`` from 0 to 1 and outcomes ``y``, 0 or 1; or N windows and A answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgt.errors import DataError
from pgt.metrics import percentile_interval
from pgt.visits import spread


def checked(p: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts and outcomes as float arrays of one length."""
    forecast, outcome = np.asarray(p, dtype=float), np.asarray(y, dtype=float)
    if forecast.ndim != 1 or forecast.shape != outcome.shape or len(forecast) == 0:
        raise DataError(
            f"Forecasts {forecast.shape} and outcomes {outcome.shape} must be two lists of one "
            "length, with something in them."
        )
    if not ((forecast >= 0) & (forecast <= 1)).all() or not np.isin(outcome, (0, 1)).all():
        raise DataError("Forecasts are probabilities from 0 to 1, and outcomes are 0 or 1.")
    return forecast, outcome


def bins_of(p: ArrayLike, bins: int = 10) -> np.ndarray:
    """(N,) each one's bin, from 0; of as many forecasts each, but equal forecasts share one."""
    p = np.asarray(p, dtype=float)
    edges = np.unique(np.quantile(p, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]


def reliability(
    p: ArrayLike, y: ArrayLike, users: ArrayLike | None = None, *, bins: int = 10
) -> pd.DataFrame:
    """What was forecast, and how often it happened: ``n``, ``forecast`` and ``observed`` by bin.

    With the person of each forecast, ``low`` and ``high`` of a 95 % interval of ``observed``, too.
    """
    p, y = checked(p, y)
    bin_ = bins_of(p, bins)
    by_bin = pd.DataFrame({"forecast": p, "observed": y}).groupby(bin_)
    means = by_bin.mean()
    means.insert(0, "n", by_bin.size())
    if users is not None:
        who = np.asarray(users)
        spans = [people_interval(np.mean, who[bin_ == k], y[bin_ == k]) for k in means.index]
        means[["low", "high"]] = np.array(spans)
    return means.reset_index(drop=True)


def expected_calibration_error(p: ArrayLike, y: ArrayLike, *, bins: int = 10) -> float:
    """Mean distance of the bins from the diagonal, weighted by their size, 0 to 1."""
    table = reliability(p, y, bins=bins)
    gap = (table.forecast - table.observed).abs()
    return float((gap * table.n).sum() / table.n.sum())


def logit(p: ArrayLike) -> np.ndarray:
    """Log-odds, finite: forecasts are kept one millionth away from 0 and 1."""
    inside = np.clip(np.asarray(p, dtype=float), 1e-6, 1 - 1e-6)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def resampled(
    users: ArrayLike, *columns: ArrayLike, n_resamples: int
) -> Iterator[list[np.ndarray]]:
    """Draw whole people with replacement, and give the columns of all their rows.

    Where ``users`` is passed again as a column, somebody who is drawn twice arrives as two people.
    """
    code, _ = pd.factorize(np.asarray(users))
    size = np.bincount(code)
    rows = np.argsort(code, kind="stable")  # person after person
    first = np.cumsum(size) - size
    arrays = [None if column is users else np.asarray(column) for column in columns]
    rng = np.random.default_rng(0)
    for _ in range(n_resamples):
        drawn = rng.integers(len(size), size=len(size))
        who, number = spread(size[drawn])
        at = rows[first[drawn[who]] + number]
        yield [who if array is None else array[at] for array in arrays]


def people_interval(
    statistic: Callable[..., float], users: ArrayLike, *columns: ArrayLike, n_resamples: int = 300
) -> tuple[float, float]:
    """95 % interval of a statistic of the columns, by drawing whole people (`resampled`)."""
    draws = resampled(users, *columns, n_resamples=n_resamples)
    low, high = percentile_interval([statistic(*drawn) for drawn in draws])
    return float(low), float(high)


def as_log_probs(log_probs: ArrayLike) -> np.ndarray:
    """(N, A) log-probabilities in double precision; something is possible in every row."""
    table = np.asarray(log_probs, dtype=float)
    if table.ndim != 2 or not (table > -np.inf).any(1).all() or np.isnan(table).any():
        raise DataError(
            f"Log-probabilities {table.shape} must be a table, one row a window, and each window "
            "needs an answer above -inf."
        )
    return table


def scale(log_probs: ArrayLike, t: float) -> np.ndarray:
    """(N, A) log-probabilities at another temperature, made to sum to one; -inf stays -inf."""
    if not t > 0:
        raise DataError(f"A temperature of {t} is no temperature; give one above 0.")
    from scipy import special  # it is slow to load, and the predictor needs none of it

    return np.asarray(special.log_softmax(as_log_probs(log_probs) / t, axis=1))


def temperature(log_probs: ArrayLike, target: ArrayLike) -> float:
    """The temperature with the smallest mean loss (Guo et al. 2017); take windows not trained on.

    Targets that are no answer do not count: they cost infinitely much at every temperature.
    """
    from scipy import special
    from scipy.optimize import minimize_scalar

    table = as_log_probs(log_probs)
    own = of_target(table, target)
    answered = own > -np.inf
    if not answered.any():
        raise DataError("No target is among the answers; there is nothing to choose T by.")
    table, own = table[answered], own[answered]
    table = table[:, (table > -np.inf).any(0)]  # what is an answer nowhere only costs time

    def loss(log_t: float) -> float:
        t = np.exp(log_t)
        return float(np.mean(special.logsumexp(table / t, axis=1) - own / t))

    # The loss is convex in 1 / T, hence has one valley in log T too.
    bounds = tuple(np.log([0.02, 50.0]))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def of_target(scores: ArrayLike, target: ArrayLike) -> np.ndarray:
    """(N,) the scores of the targets."""
    column = np.asarray(target, dtype=int)
    return np.asarray(scores, dtype=float)[np.arange(len(column)), column]


def conformal_quantile(scores: ArrayLike, alpha: float, weights: ArrayLike = 1.0) -> float:
    """Weighted conformal quantile: a new score exceeds it with probability at most alpha.

    Of the (N,) scores of targets, which count as their ``weights`` say, it is the first at which
    1 - alpha of them are reached: of one more than there are, since the new one, which counts as
    much as the weightiest, could stand anywhere among them (Vovk, Gammerman and Shafer 2005). inf
    where N is too small.
    """
    if not 0 < alpha < 1:
        raise DataError(f"alpha={alpha} must lie between 0 and 1, say 0.1 to miss one in ten.")
    values = np.asarray(scores, dtype=float)
    order = np.argsort(values)
    weight = np.broadcast_to(np.asarray(weights, dtype=float), values.shape)[order]
    reached = weight.cumsum() / (weight.sum() + weight.max(initial=0.0))
    # Rounded: 90 of 100 are 0.9, and not a hair less.
    k = int(np.searchsorted(reached.round(9), round(1 - alpha, 9)))
    return float(values[order[k]]) if k < len(values) else float("inf")
