"""A batch: windows as padded tensors, batch first; and the different places of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

QUARTERS = 96  # time of day in quarters of an hour: 1..96, 0 is padding
POOL = 32  # batches among which shuffled windows are sorted by length
WEEKDAYS = 7  # 1 = Monday .. 7, 0 is padding
DURATIONS = 100  # half hours: 1 = under 30 min .. 100 = 49.5 h and more, 0 is padding


@dataclass(frozen=True)
class Batch:
    """Windows as padded tensors of integers; padding is on the right and is 0 everywhere.

    A model may read the last three fields only if its configuration says so.
    """

    # (B, L), of each visit
    location: Tensor
    time: Tensor  # quarter of an hour of the start
    weekday: Tensor
    duration: Tensor  # half hours
    days_ago: Tensor  # days from its start to the start of the last visit
    start_minute: Tensor  # of the day
    # (B,), of each window
    user: Tensor
    length: Tensor
    now_minute: Tensor  # of the day, at which the last visit ended
    index: Tensor  # the window's number in its `Windows`
    target: Tensor  # the location that is asked for
    target_time: Tensor
    target_weekday: Tensor
    gap_days: Tensor  # from the last visit's day to the target's

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def padding(self) -> Tensor:
        """(B, L) True where there is no visit."""
        steps = torch.arange(self.location.shape[1], device=self.length.device)
        return steps >= self.length[:, None]  # (B, L)

    @property
    def position_from_end(self) -> Tensor:
        """(B, L) 1 for the last visit, 2 for the one before …; 0 at padding."""
        steps = torch.arange(self.location.shape[1], device=self.length.device)
        return (self.length[:, None] - steps).clamp(min=0)  # (B, L)

    @cached_property
    def slots(self) -> Slots:
        """Its different places."""
        return Slots.of(self.location, self.padding)

    def to(self, device: torch.device | str) -> Self:
        """The same batch on another device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})

    def most_recent(self, n: int) -> Self:
        """Keep the last ``n`` visits of each window."""
        if self.location.shape[1] <= n:
            return self
        steps = torch.arange(n, device=self.length.device)
        at = (self.length - n).clamp(min=0)[:, None] + steps  # (B, n)
        inside = at < self.length[:, None]
        at = at.clamp(max=self.location.shape[1] - 1)
        changed = {
            f.name: getattr(self, f.name).gather(1, at) * inside
            for f in fields(self)
            if getattr(self, f.name).ndim == 2
        }
        return replace(self, length=self.length.clamp(max=n), **changed)


@dataclass(frozen=True)
class Slots:
    """Each window's different places, once; a place's slot is the number of its first visit."""

    of_visit: Tensor  # (B, L) the slot of each visit; padding has a slot without a place
    place: Tensor  # (B, L) the place of each slot, -1 where there is none

    @classmethod
    def of(cls, location: Tensor, padding: Tensor) -> Slots:
        """Find the places of (B, L) locations, in an order that no id has part in."""
        value, visit = location.masked_fill(padding, -1).sort(dim=1, stable=True)
        step = torch.arange(value.shape[1], device=value.device)
        begins = step * (value != value.roll(1, 1))  # of the visits to one place, in a row now
        slot = visit.gather(1, begins.cummax(1).values)  # (B, L)
        of_visit = torch.empty_like(slot).scatter_(1, visit, slot)
        return cls(of_visit, torch.full_like(value, -1).scatter_(1, slot, value))


def add_up(slots: Slots, weight: Tensor) -> Tensor:
    """(B, L) weights of visits -> (B, L) their sum per slot, -inf where there is no place."""
    total = torch.zeros_like(weight).scatter_add_(1, slots.of_visit, weight)
    return total.masked_fill(slots.place < 0, -math.inf)


def slot_of(place: Tensor, target: Tensor) -> Tensor:
    """(B, S) places, (B,) targets -> (B,) the slot of the target; S, one more, if it has none."""
    hit = place == target[:, None]
    return hit.int().argmax(1).where(hit.any(1), place.shape[1])


def rounding(score: Tensor) -> Tensor:
    """How far a score may be off: a sum in another order differs by some steps of its format."""
    step = torch.finfo(score.dtype if score.dtype == torch.float64 else torch.float32).eps
    return 32 * step * score.abs().masked_fill(score.isinf(), 0)


def last_numbers(
    length: np.ndarray, max_len: int | None = None, device: torch.device | str = "cpu"
) -> Tensor:
    """(B, L) the numbers of windows' last ``max_len`` visits, of (B,) lengths; -1 at padding."""
    length = length.astype(np.int64)
    shown = length if max_len is None else np.minimum(length, max_len)
    skipped, end = (torch.from_numpy(n).to(device)[:, None] for n in (length - shown, length))
    number = torch.arange(int(shown.max(initial=1)), device=device) + skipped
    return torch.where(number < end, number, -1)


def length_buckets(
    lengths: np.ndarray, batch_size: int, shuffle: np.random.Generator | None
) -> Iterator[np.ndarray]:
    """Deal (W,) windows out to batches of like length; to shuffle, within `POOL` batches."""
    starts = np.arange(0, len(lengths), batch_size)
    if shuffle is None:
        order = np.argsort(lengths, kind="stable")
    else:
        order = shuffle.permutation(len(lengths))
        for at in range(0, len(lengths), POOL * batch_size):
            part = order[at : at + POOL * batch_size]  # a view: it sorts the order itself
            part[:] = part[np.argsort(lengths[part], kind="stable")]
        starts = shuffle.permutation(starts)
    for begin in starts:
        yield order[begin : begin + batch_size]
