"""How good is a forecast? Its skill, its calibration line, and its AUC within people.

Shapes: N forecasts ``p`` from 0 to 1 and outcomes ``y``, 0 or 1.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgt.predictor.calibration import checked, logit


def skill(p: ArrayLike, y: ArrayLike) -> float:
    """By the Brier score: 1 is perfect, 0 as good as always forecasting the overall share."""
    p, y = checked(p, y)
    return float(1 - np.mean((p - y) ** 2) / (y.mean() * (1 - y.mean())))


def calibration_line(p: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Intercept and slope of logit P(y = 1) = intercept + slope · logit p (Cox 1958).

    (0, 1) is calibrated; forecasts of a slope above 1 say less than they know, below 1 more.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    p, y = checked(p, y)
    # A penalty this weak is none, and its name is the same in all versions of scikit-learn.
    line = LogisticRegression(C=1e9, solver="newton-cholesky").fit(logit(p)[:, None], y)
    return float(line.intercept_[0]), float(line.coef_[0, 0])


def auc_within(p: ArrayLike, y: ArrayLike, users: ArrayLike) -> float:
    """The AUC over pairs of one and the same person: 0.5 for what only tells people apart."""
    table = pd.DataFrame({"p": np.asarray(p, float), "y": np.asarray(y, bool), "u": users})
    people = table.groupby("u", sort=False)
    yes = people.y.sum()
    pairs = yes * (people.y.size() - yes)
    # The rank sum of Mann and Whitney, with ranks among each person's own forecasts.
    above = (people.p.rank() * table.y).groupby(table.u, sort=False).sum() - yes * (yes + 1) / 2
    return float(above[pairs > 0].sum() / pairs.sum()) if pairs.sum() else float("nan")
