"""Facts that relate a past visit to now: what the contextual pointer is told."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from pgt.predictor.memory import NOT_SEEN, HistoryBatch
from pgt.visits import MINUTES_OF_DAY, around_the_clock
from pgt.vocabulary import UNKNOWN


class Feature(NamedTuple):
    """A fact about a past visit; between knots its table is interpolated, beyond them clamped."""

    about: str  # what it asks of a place
    knots: tuple[float, ...]  # where the table has a row; increasing


CLOCK_KNOTS = (0.0, 15.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 360.0, 480.0, 720.0)  # minutes
RATIO_KNOTS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)  # octaves; -1 where nothing is seen before
WEEK = 7 * MINUTES_OF_DAY
# Times of day are compared in minutes; how long something took, in octaves of minutes.
HISTORY_FEATURES: dict[str, Feature] = {
    "age": Feature("how many visits ago it was visited",
                   (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200, 400, 800)),
    "days": Feature("how many days ago it was visited",
                    (0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 21, 28, 60, 120)),
    "clock": Feature("how near to now the time of day of its visits is", CLOCK_KNOTS),
    "ahead": Feature("how long it is until the time of day of its visits",
                     tuple(range(0, 1441, 60))),
    "weekday": Feature("on which days of the week it was visited", (0, 1, 2)),
    "stay": Feature("how long its visits lasted", (4, 5, 6, 7, 8, 9, 10, 11)),
    "before": Feature("whether it was visited from where the person is now", (0, 1, 2, 3)),
    "left": Feature("at what time of day the person set out for it", (-1.0, *CLOCK_KNOTS)),
    "stayed": Feature("how long the stays before its visits were", RATIO_KNOTS),
    "gap": Feature("how long the way to it took", (-1.0, 2, 3, 4, 5, 6, 8, 10, 12)),
    "here": Feature("whether the person is there now, or was just before", (0, 1, 2)),
    "count": Feature("how often it was visited", (0, 1, 2, 3, 4, 5, 6)),
    "unknown": Feature("whether it, or the present place, is unknown", (0, 1, 2, 3)),
    "older": Feature("how many of its visits are long ago", (0, 1, 2, 3, 4, 6)),
}  # fmt: skip
# Only for a model that knows when the next visit begins.
TARGET_FEATURES: dict[str, Feature] = {
    "then_clock": Feature("how near to the time asked about its visits are", CLOCK_KNOTS),
    "then_weekday": Feature("whether it was visited on such days as the one asked about",
                            (0, 1, 2)),
    "then_gap": Feature("whether the way to it fits the time until then", RATIO_KNOTS),
}  # fmt: skip
FEATURES = HISTORY_FEATURES | TARGET_FEATURES
# What is known of now, and of the target: indices below a size; they scale the features.
NOW = {"hour": 24, "weekday": 8, "stay": 24, "visits": 16}
THEN = {"then_hour": 24, "then_weekday": 8, "wait": 28}


def _weekdays(one: Tensor, other: Tensor) -> Tensor:
    """0 = a working day and a weekend, 1 = of the same kind, 2 = the same weekday."""
    return ((one >= 6) == (other >= 6)) * 1 + (one == other) * 1


def present(batch: HistoryBatch) -> dict[str, Tensor]:
    """(B,) the facts of `NOW` and `THEN`; durations and counts in half octaves."""
    at = batch.length[:, None] - 1
    began, weekday = batch.start_minute.gather(1, at)[:, 0], batch.weekday.gather(1, at)[:, 0]
    buckets = {
        "hour": batch.now_minute // 60,
        "weekday": (weekday - 1 + (began + batch.last_stay) // MINUTES_OF_DAY) % 7 + 1,
        "then_hour": batch.target_minute // 60,
        "then_weekday": batch.target_weekday,
    }
    long = {"stay": batch.last_stay, "visits": batch.length, "wait": batch.wait}
    for name, value in long.items():
        bucket = (2 * (value.clamp(min=0) + 1.0).log2()).long()
        buckets[name] = bucket.clamp(max=(NOW | THEN)[name] - 1)
    return buckets


def relations(batch: HistoryBatch, weekday: Tensor, then: bool) -> dict[str, Tensor]:
    """(B, L) each feature's fact, on the (B,) day of `present`; the target's only with ``then``."""
    start, now, at = batch.start_minute, batch.now_minute[:, None], batch.length[:, None] - 1
    here, there = batch.location.gather(1, at), batch.before.gather(1, at)  # (B, 1) now, before
    last_stay, gap = batch.last_stay[:, None], batch.gap_before.clamp(max=WEEK)
    stays = batch.location == here
    seen = batch.before != NOT_SEEN
    as_before = (batch.before == here) & seen  # the visit before it was where the person is now
    two = (batch.two_before == there) & (batch.two_before != NOT_SEEN)  # and so on
    slot, inside = batch.slots.of_visit, (~batch.padding).float()
    visits = torch.zeros_like(inside).scatter_add(1, slot, inside)
    values = {
        "age": batch.age,
        "days": batch.days_ago,
        "clock": around_the_clock(start, now),
        "ahead": (start - now) % MINUTES_OF_DAY,
        "weekday": _weekdays(batch.weekday, weekday[:, None]),
        "stay": (batch.stay + 15.0).log2(),
        "before": as_before * 1 + (as_before & two) * 1 + (~as_before & two) * 3,
        "left": around_the_clock(batch.end_before, now),
        "stayed": ((batch.stay_before + 15.0).log2() - (last_stay + 15.0).log2()).abs(),
        "gap": (batch.gap_before + 5.0).log2(),
        "here": stays * 1 + (~stays & (batch.location == there)) * 2,
        "count": visits.gather(1, slot).clamp(min=1).log2(),
        "unknown": (batch.location == UNKNOWN) * 1 + (here == UNKNOWN) * 2,
        "older": (batch.stands_for + 1.0).log2(),
    }
    if then:
        values |= {
            "then_clock": around_the_clock(start, batch.target_minute[:, None]),
            "then_weekday": _weekdays(batch.weekday, batch.target_weekday[:, None]),
            "then_gap": ((gap + 15.0).log2() - (batch.wait[:, None] + 15.0).log2()).abs(),
        }
    for name in values.keys() & {"left", "stayed", "gap", "then_gap"}:
        values[name] = torch.where(seen, values[name].float(), float(NOT_SEEN))
    return values


def to_the_hour(batch: HistoryBatch) -> HistoryBatch:
    """The same batch, with the target's hour only: its time becomes the middle of the hour."""
    minute = batch.target_minute // 60 * 60 + 30
    wait = (batch.wait + minute - batch.target_minute) % WEEK
    return replace(batch, target_minute=minute, wait=wait.masked_fill(wait > WEEK - 60, 0))
