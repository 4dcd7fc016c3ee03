"""Like situations in somebody's own past: how often did they lead to the same place?

A person's situation after a visit is where they are, when, and where they were before. Two past
situations that are alike, followed by the same next place or not, tell how predictable the next
place is from what they have in common, without any model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgt.predictor.memory import HistoryWindows
from pgt.visits import MINUTES_OF_DAY, around_the_clock
from pgt.windows import ENCODED_FIELDS


@dataclass(frozen=True)
class ContextMatch:
    """What two situations of one person must share."""

    place: bool = False  # the place where the person is
    minutes: int = MINUTES_OF_DAY
    day: bool = False  # both on a weekday, or both at a weekend
    before: bool = False  # the place visited before it


def repeat_rate(windows: HistoryWindows, likeness: ContextMatch) -> pd.DataFrame:
    """Of every window, the ``n`` past situations like its own, and the share of equal ``pairs``."""
    features = dict(zip(ENCODED_FIELDS, windows.features.numpy()[:, 1:], strict=True))
    place, minute = features["location"], features["end_minute"]
    weekend = features["weekday"] > 5
    rows = np.zeros((len(windows), 2))
    spans = zip(windows.floor, windows.target, strict=True)
    for at, (floor, target) in enumerate(spans):
        here = target - 1
        # The one before the present one went on to the present place, hence the end at ``here``.
        past = np.arange(floor, here)
        keep = np.ones(len(past), dtype=bool)
        if likeness.place:
            keep &= place[past] == place[here]
        if likeness.minutes < MINUTES_OF_DAY:
            keep &= around_the_clock(minute[past], minute[here]) <= likeness.minutes
        if likeness.day:
            keep &= weekend[past] == weekend[here]
        if likeness.before:
            # Nothing came before the very first visit: it is like no other.
            keep &= (past > floor) & (here > floor) & (place[past - 1] == place[here - 1])
        n, counts = keep.sum(), np.unique(place[past[keep] + 1], return_counts=True)[1]
        rows[at] = n, (counts * (counts - 1)).sum() / (n * (n - 1)) if n > 1 else np.nan
    return pd.DataFrame(rows, columns=["n", "pairs"])
