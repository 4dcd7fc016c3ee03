"""More training windows out of the same visits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pgt.windows import Windows

SHORTEST = 3  # visits


def cropped(train: Windows, seed: int = 0) -> Windows:
    """Every window twice: as it is, and without a random share of its oldest visits.

    Only the training windows are meant; at least three visits stay. On the improvements
    document's list of things to avoid.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> train = pgt.windows.prepare(pgt.city.load().visits).train
    >>> len(cropped(train)) == 2 * len(train)
    True
    """
    room = np.maximum(train.lengths - SHORTEST, 0)
    cut = np.random.default_rng(seed).integers(0, room + 1)
    return replace(
        train,
        first=np.concatenate([train.first, train.first + cut]),
        target=np.concatenate([train.target, train.target]),
    )
