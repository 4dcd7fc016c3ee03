"""Worlds: towns like Larkmere whose people, each time, live otherwise.

Every world draws its own parameters around Larkmere's, and its own way of being recorded: a diary
of visits, a diary with holes, check-ins without an end, or dense days: few days, and on those stop
after stop. No real person is in any of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from wherenext.city import simulate
from wherenext.people import DAY, Behaviour, Life, Town

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
DENSE = 0.22  # share of the worlds whose people have dense days
# What such a world draws, evenly on a log scale; written down before any score. Check-ins a person:
# Foursquare has 12 million of 679,000 people, 18 each (Noulas et al. 2011), Gowalla 6.4 million of
# 197,000, 33 each (Cho et al. 2011), location sharing services 22 million of 220,000, 100 each
# (Cheng et al. 2011); between people they are log-normal (Scellato and Mascolo 2011). That the next
# check-in follows a personal Markov chain say Cheng et al. (2013), not how closely. No published
# figure was found for the others: they are wide on purpose.
DENSE_RANGES = {
    "visits": (18.0, 100.0),  # median, a person
    "stops": (6.0, 30.0),  # on an active day
    "gap": (5.0, 60.0),  # median minutes from stop to stop
    "back": (0.0001, 0.01),  # factor for the present place and the one before it in a return
    "steps": (5.0, 50.0),  # factor on `same_previous`: how closely steps repeat
}
USERS, PLACES = 10_000, 1_000_000  # more than a world has


@dataclass(frozen=True)
class WorldConfig:
    """What worlds may have; each field is there to be switched off."""

    clock: bool = True  # the hour matters
    novelty: bool = True  # people find new places after their first weeks
    gaps: bool = True  # days go unrecorded
    checkins: bool = True  # some worlds are of check-ins, without ends
    dense: bool = True  # in some worlds people are recorded on few days, and then stop after stop
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


class DenseLife(Life):
    """A life of which few days are recorded, and on those stop after stop; see `DENSE_RANGES`."""

    def __init__(
        self, person: dict[str, float], changes: list[tuple[int, int, int]], town: Town,
        b: Behaviour, rng: np.random.Generator, *, own: dict[str, float],
    ) -> None:  # fmt: skip
        days = max(2, round(own["visits"] * float(np.exp(rng.standard_normal())) / own["stops"]))
        n_days = max(days, person["n_days"]) if b.leave else days  # else none goes unrecorded
        person = {**person, "n_days": n_days, "active": min(0.9, days / n_days)}
        super().__init__(person, changes, town, b, rng)
        self.stops, self.gap, self.back = own["stops"] * self.pace, own["gap"], own["back"]

    def _day(self, day: int, at_home: bool, free: float) -> tuple[bool, float]:
        """Live one day: begin in the morning, perhaps at home, and go from place to place."""
        z, midnight = self.z, day * DAY
        here = int(self.rows[-1][0]) if self.rows else self.home
        now = max(free, midnight + 8 * 60 + 60 * next(z) - 120 * math.log(next(self.u)))
        for stop in range(round(min(max(self.stops * math.exp(0.3 * next(z)), 3), 45))):
            hour = int(now - midnight) // 60
            if hour >= 24:
                break
            to, p, why = self._choose(here, now, hour, day % 7 >= 5, False)
            if not self.rows or (not stop and next(self.u) < self.b.home_start):
                to, why = self.home, 1 if self.rows else 0
            self._visit(to, now, now, p, why)
            begin = self.rows[-1][1]
            here, now = to, now + 1 + self.gap * math.exp(0.8 * next(z))
            self.rows[-1] = (to, begin, max(int(now), begin + 1), *self.rows[-1][3:])
        return False, now

    def _shares(self, here: int, hour: int, weekend: bool, worked: bool) -> tuple[float, ...]:
        """No routine; who knows two places has just been at both."""
        rate = super()._shares(here, hour, weekend, worked)[2]
        return 0.0, 0.0, rate if len(self.known) > 2 else 1.0

    def _pull(self, here: int, now: float, weekend: bool, wandering: bool) -> np.ndarray:
        """(S,) how much each known place draws; hardly the last two."""
        pull = super()._pull(here, now, weekend, wandering)
        pull[np.unique(self.h_place[max(0, self.n - 2) : self.n])] *= self.back
        return pull


def dense(number: int, config: WorldConfig) -> dict[str, float] | None:
    """Draw, by random numbers of its own, what the dense days of a world are, if it has any."""
    rng = np.random.default_rng([number, 78])
    if rng.random() >= DENSE or not config.dense:
        return None
    at = rng.random(len(DENSE_RANGES)) if config.drawn else np.full(len(DENSE_RANGES), 0.5)
    ranges = zip(DENSE_RANGES.items(), at, strict=True)
    return {name: float(low * (high / low) ** u) for (name, (low, high)), u in ranges}


def world(number: int, config: WorldConfig | None = None) -> pd.DataFrame:
    """Simulate one world; the same number, from 0, gives the same visits, with ids of its own."""
    config = config or WorldConfig()
    rng = np.random.default_rng([number, 77])
    own = behaviour(rng, config)
    as_checkins = bool(rng.random() < CHECKINS) and config.checkins
    share = float(rng.uniform(0.3, 1.0))
    by_kind = rng.uniform(0.1, 1.0, size=10)
    life: Callable[..., Life] = Life
    if days := dense(number, config):
        own = replace(
            own, same_previous=own.same_previous * days.pop("steps"), wander=own.wander / 4,
            explore_level=min(own.explore_level, Behaviour().explore_level),
            leave=min(0.8, 5 * own.leave),  # recorded days come in short runs
        )  # fmt: skip
        life = partial(DenseLife, own=days)
    visits = simulate("small", 1000 + number, own, life).visits
    visits = _by_night(visits, rng)
    if days:  # every stop is recorded
        as_checkins = config.checkins
    elif as_checkins:
        kinds = pd.Categorical(visits.kind).codes
        keep = share * by_kind[kinds] / by_kind[: kinds.max() + 1].max()
        visits = visits[rng.random(len(visits)) < keep]
    elif rng.random() < HOLES:
        visits = visits[rng.random(len(visits)) < max(share, 0.5)]
    if as_checkins:
        visits = visits.assign(finished_at=visits.started_at)
    visits = visits[["user_id", "location_id", "started_at", "finished_at"]]
    return visits.assign(
        user_id=visits.user_id + number * USERS,
        location_id=visits.location_id + number * PLACES,
        world=number,
    ).reset_index(drop=True)


def _by_night(visits: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Shift the clocks of some people by some hours."""
    people = int(visits.user_id.max()) + 1
    some = rng.random(people) < BY_NIGHT
    hours = np.where(some, rng.integers(4, 14, size=people), 0)
    moved = pd.to_timedelta(hours[visits.user_id.to_numpy()], unit="h")
    return visits.assign(
        started_at=visits.started_at + moved, finished_at=visits.finished_at + moved
    )
