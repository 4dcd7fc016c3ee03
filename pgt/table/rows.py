"""Rows of visits sorted by person and time: whose they are, and which ones belong together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from torch import Tensor


def person_rows(user: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the people of sorted visits, and find the first row of each row's person.

    Parameters
    ----------
    user : Series
        (N,) whose visits, one person after the other.

    Returns
    -------
    person, begins : ndarray
        (N,) int64 and (N,) int32.

    Examples
    --------
    >>> person, begins = person_rows(pd.Series(["ann", "ann", "bob"]))
    >>> person.tolist(), begins.tolist()
    ([0, 0, 1], [0, 0, 2])
    """
    person, people = pd.factorize(user)
    starts = np.searchsorted(person, np.arange(len(people))).astype(np.int32)
    return person, starts[person]


def spread(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lay groups of these sizes one after the other: each element's group, and number in it.

    Examples
    --------
    >>> group, number = spread(np.array([2, 0, 3]))
    >>> group.tolist(), number.tolist()
    ([0, 0, 2, 2, 2], [0, 1, 0, 1, 2])
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def last_numbers(
    length: np.ndarray, max_len: int | None = None, device: torch.device | str = "cpu"
) -> Tensor:
    """Number the visits that windows show when each is cut to its last ``max_len``.

    Parameters
    ----------
    length : ndarray
        (B,) visits in each window.
    max_len : int, optional
        Without it, all are shown.
    device : torch.device or str

    Returns
    -------
    Tensor
        (B, L) int64, from ``length - max_len`` or 0 up to ``length - 1``; -1 at padding.

    Examples
    --------
    >>> last_numbers(np.array([1, 3]), 2).tolist()
    [[0, -1], [1, 2]]
    """
    length = length.astype(np.int64)
    shown = length if max_len is None else np.minimum(length, max_len)
    skipped, end = (torch.from_numpy(n).to(device)[:, None] for n in (length - shown, length))
    number = torch.arange(int(shown.max(initial=1)), device=device) + skipped
    return torch.where(number < end, number, -1)


def same_place(user: np.ndarray | pd.Series, location: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find each person's earlier visits to the same location.

    Parameters
    ----------
    user, location : array
        (N,) whose visits, and integers that say where to.

    Returns
    -------
    previous : ndarray
        (N,) int32, the row of the visit before to the same location, or -1.
    number : ndarray
        (N,) int32, how many visits to the location there are up to this one.

    Examples
    --------
    >>> previous, number = same_place(np.array([1, 1, 1, 2]), np.array([5, 6, 5, 5]))
    >>> previous.tolist(), number.tolist()
    ([-1, -1, 0, -1], [1, 1, 2, 1])
    """
    person, _ = pd.factorize(user)
    low, high = (int(f(location, initial=0)) for f in (np.min, np.max))
    key = person.astype(np.int64) * (high - low + 1) + (location - low)
    order = np.argsort(key, kind="stable").astype(np.int32)
    again = np.zeros(len(key), dtype=bool)
    again[1:] = np.diff(key[order]) == 0
    del key
    previous, number = np.full((2, len(order)), -1, dtype=np.int32)
    previous[order[1:][again[1:]]] = order[:-1][again[1:]]
    at = np.arange(len(order), dtype=np.int32)
    number[order] = 1 + at - np.maximum.accumulate(np.where(again, 0, at))
    return previous, number


def by_length(
    lengths: np.ndarray, batch_size: int, shuffle: np.random.Generator | None, pool: int
) -> Iterator[np.ndarray]:
    """Deal windows out to batches, those of like length together.

    Parameters
    ----------
    lengths : ndarray
        (W,).
    batch_size : int
    shuffle : Generator, optional
        Windows are shuffled first, sorted within pools only, and batches come in random order;
        without it, they are sorted as a whole.
    pool : int
        Batches in a pool.

    Yields
    ------
    ndarray
        Numbers of windows.

    Examples
    --------
    >>> [part.tolist() for part in by_length(np.array([3, 1, 2]), 2, None, 1)]
    [[1, 2], [0]]
    """
    starts = np.arange(0, len(lengths), batch_size)
    if shuffle is None:
        order = np.argsort(lengths, kind="stable")
    else:
        order = shuffle.permutation(len(lengths))
        for at in range(0, len(lengths), pool * batch_size):
            part = order[at : at + pool * batch_size]  # a view: it sorts the order itself
            part[:] = part[np.argsort(lengths[part], kind="stable")]
        starts = shuffle.permutation(starts)
    for begin in starts:
        yield order[begin : begin + batch_size]


def by_person_and_time(visits: pd.DataFrame) -> np.ndarray:
    """(N,) the order of the rows by person and time; what begins at one moment stays as it is.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 08:00+02:00"])
    >>> by_person_and_time(pd.DataFrame({"user_id": "ann", "started_at": at})).tolist()
    [1, 0]
    """
    person, _ = pd.factorize(visits.user_id, sort=True)
    started = visits.started_at.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    return np.lexsort((started, person))


def sorted_parts(visits: pd.DataFrame) -> np.ndarray:
    """(N,) `by_person_and_time` of sorted tables that stand one below the other.

    Where everybody's parts follow each other in time, as splits do, it does not sort by time.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 08:00+02:00"] * 2 + ["2024-05-01 09:00+02:00"])
    >>> sorted_parts(pd.DataFrame({"user_id": ["ann", "bob", "ann"], "started_at": at})).tolist()
    [0, 2, 1]
    """
    person, _ = pd.factorize(visits.user_id, sort=True)
    order = np.argsort(person, kind="stable")
    person, started = person[order], pd.DatetimeIndex(visits.started_at).asi8[order]
    back = (np.diff(started) < 0) & (person[1:] == person[:-1])
    return by_person_and_time(visits) if back.any() else order


def overlaps(visits: pd.DataFrame) -> int:
    """Count the visits that begin before the same person's previous one has ended.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 09:00+02:00", "2024-05-01 09:30+02:00"])
    >>> overlaps(pd.DataFrame({"user_id": 1, "started_at": at,
    ...                        "finished_at": at + pd.Timedelta(hours=1)}))
    1
    """
    ordered = visits.sort_values(["user_id", "started_at"], kind="stable")
    before = ordered.groupby("user_id").finished_at.shift()
    return int((ordered.started_at < before).sum())
