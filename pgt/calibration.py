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
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from pgt.errors import DataError
from pgt.metrics import ends, resample_people
from pgt.visits import spread
from pgt.vocabulary import UNKNOWN

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
    for block in resample_people(len(size), n_resamples, np.random.default_rng(seed)):
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


# What "somewhere new" has at least: it comes last then, and a set of answers can still hold it.
LEAST = 1e-9
TEMPERATURES = (0.02, 50.0)


def _checked_temperature(log_probs: ArrayLike) -> np.ndarray:
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
    return np.asarray(log_softmax(_checked_temperature(log_probs) / t, axis=1))


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
    table, column = _checked_temperature(log_probs), np.asarray(target, dtype=int)
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
    table, named = _checked_temperature(log_probs), np.asarray(named, dtype=bool)
    places = _checked_temperature(np.where(named, table, -np.inf))
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
    (`pgt.calibration.calibration_line`); of several, they are also weighed against each
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


def simple_scores(probs: ArrayLike) -> np.ndarray:
    """1 - probability: sets hold what is likely enough, the same everywhere.

    They are the smallest on average and may be empty where nothing is likely. Source: Sadinle, Lei
    and Wasserman 2019, https://doi.org/10.1080/01621459.2017.1395341 (least ambiguous sets, LAC).

    Parameters
    ----------
    probs : array-like
        (N, A); 0 is no answer.

    Returns
    -------
    ndarray
        (N, A), inf for what is no answer.

    Examples
    --------
    >>> simple_scores([[0.75, 0.25, 0.0]]).tolist()
    [[0.25, 0.75, inf]]
    """
    p = np.asarray(probs, dtype=float)
    return np.where(p > 0, 1 - p, np.inf)


def of_target(scores: ArrayLike, target: ArrayLike) -> np.ndarray:
    """(N,) the scores of the targets."""
    column = np.asarray(target, dtype=int)
    return np.asarray(scores, dtype=float)[np.arange(len(column)), column]


def threshold(scores: ArrayLike, alpha: float) -> float:
    """The score that all but a share alpha of further ones stay at or below.

    Parameters
    ----------
    scores : array-like
        (N,) of the targets of calibration windows.
    alpha : float
        Between 0 and 1.

    Returns
    -------
    float
        The k-th smallest, k = ⌈(N + 1)(1 - alpha)⌉: one more than there are, since the new one
        could stand anywhere among them. inf where N is too small for any promise.

    Examples
    --------
    >>> threshold([0.1, 0.2, 0.3, 0.4], alpha=0.4), threshold([0.1, 0.2, 0.3, 0.4], alpha=0.1)
    (0.3, inf)
    """
    if not 0 < alpha < 1:
        raise DataError(f"alpha={alpha} must lie between 0 and 1, say 0.1 to miss one in ten.")
    ordered = np.sort(np.asarray(scores, dtype=float))
    # Rounded: (99 + 1)(1 - 0.1) is 90, and not a hair more.
    k = int(np.ceil(round((len(ordered) + 1) * (1 - alpha), 9)))
    return float(ordered[k - 1]) if k <= len(ordered) else float("inf")
