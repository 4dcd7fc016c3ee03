"""Units: metres on the Earth, microseconds of a moment, minutes around the clock."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pandas as pd
from torch import Tensor

EARTH_RADIUS = 6_371_000.0  # metres, as in trackintel
MINUTES_OF_DAY = 1440
Minutes = TypeVar("Minutes", Tensor, np.ndarray)


def microseconds(times: pd.Series) -> np.ndarray:
    """Microseconds since 1970, int64, of moments with a time zone, in whatever resolution."""
    return times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[us]").view("i8")


def around_the_clock(one: Minutes, other: Minutes) -> Minutes:
    """Minutes between two times of day, 0 … 720: minutes of the day, of shapes that broadcast.

    >>> around_the_clock(np.array([10, 600]), np.array([1430, 0])).tolist()
    [20, 600]
    """
    half = MINUTES_OF_DAY // 2
    return half - abs(half - abs(one - other))
