"""Units: the clock is a circle, and a moment is one number in every zone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.visits import (
    MINUTES_OF_DAY,
    around_the_clock,
    microseconds,
)


def test_times_of_day_are_compared_around_the_clock() -> None:
    one, other = np.arange(0, 1440, 7)[:, None], np.arange(0, 1440, 11)[None]
    apart = around_the_clock(one, other)
    assert (apart == np.minimum((one - other) % 1440, (other - one) % 1440)).all()
    assert apart.min() == 0 and 2 * apart.max() == MINUTES_OF_DAY == 24 * 60
    assert (around_the_clock((one + 500) % 1440, (other + 500) % 1440) == apart).all()
    assert np.array_equal(around_the_clock(torch.tensor(one), torch.tensor(other)), apart)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_moment_is_one_number_whatever_zone_and_resolution(unit: str) -> None:
    moments = pd.Series(pd.to_datetime(["1969-12-31 23:59:59Z", "2024-10-27 00:30:00Z"]))
    for zone in ("UTC", "Asia/Kathmandu", "Europe/Vienna"):
        found = microseconds(moments.dt.tz_convert(zone).dt.as_unit(unit))
        assert found.dtype == np.int64
        assert (found / 1e6).tolist() == [one.timestamp() for one in moments]
