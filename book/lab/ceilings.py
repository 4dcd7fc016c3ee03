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
from pgt.predictor.memory import HistoryWindows

# From any two situations to the most alike; each but the last has those of the next one in it.
LIKE: dict[str, ContextMatch] = {
    "anything": ContextMatch(),
    "hour": ContextMatch(minutes=60),
    "place": ContextMatch(place=True),
    "place, 2 h": ContextMatch(place=True, minutes=120),
    "place, 1 h": ContextMatch(place=True, minutes=60),
    "place, 1 h, day": ContextMatch(place=True, minutes=60, day=True),
    "place, 1 h, day, before": ContextMatch(place=True, minutes=60, day=True, before=True),
}


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
    situations that it has, and the bound of each such group.
    """
    found = {name: repeat_rate(windows, likeness) for name, likeness in LIKE.items()}
    *_, strictest = found.values()
    common = (strictest.n >= 2).to_numpy()
    if len(np.unique(windows.users[common])) < PEOPLE:
        return
    pairs = np.full(len(windows), np.nan)
    level = np.zeros(len(windows), dtype=np.int64)
    for at, (name, table) in enumerate(found.items()):
        own = (table.n >= 2).to_numpy()
        pairs[own], level[own] = table.pairs[own], at
        value = float(table.pairs[common].mean())
        yield {"table": "agreement", "group": name, "value": 100 * value,
               "bound": 100 * float(np.sqrt(value))}  # fmt: skip
    by = pd.Series(pairs).groupby(level)
    bound = float((by.count() * np.sqrt(by.mean())).sum() / by.count().sum())
    yield {"table": "agreement", "group": "finest", "value": 100 * float(np.nanmean(pairs)),
           "bound": 100 * bound}  # fmt: skip


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
