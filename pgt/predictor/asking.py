"""Questions: for each person the visits so far, and a next one that nobody knows yet.

The models of `pgt.contextual` know places by their relations alone, so nothing here needs a
vocabulary that was trained: places are numbered as they come.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from pgt.history import HistoryBatch, HistoryWindows, is_new, of_rows
from pgt.predict import Questions
from pgt.units import MINUTES_OF_DAY
from pgt.visits import nobody_before, person_rows, until
from pgt.vocabulary import Vocabulary
from pgt.windows import FEATURES, gather, with_moments

RECENT = 50  # visits in which the share of new places is counted


@dataclass(frozen=True)
class HistoryQuestions(Questions, HistoryWindows):
    """Windows with a past and without a target: of that, the moment of asking is known."""

    def batch(self, index: np.ndarray | list[int], max_len: int | None = None) -> HistoryBatch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        batch = super().batch(index, max_len)
        assert isinstance(batch, HistoryBatch)
        (minute,) = gather(self.moment, FEATURES, batch.index, "start_minute")
        ended = self._on_device(self.target[np.asarray(index)])
        began, last = self._gather(ended, "start_day", "end_day")
        minutes = MINUTES_OF_DAY * (began + batch.gap_days - last) + minute - batch.now_minute
        return replace(batch, target_minute=minute, wait=minutes % (7 * MINUTES_OF_DAY))


@dataclass(frozen=True)
class Asked:
    """One question a person.

    Attributes
    ----------
    windows : HistoryQuestions
    last : ndarray
        (W,) the row of each person's last visit in ``visits``.
    first : ndarray
        (W,) how many places the people before have together: a place's number in ``visits._place``
        is this much larger than its number in the window, less 2.
    visits : DataFrame
        What is known of the past, by person and time.
    new : ndarray
        (W, 2) of the person's latest visits: how many were to new places, and how many there are.
    """

    windows: HistoryQuestions
    last: np.ndarray
    first: np.ndarray
    visits: pd.DataFrame
    new: np.ndarray

    def __len__(self) -> int:
        return len(self.last)


def ask(
    visits: pd.DataFrame,
    *,
    memory: int,
    older: int,
    at: pd.Timestamp | None = None,
    user: Any = None,
) -> Asked:
    """Ask of everybody where they go after their last visit.

    Parameters
    ----------
    visits : DataFrame
        Checked visits (`pgt.visits.check`).
    memory, older : int
        As in `pgt.history.with_history`.
    at : Timestamp, optional
        When the next visit begins, with time zone; only visits that began before it are known.
        Without it, nothing is known of that, and the moment is the end of the last visit.
    user : optional
        Who is asked about, for a refusal.

    Returns
    -------
    Asked

    Raises
    ------
    DataError
        Nobody has a visit before ``at``, or ``at`` has no time zone.

    Examples
    --------
    >>> import wherenext.city
    >>> asked = ask(wherenext.city.load().visits, memory=100, older=100)
    >>> len(asked), len(asked.windows)
    (66, 66)
    """
    visits = until(visits, at)
    if len(visits) == 0:
        raise nobody_before(at, user)
    person, begins = person_rows(visits.user_id)
    codes, places = pd.factorize(visits.location_id)
    pairs, _ = pd.factorize(person * len(places) + codes)
    # Places are known by number only: their names are looked up in the answer. Everybody's are
    # numbered as they come, as in a diary, so that the answer is the same alone and among others.
    codes = pairs - pairs[begins]
    most = int(codes.max()) + 1  # places of one person
    vocabulary = Vocabulary(tuple(range(most)), (), most)
    last = np.append(np.flatnonzero(np.diff(person)), len(visits) - 1)
    features, moment = with_moments(visits.assign(location_id=codes), last, at, vocabulary)
    (past,) = of_rows(visits, features, vocabulary, [last + 1], memory, older)
    known = {field.name: getattr(past, field.name) for field in fields(past)}
    windows = HistoryQuestions(**known, moment=moment)
    numbered = visits.assign(_place=pairs)
    return Asked(windows, last, pairs[begins[last]], numbered, new_places(windows))


def past(asked: Asked, n: int, memory: int, older: int, seed: int = 0) -> HistoryWindows:
    """Some visits that have happened already, each as a window that asks for it.

    Drawn are up to ``n`` of the later half of everybody's visits.
    """
    sizes = later(asked.windows.target - asked.windows.floor)
    person, number = drawn(sizes, n, seed)
    return of_past(asked, person, number, memory, older)


def later(visits: np.ndarray) -> np.ndarray:
    """(P,) of so many visits of each person, how many there are in the half that is asked for."""
    return np.maximum(0, visits - np.maximum(3, visits // 2))


def drawn(sizes: np.ndarray, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Some of what many people have: (K,) whose each is, and (K,) its number there, in order.

    Parameters
    ----------
    sizes : ndarray
        (P,) how much each has.
    n : int
        How much is drawn, at most.
    seed : int

    Examples
    --------
    >>> person, number = drawn(np.array([2, 0, 3]), 4)
    >>> person.tolist(), number.tolist()
    ([0, 2, 2, 2], [0, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    everything = np.arange(ends[-1], dtype=np.uint32)  # half as large as numbers of any size
    np.random.default_rng(seed).shuffle(everything)
    some = np.sort(everything[:n]).astype(np.int64)
    person = np.searchsorted(ends, some, side="right")
    return person, some - (ends - sizes)[person]


def of_past(
    asked: Asked, person: np.ndarray, number: np.ndarray, memory: int, older: int
) -> HistoryWindows:
    """Windows that ask for some of the later visits: (K,) whose, and (K,) which of theirs."""
    windows = asked.windows
    sizes = later(windows.target - windows.floor)
    rows = windows.target[person] - sizes[person] + number
    (some,) = of_rows(windows.visits, windows.features, windows.vocabulary, [rows], memory, older)
    return some


def new_places(windows: HistoryWindows) -> np.ndarray:
    """(W, 2) of the latest visits of each past: how many were to new places, and how many."""
    first_time = np.concatenate([[0], np.cumsum(is_new(windows))])
    begin = np.maximum(windows.floor, windows.target - RECENT)
    return np.stack(
        [first_time[windows.target] - first_time[begin], windows.target - begin], axis=1
    )
