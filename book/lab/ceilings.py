"""Ceilings on the accuracy of "where next?", measured on windows: rows for a results file.

`lab.predictability` says what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lab.anonymity import PEOPLE
from lab.context_matching import ContextMatch, repeat_rate
from lab.entropy import entropy_rate, max_predictability
from lab.reports import Row
from pgt.metrics import percentile_interval, resampled_means
from pgt.predictor.memory import HistoryWindows

OTHER_SPANS = {"finest, 30 min": 30, "finest, 2 h": 120}  # in the place of an hour


def likenesses(minutes: int = 60) -> dict[str, ContextMatch]:
    """From any two situations to the most alike; each but the last has those of the next in it."""
    return {
        "anything": ContextMatch(),
        "hour": ContextMatch(minutes=minutes),
        "place": ContextMatch(place=True),
        "place, 2 h": ContextMatch(place=True, minutes=2 * minutes),
        "place, 1 h": ContextMatch(place=True, minutes=minutes),
        "place, 1 h, day": ContextMatch(place=True, minutes=minutes, day=True),
        "place, 1 h, day, before": ContextMatch(
            place=True, minutes=minutes, day=True, before=True
        ),
    }  # fmt: skip


def sequences(windows: HistoryWindows) -> dict[str, dict[int, np.ndarray]]:
    """Each tested person's places: visit by visit, moves only, hour by hour, in random order."""
    place, table = windows.features.numpy()[0, 1:], windows.visits
    # Where somebody is at each full hour of a visit; a short one may see none and counts once.
    first, last = table.started_at.dt.floor("h"), table.finished_at.dt.floor("h")
    hours = ((last - first).dt.total_seconds() // 3600).clip(1, 24).to_numpy(np.int64)
    rng = np.random.default_rng(0)
    tested = set(windows.users.tolist())
    people = {user: at for user, at in table.groupby("user_id").indices.items() if user in tested}
    visits = {user: place[rows] for user, rows in people.items()}
    return {
        "visits": visits,
        "moves": {u: own[np.r_[True, own[1:] != own[:-1]]] for u, own in visits.items()},
        "hours": {u: np.repeat(visits[u], hours[rows]) for u, rows in people.items()},
        "visits in random order": {u: rng.permutation(own) for u, own in visits.items()},
    }


def entropies(windows: HistoryWindows) -> Iterator[Row]:
    """The bound that the entropy of every person's sequence sets, averaged over the windows."""
    for kind, people in sequences(windows).items():
        bound = {user: max_predictability(entropy_rate(own), len(np.unique(own)))
                 for user, own in people.items()}  # fmt: skip
        value = 100 * float(np.mean([bound[user] for user in windows.users]))
        yield {"table": "entropy", "group": kind, "value": value}


def alike(windows: HistoryWindows) -> Iterator[Row]:
    """How often like situations led to the same place, the more alike the better.

    Of the windows that have two of the most alike; then of every window with the most alike
    situations that it has, and the bound of each such group; and which share of windows has which.
    """
    found = {name: repeat_rate(windows, likeness) for name, likeness in likenesses().items()}
    *_, strictest = found.values()
    common = (strictest.n >= 2).to_numpy()
    if len(np.unique(windows.users[common])) < PEOPLE:
        return
    for name, table in found.items():
        value = float(table.pairs[common].mean())
        yield {"table": "agreement", "group": name, "value": 100 * value,
               "bound": 100 * float(np.sqrt(value))}  # fmt: skip
    pairs, level = finest(found)
    yield _agreement("finest", windows, pairs, level)
    # Few windows take "anything", and few people must not stand behind a number.
    used = pd.Series(level[~np.isnan(pairs)]).replace(["anything", "hour"], "another place")
    for name, share in used.value_counts(normalize=True).items():
        yield {"table": "likeness used", "group": name, "value": 100 * share}
    for name, minutes in OTHER_SPANS.items():
        other = {key: repeat_rate(windows, one) for key, one in likenesses(minutes).items()}
        yield _agreement(name, windows, *finest(other))


def finest(found: dict[str, pd.DataFrame]) -> tuple[np.ndarray, np.ndarray]:
    """Each window's share of equal pairs among the most alike situations that it has two of.

    And what these have in common; without two situations the share is NaN.
    """
    tables = found.values()
    pairs = np.full(len(next(iter(tables))), np.nan)
    level = np.full(len(pairs), "", dtype=object)
    for name, table in found.items():
        own = (table.n >= 2).to_numpy()
        pairs[own], level[own] = table.pairs[own], name
    return pairs, level


def _agreement(group: str, windows: HistoryWindows, pairs: np.ndarray, level: np.ndarray) -> Row:
    """The mean share of equal pairs, its 95 % interval over people, and the bound by level."""
    low, high = percentile_interval(resampled_means(pairs[None], windows.users))
    by = pd.Series(pairs).groupby(level)
    bound = float((by.count() * np.sqrt(by.mean())).sum() / by.count().sum())
    return {"table": "agreement", "group": group, "value": 100 * float(np.nanmean(pairs)),
            "bound": 100 * bound, "low": 100 * float(low), "high": 100 * float(high)}  # fmt: skip


def novelty(windows: HistoryWindows) -> Iterator[Row]:
    """Targets that the person has not visited within the window, a memory, or the whole past."""
    rows = pd.Series(np.arange(len(windows.visits)))
    place = windows.features.numpy()[0, 1:]
    seen = rows.groupby([windows.visits.user_id.to_numpy(), place]).shift(fill_value=-1).to_numpy()
    latest, target = seen[windows.target], windows.target
    new = {
        "7 days": ~windows.in_window,
        "100 visits": latest < target - 100,
        "whole past": latest < 0,
    }
    for group, never in new.items():
        yield {"table": "novelty", "group": group, "value": 100 * float(never.mean())}
