"""Kinds of questions, and who is right about which: groups of windows, and accuracy in pairs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from wherenext.disagreement import CLOSE

from lab import grid
from pgt.metrics import ends, resampled_means
from pgt.windows import Windows


def window_groups(windows: Windows, visits: pd.DataFrame, zone: str | None = None) -> pd.DataFrame:
    """What kind of question each window is; every column is a way to group the windows."""
    places = windows.features[0].numpy()[1:]
    seen = visits.assign(place=places[visits.row], target=windows.targets[visits.window])
    seen["hit"] = seen.place == seen.target
    last = places[windows.target - 1]
    top = seen.groupby("window")["count"].max().to_numpy()
    own = seen["count"].where(seen.hit, 0).groupby(seen.window).max().to_numpy()
    by_place = seen.drop_duplicates(["window", "place"])
    more = by_place["count"] > own[by_place.window]
    rank = 1 + more.groupby(by_place.window).sum().to_numpy()
    inside, known = windows.in_window, windows.vocabulary.is_known(windows.targets)
    follows = (seen.hit & seen.same_before).groupby(seen.window).any().to_numpy()
    at_hour = (seen.hit & (seen["apart"] <= CLOSE)).groupby(seen.window).any().to_numpy()
    now = windows.visits.finished_at.iloc[windows.target - 1]
    now = now if zone is None else now.dt.tz_convert(zone)
    gap = windows.visits.started_at.iloc[windows.target].array - now.array
    unique = by_place.groupby("window").size().to_numpy() / windows.lengths
    rest = "not in the window"
    columns = {
        "target": _choose(
            [windows.targets == last, inside & (own == top), inside, known],
            ["last place", "most frequent place", "other place in the window",
             "known place, not in the window", "new place"],
        ),
        "rank": _choose([~inside, rank == 1, rank == 2, rank == 3],
                        [rest, "1st", "2nd", "3rd", "4th or later"]),
        "match": _choose([~inside, follows & at_hour, follows, at_hour],
                       [rest, "both", "same place before", "same hour", "neither"]),
        "length": bins(windows.lengths, [8, 16, 24], "visits"),
        "unique": bins(100 * unique, [30, 45, 60], "%"),
        "hour": bins(now.dt.hour, [6, 10, 14, 18], "h"),
        "day": _choose([now.dt.day_of_week < 5], ["Monday to Friday", "weekend"]),
        "gap": bins(gap / pd.Timedelta(hours=1), [0.5, 1, 3, 12], "hours"),
    }  # fmt: skip
    return pd.DataFrame(columns)


def _choose(conditions: Sequence[object], names: list[str]) -> pd.Categorical:
    """The name of the first condition that holds; the last name where none does."""
    arrays = [np.asarray(condition) for condition in conditions]
    return pd.Categorical(np.select(arrays, names[:-1], names[-1]), names, ordered=True)


def bins(values: object, edges: list[float], unit: str) -> pd.Categorical:
    """Names such as "under 8 visits", "8 to 16 visits" (16 is in the next), "from 16 visits"."""
    names = [f"under {edges[0]:g} {unit}"]
    names += [f"{low:g} to {high:g} {unit}" for low, high in itertools.pairwise(edges)]
    names.append(f"from {edges[-1]:g} {unit}")
    at = np.searchsorted(edges, np.asarray(values, dtype=float), side="right")
    return pd.Categorical.from_codes(at.tolist(), names, ordered=True)


def paired_accuracy(
    one: np.ndarray, others: Sequence[np.ndarray], users: np.ndarray, mask: np.ndarray
) -> dict[str, float] | None:
    """How one predictor does against the runs of another on a group of windows."""
    if not grid.enough_people(users[mask]):
        return None
    a, b = one[mask], np.mean(others, axis=0)[mask]
    both = 100 * float((a * b).mean())
    right = 100 * float(a.mean()), 100 * float(b.mean())
    low, high = ends(100 * resampled_means([a - b], users[mask], draws=1000))
    return {
        "n": int(mask.sum()), "people": len(set(users[mask])), "one": right[0], "other": right[1],
        "both": both, "only_one": right[0] - both, "only_other": right[1] - both,
        "neither": 100 - right[0] - right[1] + both,
        "difference": right[0] - right[1], "low": float(low), "high": float(high),
    }  # fmt: skip


def by_person(lead: np.ndarray, users: np.ndarray) -> dict[str, float]:
    """How a lead is spread over people with at least 20 windows: quantiles only, in points."""
    means = grid.means_of_people(100 * lead, users)["mean"]
    better = 100 * float((means > 0).mean())
    return {"people": len(means), "better": better} | grid.quantiles(means)
