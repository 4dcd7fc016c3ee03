"""Windows: what the model sees of a person before each visit it must predict.

A window is a stretch of one person's visits: those of the seven days before the target visit's
day, and of that day itself up to the target. Visits are stored once, as flat arrays sorted by
person and time; a window is two numbers, where it begins and where its target stands. A batch
gathers windows into padded tensors, batch first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.visits import SPLITS, DataError, check, local_day, local_minute, split_by_days
from pgt.vocabulary import PADDING, Vocabulary

Protocol = Literal["published", "exact"]

QUARTERS = 96  # time of day in quarters of an hour: 1..96, 0 is padding
WEEKDAYS = 7  # 1 = Monday .. 7, 0 is padding
DURATIONS = 100  # half hours: 1 = under 30 min .. 100 = 49.5 h and more, 0 is padding

# The columns of the flat visit table, in order.
FEATURES = (
    "location", "user", "time", "weekday", "duration",
    "start_minute", "end_minute", "start_day", "end_day",
)  # fmt: skip


@dataclass(frozen=True)
class Batch:
    """Windows as padded tensors; padding is on the right and is 0 everywhere.

    Every field is an integer tensor. (B, L): ``location``; ``time`` (1..96 quarters of an hour);
    ``weekday`` (1 = Monday); ``duration`` (1..100 half hours); ``days_ago`` (whole days from the
    visit to the *last* visit, both by their start); ``start_minute`` (minute of the day). (B,):
    ``user``, ``length``, ``now_minute`` (minute of the day at which the last visit ended) and
    ``index`` (the window's number in its `Windows`). About the target, (B,): ``target`` (its
    location), ``target_time``, ``target_weekday`` and ``gap_days`` (days from the last visit's day
    to the target's): a model may read the last three only if it says so in its configuration.
    """

    location: Tensor
    time: Tensor
    weekday: Tensor
    duration: Tensor
    days_ago: Tensor
    start_minute: Tensor
    user: Tensor
    length: Tensor
    now_minute: Tensor
    index: Tensor
    target: Tensor
    target_time: Tensor
    target_weekday: Tensor
    gap_days: Tensor

    def __len__(self) -> int:
        return len(self.length)

    @property
    def padding(self) -> Tensor:
        """(B, L) True where there is no visit."""
        steps = torch.arange(self.location.shape[1], device=self.length.device)
        return steps >= self.length[:, None]  # (B, L)

    @property
    def position_from_end(self) -> Tensor:
        """(B, L) 1 for the last visit, 2 for the one before …; 0 at padding."""
        steps = torch.arange(self.location.shape[1], device=self.length.device)
        return (self.length[:, None] - steps).clamp(min=0)  # (B, L)

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return Batch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})

    def most_recent(self, n: int) -> Batch:
        """Keep the last ``n`` visits of each window."""
        if self.location.shape[1] <= n:
            return self
        steps = torch.arange(n, device=self.length.device)
        at = (self.length - n).clamp(min=0)[:, None] + steps  # (B, n)
        inside = at < self.length[:, None]
        at = at.clamp(max=self.location.shape[1] - 1)
        changed = {
            f.name: getattr(self, f.name).gather(1, at) * inside
            for f in fields(self)
            if getattr(self, f.name).ndim == 2
        }
        return replace(self, length=self.length.clamp(max=n), **changed)


@dataclass(frozen=True)
class Windows:
    """The windows of one split.

    Attributes
    ----------
    visits : DataFrame
        The split's visits, sorted by person and time; row numbers are those of ``features``.
    features : Tensor
        (9, N + 1) int64, one row per name in `FEATURES`; column 0 is padding, visit i is i + 1.
    first, target : ndarray
        (W,) the row of each window's first visit, and of its target, which follows its last.
    vocabulary : Vocabulary
    """

    visits: pd.DataFrame
    features: Tensor
    first: np.ndarray
    target: np.ndarray
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.target)

    @property
    def lengths(self) -> np.ndarray:
        """(W,) visits in each window."""
        return self.target - self.first

    @property
    def users(self) -> np.ndarray:
        """(W,) the ``user_id`` of each window."""
        return self.visits.user_id.to_numpy()[self.target]

    @cached_property
    def targets(self) -> np.ndarray:
        """(W,) the vocabulary id of each window's target."""
        return self.features[0].cpu().numpy()[self.target + 1]

    @cached_property
    def in_window(self) -> np.ndarray:
        """(W,) True where the target is one of the window's locations.

        Under the published protocol all unknown places are one location, so an unknown target
        counts as "in the window" as soon as any unknown place is.
        """
        location = self.features[0].cpu().numpy()[1:]
        previous = _previous_same(self.visits.user_id.to_numpy(), location)
        return previous[self.target] >= self.first

    def visits_of(self, i: int) -> pd.DataFrame:
        """The visits of window ``i``, oldest first."""
        return self.visits.iloc[self.first[i] : self.target[i]]

    def target_of(self, i: int) -> pd.Series:
        """The visit that window ``i`` asks for."""
        return self.visits.iloc[self.target[i]]

    def subset(self, keep: np.ndarray) -> Windows:
        """Only the windows given by a mask or by their numbers."""
        return replace(self, first=self.first[keep], target=self.target[keep])

    def to(self, device: torch.device | str) -> Windows:
        """The same windows, gathering their batches on another device."""
        return replace(self, features=self.features.to(device))

    def batch(self, index: np.ndarray | list[int], max_len: int | None = None) -> Batch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        index = np.asarray(index)
        target = self.target[index]
        first = self.first[index]
        if max_len is not None:
            first = np.maximum(first, target - max_len)
        device = self.features.device
        start = torch.from_numpy(first).to(device)
        end = torch.from_numpy(target).to(device)
        length = end - start  # (B,)
        steps = torch.arange(int((target - first).max(initial=1)), device=device)
        # Column 0 of the features is padding, hence the + 1.
        at = torch.where(steps < length[:, None], start[:, None] + steps + 1, 0)  # (B, L)
        seen = dict(zip(FEATURES, self.features[:, at], strict=True))  # each (B, L)
        last = dict(zip(FEATURES, self.features[:, end], strict=True))  # each (B,)
        then = dict(zip(FEATURES, self.features[:, end + 1], strict=True))  # each (B,)
        days_ago = (last["start_day"][:, None] - seen["start_day"]) * (at > 0)
        return Batch(
            location=seen["location"],
            time=seen["time"],
            weekday=seen["weekday"],
            duration=seen["duration"],
            days_ago=days_ago,
            start_minute=seen["start_minute"],
            user=last["user"],
            length=length,
            now_minute=last["end_minute"],
            index=torch.from_numpy(index).to(device),
            target=then["location"],
            target_time=then["time"],
            target_weekday=then["weekday"],
            gap_days=then["start_day"] - last["start_day"],
        )

    def batches(
        self,
        batch_size: int,
        *,
        shuffle: np.random.Generator | None = None,
        max_len: int | None = None,
        pool: int = 64,
    ) -> Iterator[Batch]:
        """Go once through all windows, with little padding.

        Windows of like length share a batch: sorted by length as a whole, or, when ``shuffle`` is
        given, shuffled first and sorted within pools of ``pool`` batches, which come in random
        order.
        """
        n = len(self)
        lengths = self.lengths if max_len is None else np.minimum(self.lengths, max_len)
        if shuffle is None:
            order = np.argsort(lengths, kind="stable")
            starts = np.arange(0, n, batch_size)
        else:
            order = shuffle.permutation(n)
            size = pool * batch_size
            for at in range(0, n, size):
                part = order[at : at + size]
                order[at : at + size] = part[np.argsort(lengths[part], kind="stable")]
            starts = shuffle.permutation(np.arange(0, n, batch_size))
        for begin in starts:
            yield self.batch(order[begin : begin + batch_size], max_len)


@dataclass(frozen=True)
class Dataset:
    """Windows of the three splits over one vocabulary.

    Examples
    --------
    >>> import pgt.city
    >>> data = prepare(pgt.city.load().visits)
    >>> len(data.train) > len(data.valid) > 0
    True
    """

    train: Windows
    valid: Windows
    test: Windows
    vocabulary: Vocabulary

    def counts(self) -> dict[str, int]:
        """Windows per split."""
        return {name: len(getattr(self, name)) for name in SPLITS}


def prepare(
    visits: pd.DataFrame,
    *,
    days: int = 7,
    min_visits: int = 3,
    protocol: Protocol = "published",
    vocabulary: Vocabulary | None = None,
) -> Dataset:
    """Turn visits into the windows of the three splits.

    Parameters
    ----------
    visits : DataFrame
        As `pgt.visits.check` wants it; without a ``split`` column it is split by each person's
        days (`pgt.visits.split_by_days`).
    days : int
        Days of history before the target's day. A target also needs that many days between the
        person's first day in the split and its own.
    min_visits : int
        Windows with fewer visits are left out.
    protocol : {"published", "exact"}
        What becomes of places that the training visits never show: one location "unknown"
        (id 1), as in the literature, or each its own id after the known ones.
    vocabulary : Vocabulary, optional
        Use this one (a trained model's) instead of the training visits'.

    Returns
    -------
    Dataset

    Notes
    -----
    The protocol of Hong et al. (2023): windows are built inside each split, so the first days of
    valid and test yield none.
    """
    if days < 1 or min_visits < 1:
        raise DataError(f"days={days} and min_visits={min_visits} must both be at least 1.")
    visits = check(visits)
    if "split" not in visits.columns:
        visits = split_by_days(visits)
    if vocabulary is None:
        vocabulary = Vocabulary.build(visits, protocol)
    else:
        vocabulary.require_shared(visits.location_id)
    parts = {
        name: build(visits[visits.split == name], vocabulary, days=days, min_visits=min_visits)
        for name in SPLITS
    }
    return Dataset(**parts, vocabulary=vocabulary)


def build(
    visits: pd.DataFrame, vocabulary: Vocabulary, *, days: int = 7, min_visits: int = 3
) -> Windows:
    """Build the windows of one split's visits, sorted by person and time, all at once.

    A window never crosses from one person to another: days are made increasing over the whole
    table by an offset per person that is longer than any window.
    """
    visits = visits.reset_index(drop=True)
    features = encode(visits, vocabulary)
    columns = dict(zip(FEATURES, features.numpy()[:, 1:], strict=True))
    person, _ = pd.factorize(visits.user_id)
    start_day = columns["start_day"]
    span = int(np.ptp(start_day)) + days + 1 if len(visits) else 1
    # Out-of-order days cannot happen: visits are sorted by start within a person.
    key = start_day - start_day.min(initial=0) + person * span
    first = np.searchsorted(key, key - days)
    first = np.maximum(first, np.searchsorted(person, person))
    begins = start_day[np.searchsorted(person, person)]
    rows = np.arange(len(visits))
    usable = (rows - first >= min_visits) & (start_day - begins >= days)
    return Windows(visits, features, first[usable], rows[usable], vocabulary)


def latest(
    visits: pd.DataFrame,
    vocabulary: Vocabulary,
    *,
    days: int = 7,
    at: pd.Timestamp | None = None,
) -> Windows:
    """Build the window that asks for what comes next: one a person, its target not yet there.

    In place of the target stands a row of its own: it begins at the moment of asking, its
    location id is 0, and so is the batch's ``target``. The window holds the visits of the
    ``days`` days before that moment's day and of that day itself, and always the last visit,
    however long ago, so that everybody gets an answer.

    Parameters
    ----------
    visits : DataFrame
        As `pgt.visits.check` wants it; the splits, if any, do not matter.
    vocabulary : Vocabulary
        The trained model's.
    days : int
        Days of history, as the model was trained.
    at : Timestamp, optional
        The moment of asking, with time zone: visits that begin later are not used, and one that
        is still going on ends then, as far as anybody can know. Without it, each person is asked
        about at the end of their last visit.

    Returns
    -------
    Windows
        People without a visit before ``at`` have none.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 08:00+02:00", "2024-05-01 19:00+02:00"])
    >>> visits = pd.DataFrame({"user_id": 1, "location_id": ["work", "home"], "started_at": at,
    ...                        "finished_at": at + pd.Timedelta(hours=1)})
    >>> windows = latest(visits, Vocabulary(("home", "work"), (1,), 2))
    >>> windows.batch([0]).location.tolist()
    [[3, 2]]
    """
    visits = check(visits)
    zone = visits.started_at.dt.tz
    if at is not None:
        if at.tz is None:
            raise DataError(f"The moment {at} has no time zone; write one, as in {at}+02:00.")
        at = at.tz_convert(zone)
        visits = visits[visits.started_at <= at]
        visits = visits.assign(finished_at=visits.finished_at.where(visits.finished_at <= at, at))
    last = visits.groupby("user_id", sort=False).tail(1)
    moment = last.finished_at if at is None else at
    # A stable sort by person puts each question right behind that person's last visit.
    table = pd.concat([visits, last.assign(started_at=moment, finished_at=moment)])
    table = table.sort_values("user_id", kind="stable", ignore_index=True)
    user = table.user_id.to_numpy()
    asks = np.append(user[1:] != user[:-1], True) if len(table) else np.zeros(0, dtype=bool)
    features = encode(table, vocabulary)
    features[0, 1:][torch.from_numpy(asks)] = PADDING
    day = features[FEATURES.index("start_day")].numpy()[1:]
    target = np.flatnonzero(asks)
    first = np.append(0, target[:-1] + 1)[: len(target)]
    for i, end in enumerate(target):
        recent = np.searchsorted(day[first[i] : end], day[end] - days)
        first[i] = min(first[i] + recent, end - 1)
    return Windows(table, features, first, target, vocabulary)


def encode(visits: pd.DataFrame, vocabulary: Vocabulary) -> Tensor:
    """Encode visits as integers, (9, N + 1); column 0 is padding."""
    start, end = visits.started_at, visits.finished_at
    minutes = (end - start).dt.total_seconds().floordiv(60)
    columns = {
        "location": vocabulary.encode_locations(visits.location_id),
        "user": vocabulary.encode_users(visits.user_id),
        "time": 1 + local_minute(start) // 15,
        "weekday": 1 + start.dt.day_of_week,
        "duration": 1 + (minutes // 30).clip(upper=DURATIONS - 1),
        "start_minute": local_minute(start),
        "end_minute": local_minute(end),
        "start_day": local_day(start),
        "end_day": local_day(end),
    }
    table = np.zeros((len(FEATURES), len(visits) + 1), dtype=np.int64)
    for row, name in enumerate(FEATURES):
        table[row, 1:] = np.asarray(columns[name])
    return torch.from_numpy(table)


def _previous_same(user: np.ndarray, location: np.ndarray) -> np.ndarray:
    """(N,) the row of the same person's previous visit to the same location, or -1."""
    rows = pd.Series(np.arange(len(user)))
    return rows.groupby([user, location]).shift(fill_value=-1).to_numpy()
