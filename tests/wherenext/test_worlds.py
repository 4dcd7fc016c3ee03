"""Worlds are what their data sheet says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from wherenext.city import PRESETS
from wherenext.worlds import (
    CHECKINS,
    DENSE,
    WorldConfig,
    behaviour,
    dense,
    world,
)

from ..helpers import ROOT


def sheet() -> str:
    """The data sheet as one line of prose."""
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    return " ".join(text.partition("## Data sheet: the simulated worlds")[2].split())


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
    said = sheet()
    assert "`drop` evenly from 0.3 to 0.9" in said
    assert "around -0.1 with standard deviation 1" in said


def test_a_world_of_check_ins_has_no_end_and_another_has_one_for_each_visit() -> None:
    for number in range(4):
        visits = world(number, WorldConfig(dense=False))
        lasting = visits.finished_at > visits.started_at
        assert not lasting.any() if checkins(number) else lasting.all()
        assert visits.user_id.nunique() <= PRESETS["small"]["people"]


DENSE_WORLDS = [number for number in range(96) if dense(number, WorldConfig())]


def steps_seen_before(visits: pd.DataFrame) -> float:
    """The share of steps from place to place that the same person has made before."""
    before = visits.groupby("user_id").location_id.shift()
    steps = visits[["user_id", "location_id"]].assign(before=before)[before.notna()]
    return float(steps.duplicated().mean())


def test_about_a_fifth_of_the_worlds_have_dense_days() -> None:
    assert abs(len(DENSE_WORLDS) / 96 - DENSE) < 0.1


@pytest.mark.parametrize("number", DENSE_WORLDS[:2])
def test_dense_days_are_few_and_full_and_their_steps_recur(number: int) -> None:
    visits = world(number)
    people, days = visits.groupby("user_id"), visits.started_at.dt.date
    assert (visits.started_at == visits.finished_at).all()
    assert visits.groupby(["user_id", days]).size().median() >= 5
    assert days.groupby(visits.user_id).nunique().median() <= 30
    gap = people.started_at.diff()[days == days.groupby(visits.user_id).shift()]
    assert gap.median() <= pd.Timedelta("1h")
    for ago in (1, 2):
        assert (people.location_id.shift(ago) == visits.location_id).mean() < 0.05
    mixed = visits.sample(frac=1, random_state=0).sort_values("user_id", kind="stable")
    assert steps_seen_before(visits) > 1.2 * steps_seen_before(mixed)


def test_a_world_without_dense_days_does_not_know_of_them() -> None:
    number = next(n for n in range(96) if n not in DENSE_WORLDS)
    pd.testing.assert_frame_equal(world(number), world(number, WorldConfig(dense=False)))


def test_dense_days_have_ends_where_no_world_is_of_check_ins() -> None:
    visits = world(DENSE_WORLDS[0], WorldConfig(checkins=False))
    assert (visits.finished_at > visits.started_at).all()
    after = visits.groupby("user_id").started_at.shift(-1)
    assert not (visits.finished_at > after).any()
