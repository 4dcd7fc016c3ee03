"""The features of a visit: what the models see of it, as integers, made in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import DURATIONS
from pgt.units import local_day, local_minute

# The columns of the flat visit table, in order.
FEATURES = (
    "location", "user", "time", "weekday", "duration",
    "start_minute", "end_minute", "start_day", "end_day",
)  # fmt: skip


class Encodes(Protocol):
    """What turns locations and people into integers: a `pgt.vocabulary.Vocabulary`."""

    def encode_locations(self, location_id: pd.Series) -> np.ndarray: ...
    def encode_users(self, user_id: pd.Series) -> np.ndarray: ...


def encode(visits: pd.DataFrame, vocabulary: Encodes) -> Tensor:
    """Encode visits as integers, (9, N + 1) int32; column 0 is padding."""
    start, end = visits.started_at, visits.finished_at
    table = np.zeros((len(FEATURES), len(visits) + 1), dtype=np.int32)
    # Each column is written as soon as it is made, so that only one is there twice.
    column = dict(zip(FEATURES, table[:, 1:], strict=True))
    column["location"][:] = vocabulary.encode_locations(visits.location_id)
    column["user"][:] = vocabulary.encode_users(visits.user_id)
    column["start_minute"][:] = local_minute(start)
    column["time"][:] = 1 + column["start_minute"] // 15
    column["weekday"][:] = 1 + start.dt.day_of_week
    minutes = (end - start).dt.total_seconds().floordiv(60)
    column["duration"][:] = 1 + (minutes // 30).clip(upper=DURATIONS - 1)
    column["end_minute"][:] = local_minute(end)
    column["start_day"][:] = local_day(start)
    column["end_day"][:] = local_day(end)
    return torch.from_numpy(table)


def gather(table: Tensor, names: Sequence[str], at: Tensor, *wanted: str) -> list[Tensor]:
    """Take the rows of these names at some columns: int64, each shaped as ``at``.

    Tables of visits are kept as int32, which takes half the memory; models are given int64.
    """
    return [table[names.index(name)].take(at).long() for name in wanted]
