"""A stay that was written as several visits is one visit again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgt.visits import microseconds

# Microseconds: between two pieces of one stay, and between check-ins of one visit.
TOUCHING, CHECKED_IN_AGAIN = 60_000_000, 900_000_000


def join_pieces(visits: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """One visit where a person's visits to one place touch or overlap, and how many others joined.

    The visits are as `check` returns them.
    So are the pieces of a stay that is cut at midnight, the same stay in two exports, and
    check-ins at one place within minutes, one after the other.
    """
    person, (place, places) = pd.factorize(visits.user_id)[0], pd.factorize(visits.location_id)
    whose = person * len(places) + place
    in_a_row = np.r_[False, whose[1:] == whose[:-1]]
    start, end = microseconds(visits.started_at), microseconds(visits.finished_at)
    by_place = np.argsort(whose, kind="stable")  # a person's visits to one place, by time
    whose, start, end = whose[by_place], start[by_place], end[by_place]
    # Until when the person was there, by all visits so far.
    until = pd.Series(end).groupby(whose).cummax().to_numpy()
    same = np.r_[False, whose[1:] == whose[:-1]]
    wait = np.r_[0, start[1:] - until[:-1]]
    brief = np.r_[False, (start[1:] == end[1:]) & (start[:-1] == end[:-1])]
    again = brief & in_a_row[by_place] & (wait <= CHECKED_IN_AGAIN)
    goes_on = same & ((wait <= TOUCHING) | again)
    if "split" in visits.columns:  # never across the parts of an experiment
        part, _ = pd.factorize(visits["split"].iloc[by_place])
        goes_on &= np.r_[False, part[1:] == part[:-1]]
    if not goes_on.any():
        return visits, 0
    first = by_place[np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(goes_on))))]
    later, ends = by_place[goes_on], visits.finished_at.copy()
    last = ends[later].groupby(first[goes_on]).max()
    ends[last.index] = last.where(last > ends[last.index], ends[last.index])
    joined = visits.assign(finished_at=ends).drop(index=later).reset_index(drop=True)
    return joined, len(later)
