"""How sure is a forecast of places, and how sure should it be? Temperature, and somewhere new.

A model gives every place a probability. Divided by a temperature T, its log-probabilities become
flatter (T > 1) or sharper (T < 1), and their order stays: whoever is right stays right, only what
is said about it changes. T is chosen on validation windows (`temperature`).

No temperature moves anything to a place that the model cannot name: one that it neither copies nor
has trained. All these together are one more answer, "somewhere new" (`with_unseen`), whose
probability is the model's own rest or somebody else's forecast of it.

What is said is compared with what happens by `pgt.analysis.calibration`; here it is the likeliest
place (`top`), and what the calibration error would be by luck alone (`floor_of_error`).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from pgt.analysis.calibration import bins_of, logit
from pgt.errors import DataError
from pgt.vocabulary import UNKNOWN

# What "somewhere new" has at least: it comes last then, and a set of answers can still hold it.
LEAST = 1e-9
TEMPERATURES = (0.02, 50.0)


def _checked(log_probs: ArrayLike) -> np.ndarray:
    """(N, V) log-probabilities in double precision, something possible in every row."""
    table = np.asarray(log_probs, dtype=float)
    if table.ndim != 2 or table.size == 0:
        raise DataError(f"Log-probabilities {table.shape} must be a table, one row a window.")
    if np.isnan(table).any() or (table.max(1) == -np.inf).any():
        raise DataError("A window has no possible answer; give it one that is above -inf.")
    return table


def scale(log_probs: ArrayLike, t: float) -> np.ndarray:
    """Log-probabilities at another temperature.

    Parameters
    ----------
    log_probs : array-like
        (N, V), -inf for what is no answer; it stays none. Scores that do not sum to one are made
        to.
    t : float
        Above 0; 1 changes nothing.

    Returns
    -------
    ndarray
        (N, V) log-probabilities.

    Examples
    --------
    >>> np.exp(scale(np.log([[0.8, 0.2]]), 2.0)).round(3).tolist()
    [[0.667, 0.333]]
    """
    if not t > 0:
        raise DataError(f"A temperature of {t} is no temperature; give one above 0.")
    return np.asarray(log_softmax(_checked(log_probs) / t, axis=1))


def losses(log_probs: ArrayLike, target: ArrayLike) -> np.ndarray:
    """(N,) minus the log-probability of each target, in nats; inf for one that is no answer."""
    table, column = np.asarray(log_probs, dtype=float), np.asarray(target, dtype=int)
    return -table[np.arange(len(column)), column]


def temperature(log_probs: ArrayLike, target: ArrayLike) -> float:
    """The temperature with the smallest mean loss, 0.02 to 50.

    Targets that are no answer do not count: they cost infinitely much at every temperature. Source:
    Guo et al. 2017, https://arxiv.org/abs/1706.04599.

    Parameters
    ----------
    log_probs : array-like
        (N, V), of windows that the model was not trained on.
    target : array-like
        (N,) columns.

    Raises
    ------
    DataError
        No target is an answer at all.

    Examples
    --------
    Twice as sure as it should be: eight of ten times right, and 94 % forecast.

    >>> log_probs = np.log([[16 / 17, 1 / 17]] * 10)
    >>> round(temperature(log_probs, [0] * 8 + [1] * 2), 3)
    2.0
    """
    table, column = _checked(log_probs), np.asarray(target, dtype=int)
    own = -losses(table, column)
    possible = own > -np.inf
    if not possible.any():
        raise DataError("No target is among the answers; there is nothing to choose T by.")
    table, own = table[possible], own[possible]
    # Columns that are an answer nowhere cost time and say nothing.
    table = table[:, (table > -np.inf).any(0)]

    def loss(log_t: float) -> float:
        t = np.exp(log_t)
        return float(np.mean(logsumexp(table / t, axis=1) - own / t))

    # The loss is convex in 1 / T, hence has one valley in log T too.
    ends = tuple(np.log(TEMPERATURES))
    return float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded").x))


def nameable(log_probs: ArrayLike, copied: ArrayLike, n_known: int) -> np.ndarray:
    """Which places a model can name: those that it copies, and those that it has trained.

    A closed vocabulary has weights for places that training never showed, and so a little
    probability; training has only pushed those weights down, as a wrong answer in every window,
    and what they say is no forecast. The merged place "unknown" is no place and cannot be named.

    Parameters
    ----------
    log_probs : array-like
        (N, V).
    copied : array-like
        (N, V) True where the place is among the visits that came with the window.
    n_known : int
        How many places training shows (`pgt.vocabulary.Vocabulary`).

    Returns
    -------
    ndarray
        (N, V) of bool.

    Examples
    --------
    >>> nameable(np.log([[0.1, 0.1, 0.4, 0.2, 0.2]]), [[0, 0, 0, 0, 1]], n_known=1).tolist()
    [[False, False, True, False, True]]
    """
    table = np.asarray(log_probs, dtype=float)
    place = np.arange(table.shape[1])
    trained = place < UNKNOWN + 1 + n_known
    return (table > -np.inf) & (place > UNKNOWN) & (trained | np.asarray(copied, dtype=bool))


def with_unseen(log_probs: ArrayLike, named: ArrayLike, new: ArrayLike | None = None) -> np.ndarray:
    """Put one answer "somewhere new" in the place of all that cannot be named.

    Parameters
    ----------
    log_probs : array-like
        (N, V), summing to one.
    named : array-like
        (N, V) of bool, see `nameable`.
    new : array-like, optional
        (N,) the probability of somewhere new; the others share the rest as before. Without it,
        what the model gives to places that cannot be named, and at least one in a thousand million.

    Returns
    -------
    ndarray
        (N, V + 1) log-probabilities; column V is somewhere new, -inf what cannot be named.

    Examples
    --------
    >>> log_probs = with_unseen(np.log([[0.5, 0.4, 0.1]]), [[True, True, False]], new=[0.37])
    >>> np.exp(log_probs).round(2).tolist()
    [[0.35, 0.28, 0.0, 0.37]]
    """
    table, named = _checked(log_probs), np.asarray(named, dtype=bool)
    places = _checked(np.where(named, table, -np.inf))
    if new is None:
        new = np.exp(table, where=~named, out=np.zeros(table.shape)).sum(1)
    share = np.clip(np.asarray(new, dtype=float), LEAST, 1 - LEAST)[:, None]  # (N, 1)
    return np.hstack([log_softmax(places, axis=1) + np.log1p(-share), np.log(share)])


def answer_of(target: ArrayLike, named: ArrayLike) -> np.ndarray:
    """(N,) the column of each target among the answers of `with_unseen`."""
    column, named = np.asarray(target, dtype=int), np.asarray(named, dtype=bool)
    return np.where(named[np.arange(len(column)), column], column, named.shape[1])


def recalibrated(forecast: ArrayLike, y: ArrayLike, other: ArrayLike) -> np.ndarray:
    """A forecast of yes or no from one or several others, weighed as it was best elsewhere.

    A logistic regression on log-odds. Of one forecast, it is shifted and stretched by Cox's line
    (`pgt.analysis.calibration.calibration_line`); of several, they are also weighed against each
    other.

    Parameters
    ----------
    forecast : array-like
        (N,) or (N, K) probabilities.
    y : array-like
        (N,) what happened, 0 or 1. If it is always the same, so is the new forecast.
    other : array-like
        (M,) or (M, K) probabilities, of which the new forecast is made.

    Returns
    -------
    ndarray
        (M,) probabilities.

    Examples
    --------
    >>> recalibrated([0.4, 0.6, 0.4, 0.6], [0, 0, 0, 1], [0.4, 0.6]).round(2).tolist()
    [0.0, 0.5]
    """
    from sklearn.linear_model import LogisticRegression

    outcome, new = np.asarray(y, dtype=float), np.atleast_2d(np.asarray(other, dtype=float).T).T
    if outcome.min() == outcome.max():
        return np.full(len(new), outcome[0])
    known = np.atleast_2d(np.asarray(forecast, dtype=float).T).T  # (N, K)
    line = LogisticRegression(C=1e9, solver="newton-cholesky").fit(logit(known), outcome)
    return np.asarray(line.predict_proba(logit(new))[:, 1])


def top(log_probs: ArrayLike, target: ArrayLike) -> pd.DataFrame:
    """The likeliest place of each window: how sure, and whether right.

    Parameters
    ----------
    log_probs : array-like
        (N, V + 1) as `with_unseen` gives them; somewhere new is no place, and never chosen.
    target : array-like
        (N,) columns.

    Returns
    -------
    DataFrame
        ``confidence`` (0 to 1) and ``hit`` (bool). Of places that share the top, the first counts.

    Examples
    --------
    >>> top(np.log([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]]), [1, 2]).hit.tolist()
    [True, False]
    """
    places = np.asarray(log_probs, dtype=float)[:, :-1]
    chosen = places.argmax(1)
    confidence = np.minimum(np.exp(places.max(1)), 1.0)
    return pd.DataFrame({"confidence": confidence, "hit": chosen == np.asarray(target)})


def floor_of_error(
    p: ArrayLike, *, bins: int = 10, n_resamples: int = 200, seed: int = 0
) -> tuple[float, float]:
    """The calibration error that these forecasts would show if they were perfectly calibrated.

    An expected calibration error is a mean of distances, never below zero: with few windows a bin,
    luck alone keeps it above. Here outcomes are drawn from the forecasts themselves; real ones,
    which go together within a person, have a floor that is higher still. The idea is Bröcker and
    Smith's (2007, https://doi.org/10.1175/WAF993.1).

    Returns
    -------
    mean, high : float
        The mean, and the value below which 95 % lie, of the error in bins of equal count.

    Examples
    --------
    >>> few, many = floor_of_error([0.5] * 20)[0], floor_of_error([0.5] * 2000)[0]
    >>> few > 5 * many > 0
    True
    """
    p = np.asarray(p, dtype=float)
    bin_ = bins_of(p, bins)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_resamples):
        apart = p - (rng.uniform(size=len(p)) < p)
        found.append(np.abs(np.bincount(bin_, weights=apart)).sum() / len(p))
    return float(np.mean(found)), float(np.quantile(found, 0.95))
