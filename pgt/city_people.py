"""The people of Larkmere, and how they choose where to go next.

At the end of every visit a person does one of three things, with probabilities
that are written down before the coin is tossed:

1. *routine*: goes home, or to work or school, because of the hour;
2. *explore*: with probability ``rho * S**-gamma`` of the rest (Song et al. 2010),
   ``S`` being the number of places known, more or less by hour, weekday, person
   and the kind of place they come from;
3. *return*: to a place they know, by a kernel over their own past visits
   (recent ones, ones that followed the present place, ones at this hour).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgt.city_places import KINDS

DAY = 24 * 60  # minutes
WHY = ("start", "routine", "return", "explore")
HOME, WORK, SCHOOL = KINDS.index("home"), KINDS.index("work"), KINDS.index("school")


@dataclass(frozen=True)
class Behaviour:
    """The truth behind the choices; a chapter may try to find these numbers again."""

    rho: float = 0.6  # exploration: rho * S**-gamma
    gamma: float = 0.21
    explore_level: float = 1.35  # ... times this where no routine pulls
    explore_weekend: float = 1.25
    explore_sd: float = 0.25  # log-normal spread between people
    recency_decay: float = 0.98  # a visit loses 2 % of its weight with every later one
    always: float = 0.02  # weight of an old visit that never fades (preferential return)
    base: float = 0.1  # weight of a past visit in any context
    same_previous: float = 1.0  # ... that followed the place the person is at now
    same_time: float = 3.0  # ... at this time of day, times exp(-minutes apart / time_scale)
    time_scale: float = 100.0  # minutes
    other_day_type: float = 0.5  # factor for a weekday visit at a weekend and vice versa
    sharpness: float = 1.35  # score of a place to this power is its chance
    again: float = 0.25  # factor for the present place (stepped out, came back)
    home_pull: float = 0.75  # scales the evening routine of going home
    work_pull: float = 0.75  # scales the morning routine of going to work or school
    home_start: float = 0.45  # chance that a day after a gap is first recorded at home
    stop: float = 0.14  # chance that recording ends for the day after a visit
    jump_scale: float = 350.0  # metres; exploration falls with (1 + (d / scale)^2)^(-3/4)
    roam: float = 5000.0  # metres; ... and with exp(-distance from home / roam)
    taste_sd: float = 0.9  # log-normal spread of people's taste for kinds
    whim_sd: float = 1.0  # ... and for single places
    ramp: float = 0.4  # recording grows more frequent: factor 1 - ramp at first, 1 + ramp in the end
    slow: float = 1.0  # scales every stay away from home
    home_stay: float = 50.0  # minutes
    memory: int = 250  # visits that the kernel looks back


#: When a kind of place draws explorers: weight by time of day (night, morning,
#: midday, afternoon, evening, late), then the factor at weekends.
OPEN = {
    "home": (0.0, 0.1, 0.2, 0.4, 0.8, 0.5, 1.5),
    "work": (0.1, 0.8, 0.4, 0.3, 0.05, 0.0, 0.3),
    "school": (0.0, 1.0, 0.6, 0.5, 0.2, 0.0, 0.2),
    "food": (0.2, 0.6, 2.0, 0.8, 2.0, 1.5, 1.2),
    "shopping": (0.0, 0.6, 1.0, 1.5, 1.0, 0.1, 1.5),
    "leisure": (0.2, 0.4, 0.5, 1.0, 2.0, 2.0, 1.5),
    "park": (0.2, 1.0, 1.0, 1.5, 0.8, 0.1, 2.0),
    "health": (0.0, 1.5, 0.8, 1.0, 0.1, 0.0, 0.2),
    "errand": (0.0, 1.2, 1.0, 1.2, 0.4, 0.0, 0.8),
    "transit": (0.6, 1.2, 0.8, 1.0, 0.8, 0.8, 0.8),
}
_PART = np.array([0] * 6 + [1] * 5 + [2] * 3 + [3] * 4 + [4] * 3 + [5] * 3)  # hour -> column
OPENING = np.array(  # (hour of the week type: weekday 0..23, weekend 24..47; kind)
    [[OPEN[k][_PART[h]] * (OPEN[k][6] if w else 1.0) for k in KINDS]
     for w in (0, 1) for h in range(24)]
)  # fmt: skip
#: Median stay in minutes and its log-normal spread, by kind.
STAY = {
    "home": (120, 0.8), "work": (235, 0.55), "school": (200, 0.5), "food": (62, 0.45),
    "shopping": (55, 0.5), "leisure": (105, 0.5), "park": (70, 0.6), "health": (60, 0.5),
    "errand": (45, 0.45), "transit": (40, 0.4),
}  # fmt: skip
#: How the kind of the present place changes the wish to explore.
CURIOSITY = {"home": 0.9, "work": 0.8, "school": 0.9, "food": 1.2, "shopping": 1.3,
             "leisure": 1.1, "park": 1.2, "health": 1.2, "errand": 1.3, "transit": 1.5}  # fmt: skip
#: Chance of going home when out, by hour of day.
HOMING = np.interp(np.arange(24), [0, 3, 5, 10, 14, 17, 19, 21, 22, 23],
                   [1, 1, 0.1, 0.04, 0.10, 0.35, 0.55, 0.85, 0.97, 1])  # fmt: skip


def invent(places: pd.DataFrame, n: int, days: tuple[int, int], rng: np.random.Generator,
           ) -> pd.DataFrame:  # fmt: skip
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

    Returns
    -------
    pandas.DataFrame
        ``user_id`` (from 1), ``role`` (worker, student, other), ``home`` and ``work``
        (location ids; -1 where somebody has no work or school), ``first_day`` (days
        after the first Monday), ``n_days``, ``active`` (share of days recorded),
        ``pace``, ``regularity`` and ``curiosity`` (factors around 1).
    """
    kind = places["kind"].to_numpy()
    ids = places["location_id"].to_numpy()
    xy = places[["lon", "lat"]].to_numpy() * [0.63, 1.0]
    homes, works, schools = (np.flatnonzero(kind == k) for k in ("home", "work", "school"))
    appeal = places["appeal"].to_numpy()
    rows = []
    for user in range(1, n + 1):
        u, z = rng.random(8), rng.standard_normal(6)
        role = "worker" if u[0] < 0.66 else "student" if u[0] < 0.86 else "other"
        home = homes[int(u[1] * len(homes))]
        work = -1
        if role != "other":
            pool = works if role == "worker" else schools
            near = appeal[pool] / (0.01 + np.hypot(*(xy[pool] - xy[home]).T))
            work = int(ids[pool[int(np.searchsorted(np.cumsum(near), u[2] * near.sum()))]])
        # Busy people carry their phone on more days *and* make more visits a day.
        busy = z[0]
        active = 1 / (1 + math.exp(-(-0.2 + 1.35 * busy)))
        length = math.exp(math.log(200) + 0.62 * z[1])
        n_days = int(min(max(length, days[0]), days[1]))
        rows.append(
            {
                "user_id": user,
                "role": role,
                "home": int(ids[home]),
                "work": work,
                "first_day": int(u[3] * (2 * 365 - min(n_days, 700))),
                "n_days": n_days,
                "active": round(min(max(active, 0.12), 0.97), 3),
                "pace": round(math.exp(0.16 * busy + 0.12 * z[2]), 3),
                "regularity": round(math.exp(0.15 * z[3]), 3),
                "curiosity": round(math.exp(z[4]), 4),  # its spread is applied later
            }
        )
    return pd.DataFrame(rows)


class Town:
    """Arrays over places that all people share: kinds, metres, appeal."""

    def __init__(self, places: pd.DataFrame) -> None:
        self.kind = np.array([KINDS.index(k) for k in places["kind"]])  # (P,)
        lat = places["lat"].to_numpy()
        self.x = (places["lon"].to_numpy() - places["lon"].mean()) * 111_320 * math.cos(
            math.radians(float(lat.mean()))
        )
        self.y = (lat - lat.mean()) * 111_320
        self.appeal = places["appeal"].to_numpy()
        self.row = {int(i): r for r, i in enumerate(places["location_id"])}


def live(person: dict[str, float], town: Town, b: Behaviour, rng: np.random.Generator) -> np.ndarray:
    """Let one person live through the days they are tracked.

    Parameters
    ----------
    person
        A row of the table from :func:`invent`.
    town
        The places.
    b
        The parameters of behaviour.
    rng
        This person's own random numbers.

    Returns
    -------
    numpy.ndarray
        Shape ``(n_visits, 6)``: row of the place, start and end (minutes after the
        first Monday, local time), explored (0/1), probability of exploring as it
        stood before the choice, index into :data:`WHY`.
    """
    return _Life(person, town, b, rng).run()


class _Life:
    def __init__(self, person: dict[str, float], town: Town, b: Behaviour,
                 rng: np.random.Generator) -> None:  # fmt: skip
        self.p, self.t, self.b = person, town, b
        n_days = int(person["n_days"])
        self.home = town.row[int(person["home"])]
        self.work = town.row[int(person["work"])] if person["work"] >= 0 else -1
        self.pace = float(person["pace"])
        self.curiosity = float(person["curiosity"]) ** b.explore_sd
        self.u = iter(rng.random(160 * n_days + 400).tolist())  # plenty: < 16 visits a day
        self.z = iter(rng.standard_normal(40 * n_days + 400).tolist())
        # Taste for kinds, and for single places: what makes people differ.
        taste = np.exp(b.taste_sd * rng.standard_normal(len(KINDS)))
        near = np.exp(-np.hypot(town.x - town.x[self.home], town.y - town.y[self.home]) / b.roam)
        whim = np.exp(b.whim_sd * rng.standard_normal(len(near)))
        self.wish = town.appeal * taste[town.kind] * near * whim
        # Other people's homes: only those of a few friends, and nobody's workplace draws much.
        homes = town.kind == HOME
        friends = rng.random(len(homes)) < 8 / max(1, homes.sum())
        self.wish[homes & ~friends] = 0
        self.wish[homes & friends] *= 2
        self.wish[town.kind == WORK] *= 0.3
        # History in arrays that grow in place: known index, start minute of day, weekend.
        size = 12 * n_days + 50
        self.h_place = np.zeros(size, dtype=np.int64)
        self.h_minute, self.h_weekend = np.zeros(size), np.zeros(size, dtype=bool)
        self.n = 0
        self.known: list[int] = []  # index among known places -> row of the place
        self.index: dict[int, int] = {}
        self.rows: list[tuple[float, ...]] = []
        self.fade = (b.recency_decay ** np.arange(b.memory + 1) + b.always)[::-1].copy()
        self.stay = [STAY[k] for k in KINDS]

    # -- days ---------------------------------------------------------------
    def run(self) -> np.ndarray:
        p, u = self.p, self.u
        first, n_days, active = int(p["first_day"]), int(p["n_days"]), float(p["active"])
        # Recorded days come in runs, so that short gaps and long ones both exist.
        leave = 0.16 if active < 0.8 else 0.8 * (1 - active)
        enter = min(1.0, leave * active / (1 - active))
        on = [True]
        for d in range(1, n_days - 1):
            # People carry their phone on more days as time goes by.
            ramp = 1 + self.b.ramp * (2 * d / n_days - 1)
            on.append(next(u) >= leave / ramp if on[-1] else next(u) < enter * ramp)
        on.append(True)
        at_home, free = False, 0.0
        for d, recorded in enumerate(on):
            if not recorded:
                at_home = False
                continue
            at_home, free = self._day(first + d, at_home, free)
        return np.array(self.rows)

    def _day(self, day: int, at_home: bool, free: float) -> tuple[bool, float]:
        """Live one day; return whether it ends at home overnight, and until when."""
        b, u, z = self.b, self.u, self.z
        weekend = day % 7 >= 5
        midnight = day * DAY
        if at_home:
            now = free
        else:
            wake = 7.3 * 60 if not weekend else 9.3 * 60
            now = max(free + 5, midnight + wake + 40 * next(z) + (-math.log(next(u))) * 110)
            now = min(now, midnight + 22 * 60)
            if self.n == 0:
                now = self._visit(self.home, now, self._home_until(day, now), 1.0, 0)
            elif next(u) < b.home_start:
                now = self._visit(self.home, now, self._home_until(day, now), 0.0, 1)
        worked = False
        stop = min(0.9, b.stop / self.pace)
        while True:
            here = int(self.rows[-1][0]) if self.rows else self.home
            now += 4 + 12 * next(u)
            hour = int((now - midnight) // 60)
            if hour >= 24:
                return False, now
            to, p, why = self._choose(here, now, hour, weekend, worked)
            worked |= to == self.work
            now += math.hypot(self.t.x[to] - self.t.x[here], self.t.y[to] - self.t.y[here]) / 250
            hour = int((now - midnight) // 60)
            if to == self.home and (hour >= 21 or (hour >= 17 and next(u) < 0.3 + 0.12 * (hour - 17))):
                wake = (7.4 if (day + 1) % 7 < 5 else 9.3) * 60 + 45 * next(z)
                wake = max(wake, 4.5 * 60)
                end = self._visit(to, now, midnight + DAY + wake, p, why)
                return True, end
            median, spread = self.stay[self.t.kind[to]]
            length = b.slow * median * math.exp(spread * next(z)) / (self.pace if to != self.work else 1)
            if to == self.work and hour < 11 and next(u) < 0.45:
                length *= 2  # a full day at work without going out for lunch
            now = self._visit(to, now, now + min(max(length, 30 + 5 * next(u)), 14 * 60), p, why)
            if next(u) < stop:
                return False, now

    def _home_until(self, day: int, now: float) -> float:
        return now + 35 - math.log(next(self.u)) * self.b.home_stay

    def _visit(self, to: int, start: float, end: float, p: float, why: int) -> float:
        """Write a visit down; return its end in whole minutes."""
        begin, finish = math.ceil(start), math.ceil(end)
        finish = max(finish, begin + 30)
        new = to not in self.index
        if new:
            self.index[to] = len(self.known)
            self.known.append(to)
        self.h_place[self.n] = self.index[to]
        self.h_minute[self.n] = begin % DAY
        self.h_weekend[self.n] = (begin // DAY) % 7 >= 5
        self.n += 1
        self.rows.append((to, begin, finish, float(new), p, why))
        return float(finish)

    # -- choices ------------------------------------------------------------
    def _choose(self, here: int, now: float, hour: int, weekend: bool, worked: bool,
                ) -> tuple[int, float, int]:  # fmt: skip
        """Routine, exploration or return: the place, the probability of exploring, why."""
        b, u, p = self.b, self.u, self.p
        home = 0.0 if here == self.home else min(1.0, b.home_pull * HOMING[hour])
        if hour >= 23:
            home = 1.0 if here != self.home else 0.9
        work = 0.0
        if self.work >= 0 and here != self.work and not weekend and 6 <= hour < 17:
            pull = (0.8 if hour < 11 else 0.3) if not worked else (0.65 if hour < 15 else 0.1)
            work = min(1 - home, b.work_pull * pull * min(1.2, float(p["regularity"])))
        known = len(self.known)
        rate = b.explore_level * b.rho * known ** -b.gamma * self.curiosity
        rate *= CURIOSITY[KINDS[self.t.kind[here]]] * (b.explore_weekend if weekend else 1.0)
        rate = min(0.95, rate)
        rest = 1 - home - work
        p_explore = rest * rate + (work if self.work >= 0 and self.work not in self.index else 0.0)
        coin = next(u)
        if coin < home:
            return self.home, p_explore, 1
        if coin < home + work:
            return self.work, p_explore, 1
        if coin < home + work + rest * rate or (known == 1 and self.known[0] == here):
            return self._explore(here, hour, weekend), p_explore, 3
        return self._return(here, now, weekend), p_explore, 2

    def _explore(self, here: int, hour: int, weekend: bool) -> int:
        t, scale = self.t, self.b.jump_scale
        d2 = (t.x - t.x[here]) ** 2 + (t.y - t.y[here]) ** 2
        fall = 1 + d2 / scale**2
        weight = self.wish * OPENING[hour % 24 + 24 * weekend][t.kind] / np.sqrt(fall * np.sqrt(fall))
        weight[self.known] = 0
        total = np.cumsum(weight)
        return int(np.searchsorted(total, next(self.u) * total[-1], side="right"))

    def _return(self, here: int, now: float, weekend: bool) -> int:
        b = self.b
        lo = max(0, self.n - b.memory)
        place = self.h_place[lo : self.n]
        apart = np.abs(self.h_minute[lo : self.n] - now % DAY)
        apart = np.minimum(apart, DAY - apart)
        weight = b.base + b.same_time * np.exp(-apart / b.time_scale)
        at = self.index[here]
        weight[1:] += b.same_previous * (place[:-1] == at)
        weight *= np.where(self.h_weekend[lo : self.n] == weekend, 1.0, b.other_day_type)
        weight *= self.fade[len(self.fade) - len(place) :]
        score = np.bincount(place, weights=weight, minlength=len(self.known))
        score[at] *= b.again
        total = np.cumsum(score**b.sharpness)
        if total[-1] <= 0:
            return self.home
        return self.known[int(np.searchsorted(total, next(self.u) * total[-1], side="right"))]
