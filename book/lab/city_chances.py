"""What Larkmere's people could have done: the chances of every choice, for an ideal yardstick.

The simulator draws each next place from probabilities that are nowhere kept. `choice_probabilities`
lives all the lives again, with the same random numbers, and writes down the probabilities just
before each choice. Nobody who knows less than the simulator can guess better in the long
run than the likeliest place.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from wherenext.city import City
from wherenext.people import DAY, Behaviour, Life, Town

from pgt.errors import DataError


def choice_probabilities(city: City) -> pd.DataFrame:
    """Before each visit: the ``best`` place's chances, and whether it was a ``hit``.

    ``hit_unaware`` is that of a guess that does not know when the visit will be, and
    ``agree_unaware`` how often two draws from its chances agree.
    """
    names = Behaviour.__dataclass_fields__
    behaviour = Behaviour(**{name: city.truth[name] for name in names})
    town = Town(city.places)
    parts, places = [], []
    for person in city.people.to_dict("records"):
        own = city.moves.loc[city.moves.user_id == person["user_id"], ["day", "home", "work"]]
        changes = list(own.itertuples(index=False, name=None))
        rng = np.random.default_rng([city.truth["seed"], 3, person["user_id"]])
        life = _Witnessed(person, changes, town, behaviour, rng)
        places.append(life.run()[:, 0].astype(int))
        parts.append(pd.DataFrame(life.seen))
    lived = city.places.location_id.to_numpy()[np.concatenate(places)]
    if not np.array_equal(lived, city.visits.location_id.to_numpy()):
        raise DataError(
            "The people of this city live otherwise when they live again: it was made or changed "
            "elsewhere; simulate it anew with wherenext.city.simulate()."
        )
    return pd.concat(parts, ignore_index=True)


class _Witnessed(Life):
    """A life whose chances are written down; it draws exactly the random numbers of the other."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.seen: list[dict[str, float]] = []
        self.odds: np.ndarray | None = None  # (P,) before the coming visit, its time known
        self.unaware: np.ndarray | None = None  # (P,) the same, its time unknown
        self.begins = self.worked = False
        active = float(self.p["active"])
        self.leave = min(self.b.leave, 0.8 * (1 - active))
        self.stop = min(0.8, self.b.stop / self.pace**2)

    def _day(self, day: int, at_home: bool, free: float) -> tuple[bool, float]:
        self.begins, self.worked, self.odds = not at_home, False, None
        return super()._day(day, at_home, free)

    def _choose(
        self, here: int, now: float, hour: int, weekend: bool, worked: bool
    ) -> tuple[int, float, int]:
        self.odds = self._odds(here, now, hour, weekend, worked)
        if self.begins:
            self.odds = self._or_home(self.odds)
        to, p, why = super()._choose(here, now, hour, weekend, worked)
        self.worked |= to == self.work
        return to, p, why

    def _visit(self, to: int, start: float, end: float, p: float, why: int) -> float:
        at_start = self.odds is None
        odds = self.odds
        if odds is None:  # found at home on the first morning, or on one after a gap
            odds = self._morning(start) if self.n else self._certainly(self.home)
        row = {"best": float(odds.max()), "hit": float(odds.argmax() == to)}
        if (unaware := self.unaware) is not None:
            row |= {"hit_unaware": float(unaware.argmax() == to)}
            row |= {"agree_unaware": float(unaware @ unaware)}
        self.seen.append(row)
        finish = super()._visit(to, start, end, p, why)
        self.begins, self.odds = False, None
        self.unaware = self._foreseen(to, start, finish, at_start)
        return finish

    # -- chances -------------------------------------------------------------
    def _certainly(self, place: int) -> np.ndarray:
        out = np.zeros(len(self.t.kind))
        out[place] = 1.0
        return out

    def _or_home(self, odds: np.ndarray) -> np.ndarray:
        """A day after a gap is first recorded at home, or wherever people went from there."""
        start = self.b.home_start
        return start * self._certainly(self.home) + (1 - start) * odds

    def _morning(self, now: float) -> np.ndarray:
        """Chances of the first visit of a day after a gap."""
        weekend = (now // DAY) % 7 >= 5
        hour = int(now % DAY // 60)
        return self._or_home(self._odds(self.home, now, hour, weekend, False))

    def _foreseen(self, here: int, start: float, finish: float, at_start: bool) -> np.ndarray:
        """Chances of the next visit for somebody who does not know when it will be."""
        soon, day = finish + 10, finish // DAY
        crossed = day > start // DAY
        overnight = here == self.home and crossed and finish % DAY > 4 * 60
        if overnight:
            ends, worked = self.leave, False
        elif crossed or soon % DAY < 10:
            ends, worked = 1.0, False
        else:
            ends, worked = (0.0 if at_start else self.stop), self.worked
        weekend = day % 7 >= 5
        stays_on = self._odds(here, soon, int(soon % DAY // 60), weekend, worked)
        wake = (7.3 if (day + 1) % 7 < 5 else 9.3) * 60 + 120
        later = self._morning((day + 1) * DAY + wake)
        return (1 - ends) * stays_on + ends * later

    def _odds(self, here: int, now: float, hour: int, weekend: bool, worked: bool) -> np.ndarray:
        """(P,) the chances behind `_choose`: routine, exploration and return in one."""
        home, work, rate = self._shares(here, hour, weekend, worked)
        rest = 1 - home - work
        lure = self._lure(here, hour, weekend)
        out = rest * rate * (lure / lure.sum())
        out[self.known] += rest * (1 - rate) * self._known_odds(here, now, weekend)
        out[self.home] += home
        if self.work >= 0:
            out[self.work] += work
        return out

    def _known_odds(self, here: int, now: float, weekend: bool) -> np.ndarray:
        """(S,) the chances behind `_return`, of the known places."""
        wander = self.b.wander
        out = np.zeros(len(self.known))
        for share, wandering in ((wander, True), (1 - wander, False)):
            score = self._pull(here, now, weekend, wandering)
            if score.sum() <= 0:
                out[0] += share
            else:
                out += share * score / score.sum()
        return out
