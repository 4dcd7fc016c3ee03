"""The features of a visit: what the models see of it, as integers, made in one place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import DURATIONS
from pgt.visits import local_day, local_minute
from pgt.vocabulary import Vocabulary

# The columns of the flat visit table, in order.
FEATURES = (
    "location", "user", "time", "weekday", "duration",
    "start_minute", "end_minute", "start_day", "end_day",
)  # fmt: skip


def encode(visits: pd.DataFrame, vocabulary: Vocabulary) -> Tensor:
    """Encode visits as integers, (9, N + 1); column 0 is padding."""
    start, end = visits.started_at, visits.finished_at
    minutes = (end - start).dt.total_seconds().floordiv(60)
    columns = {
        "location": vocabulary.encode_locations(visits.location_id),
        "user": vocabulary.encode_users(visits.user_id),
        "time": 1 + local_minute(start) // 15,
        "weekday": 1 + start.dt.day_of_week,
        "duration": 1 + (minutes // 30).clip(upper=DURATIONS - 1),
        "start_minute": local_minute(start),
        "end_minute": local_minute(end),
        "start_day": local_day(start),
        "end_day": local_day(end),
    }
    table = np.zeros((len(FEATURES), len(visits) + 1), dtype=np.int64)
    for row, name in enumerate(FEATURES):
        table[row, 1:] = np.asarray(columns[name])
    return torch.from_numpy(table)


def previous_same(user: np.ndarray, location: np.ndarray) -> np.ndarray:
    """(N,) the row of the same person's previous visit to the same location, or -1."""
    rows = pd.Series(np.arange(len(user)))
    return rows.groupby([user, location]).shift(fill_value=-1).to_numpy()
