"""Summaries: of the places that have left a window's memory, the latest visit each.

They are found when a batch is gathered. What is kept is one row for each visit that may ever be a
summary, and two numbers for each window: the summaries of all windows would be a hundred times as
many as the visits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import Batch
from pgt.errors import DataError
from pgt.visits import SPLITS, last_numbers, person_rows, same_place, sorted_parts, spread
from pgt.vocabulary import Vocabulary
from pgt.windows import FEATURES, Dataset, Windows, gather


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
        (`pgt.visits.same_place`).
    begins : ndarray
        (N,) the first row of each row's person (`pgt.visits.person_rows`).
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


# What is known of a visit beside `FEATURES`: rows of ``HistoryWindows.context``.
CONTEXT = ("stay", "before", "two_before", "end_before", "stay_before", "gap_before",
           "visits_there")  # fmt: skip
# Those that tell of the visit before, and of the one before that.
BEFORE = {1: ("before", "end_before", "stay_before", "gap_before"), 2: ("two_before",)}
NOT_SEEN = -1
Data = TypeVar("Data", bound=Dataset)


@dataclass(frozen=True)
class HistoryBatch(Batch):
    """A batch that also tells what came before each visit.

    Beside the fields of `Batch`, all integer tensors, (B, L), 0 at padding: ``age`` (visits back
    from the last one, which has 0); ``stay`` (minutes the visit lasted); of the person's visit
    before it ``before`` (its location), ``end_before`` (minute of the day it ended),
    ``stay_before`` and ``gap_before`` (minutes it lasted; minutes from its end to this visit's
    start), all `NOT_SEEN` where it is out of sight; ``two_before`` (the location one earlier); and
    ``stands_for`` (0, or for a place's summary the number of its visits that are not listed).
    (B,): ``last_stay`` (minutes). About the target, (B,): ``target_minute`` (minute of the day it
    began) and ``wait`` (minutes from the last visit's end to then, modulo a week: what hour and
    weekday tell).
    """

    age: Tensor
    stay: Tensor
    before: Tensor
    two_before: Tensor
    end_before: Tensor
    stay_before: Tensor
    gap_before: Tensor
    stands_for: Tensor
    last_stay: Tensor
    target_minute: Tensor
    wait: Tensor

    def to(self, device: torch.device | str) -> HistoryBatch:
        """The same batch on another device."""
        return HistoryBatch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True)
class HistoryWindows(Windows):
    """The windows of one split, each with the past that a model may look at.

    Attributes
    ----------
    context : Tensor
        (7, N + 1) int32, one row per name in `CONTEXT`; column 0 is padding.
    floor : ndarray
        (W,) the first row whose visit counts as seen; what is before it is `NOT_SEEN`.
    older : ndarray
        (2, K) int32, the visits that some window may summarize: their rows, in order, and the
        last target's row for which each still is the latest visit to its place.
    older_at : ndarray
        (W, 2) int32, where in ``older`` the visits before a window's memory end, and how many of
        those, the latest that are in force, are its summaries.
    inside : ndarray
        (W,) whether the target is in the *seven-day* window, so that groups stay comparable.
    """

    context: Tensor
    floor: np.ndarray
    older: np.ndarray
    older_at: np.ndarray
    inside: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """(W,) visits that come with each question, summaries included."""
        return super().lengths + self.older_at[:, 1]

    @property
    def in_window(self) -> np.ndarray:
        """(W,) whether the target is in the seven-day window."""
        return self.inside

    def subset(self, keep: np.ndarray) -> Self:
        """Only the windows given by a mask or by their numbers."""
        per_window = ("first", "target", "floor", "older_at", "inside")
        return replace(self, **{name: getattr(self, name)[keep] for name in per_window})

    def to(self, device: torch.device | str) -> Self:
        """The same windows, gathering their batches on another device."""
        return replace(self, features=self.features.to(device), context=self.context.to(device))

    def batch(self, index: np.ndarray | list[int], max_len: int | None = None) -> HistoryBatch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        index = np.asarray(index)
        rows = self.rows(index, max_len)
        inside, end = rows >= 0, self._on_device(self.target[index])
        about = dict(zip(CONTEXT, gather(self.context, CONTEXT, rows + 1, *CONTEXT), strict=True))
        floor = self._on_device(self.floor[index])[:, None]
        for back, names in BEFORE.items():
            hidden = inside & (rows - back < floor)
            about |= {name: about[name].masked_fill(hidden, NOT_SEEN) for name in names}
        listed = self._on_device(self.first[index])[:, None] <= rows
        (last_stay,) = gather(self.context, CONTEXT, end, "stay")
        day, minute = self._gather(end, "end_day", "end_minute")  # each (B,)
        target_day, target_minute = self._gather(end + 1, "start_day", "start_minute")
        return HistoryBatch(
            **self._fields(index, rows),
            age=(end[:, None] - 1 - rows) * inside,
            stands_for=about.pop("visits_there") * (inside & ~listed),
            last_stay=last_stay,
            target_minute=target_minute,
            wait=((target_day - day) * 1440 + target_minute - minute) % (7 * 1440),
            **about,
        )

    def rows(self, index: np.ndarray, max_len: int | None = None) -> Tensor:
        """(B, L) rows of the visits: summaries first, then the recent ones; -1 at padding."""
        first, old = self.first[index], self.older_at[index, 1]
        length = self.target[index] - first + old
        number = last_numbers(length, max_len, self.features.device)
        recent = self._on_device(first - old)[:, None] + number
        rows = torch.where(number >= 0, recent, -1)
        if not old.any():
            return rows
        end, n = self.older_at[index].T
        begin = np.searchsorted(self.older[0], self.floor[index])
        found = latest_in_force(self.older, begin, end, self.target[index], n)  # (B, S)
        which, summary = number.clamp(0, found.shape[1] - 1), self._on_device(found)
        is_old = (number >= 0) & (number < self._on_device(old)[:, None])
        return torch.where(is_old, summary.gather(1, which), rows)


def with_history(data: Data, memory: int = 0, older: int = 0) -> Data:
    """The same questions, each with more of the person's past.

    Parameters
    ----------
    data : Dataset
    memory : int
        How many of the most recent visits come with each question; 0 = those of its window.
    older : int
        At most so many places that are only found further back are summarized, the ones visited
        last; needs ``memory``.

    Returns
    -------
    Dataset
        Of `HistoryWindows`, with the same targets in the same order.

    Raises
    ------
    DataError
        For a negative number, or summaries without a memory; where a person's splits do not follow
        each other in time; and for windows that remember already.

    Examples
    --------
    >>> import wherenext.city, pgt.windows
    >>> data = pgt.windows.prepare(wherenext.city.load().visits, protocol="exact")
    >>> batch = with_history(data, memory=100, older=50).test.batch([0, 1])
    >>> bool((batch.length >= data.test.batch([0, 1]).length).all())
    True
    """
    if memory < 0 or older < 0:
        raise DataError(f"memory={memory} and older={older} must not be negative.")
    if older and not memory:
        raise DataError("Summaries of older places need a memory; give memory=100 or so.")
    if any(isinstance(getattr(data, name), HistoryWindows) for name in SPLITS):
        raise DataError("These windows remember already; give those of pgt.windows.prepare.")
    table, features, places = _joined(data)
    _require_order(table, places)
    memory, older = min(memory, len(table)), min(older, len(table))
    targets = [places[name][getattr(data, name).target] for name in SPLITS]
    parts: dict[str, Any] = {}
    found = of_rows(table, features, data.vocabulary, targets, memory, older)
    for name, past in zip(SPLITS, found, strict=True):
        windows: Windows = getattr(data, name)
        first = places[name][windows.first]
        kept = {} if memory else {"first": first, "floor": first}
        parts[name] = replace(past, inside=windows.in_window, **kept)
    return replace(data, **parts)


def of_rows(
    table: pd.DataFrame, features: Tensor, vocabulary: Vocabulary, targets: list[np.ndarray],
    memory: int, older: int,
) -> Iterator[HistoryWindows]:  # fmt: skip
    """Windows that end before rows of one table sorted by person and time, past included.

    A row is not its person's first, unless what is asked for follows the last visit of the person
    before.
    """
    person, begins = person_rows(table.user_id)
    previous, number = same_place(person, features.numpy()[0, 1 : len(table) + 1])
    context = _context(table, features, person, number)
    may, count = candidates(previous, begins, memory if older else len(table))
    for target in targets:
        floor = begins[target - 1]
        first = np.maximum(floor, target - memory)
        at = [np.searchsorted(may[0], first).astype(np.int32), np.minimum(count[target], older)]
        yield HistoryWindows(
            visits=table, features=features, first=first, target=target, vocabulary=vocabulary,
            context=context, floor=floor, older=may, older_at=np.stack(at, axis=1),
            inside=np.zeros(len(target), dtype=bool),
        )  # fmt: skip


def is_new(windows: HistoryWindows) -> np.ndarray:
    """(N,) whether a visit of the table is the person's first to its place."""
    return windows.context[CONTEXT.index("visits_there"), 1:].numpy() == 1


def _joined(data: Dataset) -> tuple[pd.DataFrame, Tensor, dict[str, np.ndarray]]:
    """All splits' visits and features by person and time, and where each split's rows are there."""
    visits = [getattr(data, name).visits.assign(split=name) for name in SPLITS]
    table = pd.concat(visits, ignore_index=True)
    order = sorted_parts(table)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    places = dict(zip(SPLITS, np.split(place, np.cumsum([len(part) for part in visits])[:-1]),
                      strict=True))  # fmt: skip
    joined = torch.zeros(len(FEATURES), len(table) + 1, dtype=torch.int32)
    for name in SPLITS:
        at = 1 + torch.from_numpy(places[name])
        joined[:, at] = getattr(data, name).features[:, 1:].cpu().int()
    return table.take(order).reset_index(drop=True), joined, places


def _require_order(table: pd.DataFrame, places: dict[str, np.ndarray]) -> None:
    """Refuse a person whose valid comes before train: a memory would read what comes later."""
    order = np.empty(len(table), dtype=np.int8)
    for number, name in enumerate(SPLITS):
        order[places[name]] = number
    back = np.flatnonzero(np.diff(order) < 0)
    back = back[table.user_id.array[back] == table.user_id.array[back + 1]]
    if len(back):
        user, split = table.user_id.tolist(), table.split.tolist()
        row = back[0] + 1
        raise DataError(
            f"A {split[row]} visit of user {user[row]!r} follows a {split[row - 1]} visit "
            f"({table.started_at[row]:%Y-%m-%d %H:%M}), so remembering would mix the splits; let "
            "each user's train come before valid and valid before test, as "
            "pgt.visits.split_by_days does."
        )


def _context(
    table: pd.DataFrame, features: Tensor, person: np.ndarray, number: np.ndarray
) -> Tensor:
    """(7, N + 1) what came before each visit; the person's first visit has nothing before it."""
    out = np.full((len(CONTEXT), len(table) + 1), NOT_SEEN, dtype=np.int32)
    out[:, 0] = 0
    column = dict(zip(CONTEXT, out[:, 1:], strict=True))
    same = {back: person[back:] == person[:-back] for back in BEFORE}  # (N - back,)

    def earlier(name: str, values: np.ndarray, back: int = 1) -> None:
        """Fill a column with the value that many of the person's visits before."""
        np.copyto(column[name][back:], values[: len(person) - back], "unsafe", where=same[back])

    def minutes(length: pd.Series) -> np.ndarray:
        return length.to_numpy() // np.timedelta64(1, "m")

    location, end_minute = (features.numpy()[FEATURES.index(name), 1:]
                            for name in ("location", "end_minute"))  # fmt: skip
    column["stay"][:] = minutes(table.finished_at - table.started_at)
    earlier("before", location)
    earlier("two_before", location, 2)
    earlier("end_before", end_minute)
    earlier("stay_before", column["stay"])
    # Visits that overlap follow each other at once.
    gap = minutes((table.started_at - table.finished_at.shift())[1:])
    earlier("gap_before", np.maximum(gap, 0))
    column["visits_there"][:] = number
    return torch.from_numpy(out)


SHARES = (0.3, 0.5, 0.7)


def with_pseudo_unknowns(
    data: Dataset, memory: int = 0, older: int = 0, shares: Sequence[float] = SHARES
) -> HistoryWindows:
    """Training windows with pseudo-unknown places, and the windows as they are.

    Parameters
    ----------
    data : Dataset
    memory, older : int
        As in `pgt.history.with_history`.
    shares : sequence of float
        Each, between 0 and 1, plays the training days as if only that share of every person's
        visits had been known.

    Returns
    -------
    HistoryWindows
        More windows than ``data.train`` has; about 1 + the sum of (1 - share) times as many.

    Raises
    ------
    DataError
        A share is not between 0 and 1.

    Examples
    --------
    >>> import wherenext.city, pgt.windows
    >>> data = pgt.windows.prepare(wherenext.city.load().visits)
    >>> taught = with_pseudo_unknowns(data)
    >>> len(taught) > len(data.train), bool((taught.targets == 1).any())
    (True, True)
    """
    if not all(0 < share < 1 for share in shares):
        raise DataError(f"shares are {tuple(shares)}; each must lie between 0 and 1.")
    valid, test = _nobody(data.valid), _nobody(data.test)
    parts = [with_history(Dataset(data.train, valid, test, data.vocabulary), memory, older).train]
    for share in shares:
        train = as_if_earlier(data.train, share, whole_windows=not memory)
        parts.append(
            with_history(Dataset(train, valid, test, data.vocabulary), memory, older).train
        )
    return joined([part for part in parts if isinstance(part, HistoryWindows)])


def as_if_earlier(train: Windows, share: float, *, whole_windows: bool) -> Windows:
    """The windows after a share of each person's visits; places that are new by then are unknown.

    Parameters
    ----------
    train : Windows
    share : float
    whole_windows : bool
        Whether even a window's first visit must come after, as in the splits.
    """
    visits = train.visits
    number = visits.groupby("user_id").cumcount()
    known_part = number < share * visits.user_id.map(visits.user_id.value_counts())
    known = visits.location_id[known_part].unique()
    names = visits.location_id.where(visits.location_id.isin(known), _nowhere(visits.location_id))
    features = train.features.clone()
    features[0, 1:] = torch.tensor(train.vocabulary.encode_locations(names))
    answered = (train.first if whole_windows else train.target).astype(int)
    later = replace(train, visits=visits.assign(location_id=names), features=features)
    return later.subset(~known_part.to_numpy()[answered])


def _nobody(windows: Windows) -> Windows:
    """Windows of no visits."""
    none = np.empty(0, dtype=int)
    visits, features = windows.visits.iloc[:0], windows.features[:, :1]
    return replace(windows, visits=visits, features=features, first=none, target=none)


def _nowhere(location_id: pd.Series) -> int | str:
    """A location that is in no table."""
    if pd.api.types.is_integer_dtype(location_id):
        return int(location_id.min()) - 1
    return "\0nowhere"


def joined(parts: Sequence[HistoryWindows]) -> HistoryWindows:
    """Several sets of windows as one; each keeps to its own visits."""
    rows = np.cumsum([0] + [len(part.visits) for part in parts])
    olds = np.cumsum([0] + [part.older.shape[1] for part in parts])
    moved = list(zip(parts, rows, olds, strict=False))
    padding = parts[0]
    return HistoryWindows(
        visits=pd.concat([part.visits for part in parts], ignore_index=True),
        features=torch.cat([padding.features[:, :1]] + [p.features[:, 1:] for p in parts], dim=1),
        context=torch.cat([padding.context[:, :1]] + [p.context[:, 1:] for p in parts], dim=1),
        first=np.concatenate([part.first + row for part, row, _ in moved]),
        target=np.concatenate([part.target + row for part, row, _ in moved]),
        floor=np.concatenate([part.floor + row for part, row, _ in moved]),
        older=np.concatenate([part.older + row for part, row, _ in moved], axis=1),
        older_at=np.concatenate([part.older_at + np.array([old, 0]) for part, _, old in moved]),
        inside=np.concatenate([part.inside for part in parts]),
        vocabulary=padding.vocabulary,
    )
