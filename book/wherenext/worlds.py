"""Worlds: towns like Larkmere whose people, each time, live otherwise.

Every world draws its own parameters around Larkmere's, and its own way of being recorded: a diary
of visits, a diary with holes, or check-ins without an end. No real person is in any of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wherenext.city import simulate
from wherenext.people import Behaviour

# A parameter is Larkmere's times exp(spread · z), z standard normal. The spreads were written down
# before any score on real people was looked at, but for the first try: see the notes of the model.
SPREAD = {
    "explore_level": 0.5, "explore_sd": 0.5, "home_pull": 0.5, "work_pull": 0.5, "always": 0.5,
    "wander": 0.5, "same_time": 0.5, "time_scale": 0.5, "same_previous": 0.5, "habit": 0.5,
    "other_day_type": 0.5, "again": 0.5, "whim_sd": 0.5, "leave": 0.5, "pace_sd": 0.5,
    "chapter": 0.5, "fade": 0.5, "sharpness": 0.25,
}  # fmt: skip
AT_MOST = {"wander": 0.95, "work_pull": 1.2, "leave": 0.5}
FORGETTING = 0.7  # spread of 1 - recency_decay
CHECKINS = 0.5  # share of the worlds
HOLES = 0.5  # share of the other worlds whose diaries miss visits
BY_NIGHT = 0.1  # share of the people whose clock is shifted
USERS, PLACES = 10_000, 1_000_000  # more than a world has


@dataclass(frozen=True)
class WorldConfig:
    """What worlds may have; each field is there to be switched off."""

    clock: bool = True  # the hour matters
    novelty: bool = True  # people find new places after their first weeks
    gaps: bool = True  # days go unrecorded
    checkins: bool = True  # some worlds are of check-ins, without ends
    drawn: bool = True  # each world draws its own parameters; else all are Larkmere's


def behaviour(rng: np.random.Generator, config: WorldConfig) -> Behaviour:
    """Draw a world's parameters."""
    usual = Behaviour()
    own: dict[str, Any] = {
        name: float(getattr(usual, name) * np.exp(rng.normal(0, spread)))
        for name, spread in SPREAD.items()
    }
    own |= {name: min(own[name], most) for name, most in AT_MOST.items()}
    own["recency_decay"] = 1 - (1 - usual.recency_decay) * float(np.exp(rng.normal(0, FORGETTING)))
    own["drop"] = float(rng.uniform(0.3, 0.9))
    own["active_mean"] = float(rng.normal(-0.1, 1.0))
    if not config.drawn:
        own = {}
    if not config.clock:
        own |= {"same_time": 0.0, "habit": 0.0, "home_pull": 0.0, "work_pull": 0.0}
    if not config.novelty:
        own |= {"explore_level": 0.05}
    if not config.gaps:
        own |= {"active_mean": 6.0, "active_sd": 0.1, "leave": 0.0}
    return Behaviour(**own)


def world(number: int, config: WorldConfig | None = None) -> pd.DataFrame:
    """Simulate one world; the same number, from 0, gives the same visits, with ids of its own."""
    config = config or WorldConfig()
    rng = np.random.default_rng([number, 77])
    own = behaviour(rng, config)
    as_checkins = bool(rng.random() < CHECKINS) and config.checkins
    share = float(rng.uniform(0.3, 1.0))
    by_kind = rng.uniform(0.1, 1.0, size=10)
    visits = simulate("small", 1000 + number, own).visits
    people = int(visits.user_id.max()) + 1
    some = rng.random(people) < BY_NIGHT
    hours = np.where(some, rng.integers(4, 14, size=people), 0)
    moved = pd.to_timedelta(hours[visits.user_id.to_numpy()], unit="h")
    times = ["started_at", "finished_at"]
    visits = visits.assign(**{name: visits[name] + moved for name in times})
    if as_checkins:
        kinds = pd.Categorical(visits.kind).codes
        keep = share * by_kind[kinds] / by_kind[: kinds.max() + 1].max()
        visits = visits[rng.random(len(visits)) < keep]
        visits = visits.assign(finished_at=visits.started_at)
    elif rng.random() < HOLES:
        visits = visits[rng.random(len(visits)) < max(share, 0.5)]
    visits = visits[["user_id", "location_id", *times]]
    return visits.assign(
        user_id=visits.user_id + number * USERS,
        location_id=visits.location_id + number * PLACES,
        world=number,
    ).reset_index(drop=True)
