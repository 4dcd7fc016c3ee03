"""The features of the contextual pointer: what may speak for going back to a past visit's place.

A feature looks at one fact about a past visit, most of them in relation to now, such as how far its
hour is from the present one. It has a learned table with a row for every knot of that fact;
between two knots it is interpolated. So a table can draw any curve, a straight line included,
which is what the context kernel consists of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pgt.contextual.history import NOT_SEEN, HistoryBatch
from pgt.sparse.slots import Slots
from pgt.units import MINUTES_OF_DAY, around_the_clock
from pgt.vocabulary import UNKNOWN


@dataclass(frozen=True)
class Feature:
    """A fact about a past visit.

    Attributes
    ----------
    about : str
        What it is, in a few words, with its unit.
    knots : tuple of float
        Where the table has a row; increasing.
    of : callable
        HistoryBatch -> (B, L) the fact; values between knots are interpolated, others clamped.
    """

    about: str
    knots: tuple[float, ...]
    of: Callable[[HistoryBatch], Tensor]


def _unless_unseen(seen: Tensor, value: Tensor) -> Tensor:
    """The value, or `NOT_SEEN` where what it is about is out of sight."""
    return torch.where(seen != NOT_SEEN, value.float(), float(NOT_SEEN))


def _last(batch: HistoryBatch) -> tuple[Tensor, Tensor]:
    """(B, 1) the location of the last visit, and of the one before it."""
    rows = torch.arange(len(batch), device=batch.length.device)
    at = batch.length - 1
    return batch.location[rows, at][:, None], batch.before[rows, at][:, None]


def _same_before(batch: HistoryBatch) -> Tensor:
    """0 = another place before, 1 = the same as now, 2 = and the one earlier too, 3 = only that."""
    here, there = _last(batch)
    one = (batch.before == here) & (batch.before != NOT_SEEN)
    two = (batch.two_before == there) & (batch.two_before != NOT_SEEN)
    return one * 1 + (one & two) * 1 + (~one & two) * 3


def _here(batch: HistoryBatch) -> Tensor:
    """0 = elsewhere, 1 = where the person is now, 2 = where they were before."""
    here, there = _last(batch)
    now = batch.location == here
    return now * 1 + (~now & (batch.location == there)) * 2


def _weekdays(one: Tensor, other: Tensor) -> Tensor:
    """0 = a working day and a weekend, 1 = of the same kind, 2 = the same weekday."""
    return ((one >= 6) == (other >= 6)) * 1 + (one == other) * 1


def _now_weekday(batch: HistoryBatch) -> Tensor:
    """(B,) 1 = Monday …: the day on which the last visit ended."""
    rows = torch.arange(len(batch), device=batch.length.device)
    at = batch.length - 1
    days = (batch.start_minute[rows, at] + batch.last_stay) // MINUTES_OF_DAY
    return (batch.weekday[rows, at] - 1 + days) % 7 + 1


def _count(batch: HistoryBatch) -> Tensor:
    """log2 of how many of the listed visits are to the visit's place."""
    inside = (~batch.padding).float()
    slot = Slots.of(batch.location, batch.padding).of_visit  # (B, L)
    visits = torch.zeros_like(inside).scatter_add(1, slot, inside)
    return visits.gather(1, slot).clamp(min=1).log2()


def _alike(one: Tensor, other: Tensor) -> Tensor:
    """How many times longer one of two durations is, as a logarithm to base 2."""
    return ((one.clamp(min=0) + 15.0).log2() - (other.clamp(min=0) + 15.0).log2()).abs()


_HOURS = tuple(60.0 * hour for hour in range(25))
_CLOCK = (0.0, 15.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 360.0, 480.0, 720.0)
_RATIO = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)

HISTORY_FEATURES: dict[str, Feature] = {
    "age": Feature(
        "visits back", (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200, 400, 800),
        lambda batch: batch.age,
    ),
    "days": Feature(
        "days back", (0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 21, 28, 60, 120),
        lambda batch: batch.days_ago,
    ),
    "clock": Feature(
        "minutes between its time of day and now", _CLOCK,
        lambda batch: around_the_clock(batch.start_minute, batch.now_minute[:, None]),
    ),
    "ahead": Feature(
        "minutes from now to its time of day, around the clock", _HOURS,
        lambda batch: (batch.start_minute - batch.now_minute[:, None]) % MINUTES_OF_DAY,
    ),
    "weekday": Feature(
        "its weekday and today's: other kind, same kind, same", (0, 1, 2),
        lambda batch: _weekdays(batch.weekday, _now_weekday(batch)[:, None]),
    ),
    "stay": Feature(
        "how long it lasted, log2(minutes + 15)", (4, 5, 6, 7, 8, 9, 10, 11),
        lambda batch: (batch.stay + 15.0).log2(),
    ),
    "before": Feature(
        "the place before it: other, as now, the last two as now, only the one earlier",
        (0, 1, 2, 3), _same_before,
    ),
    "left": Feature(
        "minutes between the time of day at which the visit before it ended and now",
        (-1.0, *_CLOCK),
        lambda batch: _unless_unseen(
            batch.end_before, around_the_clock(batch.end_before, batch.now_minute[:, None])
        ),
    ),
    "stayed": Feature(
        "how alike the stay before it and the last one are, |log2 of their ratio|", _RATIO,
        lambda batch: _unless_unseen(
            batch.stay_before, _alike(batch.stay_before, batch.last_stay[:, None])
        ),
    ),
    "gap": Feature(
        "how long the way to it took, log2(minutes + 5)", (-1.0, 2, 3, 4, 5, 6, 8, 10, 12),
        lambda batch: _unless_unseen(
            batch.gap_before, (batch.gap_before.clamp(min=0) + 5.0).log2()
        ),
    ),
    "here": Feature(
        "its place: elsewhere, where one is now, where one was before", (0, 1, 2), _here
    ),
    "count": Feature("listed visits to its place, log2", (0, 1, 2, 3, 4, 5, 6), _count),
    "unknown": Feature(
        "an unknown place: neither, it, the last one, both", (0, 1, 2, 3),
        lambda batch: (batch.location == UNKNOWN) * 1 + (_last(batch)[0] == UNKNOWN) * 2,
    ),
    "older": Feature(
        "visits that a summary stands for, log2(1 + visits)", (0, 1, 2, 3, 4, 6),
        lambda batch: (batch.stands_for + 1.0).log2(),
    ),
}  # fmt: skip

# What may be looked at only by a model that knows when the next visit begins.
TARGET_FEATURES: dict[str, Feature] = {
    "then_clock": Feature(
        "minutes between its time of day and the target's", _CLOCK,
        lambda batch: around_the_clock(batch.start_minute, batch.target_minute[:, None]),
    ),
    "then_weekday": Feature(
        "its weekday and the target's: other kind, same kind, same", (0, 1, 2),
        lambda batch: _weekdays(batch.weekday, batch.target_weekday[:, None]),
    ),
    "then_gap": Feature(
        "how alike the way to it and the time until the target are, |log2 of their ratio|", _RATIO,
        lambda batch: _unless_unseen(
            batch.gap_before,
            _alike(batch.gap_before.clamp(max=7 * MINUTES_OF_DAY), batch.wait[:, None]),
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """Something about now, as an index below ``size``."""

    size: int
    of: Callable[[HistoryBatch], Tensor]


def _log_bucket(value: Tensor, size: int) -> Tensor:
    """Half octaves."""
    return (2 * (value.clamp(min=0) + 1.0).log2()).long().clamp(max=size - 1)


# What scales the features: (B,) each.
NOW: dict[str, Fact] = {
    "hour": Fact(24, lambda batch: batch.now_minute // 60),
    "weekday": Fact(8, _now_weekday),
    "stay": Fact(24, lambda batch: _log_bucket(batch.last_stay, 24)),
    "visits": Fact(16, lambda batch: _log_bucket(batch.length, 16)),
}
THEN: dict[str, Fact] = {
    "then_hour": Fact(24, lambda batch: batch.target_minute // 60),
    "then_weekday": Fact(8, lambda batch: batch.target_weekday),
    "wait": Fact(28, lambda batch: _log_bucket(batch.wait, 28)),
}


def to_the_hour(batch: HistoryBatch) -> HistoryBatch:
    """The same batch, with the target's hour only: its time becomes the middle of the hour.

    The wait until then follows; when it is already within the hour, it is none.
    """
    week = 7 * MINUTES_OF_DAY
    minute = batch.target_minute // 60 * 60 + 30
    wait = (batch.wait + minute - batch.target_minute) % week
    return replace(batch, target_minute=minute, wait=wait.masked_fill(wait > week - 60, 0))


def hats(value: Tensor, knots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Between which knots values lie: the lower knot's row, the upper's, and the upper's share.

    Examples
    --------
    >>> hats(torch.tensor([-1.0, 0.5, 3.0]), torch.tensor([0.0, 1.0, 2.0]))
    (tensor([0, 0, 1]), tensor([1, 1, 2]), tensor([0.0000, 0.5000, 1.0000]))
    """
    value = value.to(knots.dtype)
    low = (torch.searchsorted(knots, value, right=True) - 1).clamp(0, len(knots) - 2)
    share = (value - knots[low]) / (knots[low + 1] - knots[low])
    return low, low + 1, share.clamp(0, 1)
