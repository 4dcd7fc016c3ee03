"""Windows that remember: how each visit came about, and what lies before the seven days.

`with_history` gives the questions of `pgt.windows` more of the person's past: the last ``memory``
visits, and before those one summary for each place that is found only there, its latest visit.

Shapes: N visits, W windows, B windows of a batch, L visits of the longest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from pgt.batch import Batch, last_numbers
from pgt.errors import DataError, note
from pgt.visit_checks import require_splits_in_order
from pgt.visits import SPLITS, by_person_and_time, person_rows, same_place
from pgt.vocabulary import Vocabulary
from pgt.windows import ENCODED_FIELDS, Dataset, Windows, gather_fields

# What is known of a visit beside `ENCODED_FIELDS`: rows of ``HistoryWindows.context``.
CONTEXT = ("stay", "before", "two_before", "end_before", "stay_before", "gap_before",
           "visits_there")  # fmt: skip
# Those that tell of the visit before, and of the one before that.
BEFORE = {1: ("before", "end_before", "stay_before", "gap_before"), 2: ("two_before",)}
NOT_SEEN = -1
Data = TypeVar("Data", bound=Dataset)


@dataclass(frozen=True)
class HistoryBatch(Batch):
    """A batch that also tells what came before each visit, in minutes.

    Integer tensors, 0 at padding and `NOT_SEEN` where it is out of sight; the last two are about
    the target.
    """

    age: Tensor  # (B, L) visits back from the last one, which has 0
    stay: Tensor  # (B, L) how long the visit lasted
    before: Tensor  # (B, L) location of the person's visit before it
    two_before: Tensor  # (B, L) location of the one before that
    end_before: Tensor  # (B, L) minute of the day at which the visit before it ended
    stay_before: Tensor  # (B, L) how long that lasted
    gap_before: Tensor  # (B, L) from its end to this visit's start
    stands_for: Tensor  # (B, L) 0, or for a summary how many visits to its place it stands for
    last_stay: Tensor  # (B,) how long the last visit lasted
    target_minute: Tensor  # (B,) minute of the day at which the target began
    wait: Tensor  # (B,) from the last visit's end to then, modulo a week

    @cached_property
    def facts(self) -> dict[Any, Any]:
        """What models with the same features found out about it, once for all of them."""
        return {}


@dataclass(frozen=True)
class HistoryWindows(Windows):
    """The windows of one split, each with the past that a model may look at.

    Summaries are found when a batch is gathered: those of all windows would be too many.
    """

    context: Tensor  # (7, N + 1) int32, one row a name in `CONTEXT`; column 0 is padding
    until: np.ndarray  # (N,) int32, the last target's row for which a visit is its place's latest
    floor: np.ndarray  # (W,) the first row whose visit counts as seen
    older: np.ndarray  # (W,) int32, places that have left the memory and are summarized
    inside: np.ndarray  # (W,) whether the target is in the *seven-day* window: groups stay alike

    @property
    def lengths(self) -> np.ndarray:
        """(W,) visits that come with each question, summaries included."""
        return (self.target - self.first).astype(np.int64) + self.older

    @property
    def in_window(self) -> np.ndarray:
        """(W,) whether the target is in the seven-day window."""
        return self.inside

    def subset(self, keep: np.ndarray) -> Self:
        """Only the windows given by a mask or by their numbers."""
        per_window = ("first", "target", "floor", "older", "inside")
        return replace(self, **{name: getattr(self, name)[keep] for name in per_window})

    def to(self, device: torch.device | str) -> Self:
        """The same windows, gathering their batches on another device."""
        return replace(self, features=self.features.to(device), context=self.context.to(device))

    def batch(
        self, index: np.ndarray | list[int] | int, max_len: int | None = None
    ) -> HistoryBatch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        index = np.atleast_1d(index)
        rows = self.rows(index, max_len)  # (B, L)
        inside, end = rows >= 0, self._on_device(self.target[index])
        about = dict(
            zip(CONTEXT, gather_fields(self.context, CONTEXT, rows + 1, *CONTEXT), strict=True)
        )
        floor = self._on_device(self.floor[index])[:, None]
        for back, names in BEFORE.items():
            hidden = inside & (rows - back < floor)
            about |= {name: about[name].masked_fill(hidden, NOT_SEEN) for name in names}
        listed = self._on_device(self.first[index])[:, None] <= rows
        (last_stay,) = gather_fields(self.context, CONTEXT, end, "stay")
        day, minute = gather_fields(
            self.features, ENCODED_FIELDS, end, "end_day", "end_minute"
        )  # each (B,)
        target_day, target_minute = gather_fields(
            self.features, ENCODED_FIELDS, end + 1, "start_day", "start_minute"
        )
        return HistoryBatch(
            **self._fields(index, rows),
            age=(end[:, None] - 1 - rows) * inside,
            stands_for=about.pop("visits_there") * (inside & ~listed),
            last_stay=last_stay,
            target_minute=target_minute,
            wait=((target_day - day) * 1440 + target_minute - minute) % (7 * 1440),
            **about,
        )

    def rows(self, index: np.ndarray, max_len: int | None = None) -> Tensor:
        """(B, L) rows of the visits: summaries first, then the recent ones; -1 at padding."""
        first, old = self.first[index], self.older[index]
        length = self.target[index] - first + old
        number = last_numbers(length, max_len, self.features.device)
        recent = self._on_device(first - old)[:, None] + number
        rows = torch.where(number >= 0, recent, -1)
        if not old.any():
            return rows
        summaries = self._on_device(self.summaries(index))  # (B, S)
        is_old = (number >= 0) & (number < self._on_device(old)[:, None])
        which = number.clamp(0, summaries.shape[1] - 1)
        return torch.where(is_old, summaries.gather(1, which), rows)

    def summaries(self, index: np.ndarray) -> np.ndarray:
        """(B, S) rows of the places' latest visits before the memory, oldest first, then zeros."""
        latest_rows = np.zeros((len(index), self.older[index].max()), dtype=np.int32)
        for at, window in enumerate(index):
            floor, first, n = self.floor[window], self.first[window], self.older[window]
            latest = self.until[floor:first] >= self.target[window]
            rows = floor + np.flatnonzero(latest)
            latest_rows[at, :n] = rows[len(rows) - n :]
        return latest_rows


def with_history(data: Data, memory: int = 0, older: int = 0) -> Data:
    """The same questions, each with more of the person's past.

    Parameters
    ----------
    data : Dataset
    memory : int
        How many of the most recent visits come with each question; 0 = those of its window.
    older : int
        So many places found only further back are summarized, the ones visited last.

    Returns
    -------
    Dataset
        Of `HistoryWindows`, with the same targets in the same order.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city(), protocol="exact")
    >>> with_history(data, memory=100).test.batch([0]).length.tolist()
    [100]
    """
    if memory < 0 or older < 0:
        raise DataError(f"memory={memory} and older={older} must not be negative.")
    if older and not memory:
        raise DataError("Summaries of older places need a memory; give memory=100 or so.")
    if any(isinstance(getattr(data, name), HistoryWindows) for name in SPLITS):
        raise DataError("These windows remember already; give those of pgt.windows.prepare.")
    config, trained_on = replace(data.config, memory=memory, older=older), data.vocabulary.windows
    if trained_on is not None and trained_on.memory:
        own = trained_on.memory, trained_on.older
        if own != (memory, older):
            note(f"The model was trained with memory={own[0]} and older={own[1]}; these windows "
                 f"have memory={memory} and older={older}.")  # fmt: skip
        config = replace(config, memory=own[0], older=own[1])
    vocabulary = replace(data.vocabulary, windows=config)
    table, features, places = _one_table(data)
    memory, older = min(memory, len(table)), min(older, len(table))
    targets = [places[name][getattr(data, name).target] for name in SPLITS]
    parts: dict[str, Any] = {}
    pasts = of_rows(table, features, vocabulary, targets, memory, older)
    for name, past in zip(SPLITS, pasts, strict=True):
        windows: Windows = getattr(data, name)
        first = places[name][windows.first]
        past = replace(past, inside=windows.in_window)
        parts[name] = past if memory else replace(past, first=first, floor=first)
    return replace(data, **parts, vocabulary=vocabulary, config=config)


def of_rows(
    table: pd.DataFrame, features: Tensor, vocabulary: Vocabulary, targets: list[np.ndarray],
    memory: int, older: int,
) -> Iterator[HistoryWindows]:  # fmt: skip
    """Windows that end before rows of one table sorted by person and time, past included."""
    person, begins = person_rows(table.user_id)
    previous, number = same_place(person, features.numpy()[0, 1 : len(table) + 1])
    context = _context(table, features, person, number)
    until, count = latest(previous, begins, memory)
    for target in targets:
        floor = begins[target - 1]
        first = np.maximum(floor, target - memory)
        yield HistoryWindows(
            visits=table, features=features, first=first, target=target, vocabulary=vocabulary,
            context=context, until=until, floor=floor, older=np.minimum(count[target], older),
            inside=np.zeros(len(target), dtype=bool),
        )  # fmt: skip


def is_new(windows: HistoryWindows) -> np.ndarray:
    """(N,) whether a visit of the table is the person's first to its place."""
    return windows.context[CONTEXT.index("visits_there"), 1:].numpy() == 1


def sample(n: int, most: int) -> np.ndarray:
    """Up to ``most`` of n numbers, drawn at random, in order."""
    return np.sort(np.random.default_rng(0).permutation(n)[:most])


def _one_table(data: Dataset) -> tuple[pd.DataFrame, Tensor, dict[str, np.ndarray]]:
    """All splits' visits and features by person and time, and where each split's rows are there."""
    parts: dict[str, Windows] = {name: getattr(data, name) for name in SPLITS}
    table = pd.concat([part.visits.assign(split=name) for name, part in parts.items()])
    order = by_person_and_time(table)
    table = table.take(order).reset_index(drop=True)
    features = torch.cat([part.features[:, 1:].cpu() for part in parts.values()], 1)
    features = F.pad(features[:, order], (1, 0))  # column 0 is padding
    place = np.argsort(order).astype(np.int32)
    ends = np.cumsum([len(part.visits) for part in parts.values()])
    places = dict(zip(parts, np.split(place, ends[:-1]), strict=True))
    require_splits_in_order(table)  # else a memory would read what comes later
    return table, features, places


def _context(
    table: pd.DataFrame, features: Tensor, person: np.ndarray, number: np.ndarray
) -> Tensor:
    """(7, N + 1) what came before each visit; the person's first visit has nothing before it."""
    location, end = (
        features.numpy()[ENCODED_FIELDS.index(name), 1 : len(table) + 1]
        for name in ("location", "end_minute")
    )
    minute = np.timedelta64(1, "m")
    stay = (table.finished_at - table.started_at).to_numpy() // minute
    gap = (table.started_at - table.finished_at.shift()).to_numpy()[1:] // minute
    gap = np.maximum(gap, 0)  # visits that overlap follow each other at once
    own = person[1:] == person[:-1]
    context = np.full((len(CONTEXT), len(table) + 1), NOT_SEEN, dtype=np.int32)
    context[:, 0] = 0
    rows = dict(zip(CONTEXT, context, strict=True))  # views
    rows["stay"][1:], rows["visits_there"][1:] = stay, number
    rows["gap_before"][2:][own] = gap[own]
    # Of the visit before (twice two), what is the same person's.
    for name, values in (("before", location), ("end_before", end), ("stay_before", stay)):
        rows[name][2:][own] = values[:-1][own]
    rows["two_before"][3:][own[1:]] = rows["before"][2:-1][own[1:]]
    return torch.from_numpy(context)


def latest(previous: np.ndarray, begins: np.ndarray, memory: int) -> tuple[np.ndarray, np.ndarray]:
    """Until when a visit is the latest to its place, and how many of those have left the memory.

    (N,) int32: the last target row for which this visit is still the latest at its place, which is
    the person's next visit there, or the row behind the person's last visit. (N + 1,) int32: for
    each target row, how many places' latest visits lie before the memory.
    """
    rows = np.arange(len(previous), dtype=np.int32)
    again = previous >= 0
    ends = np.append(1 + np.flatnonzero(np.diff(begins)), len(rows)).astype(np.int32)
    until = np.repeat(ends, np.diff(ends, prepend=0))
    until[previous[again]] = rows[again]
    # It goes up where a place's latest visit leaves the memory, down behind the row of `until`.
    leaves = np.arange(len(until)) + memory + 1
    left = leaves <= until
    up = np.bincount(leaves[left], minlength=len(until) + 2)
    down = np.bincount(until[left] + 1, minlength=len(until) + 2)
    return until, np.cumsum(up - down, dtype=np.int32)[:-1]
