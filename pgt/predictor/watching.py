"""Watching: everybody's diary, and an answer after every visit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from itertools import islice
from numbers import Integral
from typing import Any

import pandas as pd

from pgt.baselines import Rule
from pgt.errors import DataError
from pgt.predictor import answers
from pgt.predictor.arguments import moment
from pgt.predictor.bundle import Novelty
from pgt.predictor.diary import Diary
from pgt.predictor.experts import Experts
from pgt.predictor.together import together


class Watcher:
    """The diaries of people, and the model that is asked after every visit.

    Parameters
    ----------
    model : Experts or Rule
        Networks are weighed.
    novelty : Novelty
    memory, older : int
        How much of the past is looked at, as in `pgt.history.with_history`.
    visits : DataFrame, optional
        Checked visits that the diaries begin with.
    """

    def __init__(
        self, model: Experts | Rule, novelty: Novelty, memory: int, older: int,
        visits: pd.DataFrame | None = None,
    ) -> None:  # fmt: skip
        self.model, self.novelty, self.memory, self.older = model, novelty, memory, older
        self.asked = model if isinstance(model, Rule) else together(model)
        self.diaries: dict[Any, Diary] = {}
        self.written: dict[str, Any] = {}  # the people of the diaries by how their ids are written
        self.zone: tzinfo | None = None  # of the table that was read
        if visits is not None:
            self.zone = visits.started_at.dt.tz
            for row in visits.itertuples():
                self.diary(row.user_id).add(row.location_id, row.started_at, row.finished_at)

    def update(
        self, visit: Mapping[str, Any], top: int, timezone: str | None = None
    ) -> pd.DataFrame:
        """Write down a visit and ask what comes next: see `pgt.NextLocation.update`."""
        zone = self.zone or timezone
        user, place = self._user(_id(visit, "user_id")), _id(visit, "location_id")
        began = moment(visit.get("started_at"), zone, "started_at")
        ended = visit.get("finished_at")
        no_end = ended is None or ended is pd.NaT
        finished = began if no_end else moment(ended, zone, "finished_at")
        diary = self.diaries.get(user) or self._empty()
        if any(isinstance(place, str) != isinstance(name, str) for name in islice(diary.names, 1)):
            kinds = ("text", "numbers") if isinstance(place, str) else ("a number", "text")
            raise DataError(
                f"location_id is {place!r}, {kinds[0]}, and those of the visits before are "
                f"{kinds[1]}; write all of them alike."
            )
        diary.add(place, began, finished)
        self._keep(user, diary)  # only now: a visit that is refused leaves no trace
        new = float(self.novelty(diary.new)[0])
        place, probability = answers.one(self.asked, diary.batch(), top)
        return pd.DataFrame(
            {
                "user_id": user,
                "rank": range(1, len(place) + 1),
                "location_id": [diary.places[i] for i in place],
                "probability": probability * (1 - new),
                "somewhere_new": new,
            }
        )

    def diary(self, user_id: Any) -> Diary:
        """A person's diary, a new one for a new person."""
        if user_id not in self.diaries:
            self._keep(user_id, self._empty())
        return self.diaries[user_id]

    def _empty(self) -> Diary:
        return Diary(self.memory, self.older)

    def _keep(self, user_id: Any, diary: Diary) -> None:
        self.diaries[user_id] = diary
        self.written.setdefault(str(user_id), user_id)

    def _user(self, user_id: Any) -> Any:
        """The person as the diaries write them, who may be written otherwise here."""
        return user_id if user_id in self.diaries else self.written.get(str(user_id), user_id)


def _id(visit: Mapping[str, Any], name: str) -> Any:
    """A person or a place of a visit."""
    value = visit.get(name)
    if isinstance(value, float) and value.is_integer():  # a gap in its column made it a fraction
        value = int(value)
    if not isinstance(value, str | Integral):
        raise DataError(f"{name} of the visit is {value!r}; ids are whole numbers or text.")
    return value
