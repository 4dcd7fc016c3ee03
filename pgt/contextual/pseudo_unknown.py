"""Pseudo-unknown places: teach a model in training what it will meet only later.

Under the published protocol every place that training never shows is one location, "unknown".
Training itself has none, so nothing can be learned about it, while it is every fifth target of
the test. Here the training days are played through again as if they had ended earlier: what is
first visited after that moment becomes unknown, and only windows after it are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from pgt.contextual.history import HistoryWindows, with_history
from pgt.errors import DataError
from pgt.windows import Dataset, Windows

SHARES = (0.3, 0.5, 0.7)


def with_pseudo_unknowns(
    data: Dataset, memory: int = 0, older: int = 0, shares: Sequence[float] = SHARES
) -> HistoryWindows:
    """Training windows with pseudo-unknown places, and the windows as they are.

    Parameters
    ----------
    data : Dataset
    memory, older : int
        As in `pgt.contextual.history.with_history`.
    shares : sequence of float
        Each, between 0 and 1, plays the training days as if only that share of every person's
        visits had been known.

    Returns
    -------
    HistoryWindows
        More windows than ``data.train`` has; about 1 + the sum of (1 - share) times as many.

    Raises
    ------
    DataError
        A share is not between 0 and 1.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits)
    >>> taught = with_pseudo_unknowns(data)
    >>> len(taught) > len(data.train), bool((taught.targets == 1).any())
    (True, True)
    """
    if not all(0 < share < 1 for share in shares):
        raise DataError(f"shares are {tuple(shares)}; each must lie between 0 and 1.")
    valid, test = _nobody(data.valid), _nobody(data.test)
    parts = [with_history(Dataset(data.train, valid, test, data.vocabulary), memory, older).train]
    for share in shares:
        train = as_if_earlier(data.train, share, whole_windows=not memory)
        parts.append(
            with_history(Dataset(train, valid, test, data.vocabulary), memory, older).train
        )
    return joined([part for part in parts if isinstance(part, HistoryWindows)])


def as_if_earlier(train: Windows, share: float, *, whole_windows: bool) -> Windows:
    """The windows after a share of each person's visits; places that are new by then are unknown.

    Parameters
    ----------
    train : Windows
    share : float
    whole_windows : bool
        Whether even a window's first visit must come after, as in the splits.
    """
    visits = train.visits
    number = visits.groupby("user_id").cumcount()
    known_part = number < share * visits.user_id.map(visits.user_id.value_counts())
    known = visits.location_id[known_part].unique()
    names = visits.location_id.where(visits.location_id.isin(known), _nowhere(visits.location_id))
    features = train.features.clone()
    features[0, 1:] = torch.tensor(train.vocabulary.encode_locations(names))
    answered = (train.first if whole_windows else train.target).astype(int)
    later = replace(train, visits=visits.assign(location_id=names), features=features)
    return later.subset(~known_part.to_numpy()[answered])


def _nobody(windows: Windows) -> Windows:
    """Windows of no visits."""
    none = np.empty(0, dtype=int)
    visits, features = windows.visits.iloc[:0], windows.features[:, :1]
    return replace(windows, visits=visits, features=features, first=none, target=none)


def _nowhere(location_id: pd.Series) -> int | str:
    """A location that is in no table."""
    if pd.api.types.is_integer_dtype(location_id):
        return int(location_id.min()) - 1
    return "\0nowhere"


def joined(parts: Sequence[HistoryWindows]) -> HistoryWindows:
    """Several sets of windows as one; each keeps to its own visits."""
    rows = np.cumsum([0] + [len(part.visits) for part in parts])
    olds = np.cumsum([0] + [part.older.shape[1] for part in parts])
    moved = list(zip(parts, rows, olds, strict=False))
    padding = parts[0]
    return HistoryWindows(
        visits=pd.concat([part.visits for part in parts], ignore_index=True),
        features=torch.cat([padding.features[:, :1]] + [p.features[:, 1:] for p in parts], dim=1),
        context=torch.cat([padding.context[:, :1]] + [p.context[:, 1:] for p in parts], dim=1),
        first=np.concatenate([part.first + row for part, row, _ in moved]),
        target=np.concatenate([part.target + row for part, row, _ in moved]),
        floor=np.concatenate([part.floor + row for part, row, _ in moved]),
        older=np.concatenate([part.older + row for part, row, _ in moved], axis=1),
        older_at=np.concatenate([part.older_at + np.array([old, 0]) for part, _, old in moved]),
        inside=np.concatenate([part.inside for part in parts]),
        vocabulary=padding.vocabulary,
    )
