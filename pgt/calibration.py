"""How good is a probability? Calibration, skill, temperature and conformal sets.

*Discrimination* (`auc`): do the cases that happen get the high values? *Calibration*
(`reliability`): does what is given 70 % happen in 70 % of the cases? Shapes: N forecasts ``p`` from
0 to 1 and outcomes ``y``, 0 or 1; or N windows and A answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from pgt.errors import DataError
from pgt.metrics import ends
from pgt.visits import spread

TEMPERATURES = (0.02, 50.0)


def _checked(p: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
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
    p, y = _checked(p, y)
    bin_ = bins_of(p, bins)
    by_bin = pd.DataFrame({"forecast": p, "observed": y}).groupby(bin_)
    means = by_bin.mean()
    means.insert(0, "n", by_bin.size())
    if users is not None:
        who = np.asarray(users)
        found = [interval(np.mean, who[bin_ == k], y[bin_ == k]) for k in means.index]
        means[["low", "high"]] = np.array(found)
    return means.reset_index(drop=True)


def expected_calibration_error(p: ArrayLike, y: ArrayLike, *, bins: int = 10) -> float:
    """Mean distance of the bins from the diagonal, weighted by their size, 0 to 1."""
    table = reliability(p, y, bins=bins)
    gap = (table.forecast - table.observed).abs()
    return float((gap * table.n).sum() / table.n.sum())


@dataclass(frozen=True)
class Brier:
    """The Brier score and its parts: score = reliability - resolution + uncertainty + rest."""

    score: float  # mean of (forecast - outcome)²; 0 is perfect
    reliability: float  # how far bins lie from the diagonal, squared; 0 is calibrated
    resolution: float  # how far the bins' outcomes lie from the overall share, squared; good
    uncertainty: float  # share · (1 - share): the score of always forecasting the overall share
    rest: float  # within bins: variance minus twice the covariance with the outcome

    @property
    def skill(self) -> float:
        """1 is perfect, 0 as good as always forecasting the overall share, less is worse."""
        return 1 - self.score / self.uncertainty


def brier(p: ArrayLike, y: ArrayLike, *, bins: int = 10) -> Brier:
    """The Brier score (Brier 1950) with Murphy's (1973) parts, of bins.

    They add up because of the within-bin terms of Stephenson, Coelho and Jolliffe (2008,
    https://doi.org/10.1175/2007WAF2006116.1), here together as ``rest``.
    """
    p, y = _checked(p, y)
    table = pd.DataFrame({"bin": bins_of(p, bins), "p": p, "y": y})
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


def logit(p: ArrayLike) -> np.ndarray:
    """Log-odds, finite: forecasts are kept one millionth away from 0 and 1."""
    return np.asarray(special.logit(np.clip(np.asarray(p, dtype=float), 1e-6, 1 - 1e-6)))


def calibration_line(p: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Intercept and slope of logit P(y = 1) = intercept + slope · logit p (Cox 1958).

    (0, 1) is calibrated; forecasts of a slope above 1 say less than they know, below 1 more.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    p, y = _checked(p, y)
    if y.min() == y.max():
        return float("nan"), float("nan")
    # A penalty this weak is none, and its name is the same in all versions of scikit-learn.
    line = LogisticRegression(C=1e9, solver="newton-cholesky").fit(logit(p)[:, None], y)
    return float(line.intercept_[0]), float(line.coef_[0, 0])


def auc(p: ArrayLike, y: ArrayLike) -> float:
    """Share of pairs, one that happened and one that did not, in which the first has more.

    Half is chance, NaN where all outcomes are the same. Any scores will do.
    """
    from sklearn.metrics import roc_auc_score

    happened = np.asarray(y, dtype=bool)
    if happened.all() or not happened.any():
        return float("nan")
    return float(roc_auc_score(happened, np.asarray(p, dtype=float)))


def auc_within(p: ArrayLike, y: ArrayLike, users: ArrayLike) -> float:
    """The AUC over pairs of one and the same person: 0.5 for what only tells people apart."""
    table = pd.DataFrame({"p": np.asarray(p, float), "y": np.asarray(y, bool), "u": users})
    people = table.groupby("u", sort=False)
    yes = people.y.sum()
    pairs = yes * (people.y.size() - yes)
    # The rank sum of Mann and Whitney, with ranks among each person's own forecasts.
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
    rng = np.random.default_rng(seed)
    for _ in range(n_resamples):
        drawn = rng.integers(len(size), size=len(size))
        who, number = spread(size[drawn])
        at = rows[first[drawn[who]] + number]
        yield [who if array is None else array[at] for array in arrays]


def interval(
    statistic: Callable[..., float], users: ArrayLike, *columns: ArrayLike, level: float = 0.95,
    n_resamples: int = 300, seed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """Percentile interval of a statistic of the columns, by drawing whole people (`resampled`)."""
    draws = resampled(users, *columns, n_resamples=n_resamples, seed=seed)
    low, high = ends([statistic(*drawn) for drawn in draws], level)
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
    return np.asarray(log_softmax(as_log_probs(log_probs) / t, axis=1))


def losses(log_probs: ArrayLike, target: ArrayLike) -> np.ndarray:
    """(N,) minus the log-probability of each target, in nats; inf for one that is no answer."""
    return -of_target(log_probs, target)


def temperature(log_probs: ArrayLike, target: ArrayLike) -> float:
    """The temperature with the smallest mean loss (Guo et al. 2017); take windows not trained on.

    Targets that are no answer do not count: they cost infinitely much at every temperature.
    """
    table = as_log_probs(log_probs)
    own = -losses(table, target)
    answered = own > -np.inf
    if not answered.any():
        raise DataError("No target is among the answers; there is nothing to choose T by.")
    table, own = table[answered], own[answered]
    table = table[:, (table > -np.inf).any(0)]  # what is an answer nowhere only costs time

    def loss(log_t: float) -> float:
        t = np.exp(log_t)
        return float(np.mean(logsumexp(table / t, axis=1) - own / t))

    # The loss is convex in 1 / T, hence has one valley in log T too.
    bounds = tuple(np.log(TEMPERATURES))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def simple_scores(probs: ArrayLike) -> np.ndarray:
    """(N, A) 1 - probability, inf where that is 0: sets hold what is likely enough.

    They are the smallest on average (Sadinle, Lei and Wasserman 2019, least ambiguous sets, LAC).
    """
    p = np.asarray(probs, dtype=float)
    return np.where(p > 0, 1 - p, np.inf)


def of_target(scores: ArrayLike, target: ArrayLike) -> np.ndarray:
    """(N,) the scores of the targets."""
    column = np.asarray(target, dtype=int)
    return np.asarray(scores, dtype=float)[np.arange(len(column)), column]


def threshold(scores: ArrayLike, alpha: float) -> float:
    """The score that all but a share alpha of further ones stay at or below.

    Of the (N,) scores of targets it is the k-th smallest, k = ⌈(N + 1)(1 - alpha)⌉: one more than
    there are, since the new one could stand anywhere among them (Vovk, Gammerman and Shafer 2005).
    inf where N is too small.
    """
    if not 0 < alpha < 1:
        raise DataError(f"alpha={alpha} must lie between 0 and 1, say 0.1 to miss one in ten.")
    ordered = np.sort(np.asarray(scores, dtype=float))
    # Rounded: (99 + 1)(1 - 0.1) is 90, and not a hair more.
    k = int(np.ceil(round((len(ordered) + 1) * (1 - alpha), 9)))
    return float(ordered[k - 1]) if k <= len(ordered) else float("inf")
