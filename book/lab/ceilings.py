"""Ceilings on the accuracy of "where next?", measured on windows: rows for a results file.

Every row has ``value``, a share in percent, and mostly ``low`` and ``high``, its 95 % interval with
people resampled; `lab.predictability` says what else is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from lab.context_matching import ContextMatch, repeat_rate
from lab.entropy import (
    accuracy_between,
    entropy_rate,
    max_predictability,
    shannon_entropy,
)
from pgt.history import HistoryWindows
from pgt.metrics import ends, resampled_means

FEWEST = 5  # people that a row must be of
# From any two situations to the most alike; each but the last has those of the next one in it.
LIKE: dict[str, ContextMatch] = {
    "anything": ContextMatch(),
    "hour": ContextMatch(minutes=60),
    "place": ContextMatch(place=True),
    "place, 2 h": ContextMatch(place=True, minutes=120),
    "place, 1 h": ContextMatch(place=True, minutes=60),
    "place, 1 h, day": ContextMatch(place=True, minutes=60, day=True),
    "place, 1 h, day, before": ContextMatch(place=True, minutes=60, day=True, before=True),
    "the same, 100 visits": ContextMatch(place=True, minutes=60, day=True, memory=100),
}
MOST_ALIKE = "place, 1 h, day, before"
Row = dict[str, Any]


def interval(values: np.ndarray, users: np.ndarray, n_resamples: int = 1000) -> Row:
    """Mean of (W,) values and its 95 % interval, people resampled; NaN are left out."""
    there = ~np.isnan(values)
    low, high = ends(resampled_means(values[None, there], users[there], draws=n_resamples))
    return {"value": float(values[there].mean()), "low": float(low), "high": float(high),
            "n": int(there.sum()), "people": len(np.unique(users[there]))}  # fmt: skip


def percent(row: Row, *names: str) -> Row:
    """The row with shares as percentages."""
    chosen = names or ("value", "low", "high")
    return row | {name: 100 * row[name] for name in chosen}


def sequences(windows: HistoryWindows) -> Iterator[tuple[Any, dict[str, np.ndarray]]]:
    """Each person's places: visit by visit, moves only, hour by hour, and in random order."""
    place = windows.features.numpy()[0, 1:]
    table = windows.visits
    # Where somebody is at each full hour of a visit; a short one may see none and counts once.
    first, last = table.started_at.dt.floor("h"), table.finished_at.dt.floor("h")
    hours = ((last - first).dt.total_seconds() // 3600).clip(1, 24).to_numpy(np.int64)
    rng = np.random.default_rng(0)
    tested = set(windows.users.tolist())
    for user, rows in table.groupby("user_id").indices.items():
        if user not in tested:
            continue
        visits = place[rows]
        moved = np.r_[True, visits[1:] != visits[:-1]]
        yield (
            user,
            {
                "visits": visits,
                "moves": visits[moved],
                "hours": np.repeat(visits, hours[rows]),
                "visits in random order": rng.permutation(visits),
            },
        )


def bounds(sequence: np.ndarray) -> Row:
    """What the entropies of one sequence allow."""
    states = len(np.unique(sequence))
    entropy = entropy_rate(sequence)
    unordered = shannon_entropy(sequence)
    return {
        "value": max_predictability(entropy, states),
        "unordered": max_predictability(unordered, states),
        "uniform": 1 / states,
        "frequent": float(np.unique(sequence, return_counts=True)[1].max() / len(sequence)),
        "entropy": entropy,
        "unordered_entropy": unordered,
        "states": states,
        "length": len(sequence),
        "repeats": float((sequence[1:] == sequence[:-1]).mean()),
    }


def entropies(windows: HistoryWindows) -> Iterator[Row]:
    """The bound of every person, averaged over the test windows."""
    people = dict(sequences(windows))
    users, places = windows.users, int(windows.features[0].max()) - 1
    for kind in next(iter(people.values())):
        table = pd.DataFrame({user: bounds(own[kind]) for user, own in people.items()}).T
        table["everyone"] = [max_predictability(e, places) for e in table.entropy]
        drawn = table.loc[users].reset_index(drop=True)
        row = drawn.mean().to_dict() | interval(drawn.value.to_numpy(float), users)
        yield {"table": "entropy", "group": kind} | percent(
            row, "value", "low", "high", "unordered", "uniform", "frequent", "repeats", "everyone"
        )


def alike(windows: HistoryWindows, hits: dict[str, np.ndarray]) -> Iterator[Row]:
    """How often like situations led to the same place, the more alike the better.

    ``hits`` are further (W,) values, of which the rows get the means over the same windows.
    """
    found = {name: repeat_rate(windows, likeness) for name, likeness in LIKE.items()}
    common = (found[MOST_ALIKE].n >= 2).to_numpy()
    pairs = np.full(len(windows), np.nan)
    level = np.zeros(len(windows), dtype=np.int64)
    for at, (name, table) in enumerate(found.items()):
        own = (table.n >= 2).to_numpy()
        yield from _agreed(name, "own", own, windows.users, table, hits)
        if own[common].all():  # each of these windows has what it takes
            yield from _agreed(name, "common", common, windows.users, table, hits)
            pairs[own], level[own] = table.pairs[own], at
    # Every window with the most alike situations that it has, and the bound of each such group.
    table = pd.DataFrame({"pairs": pairs, "now": np.nan})
    for row in _agreed("finest", "own", ~np.isnan(pairs), windows.users, table, hits):
        by = table.pairs.groupby(level)
        weighted = by.count() * np.sqrt(by.mean())
        yield row | {"now": None, "bound": 100 * float(weighted.sum() / by.count().sum())}


def _agreed(
    group: str, which: str, keep: np.ndarray, users: np.ndarray, table: pd.DataFrame,
    hits: dict[str, np.ndarray],
) -> Iterator[Row]:  # fmt: skip
    """The row of the windows in ``keep``, unless they are of too few people."""
    if len(np.unique(users[keep])) < FEWEST:
        return
    row = interval(table.pairs.to_numpy()[keep], users[keep])
    row["bound"] = accuracy_between(row["value"])[1]
    row |= {"now": float(table.now[keep].mean()), "share": float(keep.mean())}
    row |= {model: float(hit[keep].mean()) for model, hit in hits.items()}
    shares = [name for name in row if name not in ("n", "people")]
    yield {"table": "agreement", "group": group, "windows": which} | percent(row, *shares)


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
        values = percent(interval(never.astype(float), windows.users))
        yield {"table": "novelty", "group": group} | values
