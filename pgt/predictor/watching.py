"""Watching: everybody's diary, and an answer after every visit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pgt.predictor import answers
from pgt.predictor.bundle import Bundle
from pgt.predictor.diary import Diary
from pgt.predictor.experts import Experts


class Watcher:
    """The diaries of people, and the networks that are asked after every visit.

    Parameters
    ----------
    bundle : Bundle
    model : Experts
        The networks, weighed.
    """

    def __init__(self, bundle: Bundle, model: Experts) -> None:
        self.bundle, self.model = bundle, model
        self.diaries: dict[Any, Diary] = {}

    def read(self, visits: pd.DataFrame) -> None:
        """Write the visits of a checked table into the diaries."""
        for row in visits.itertuples():
            self.diary(row.user_id).add(row.location_id, row.started_at, row.finished_at)

    def update(self, visit: Mapping[str, Any], top: int) -> pd.DataFrame:
        """Write down a visit and ask what comes next: see `pgt.NextLocation.update`."""
        began, ended = pd.Timestamp(visit["started_at"]), visit.get("finished_at")
        diary = self.diary(visit["user_id"])
        diary.add(visit["location_id"], began, began if ended is None else pd.Timestamp(ended))
        new = float(self.bundle.novelty(diary.new)[0])
        place, probability = answers.one(self.model, diary.batch(), top)
        return pd.DataFrame(
            {
                "user_id": visit["user_id"],
                "rank": range(1, len(place) + 1),
                "location_id": [diary.places[i - 2] for i in place],
                "probability": probability * (1 - new),
                "somewhere_new": new,
            }
        )

    def diary(self, user_id: Any) -> Diary:
        """A person's diary, a new one for a new person."""
        if user_id not in self.diaries:
            self.diaries[user_id] = Diary(self.bundle.memory, self.bundle.older)
        return self.diaries[user_id]
