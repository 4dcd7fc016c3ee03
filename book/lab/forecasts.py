"""How good is a forecast? Its Brier score in parts, its calibration line, and its AUC.

Shapes: N forecasts ``p`` from 0 to 1 and outcomes ``y``, 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgt.calibration import bins_of, checked, logit


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
    p, y = checked(p, y)
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


def calibration_line(p: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Intercept and slope of logit P(y = 1) = intercept + slope · logit p (Cox 1958).

    (0, 1) is calibrated; forecasts of a slope above 1 say less than they know, below 1 more.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    p, y = checked(p, y)
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
