"""How often sets of answers hold the right one: of other scores, by group, by person, and by luck.

What `pgt.calibration` promises holds for exchangeable windows. Visits of people through time
are none, so the promise has to be checked: by person (`by_person`) and by time. Thresholds per
person (`thresholds_by_group`) repair the first.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lab import grid
from pgt.calibration import threshold


def adaptive_scores(probs: ArrayLike, u: ArrayLike | None = None) -> np.ndarray:
    """The probability of all answers that are at least as likely: sets grow where it is unsure.

    Source: Romano, Sesia and Candès 2020, https://arxiv.org/abs/2006.02544 (adaptive prediction
    sets, APS).
    """
    p = np.asarray(probs, dtype=float)
    order = np.argsort(-p, axis=1, kind="stable")
    total = np.empty_like(p)
    np.put_along_axis(total, order, np.cumsum(np.take_along_axis(p, order, 1), 1), 1)
    if u is not None:
        total -= np.asarray(u, dtype=float)[:, None] * p
    # Sums that ought to be equal are: what rounding makes of 1 must not decide who is in a set.
    total = total.round(12)
    return np.where(p > 0, total, np.inf)


def thresholds_by_group(
    scores: ArrayLike,
    groups: ArrayLike,
    of: ArrayLike,
    alpha: float,
    enough: int = grid.WINDOWS,
) -> np.ndarray:
    """A threshold of its own for every group (say, person) that has enough calibration windows.

    What is promised then holds in each group; the others together are one group more. Source: Vovk,
    Gammerman and Shafer 2005, https://doi.org/10.1007/b106715 (Mondrian conformal prediction).
    """
    table = pd.Series(np.asarray(scores, dtype=float))
    name = pd.Series(np.asarray(groups))
    size = name.value_counts()
    own = name.isin(size.index[size >= enough]).to_numpy()
    each = table[own].groupby(name[own]).apply(lambda part: threshold(part, alpha))
    rest = threshold(table if own.all() else table[~own], alpha)
    wanted = pd.Series(np.asarray(of))
    return wanted.map(each.to_dict()).fillna(rest).to_numpy(dtype=float)


def members(scores: ArrayLike, limit: ArrayLike) -> np.ndarray:
    """The sets."""
    table = np.asarray(scores, dtype=float)
    return (table <= np.reshape(np.asarray(limit, dtype=float), (-1, 1))) & np.isfinite(table)


def shuffled_coverage(scores: ArrayLike, alpha: float, n_splits: int = 50, seed: int = 0) -> float:
    """The coverage if windows were exchangeable: any half calibrates, the other is covered."""
    table, rng = np.asarray(scores, dtype=float), np.random.default_rng(seed)
    half, found = len(table) // 2, []
    for _ in range(n_splits):
        mixed = rng.permutation(table)
        # A target that is no answer is never covered, as in `members`.
        covered = (mixed[half:] <= threshold(mixed[:half], alpha)) & np.isfinite(mixed[half:])
        found.append(covered.mean())
    return float(np.mean(found))


def by_person(covered: ArrayLike, users: ArrayLike) -> dict[str, float]:
    """How coverage is spread over people, and how much of that is luck."""
    own = grid.means_of_people(np.asarray(covered, dtype=float), np.asarray(users))
    share = float(np.average(own["mean"], weights=own["size"]))
    sd = float(own["mean"].std())
    luck = float(np.sqrt((share * (1 - share) / own["size"]).mean()))
    left = float(np.sqrt(max(sd**2 - luck**2, 0.0)))
    about = {"people": len(own), "sd": sd, "sd_luck": luck, "sd_true": left}
    return about | grid.quantiles(own["mean"])
