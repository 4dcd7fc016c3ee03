"""The features of a visit: what the models see of it, as integers, made in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

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


def quarter(minute: Any) -> Any:
    """Number the quarter of an hour of a minute of the day, 1 to 96: of one minute or of many."""
    return 1 + minute // 15


def half_hours(minutes: Any) -> Any:
    """Number the half hour of a visit's length, 1 to 100: of one length or of many.

    Examples
    --------
    >>> int(half_hours(29)), int(half_hours(30)), int(half_hours(10_000))
    (1, 2, 100)
    """
    return 1 + np.minimum(minutes // 30, DURATIONS - 1)


def encode(visits: pd.DataFrame, vocabulary: Encodes) -> Tensor:
    """Encode visits as integers, (9, N + 1) int32; column 0 is padding."""
    start, end = visits.started_at, visits.finished_at
    table = np.zeros((len(FEATURES), len(visits) + 1), dtype=np.int32)
    # Each column is written as soon as it is made, so that only one is there twice.
    column = dict(zip(FEATURES, table[:, 1:], strict=True))
    column["location"][:] = vocabulary.encode_locations(visits.location_id)
    column["user"][:] = vocabulary.encode_users(visits.user_id)
    column["start_minute"][:] = local_minute(start)
    column["time"][:] = quarter(column["start_minute"])
    column["weekday"][:] = 1 + start.dt.day_of_week
    column["duration"][:] = half_hours((end - start).dt.total_seconds() // 60)
    column["end_minute"][:] = local_minute(end)
    column["start_day"][:] = local_day(start)
    column["end_day"][:] = local_day(end)
    return torch.from_numpy(table)


def with_moments(
    visits: pd.DataFrame, last: np.ndarray, at: pd.Timestamp | None, vocabulary: Encodes
) -> tuple[Tensor, Tensor]:
    """Encode visits, and when each person is asked: at ``at``, or at the end of the last visit.

    Returns
    -------
    features : Tensor
        (9, N + 2); as of `encode`, with an empty column at the end.
    moments : Tensor
        (9, P), of visits without length, of which the clock and the calendar are taken and nothing
        else.
    """
    there = visits.iloc[last]
    time = there.finished_at if at is None else at.tz_convert(visits.started_at.dt.tz)
    features = encode(visits, vocabulary)
    moments = encode(there.assign(started_at=time, finished_at=time), vocabulary)[:, 1:]
    return torch.cat([features, torch.zeros_like(features[:, :1])], 1), moments


def gather(table: Tensor, names: Sequence[str], at: Tensor, *wanted: str) -> list[Tensor]:
    """Take the rows of these names at some columns: int64, each shaped as ``at``.

    Tables of visits are kept as int32, which takes half the memory; models are given int64.
    """
    return [table[names.index(name)].take(at).long() for name in wanted]
