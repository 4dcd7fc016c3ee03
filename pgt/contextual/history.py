"""Windows that remember: the person's past beyond the seven days, at a bounded cost.

The questions stay the same, one for each window, in the same order; only more visits come with
each. Under the published protocol a split sees nothing of the splits before it; somebody who is
asked "where next?" would not forget last month, so here the past crosses them. It never crosses
the present: every visit that comes with a question began before its target.

A whole past grows without end. Kept visit by visit are the most recent ``memory`` visits; of the
places that are only found further back, the latest visit each, and how many visits it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import Batch
from pgt.visit_features import FEATURES
from pgt.visits import SPLITS, DataError
from pgt.windows import Dataset, Windows

# What is known of a visit beside `FEATURES`: rows of ``HistoryWindows.context``.
CONTEXT = (
    "stay",
    "before",
    "two_before",
    "end_before",
    "stay_before",
    "gap_before",
    "visits_there",
)
NOT_SEEN = -1
Data = TypeVar("Data", bound=Dataset)


@dataclass(frozen=True)
class HistoryBatch(Batch):
    """A batch that also tells what came before each visit.

    Beside the fields of `Batch`, all integer tensors, (B, L), 0 at padding: ``age`` (visits back
    from the last one, which has 0); ``stay`` (minutes the visit lasted); of the person's visit
    before it ``before`` (its location), ``end_before`` (minute of the day it ended),
    ``stay_before`` and ``gap_before`` (minutes it lasted; minutes from its end to this visit's
    start), all `NOT_SEEN` where it is out of sight; ``two_before`` (the location one earlier); and
    ``stands_for`` (0, or for a place's summary the number of its visits that are not listed).
    (B,): ``last_stay`` (minutes). About the target, (B,): ``target_minute`` (minute of the day it
    began) and ``wait`` (minutes from the last visit's end to then, modulo a week: what hour and
    weekday tell).
    """

    age: Tensor
    stay: Tensor
    before: Tensor
    two_before: Tensor
    end_before: Tensor
    stay_before: Tensor
    gap_before: Tensor
    stands_for: Tensor
    last_stay: Tensor
    target_minute: Tensor
    wait: Tensor

    def to(self, device: torch.device | str) -> HistoryBatch:
        """The same batch on another device."""
        return HistoryBatch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True)
class HistoryWindows(Windows):
    """The windows of one split, each with the past that a model may look at.

    Attributes
    ----------
    context : Tensor
        (7, N + 1) int64, one row per name in `CONTEXT`; column 0 is padding.
    floor : ndarray
        (W,) the first row whose visit counts as seen; what is before it is `NOT_SEEN`.
    older : ndarray
        Rows of the summarized places, one window after the other, oldest first.
    older_at : ndarray
        (W, 2) where each window's part of ``older`` begins and ends.
    inside : ndarray
        (W,) whether the target is in the *seven-day* window, so that groups stay comparable.
    """

    context: Tensor
    floor: np.ndarray
    older: np.ndarray
    older_at: np.ndarray
    inside: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """(W,) visits that come with each question, summaries included."""
        return self.target - self.first + self.older_at[:, 1] - self.older_at[:, 0]

    @property
    def in_window(self) -> np.ndarray:
        """(W,) whether the target is in the seven-day window."""
        return self.inside

    def subset(self, keep: np.ndarray) -> HistoryWindows:
        """Only the windows given by a mask or by their numbers."""
        per_window = ("first", "target", "floor", "older_at", "inside")
        return replace(self, **{name: getattr(self, name)[keep] for name in per_window})

    def to(self, device: torch.device | str) -> HistoryWindows:
        """The same windows, gathering their batches on another device."""
        return replace(self, features=self.features.to(device), context=self.context.to(device))

    def batch(self, index: np.ndarray | list[int], max_len: int | None = None) -> HistoryBatch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        index = np.asarray(index)
        device = self.features.device
        rows = self._rows(index, max_len)
        row = torch.from_numpy(rows).to(device)  # (B, L) of the visits, -1 at padding
        inside, at = row >= 0, row + 1
        end = torch.from_numpy(self.target[index]).to(device)  # column of the last visit, + 1
        floor = torch.from_numpy(self.floor[index]).to(device)[:, None]
        seen = dict(zip(FEATURES, self.features[:, at], strict=True))  # each (B, L)
        about = dict(zip(CONTEXT, self.context[:, at], strict=True))  # each (B, L)
        last = dict(zip(FEATURES, self.features[:, end], strict=True))  # each (B,)
        then = dict(zip(FEATURES, self.features[:, end + 1], strict=True))  # each (B,)
        for name, back in (("before", 1), ("end_before", 1), ("stay_before", 1),
                           ("gap_before", 1), ("two_before", 2)):  # fmt: skip
            hidden = inside & (row - back < floor)
            about[name] = about[name].masked_fill(hidden, NOT_SEEN)
        listed = torch.from_numpy(self.first[index]).to(device)[:, None] <= row
        minutes = (then["start_day"] - last["end_day"]) * 1440
        minutes = minutes + then["start_minute"] - last["end_minute"]
        return HistoryBatch(
            location=seen["location"],
            time=seen["time"],
            weekday=seen["weekday"],
            duration=seen["duration"],
            days_ago=(last["start_day"][:, None] - seen["start_day"]) * inside,
            start_minute=seen["start_minute"],
            user=last["user"],
            length=inside.sum(1),
            now_minute=last["end_minute"],
            index=torch.from_numpy(index).to(device),
            target=then["location"],
            target_time=then["time"],
            target_weekday=then["weekday"],
            gap_days=then["start_day"] - last["start_day"],
            age=(end[:, None] - at) * inside,
            stands_for=about.pop("visits_there") * (inside & ~listed),
            last_stay=self.context[0, end],
            target_minute=then["start_minute"],
            wait=minutes % (7 * 1440),
            **about,
        )

    def _rows(self, index: np.ndarray, max_len: int | None) -> np.ndarray:
        """(B, L) rows of the visits: summaries first, then the recent ones; -1 at padding."""
        begin, finish = self.older_at[index].T
        old, recent = finish - begin, self.target[index] - self.first[index]
        length = old + recent
        skip = np.maximum(length - max_len, 0) if max_len is not None else 0 * length
        steps = np.arange((length - skip).max(initial=1)) + skip[:, None]  # (B, L)
        is_old = steps < old[:, None]
        summary = np.where(is_old, begin[:, None] + steps, 0)
        rows = self.first[index][:, None] + steps - old[:, None]
        if len(self.older):
            rows = np.where(is_old, self.older[summary], rows)
        return np.where(steps < length[:, None], rows, -1)


def with_history(data: Data, memory: int = 0, older: int = 0) -> Data:
    """The same questions, each with more of the person's past.

    Parameters
    ----------
    data : Dataset
    memory : int
        How many of the most recent visits come with each question; 0 = those of its window.
    older : int
        At most so many places that are only found further back are summarized, the ones visited
        last; needs ``memory``.

    Returns
    -------
    Dataset
        Of `HistoryWindows`, with the same targets in the same order.

    Raises
    ------
    DataError
        For a negative number, or summaries without a memory; where a person's splits do not follow
        each other in time; and for windows that remember already.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits, protocol="exact")
    >>> batch = with_history(data, memory=100, older=50).test.batch([0, 1])
    >>> bool((batch.length >= data.test.batch([0, 1]).length).all())
    True
    """
    if memory < 0 or older < 0:
        raise DataError(f"memory={memory} and older={older} must not be negative.")
    if older and not memory:
        raise DataError("Summaries of older places need a memory; give memory=100 or so.")
    if any(isinstance(getattr(data, name), HistoryWindows) for name in SPLITS):
        raise DataError("These windows remember already; give those of pgt.windows.prepare.")
    table, features, places = _joined(data)
    context = _context(table, features)
    person = pd.factorize(table.user_id)[0]
    _require_order(table, person)
    begins = np.searchsorted(person, person)  # first row of each row's person
    rows = pd.Series(np.arange(len(table)))
    there = [person, features.numpy()[0, 1:]]
    following = rows.groupby(there).shift(-1, fill_value=len(table) + 1).to_numpy()
    parts: dict[str, Any] = {}
    for name in SPLITS:
        windows: Windows = getattr(data, name)
        first, target = places[name][windows.first], places[name][windows.target]
        floor = begins[target] if memory else first
        if memory:
            first = np.maximum(floor, target - memory)
        summaries = [_older(following, *span, older) for span in zip(floor, first, target,
                                                                     strict=True)]  # fmt: skip
        ends = np.cumsum([len(some) for some in summaries], dtype=np.int64)
        parts[name] = HistoryWindows(
            visits=table, features=features, first=first, target=target,
            vocabulary=data.vocabulary, context=context, floor=floor,
            older=np.concatenate([np.empty(0, dtype=np.int64), *summaries]),
            older_at=np.stack([np.r_[0, ends[:-1]], ends], axis=1) if len(ends)
            else np.empty((0, 2), dtype=np.int64),
            inside=windows.in_window,
        )  # fmt: skip
    return replace(data, **parts)


def _older(following: np.ndarray, floor: int, first: int, target: int, most: int) -> np.ndarray:
    """The latest rows of the places that are only found in rows ``floor`` … ``first`` - 1."""
    if not most:
        return np.empty(0, dtype=np.int64)
    only_there = np.flatnonzero(following[floor:first] >= target)  # not visited again since
    return floor + only_there[-most:]


def _joined(data: Dataset) -> tuple[pd.DataFrame, Tensor, dict[str, np.ndarray]]:
    """All splits' visits and features by person and time, and where each split's rows are there."""
    visits = [getattr(data, name).visits.assign(split=name) for name in SPLITS]
    features = [getattr(data, name).features.cpu() for name in SPLITS]
    table = pd.concat(visits, ignore_index=True)
    order = table.sort_values(["user_id", "started_at"], kind="stable").index.to_numpy(copy=True)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    parts = np.split(place, np.cumsum([len(part) for part in visits])[:-1])
    rows = torch.cat([part[:, 1:] for part in features], dim=1)[:, torch.from_numpy(order)]
    joined = torch.cat([features[0][:, :1], rows], dim=1)  # (9, N + 1), padding first
    return table.loc[order].reset_index(drop=True), joined, dict(zip(SPLITS, parts, strict=True))


def _require_order(table: pd.DataFrame, person: np.ndarray) -> None:
    """Refuse a person whose valid comes before train: a memory would read what comes later."""
    order = table.split.map(SPLITS.index).to_numpy()
    back = np.flatnonzero((np.diff(order) < 0) & (np.diff(person) == 0))
    if len(back):
        user, split = table.user_id.tolist(), table.split.tolist()
        row = back[0] + 1
        raise DataError(
            f"A {split[row]} visit of user {user[row]!r} follows a {split[row - 1]} visit "
            f"({table.started_at[row]:%Y-%m-%d %H:%M}), so remembering would mix the splits; let "
            "each user's train come before valid and valid before test, as "
            "pgt.visits.split_by_days does."
        )


def _context(table: pd.DataFrame, features: Tensor) -> Tensor:
    """(7, N + 1) what came before each visit; the person's first visit has nothing before it."""
    who = table.user_id
    location = pd.Series(features.numpy()[0, 1:])
    end_minute = pd.Series(features.numpy()[FEATURES.index("end_minute"), 1:])
    stay = (table.finished_at - table.started_at).dt.total_seconds() // 60
    gap = (table.started_at - table.finished_at.groupby(who).shift()).dt.total_seconds() // 60
    columns = {
        "stay": stay,
        "before": location.groupby(who).shift(),
        "two_before": location.groupby(who).shift(2),
        "end_before": end_minute.groupby(who).shift(),
        "stay_before": stay.groupby(who).shift(),
        # Visits that overlap follow each other at once.
        "gap_before": gap.clip(lower=0),
        "visits_there": location.groupby([who, location]).cumcount() + 1,
    }
    out = torch.zeros(len(CONTEXT), len(table) + 1, dtype=torch.int64)
    for row, name in enumerate(CONTEXT):
        out[row, 1:] = torch.from_numpy(
            columns[name].fillna(NOT_SEEN).to_numpy(np.int64, copy=True)
        )
    return out
