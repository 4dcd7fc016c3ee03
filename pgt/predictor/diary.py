"""Diary: one person's past as it grows, visit by visit, of bounded size.

What a question shows of the past is the latest visits, and of the places further back the latest
visit each. So that is all that has to be kept. A new visit is one new row, and the batch that comes
of the rows is the one that the whole table would give.

A place to which no row is left is forgotten; that takes visits to more than `Diary.spare` other
places (1,000 in the pretrained predictor). Somebody who comes back to it is at a place like any new
one: it counts as new, its visits count from 1 again, and a kept visit that followed one there does
not count as made from here. All else that a model sees is as in the whole table.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.errors import DataError
from pgt.history import NOT_SEEN, HistoryBatch
from pgt.predictor.asking import RECENT
from pgt.units import MINUTES_OF_DAY
from pgt.vocabulary import PADDING
from pgt.windows import half_hours, quarter

# What is kept of a visit, one column each.
COLUMNS = (
    "location", "time", "weekday", "duration", "start_minute", "day", "stay", "before",
    "two_before", "end_before", "stay_before", "gap_before", "there", "number", "is_new",
)  # fmt: skip
AT = {name: i for i, name in enumerate(COLUMNS)}
SPARE = 10  # times as many places as a question can summarize, for the sake of what is not new


@dataclass
class Diary:
    """A person's past.

    Parameters
    ----------
    memory, older : int
        As in `pgt.history.with_history`.

    Attributes
    ----------
    rows : ndarray
        (N, 15) int64, the visits that may still be shown, in order; columns as in `COLUMNS`.
    names, places : dict
        The number of each place in the rows, from 2 in the order of first visits, and its name.
    counts : dict
        How many visits each of these places has had.
    seen : int
        How many places have been numbered.
    started_at, finished_at : Timestamp
        Of the last visit.
    """

    memory: int
    older: int
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, len(COLUMNS)), dtype=np.int64))
    names: dict[Hashable, int] = field(default_factory=dict)
    places: dict[int, Any] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    seen: int = 0
    started_at: pd.Timestamp | None = None
    finished_at: pd.Timestamp | None = None

    def add(self, location_id: Any, started_at: pd.Timestamp, finished_at: pd.Timestamp) -> None:
        """Write down one more visit.

        Raises
        ------
        DataError
            It begins before the last one, ends before it begins, or has no time zone.
        """
        if started_at.tz is None or finished_at.tz is None:
            raise DataError(f"The visit of {started_at} has no time zone; write one.")
        if finished_at < started_at:
            raise DataError(f"The visit of {started_at} ends before it begins; swap the two.")
        if self.started_at is not None and started_at < self.started_at:
            raise DataError(
                f"The visit of {started_at} begins before the last one ({self.started_at}); give "
                "visits in order, or remember(visits) the whole table anew."
            )
        place = self.names.setdefault(location_id, self.seen + 2)
        if place not in self.places:
            self.seen += 1
            self.places[place], self.counts[place] = location_id, 0
        self.counts[place] += 1
        last = self.rows[-1] if len(self.rows) else None
        before, two, gap, end, stay_before = NOT_SEEN, NOT_SEEN, NOT_SEEN, NOT_SEEN, NOT_SEEN
        if last is not None and self.finished_at is not None:
            before, two = last[AT["location"]], last[AT["before"]]
            gap = max(0, _minutes(started_at - self.finished_at))
            end, stay_before = _clock(self.finished_at), last[AT["stay"]]
        stay = _minutes(finished_at - started_at)
        minute = _clock(started_at)
        row = [
            place, quarter(minute), 1 + started_at.day_of_week, half_hours(stay), minute,
            started_at.toordinal(), stay, before, two, end, stay_before, gap, self.counts[place],
            0 if last is None else last[AT["number"]] + 1, int(self.counts[place] == 1),
        ]  # fmt: skip
        self.rows = np.concatenate([self.rows, np.array([row], dtype=np.int64)])
        self.started_at, self.finished_at = started_at, finished_at
        self._forget()

    @property
    def spare(self) -> int:
        """How many visits are kept beside the latest: enough, whatever places are come back to."""
        return max(1, SPARE * self.older, self.older + self.memory)

    def _forget(self) -> None:
        """Leave out what no question will show again: earlier visits to places seen since.

        And the names of places to which no visit is left.
        """
        old = len(self.rows) - max(self.memory, RECENT)
        if old <= self.older:
            return
        _, latest = np.unique(self.rows[::-1, 0], return_index=True)
        keep = np.zeros(len(self.rows), dtype=bool)
        keep[len(self.rows) - 1 - latest] = True
        keep[old:] = True
        spare = np.flatnonzero(keep[:old])[: -self.spare]
        keep[spare] = False
        gone, self.rows = self.rows[~keep, 0], self.rows[keep]
        for place in np.setdiff1d(gone, self.rows[:, 0]).tolist():
            del self.names[self.places.pop(place)], self.counts[place]

    @property
    def new(self) -> np.ndarray:
        """(1, 2) as `pgt.predictor.asking.new_places`."""
        recent = self.rows[-RECENT:, AT["is_new"]]
        return np.array([[recent.sum(), len(recent)]])

    def batch(self) -> HistoryBatch:
        """The question where the person goes next, as a batch of one."""
        start = max(0, len(self.rows) - self.memory)
        behind, recent = self.rows[:start], self.rows[start:]
        # Of a place that is not among the recent visits, the latest visit behind them.
        _, latest = np.unique(behind[::-1, 0], return_index=True)
        at = np.sort(len(behind) - 1 - latest)
        at = at[~np.isin(behind[at, 0], recent[:, 0])]
        at = at[max(0, len(at) - self.older) :]
        rows = np.concatenate([behind[at], recent])
        column = {name: torch.from_numpy(rows[None, :, i].copy()) for name, i in AT.items()}
        last = rows[-1]
        summary = torch.arange(len(rows))[None] < len(at)
        end = self.finished_at
        assert end is not None

        def one(value: int) -> Tensor:
            return torch.tensor([value])

        names = ("location", "time", "weekday", "duration", "start_minute", "stay", "before",
                 "two_before", "end_before", "stay_before", "gap_before")  # fmt: skip
        return HistoryBatch(
            **{name: column[name] for name in names},
            days_ago=int(last[AT["day"]]) - column["day"],
            age=int(last[AT["number"]]) - column["number"],
            stands_for=column["there"] * summary, user=one(0), length=one(len(rows)),
            now_minute=one(_clock(end)), index=one(0), target=one(PADDING),
            target_time=one(quarter(_clock(end))), target_weekday=one(1 + end.day_of_week),
            gap_days=one(end.toordinal() - int(last[AT["day"]])), target_minute=one(_clock(end)),
            last_stay=one(int(last[AT["stay"]])), wait=one(0),
        )  # fmt: skip


def _clock(moment: pd.Timestamp) -> int:
    """Minute of the local day."""
    return int((moment.hour * 60 + moment.minute) % MINUTES_OF_DAY)


def _minutes(length: pd.Timedelta) -> int:
    """Whole minutes, rounded down."""
    return int(length.total_seconds() // 60)
