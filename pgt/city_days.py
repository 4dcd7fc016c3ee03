"""A day in Larkmere, and the next: how one person's visits come about.

At the end of every visit a person does one of three things, with probabilities
that are written down before the coin is tossed:

1. *routine*: goes home, or to work or school, because of the hour;
2. *explore*: with probability ``rho * S**-gamma`` of the rest (Song et al. 2010),
   ``S`` being the number of places known, more or less by weekday, person and the
   kind of place they come from;
3. *return*: to a place they know, by a kernel over their own past visits
   (recent ones, ones that followed the present place, ones at this hour).

Where recording starts in the morning at home nothing was chosen, and the
probability of exploring is 0; at somebody's very first visit it is 1.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from pgt.city_people import Behaviour
from pgt.city_places import KINDS

DAY = 24 * 60  # minutes
WHY = ("start", "routine", "return", "explore")
HOME, WORK = KINDS.index("home"), KINDS.index("work")

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
    "home": (120, 0.8), "work": (300, 0.5), "school": (250, 0.45), "food": (62, 0.45),
    "shopping": (55, 0.5), "leisure": (105, 0.5), "park": (70, 0.6), "health": (60, 0.5),
    "errand": (45, 0.45), "transit": (40, 0.4),
}  # fmt: skip
#: How the kind of the present place changes the wish to explore.
CURIOSITY = {"home": 0.9, "work": 0.8, "school": 0.9, "food": 1.2, "shopping": 1.3,
             "leisure": 1.1, "park": 1.2, "health": 1.2, "errand": 1.3, "transit": 1.5}  # fmt: skip
#: Chance of going home when out, by hour of day.
HOMING = np.interp(np.arange(24), [0, 3, 5, 10, 14, 17, 19, 21, 22, 23],
                   [1, 1, 0.1, 0.04, 0.10, 0.35, 0.55, 0.85, 0.97, 1])  # fmt: skip


class Town:
    """Arrays over places that all people share: kinds, metres, appeal."""

    def __init__(self, places: pd.DataFrame) -> None:
        self.kind = np.array([KINDS.index(k) for k in places["kind"]])  # (P,)
        lat = places["lat"].to_numpy()
        self.x = (
            (places["lon"].to_numpy() - places["lon"].mean())
            * 111_320
            * math.cos(math.radians(float(lat.mean())))
        )
        self.y = (lat - lat.mean()) * 111_320
        self.appeal = places["appeal"].to_numpy()
        self.row = {int(i): r for r, i in enumerate(places["location_id"])}


def live(
    person: dict[str, float], town: Town, b: Behaviour, rng: np.random.Generator
) -> np.ndarray:
    """Let one person live through the days they are tracked.

    Parameters
    ----------
    person
        A row of the table from :func:`pgt.city_people.invent`.
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
    """One person's past, and the choices that follow from it."""

    def __init__(
        self, person: dict[str, float], town: Town, b: Behaviour, rng: np.random.Generator
    ) -> None:
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
        leave = min(self.b.leave, 0.8 * (1 - active))
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
        fresh = False
        if at_home:
            now = free
        else:
            wake = 7.3 * 60 if not weekend else 9.3 * 60
            now = max(free + 5, midnight + wake + 40 * next(z) + (-math.log(next(u))) * 110)
            now = min(now, midnight + 22 * 60)
            if self.n == 0:
                now = self._visit(self.home, now, self._home_until(now), 1.0, 0)
            elif next(u) < b.home_start:
                now = self._visit(self.home, now, self._home_until(now), 0.0, 1)
            else:
                fresh = True
        worked = False
        stop = min(0.8, b.stop / self.pace**2)
        while True:
            # After a gap people come from home, whatever was recorded last.
            here = self.home if fresh else int(self.rows[-1][0])
            fresh = False
            now += 4 + 12 * next(u)
            hour = int((now - midnight) // 60)
            if hour >= 24:
                return False, now
            to, p, why = self._choose(here, now, hour, weekend, worked)
            worked |= to == self.work
            now += math.hypot(self.t.x[to] - self.t.x[here], self.t.y[to] - self.t.y[here]) / 250
            hour = int((now - midnight) // 60)
            stays_in = 0.3 + 0.12 * (hour - 17)  # the later, the likelier for the night
            if to == self.home and (hour >= 21 or (hour >= 17 and next(u) < stays_in)):
                wake = (7.4 if (day + 1) % 7 < 5 else 9.3) * 60 + 45 * next(z)
                wake = max(wake, 4.5 * 60)
                end = self._visit(to, now, midnight + DAY + wake, p, why)
                return True, end
            median, spread = self.stay[self.t.kind[to]]
            length = b.slow * median * math.exp(spread * next(z))
            length /= self.pace if to != self.work else 1
            if to == self.work and hour < 11 and next(u) < 0.45:
                length *= 2  # a full day at work without going out for lunch
            length = min(max(length, 30 + 5 * next(u)), 14 * 60)
            last = next(u) < stop
            if last and to == self.work:
                length *= 1.8
            elif last and to == self.home:
                length += 240 + 60 * abs(next(z))
            now = self._visit(to, now, now + length, p, why)
            if last:
                return False, now

    def _home_until(self, now: float) -> float:
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
    def _choose(
        self, here: int, now: float, hour: int, weekend: bool, worked: bool
    ) -> tuple[int, float, int]:
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
        rate = b.explore_level * b.rho * known**-b.gamma * self.curiosity
        rate *= CURIOSITY[KINDS[self.t.kind[here]]] * (b.explore_weekend if weekend else 1.0)
        rate = min(0.95, rate) if known > 1 else 1.0  # who knows one place has nowhere to return
        rest = 1 - home - work
        p_explore = rest * rate + (work if self.work >= 0 and self.work not in self.index else 0.0)
        coin = next(u)
        if coin < home:
            return self.home, p_explore, 1
        if coin < home + work:
            return self.work, p_explore, 1
        if coin < home + work + rest * rate:
            return self._explore(here, hour, weekend), p_explore, 3
        return self._return(here, now, weekend), p_explore, 2

    def _explore(self, here: int, hour: int, weekend: bool) -> int:
        t, scale = self.t, self.b.jump_scale
        d2 = (t.x - t.x[here]) ** 2 + (t.y - t.y[here]) ** 2
        fall = 1 + d2 / scale**2
        weight = self.wish * OPENING[hour % 24 + 24 * weekend][t.kind]
        weight /= np.sqrt(fall * np.sqrt(fall))  # fall**0.75, but faster
        weight[self.known] = 0
        total = np.cumsum(weight)
        return int(np.searchsorted(total, next(self.u) * total[-1], side="right"))

    def _return(self, here: int, now: float, weekend: bool) -> int:
        b = self.b
        lo = max(0, self.n - b.memory)
        place = self.h_place[lo : self.n]
        apart = np.abs(self.h_minute[lo : self.n] - now % DAY)
        apart = np.minimum(apart, DAY - apart)
        at = self.index[here]
        weight = self.fade[len(self.fade) - len(place) :]
        power = b.wander_sharpness
        if next(self.u) >= b.wander:
            near = np.exp(-apart / b.time_scale)
            cue = b.base + b.same_time * near
            cue[1:] += (place[:-1] == at) * (b.same_previous + b.habit * near[1:])
            cue *= np.where(self.h_weekend[lo : self.n] == weekend, 1.0, b.other_day_type)
            weight, power = weight * cue, b.sharpness
        score = np.bincount(place, weights=weight, minlength=len(self.known))
        score[at] *= b.again
        total = np.cumsum(score**power)
        if total[-1] <= 0:
            return self.home
        return self.known[int(np.searchsorted(total, next(self.u) * total[-1], side="right"))]
