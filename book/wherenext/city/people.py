"""The people of Larkmere: who they are, and the parameters of how they choose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Behaviour:
    """The truth behind the choices; a chapter may try to find these numbers again.

    Attributes
    ----------
    rho, gamma
        Exploration of somebody who knows ``S`` places: ``rho * S**-gamma``, times the
        factors below, where no routine decides (Song et al. 2010).
    explore_level, explore_weekend, explore_sd
        Factor for everybody, factor at weekends, log-normal spread between people.
    home_pull, work_pull
        Strength of the routines: home by the hour, work or school on weekdays.
    recency_decay, always
        A past visit counts ``recency_decay**age + always`` in a return, ``age`` being
        the number of visits since.
    wander, wander_sharpness
        Share of returns that follow recency alone; a place's chance is then its score
        to the power ``wander_sharpness``.
    base, same_time, time_scale, same_previous, habit, other_day_type, sharpness
        All other returns also look at the context. With ``near = exp(-minutes apart /
        time_scale)`` by time of day, a past visit counts ``base + same_time * near``,
        plus ``same_previous + habit * near`` if it followed the place where the person
        is now, times ``other_day_type`` if one was on a weekday and the other at a
        weekend; chance: score to the power ``sharpness``.
    again
        Factor for the present place in a return (stepped out, came back).
    memory
        How many visits a return looks back.
    jump_scale, roam
        Metres. An unknown place draws by its appeal, the person's taste, its hours,
        ``(1 + (distance / jump_scale)**2)**-0.75`` and ``exp(-from home / roam)``.
    taste_sd, whim_sd
        Log-normal spread of a person's taste for kinds, and for single places.
    home_start, stop, slow, home_stay
        Chance that a day after a gap is first recorded at home; that recording ends
        after a visit; factor on stays; minutes at home on such a morning.
    active_mean, active_sd, leave, ramp
        Logit of the share of days that a person records (mean, spread); chance that a
        run of recorded days ends; recording grows by ``1 - ramp`` to ``1 + ramp``.
    pace_sd, busy_pace, busy_curious
        Spread of the number of visits a day; how it, and curiosity, go with activity.
    chapter, move, switch
        Life changes: mean number of days until the next one (exponential), and the
        chances that it brings another home, and another work or school.
    drop, fade
        At such a change every other known place drops out of the person's habits with
        chance ``drop``; a home or work left behind always does. What was visited there
        before then counts ``fade`` times in returns; ``S`` counts the places kept.
    """

    rho: float = 0.6
    gamma: float = 0.21
    explore_level: float = 0.93
    explore_weekend: float = 1.25
    explore_sd: float = 0.454
    home_pull: float = 1.0
    work_pull: float = 0.549
    recency_decay: float = 0.97
    always: float = 0.0204
    wander: float = 0.4
    wander_sharpness: float = 0.378
    base: float = 0.0638
    same_time: float = 3.88
    time_scale: float = 74.9
    same_previous: float = 1.45
    habit: float = 5.62
    other_day_type: float = 0.498
    sharpness: float = 2.37
    again: float = 0.756
    memory: int = 250
    jump_scale: float = 513.0
    roam: float = 4510.0
    taste_sd: float = 0.9
    whim_sd: float = 0.94
    home_start: float = 0.547
    stop: float = 0.692
    slow: float = 0.795
    home_stay: float = 95.2
    active_mean: float = -0.124
    active_sd: float = 2.0
    leave: float = 0.0941
    ramp: float = 0.484
    pace_sd: float = 0.397
    busy_pace: float = 0.1
    busy_curious: float = -0.471
    chapter: float = 173.0
    move: float = 0.5
    switch: float = 0.5
    drop: float = 0.618
    fade: float = 0.02


class Pools:
    """Where people can live, work and study, by row of the table of places."""

    def __init__(self, places: pd.DataFrame) -> None:
        self.ids = places["location_id"].to_numpy()
        kind = places["kind"].to_numpy()
        self.of = {k: np.flatnonzero(kind == k) for k in ("home", "work", "school")}
        self.xy = places[["lon", "lat"]].to_numpy() * [0.63, 1.0]
        self.appeal = places["appeal"].to_numpy()

    def work(self, role: str, home: int, u: float) -> int:
        """Row of a work place or school, the nearer to home the likelier; -1 for others."""
        if role == "other":
            return -1
        pool = self.of["work" if role == "worker" else "school"]
        near = self.appeal[pool] / (0.01 + np.hypot(*(self.xy[pool] - self.xy[home]).T))
        return int(pool[int(np.searchsorted(np.cumsum(near), u * near.sum()))])


def invent(
    places: pd.DataFrame, n: int, days: tuple[int, int], rng: np.random.Generator, b: Behaviour
) -> pd.DataFrame:
    """Invent ``n`` people: where they live and work, and how regular and busy they are.

    Parameters
    ----------
    places
        The places of the town.
    n
        How many people.
    days
        The least and the greatest number of days a person is tracked.
    rng
        Source of uniform and normal random numbers.
    b
        The parameters of behaviour.

    Returns
    -------
    pandas.DataFrame
        ``user_id`` (from 1), ``role`` (worker, student, other), ``home`` and ``work``
        at first (location ids; -1: no work or school), ``first_day`` (days
        after the first Monday), ``n_days``, ``active`` (share of days recorded),
        ``pace``, ``regularity`` and ``curiosity`` (factors around 1).
    """
    pools = Pools(places)
    ids, homes = pools.ids, pools.of["home"]
    rows = []
    for user in range(1, n + 1):
        u, z = rng.random(8), rng.standard_normal(6)
        role = "worker" if u[0] < 0.66 else "student" if u[0] < 0.86 else "other"
        home = homes[int(u[1] * len(homes))]
        work = pools.work(role, home, u[2])
        # Busy people carry their phone on more days *and* make more visits a day.
        busy = z[0]
        active = 1 / (1 + math.exp(-(b.active_mean + b.active_sd * busy)))
        length = math.exp(math.log(170) + 0.5 * z[1])
        n_days = int(min(max(length, days[0]), days[1]))
        rows.append(
            {
                "user_id": user,
                "role": role,
                "home": int(ids[home]),
                "work": int(ids[work]) if work >= 0 else -1,
                "first_day": int(u[3] * (2 * 365 - min(n_days, 700))),
                "n_days": n_days,
                "active": round(min(max(active, 0.2), 0.97), 3),
                "pace": round(math.exp(b.busy_pace * busy + b.pace_sd * z[2]), 3),
                "regularity": round(math.exp(0.15 * z[3]), 3),
                # Choices use curiosity ** explore_sd.
                "curiosity": round(math.exp(z[4] + b.busy_curious * busy), 4),
            }
        )
    return pd.DataFrame(rows)


def change(
    people: pd.DataFrame, places: pd.DataFrame, rng: np.random.Generator, b: Behaviour
) -> pd.DataFrame:
    """Draw the life changes of everybody: when, and where they live and work from then on.

    Parameters
    ----------
    people
        What :func:`invent` returned.
    places
        The places of the town.
    rng
        Source of uniform random numbers.
    b
        The parameters of behaviour.

    Returns
    -------
    pandas.DataFrame
        One row a change, by person and time: ``user_id``, ``day`` (after the first
        Monday), ``home`` and ``work`` (location ids, as in :func:`invent`).

    Notes
    -----
    People on record do not stay the same: of GeoLife's 45 people 47 % have another
    most visited place in the last fifth of their days than in the first three, and
    the shares of their places in the two overlap by 46 % only. Without changes
    it would be 20 % of Larkmere's people, and an overlap of 58 %.
    """
    pools = Pools(places)
    ids, homes = pools.ids, pools.of["home"]
    rows = []
    for person in people.itertuples():
        day, home, work = float(person.first_day), person.home, person.work
        while True:
            u = rng.random(5)
            day -= b.chapter * math.log(1 - u[0])
            if day >= person.first_day + person.n_days:
                break
            if u[1] < b.move:
                home = int(ids[homes[int(u[2] * len(homes))]])
            if work >= 0 and u[3] < b.switch:
                at = int(np.flatnonzero(ids == home)[0])
                work = int(ids[pools.work(person.role, at, u[4])])
            rows.append((person.user_id, math.ceil(day), home, work))
    return pd.DataFrame(rows, columns=["user_id", "day", "home", "work"])
