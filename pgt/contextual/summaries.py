"""Summaries: of the places that have left a window's memory, the latest visit each.

They are found when a batch is gathered. What is kept is one row for each visit that may ever be a
summary, and two numbers for each window: the summaries of all windows would be a hundred times as
many as the visits.
"""

from __future__ import annotations

import numpy as np

from pgt.table.rows import spread


def candidates(
    previous: np.ndarray, begins: np.ndarray, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the visits that may be summarized, and how many there are for each target.

    A visit is summarized for the targets that come after its place has left the memory, up to the
    next visit to it: a stretch of rows. So the number of summaries goes up by one where a
    stretch begins, and down by one after its end.

    The row behind a person's last visit may be a target, too. It is the next person's first row,
    which has no past of its own.

    Parameters
    ----------
    previous : ndarray
        (N,) the row of the same person's visit before to the same place, or -1
        (`pgt.table.rows.same_place`).
    begins : ndarray
        (N,) the first row of each row's person (`pgt.table.rows.person_rows`).
    memory : int
        Visits before a target that are not summarized.

    Returns
    -------
    older : ndarray
        (2, K) int32, the rows of those visits, in order, and the last target's row for which each
        still is the latest visit to its place.
    count : ndarray
        (N + 1,) int32, how many of them are in force at each row, if it is a target.

    Examples
    --------
    One person goes to places 5, 6, 6, 7 and 5:

    >>> older, count = candidates(np.array([-1, -1, 1, -1, 0]), np.zeros(5, dtype=int), memory=1)
    >>> older.tolist(), count.tolist()
    ([[0, 2, 3], [4, 5, 5]], [0, 0, 1, 1, 2, 2])
    """
    rows = np.arange(len(previous), dtype=np.int32)
    again = previous >= 0
    # What is not visited again stays the latest visit up to the row behind the person's last.
    ends = np.append(1 + np.flatnonzero(np.diff(begins)), len(rows)).astype(np.int32)
    until = np.repeat(ends, np.diff(ends, prepend=0))
    until[previous[again]] = rows[again]
    leaves = np.flatnonzero(until - rows > memory).astype(np.int32)
    until = until[leaves]
    change = np.bincount(leaves + memory + 1, minlength=len(rows) + 2)
    change -= np.bincount(until + 1, minlength=len(rows) + 2)
    return np.stack([leaves, until]), np.cumsum(change[:-1], dtype=np.int32)


def latest_in_force(
    older: np.ndarray, begin: np.ndarray, end: np.ndarray, target: np.ndarray, n: np.ndarray
) -> np.ndarray:
    """Take each window's summaries from the candidates.

    Parameters
    ----------
    older : ndarray
        (2, K) as `candidates` returns them.
    begin, end : ndarray
        (B,) which of them lie between a window's floor and its memory.
    target, n : ndarray
        (B,) the target's row, and how many summaries it has.

    Returns
    -------
    ndarray
        (B, S) int32, their rows, oldest first, then zeros.
    """
    window, number = spread(end - begin)
    at = begin[window] + number
    in_force = older[1, at] >= target[window]
    window, at = window[in_force], at[in_force]
    found = np.bincount(window, minlength=len(n))
    number = spread(found)[1] - (found - n)[window]  # below 0 if older than the latest n
    kept = number >= 0
    out = np.zeros((len(n), n.max(initial=0)), dtype=np.int32)
    out[window[kept], number[kept]] = older[0, at[kept]]
    return out
