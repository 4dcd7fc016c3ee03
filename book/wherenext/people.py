"""The people of Larkmere: who they are, how they choose, and how one day follows from another.

At the end of every visit a person does one of three things, with known probabilities:

1. *routine*: goes home, or to work or school, because of the hour;
2. *explore*: with probability ``rho * S**-gamma`` of the rest (Song et al. 2010), ``S`` being the
   number of places in use, more or less by weekday, person and the kind of place they come from;
3. *return*: to a place they know, by a kernel over their own past visits.

At random times a new chapter of life begins, perhaps with another home or work: part of the old
places drop out of use, and people explore more until they are settled again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd

from wherenext.town_map import KINDS, PLAN

DAY = 24 * 60  # minutes
WHY = ("start", "routine", "return", "explore")
HOME, WORK = KINDS.index("home"), KINDS.index("work")

_PART = np.array([0] * 6 + [1] * 5 + [2] * 3 + [3] * 4 + [4] * 3 + [5] * 3)  # hour -> column
OPENING = np.array(  # (hour of the week type: weekday 0..23, weekend 24..47; kind)
    [[PLAN["open"][k][_PART[h]] * (PLAN["open"][k][6] if w else 1.0) for k in KINDS]
     for w in (0, 1) for h in range(24)]
)  # fmt: skip
#: Chance of going home when out, by hour of day.
HOMING = np.interp(np.arange(24), [0, 3, 5, 10, 14, 17, 19, 21, 22, 23],
                   [1, 1, 0.1, 0.04, 0.10, 0.35, 0.55, 0.85, 0.97, 1])  # fmt: skip


class Town:
    """Arrays over places that all people share: kinds, metres, appeal."""

    def __init__(self, places: pd.DataFrame) -> None:
        self.kind = np.array([KINDS.index(k) for k in places["kind"]])  # (P,)
        lat = places["lat"].to_numpy()
        east = places["lon"].to_numpy() - places["lon"].mean()
        self.x = east * 111_320 * math.cos(math.radians(float(lat.mean())))
        self.y = (lat - lat.mean()) * 111_320
        self.appeal = places["appeal"].to_numpy()
        self.row = {int(i): r for r, i in enumerate(places["location_id"])}


@dataclass(frozen=True)
class Behaviour:
    """The truth behind the choices; a chapter may try to find these numbers again."""

    rho: float = 0.6  # exploration of somebody who knows S places: rho * S**-gamma, times the
    gamma: float = 0.21  # ... factors below, where no routine decides (Song et al. 2010)
    explore_level: float = 0.93  # factor for everybody
    explore_weekend: float = 1.25  # factor at weekends
    explore_sd: float = 0.454  # log-normal spread between people
    home_pull: float = 1.0  # strength of the routine home, by the hour
    work_pull: float = 0.549  # ... and to work or school on weekdays
    recency_decay: float = 0.97  # in a return a past visit counts recency_decay**age + always,
    always: float = 0.0204  # ... age being the number of visits since
    wander: float = 0.4  # share of returns that follow recency alone; a place's chance is then
    wander_sharpness: float = 0.378  # ... its score to this power
    base: float = 0.0638  # in all others it counts base + same_time * near, near being
    same_time: float = 3.88  # ... exp(-minutes apart by time of day / time_scale)
    time_scale: float = 74.9  # minutes
    same_previous: float = 1.45  # plus same_previous + habit * near, if it followed the present
    habit: float = 5.62  # ... place,
    other_day_type: float = 0.498  # times this, if one was on a weekday and the other at a weekend;
    sharpness: float = 2.37  # chance: the score to this power
    again: float = 0.756  # factor for the present place in a return (stepped out, came back)
    memory: int = 250  # how many visits a return looks back
    jump_scale: float = 513.0  # a new place draws by (1 + (metres / jump_scale)**2)**-0.75
    roam: float = 4510.0  # ... and exp(-metres from home / roam), its appeal and hours, and taste
    taste_sd: float = 0.9  # log-normal spread of a person's taste for kinds
    whim_sd: float = 0.94  # ... and for single places
    home_start: float = 0.547  # chance that a day after a gap is first recorded at home
    stop: float = 0.692  # chance that recording ends after a visit
    slow: float = 0.795  # factor on stays
    home_stay: float = 95.2  # minutes at home on such a morning
    active_mean: float = -0.124  # logit of the share of days that a person records
    active_sd: float = 2.0  # ... its spread
    leave: float = 0.0941  # chance that a run of recorded days ends
    ramp: float = 0.484  # recording grows by 1 - ramp to 1 + ramp
    pace_sd: float = 0.397  # spread of the number of visits a day
    busy_pace: float = 0.1  # how it goes with activity
    busy_curious: float = -0.471  # how curiosity does
    chapter: float = 173.0  # mean number of days until the next life change (exponential)
    move: float = 0.5  # chance that it brings another home
    switch: float = 0.5  # ... another work or school
    drop: float = 0.618  # chance of every other known place to drop out of the habits then
    fade: float = 0.02  # what visits to such places from before then count in returns


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
    """Invent ``n`` people: `City.people`. Pace, regularity and curiosity are factors around 1."""
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
                "user_id": user, "role": role, "home": int(ids[home]),
                "work": int(ids[work]) if work >= 0 else -1,
                "first_day": int(u[3] * (2 * 365 - min(n_days, 700))), "n_days": n_days,
                "active": round(min(max(active, 0.2), 0.97), 3),
                "pace": round(math.exp(b.busy_pace * busy + b.pace_sd * z[2]), 3),
                "regularity": round(math.exp(0.15 * z[3]), 3),
                # Choices use curiosity ** explore_sd.
                "curiosity": round(math.exp(z[4] + b.busy_curious * busy), 4),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def change(
    people: pd.DataFrame, places: pd.DataFrame, rng: np.random.Generator, b: Behaviour
) -> pd.DataFrame:
    """Draw life changes, without which two periods of a person are too alike: `City.moves`."""
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


class Life:
    """One person's past, and the choices that follow from it; ``changes`` as of `change`."""

    def __init__(
        self, person: dict[str, float], changes: list[tuple[int, int, int]], town: Town,
        b: Behaviour, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.p, self.t, self.b = person, town, b
        self.changes = changes[::-1]  # the next one is last
        n_days = int(person["n_days"])
        self.home = town.row[int(person["home"])]
        self.work = town.row[int(person["work"])] if person["work"] >= 0 else -1
        self.pace = float(person["pace"])
        self.curiosity = float(person["curiosity"]) ** b.explore_sd
        # Enough for 16 visits a day; a world whose people are busier draws more.
        self.u = _endless(rng.random, 160 * n_days + 400)
        self.z = _endless(rng.standard_normal, 40 * n_days + 400)
        # Taste for kinds, and for single places: what makes people differ.
        taste = np.exp(b.taste_sd * rng.standard_normal(len(KINDS)))
        whim = np.exp(b.whim_sd * rng.standard_normal(len(town.kind)))
        self.wish = town.appeal * taste[town.kind] * whim
        # Other people's homes: only those of a few friends, and nobody's workplace draws much.
        homes = town.kind == HOME
        friends = rng.random(len(homes)) < 8 / max(1, homes.sum())
        self.wish[homes & ~friends] = 0
        self.wish[homes & friends] *= 2
        self.wish[town.kind == WORK] *= 0.3
        self.around = self._around()
        # History in arrays that grow in place: known index, start minute of day, weekend. A visit
        # takes half an hour at least.
        size = 48 * n_days + 50
        self.h_place = np.zeros(size, dtype=np.int64)
        self.h_minute, self.h_weekend = np.zeros(size), np.zeros(size, dtype=bool)
        self.h_weight = np.ones(size)  # less for visits to places of an earlier life
        self.n = 0
        self.kept: set[int] = set()  # indices of the known places that are still in use
        self.known: list[int] = []  # index among known places -> row of the place
        self.index: dict[int, int] = {}
        self.rows: list[tuple[float, ...]] = []
        self.fade = (b.recency_decay ** np.arange(b.memory + 1) + b.always)[::-1].copy()
        self.stay = [PLAN["stay"][k] for k in KINDS]

    # -- days ---------------------------------------------------------------
    def run(self) -> np.ndarray:
        """Live through the days that are tracked.

        ``(n_visits, 6)``: row of the place, start and end (minutes after the first Monday, local
        time), explored (0/1), probability of exploring before the choice, index into `WHY`.
        """
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
            while self.changes and self.changes[-1][0] <= first + d:
                self._change(*self.changes.pop()[1:])
            at_home, free = self._day(first + d, at_home, free)
        return np.array(self.rows)

    def _around(self) -> np.ndarray:
        """How much places draw, seen from home: the wish for each, times ``(P,)`` nearness."""
        x, y = self.t.x - self.t.x[self.home], self.t.y - self.t.y[self.home]
        return self.wish * np.exp(-np.hypot(x, y) / self.b.roam)

    def _change(self, home: int, work: int) -> None:
        """Begin another chapter: perhaps another home or work, and fewer of the old places."""
        left = {self.home, self.work}
        self.home = self.t.row[home]
        self.work = self.t.row[work] if work >= 0 else -1
        stay = {self.home, self.work}
        for at in sorted(self.kept):
            place = self.known[at]
            if place not in stay and (place in left or next(self.u) < self.b.drop):
                self.kept.discard(at)
                self.h_weight[: self.n][self.h_place[: self.n] == at] *= self.b.fade
        self.around = self._around()

    def _day(self, day: int, at_home: bool, free: float) -> tuple[bool, float]:
        """Live one day; return whether it ends at home overnight, and until when."""
        midnight, worked = day * DAY, False
        # Who got up elsewhere or unrecorded starts from home, whatever was recorded last.
        now, from_home = (free, False) if at_home else self._get_up(day, free)
        stop = min(0.8, self.b.stop / self.pace**2)
        while True:
            here = self.home if from_home else int(self.rows[-1][0])
            from_home = False
            now += 4 + 12 * next(self.u)
            hour = int((now - midnight) // 60)
            if hour >= 24:
                return False, now
            to, p, why = self._choose(here, now, hour, day % 7 >= 5, worked)
            worked |= to == self.work
            now += math.hypot(self.t.x[to] - self.t.x[here], self.t.y[to] - self.t.y[here]) / 250
            hour = int((now - midnight) // 60)
            if to == self.home and self._stays_in(hour):
                return True, self._visit(to, now, self._wakes_up(day + 1), p, why)
            length = self._length(to, hour)
            last = next(self.u) < stop
            if last and to == self.work:
                length *= 1.8
            elif last and to == self.home:
                length += 240 + 60 * abs(next(self.z))
            now = self._visit(to, now, now + length, p, why)
            if last:
                return False, now

    def _get_up(self, day: int, free: float) -> tuple[float, bool]:
        """When a day begins whose night is not on record; at home, perhaps without a visit."""
        b, u, midnight = self.b, self.u, day * DAY
        wake = 7.3 * 60 if day % 7 < 5 else 9.3 * 60
        now = max(free + 5, midnight + wake + 40 * next(self.z) + (-math.log(next(u))) * 110)
        now = min(now, midnight + 22 * 60)
        if self.n and next(u) >= b.home_start:
            return now, True
        new = float(self.home not in self.index)
        until = now + 35 - math.log(next(u)) * b.home_stay
        return self._visit(self.home, now, until, new, 1 if self.n else 0), False

    def _stays_in(self, hour: int) -> bool:
        """Whether who comes home at this hour stays for the night: the later, the likelier."""
        return hour >= 21 or (hour >= 17 and next(self.u) < 0.3 + 0.12 * (hour - 17))

    def _wakes_up(self, day: int) -> float:
        """When a night at home ends."""
        wake = (7.4 if day % 7 < 5 else 9.3) * 60 + 45 * next(self.z)
        return day * DAY + max(wake, 4.5 * 60)

    def _length(self, to: int, hour: int) -> float:
        """Minutes of a stay: log-normal by kind of place, between half an hour and 14 hours."""
        median, spread = self.stay[self.t.kind[to]]
        length = self.b.slow * median * math.exp(spread * next(self.z))
        length /= self.pace if to != self.work else 1
        if to == self.work and hour < 11 and next(self.u) < 0.45:
            length *= 2  # a full day at work without going out for lunch
        return min(max(length, 30 + 5 * next(self.u)), 14 * 60)

    def _visit(self, to: int, start: float, end: float, p: float, why: int) -> float:
        """Write a visit down; return its end in whole minutes."""
        begin, finish = math.ceil(start), math.ceil(end)
        finish = max(finish, begin + 30)
        new = to not in self.index
        if new:
            self.index[to] = len(self.known)
            self.known.append(to)
        self.kept.add(self.index[to])
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
        home, work, rate = self._shares(here, hour, weekend, worked)
        rest = 1 - home - work
        p_explore = rest * rate
        p_explore += home * (self.home not in self.index) + work * (self.work not in self.index)
        coin = next(self.u)
        if coin < home:
            return self.home, p_explore, 1
        if coin < home + work:
            return self.work, p_explore, 1
        if coin < home + work + rest * rate:
            return self._drawn(self._lure(here, hour, weekend)), p_explore, 3
        wandering = next(self.u) < self.b.wander
        return self.known[self._drawn(self._pull(here, now, weekend, wandering))], p_explore, 2

    def _drawn(self, weight: np.ndarray) -> int:
        total = np.cumsum(weight)
        if total[-1] <= 0:
            return 0
        return int(np.searchsorted(total, next(self.u) * total[-1], side="right"))

    # -- what the choices weigh ----------------------------------------------
    def _shares(self, here: int, hour: int, weekend: bool, worked: bool) -> tuple[float, ...]:
        """The probabilities of routine, home and work, and of exploring where it is neither."""
        b, p = self.b, self.p
        home = 0.0 if here == self.home else min(1.0, b.home_pull * HOMING[hour])
        if hour >= 23:
            home = 1.0 if here != self.home else 0.9
        work = 0.0
        if self.work >= 0 and here != self.work and not weekend and 6 <= hour < 17:
            pull = (0.8 if hour < 11 else 0.3) if not worked else (0.65 if hour < 15 else 0.1)
            work = min(1 - home, b.work_pull * pull * min(1.2, float(p["regularity"])))
        in_use = max(1, len(self.kept))
        rate = b.explore_level * b.rho * in_use**-b.gamma * self.curiosity
        rate *= PLAN["curiosity"][KINDS[self.t.kind[here]]] * (
            b.explore_weekend if weekend else 1.0
        )
        # Who knows one place has nowhere to return to.
        return home, work, min(0.95, rate) if len(self.known) > 1 else 1.0

    def _lure(self, here: int, hour: int, weekend: bool) -> np.ndarray:
        """(P,) how much each place draws somebody who explores; nothing if it is known."""
        t, scale = self.t, self.b.jump_scale
        d2 = (t.x - t.x[here]) ** 2 + (t.y - t.y[here]) ** 2
        fall = 1 + d2 / scale**2
        weight = self.around * OPENING[hour % 24 + 24 * weekend][t.kind]
        weight /= np.sqrt(fall * np.sqrt(fall))  # fall**0.75, but faster
        weight[self.known] = 0
        return weight

    def _pull(self, here: int, now: float, weekend: bool, wandering: bool) -> np.ndarray:
        """(S,) how much each known place draws; who wanders heeds neither place, time nor day."""
        b, lo = self.b, max(0, self.n - self.b.memory)
        place = self.h_place[lo : self.n]
        at = self.index.get(here, -1)  # a new home may not be on record yet
        weight = self.fade[len(self.fade) - len(place) :] * self.h_weight[lo : self.n]
        power = b.wander_sharpness
        if not wandering:
            apart = np.abs(self.h_minute[lo : self.n] - now % DAY)
            near = np.exp(-np.minimum(apart, DAY - apart) / b.time_scale)
            match = b.base + b.same_time * near
            match[1:] += (place[:-1] == at) * (b.same_previous + b.habit * near[1:])
            match *= np.where(self.h_weekend[lo : self.n] == weekend, 1.0, b.other_day_type)
            weight, power = weight * match, b.sharpness
        count = np.bincount(place, weights=weight, minlength=len(self.known))
        if at >= 0:
            count[at] *= b.again
        return count**power


def _endless(draw: Callable[[int], np.ndarray], n: int) -> Iterator[float]:
    """Random numbers: ``n`` that are drawn now, and as many again whenever they are used up."""
    return chain(draw(n).tolist(), chain.from_iterable(draw(n).tolist() for _ in iter(int, 1)))
