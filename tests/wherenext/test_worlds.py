"""Worlds are what their data sheet says."""

from __future__ import annotations

from wherenext.city import PRESETS
from wherenext.worlds import world


def test_a_world_of_check_ins_has_no_end_and_another_has_one_for_each_visit() -> None:
    for number, checkins in ((0, False), (2, True)):
        visits = world(number)
        assert (visits.finished_at > visits.started_at).eq(not checkins).all()
        assert visits.user_id.nunique() <= PRESETS["small"]["people"]
