"""A day in Larkmere, and the next: how one person's visits come about.

At the end of every visit a person does one of three things, with probabilities
that are written down before the coin is tossed:

1. *routine*: goes home, or to work or school, because of the hour;
2. *explore*: with probability ``rho * S**-gamma`` of the rest (Song et al. 2010),
   ``S`` being the number of places in use, more or less by weekday, person and the
   kind of place they come from;
3. *return*: to a place they know, by a kernel over their own past visits
   (recent ones, ones that followed the present place, ones at this hour).

Where recording starts in the morning at home nothing was chosen, and the
probability of exploring is 0; at somebody's very first visit, or the first in a new
home, it is 1.

Life changes (:func:`wherenext.city.people.change`): at random times a new chapter begins,
perhaps with another home or work. Part of the old places drop out of use, their past
visits hardly count in returns, and as ``S`` counts the places in use people explore
more until they are settled again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from wherenext.city.hours import CURIOSITY, HOME, HOMING, OPENING, STAY, WORK, Town
from wherenext.city.people import Behaviour
from wherenext.city.places import KINDS

DAY = 24 * 60  # minutes
WHY = ("start", "routine", "return", "explore")


def simulate_person(
    person: dict[str, float],
    changes: list[tuple[int, int, int]],
    town: Town,
    b: Behaviour,
    rng: np.random.Generator,
) -> np.ndarray:
    """Let one person live through the days they are tracked.

    Parameters
    ----------
    person, changes
        A row of `wherenext.city.people.invent`, and its `wherenext.city.people.change` in order.
    town, b
        The places, and the parameters of behaviour.
    rng
        This person's own random numbers.

    Returns
    -------
    numpy.ndarray
        Shape ``(n_visits, 6)``: row of the place, start and end (minutes after the
        first Monday, local time), explored (0/1), probability of exploring as it
        stood before the choice, index into :data:`WHY`.
    """
    return Life(person, changes, town, b, rng).run()


class Life:
    """One person's past, and the choices that follow from it."""

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
            if self.n == 0 or next(u) < b.home_start:
                new = float(self.home not in self.index)
                why = 1 if self.n else 0
                now = self._visit(self.home, now, self._home_until(now), new, why)
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
            return self._explore(here, hour, weekend), p_explore, 3
        return self._return(here, now, weekend), p_explore, 2

    def _explore(self, here: int, hour: int, weekend: bool) -> int:
        total = np.cumsum(self._lure(here, hour, weekend))
        return int(np.searchsorted(total, next(self.u) * total[-1], side="right"))

    def _return(self, here: int, now: float, weekend: bool) -> int:
        wandering = next(self.u) < self.b.wander
        total = np.cumsum(self._pull(here, now, weekend, wandering))
        if total[-1] <= 0:
            return self.known[0]
        return self.known[int(np.searchsorted(total, next(self.u) * total[-1], side="right"))]

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
        rate *= CURIOSITY[KINDS[self.t.kind[here]]] * (b.explore_weekend if weekend else 1.0)
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
