"""Worlds are what their data sheet says."""

from __future__ import annotations

import numpy as np
from wherenext.city import PRESETS
from wherenext.worlds import (
    CHECKINS,
    WorldConfig,
    behaviour,
    world,
)


def checkins(number: int) -> bool:
    """Whether the coin of a world makes it one of check-ins."""
    rng = np.random.default_rng([number, 77])
    behaviour(rng, WorldConfig())
    return bool(rng.random() < CHECKINS)


def test_the_ranges_of_the_data_sheet_are_those_that_are_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = [behaviour(rng, WorldConfig()) for _ in range(2000)]
    drop = np.array([one.drop for one in drawn])
    active = np.array([one.active_mean for one in drawn])
    assert 0.3 <= drop.min() < 0.31 and 0.89 < drop.max() <= 0.9
    assert abs(active.mean() + 0.1) < 0.1 and abs(active.std() - 1) < 0.1


def test_a_world_of_check_ins_has_no_end_and_another_has_one_for_each_visit() -> None:
    for number in range(4):
        visits = world(number)
        lasting = visits.finished_at > visits.started_at
        assert not lasting.any() if checkins(number) else lasting.all()
        assert visits.user_id.nunique() <= PRESETS["small"]["people"]
