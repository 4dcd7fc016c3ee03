"""Sets of answers that hold the right one as often as promised: split conformal prediction.

Score every answer by how strange it would be; look at how strange the true ones were on windows
that the model was not trained on; and let a set hold all that is no stranger than all but a share
alpha of them were. If the new windows are like those of the calibration in the sense that all
orders of them are equally likely (exchangeable), the set holds the target with a probability of at
least 1 - alpha, whatever the model is worth: a poor model only has larger sets. Source: Vovk,
Gammerman and Shafer 2005, https://doi.org/10.1007/b106715; Angelopoulos and Bates 2023,
https://doi.org/10.1561/2200000101.

Visits of people through time are not exchangeable, so the promise has to be checked on them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pgt.errors import DataError


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
