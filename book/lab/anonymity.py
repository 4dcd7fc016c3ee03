"""How many people must stand behind a number, so that it identifies no one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pgt.errors import DataError

# What a mean needs: people, windows, and the largest share of one person.
PEOPLE, WINDOWS, LARGEST = 5, 20, 0.5
MANY = 20  # people with so many windows, behind quantiles over people


def enough_people(users: Sequence[object] | np.ndarray | pd.Series) -> bool:
    """Whether enough people are in these rows that a mean identifies no one."""
    own = pd.Series(np.asarray(users)).value_counts()
    n = int(own.sum())
    return len(own) >= PEOPLE and n >= WINDOWS and int(own.max()) <= LARGEST * n


def means_of_people(values: np.ndarray, users: np.ndarray) -> pd.DataFrame:
    """Each person's ``mean`` and ``size``, of those with enough rows that quantiles hide people."""
    own = pd.Series(values, dtype=float).groupby(users).agg(["mean", "size"])
    own = own[own["size"] >= WINDOWS]
    if len(own) < MANY:
        raise DataError(
            f"Only {len(own)} people have {WINDOWS} windows; quantiles need {MANY} people."
        )
    return own
