"""Windows: what the models see of each visit, as integers, and which visits a window holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import DURATIONS, Batch, last_numbers, length_buckets
from pgt.config import Protocol, WindowConfig
from pgt.errors import DataError, note
from pgt.visit_checks import require_splits_in_order, scattered_places, visit_checks
from pgt.visits import (
    SPLITS,
    CheckedVisits,
    checked_table,
    local_clock,
    local_day,
    local_minute,
    person_rows,
    same_place,
    split_by_days,
)
from pgt.vocabulary import UNKNOWN, Vocabulary

# The columns of the flat visit table, in order.
ENCODED_FIELDS = (
    "location", "user", "time", "weekday", "duration",
    "start_minute", "end_minute", "start_day", "end_day",
)  # fmt: skip
DEFAULT = WindowConfig()
# Shares that look like a mistake: people with a window, targets that training has not seen.
FEW_ASKED, MOSTLY_UNKNOWN = 0.2, 0.5


def encode(visits: pd.DataFrame, vocabulary: Vocabulary) -> Tensor:
    """Encode visits as integers, (9, N + 1) int32; column 0 is padding."""
    start, end = local_clock(visits, "started_at"), local_clock(visits, "finished_at")
    table = np.zeros((len(ENCODED_FIELDS), len(visits) + 1), dtype=np.int32)
    # Each column is written as soon as it is made, so that only one is there twice.
    column = dict(zip(ENCODED_FIELDS, table[:, 1:], strict=True))
    column["location"][:] = vocabulary.encode_locations(visits.location_id)
    column["user"][:] = vocabulary.encode_users(visits.user_id)
    column["start_minute"][:] = local_minute(start)
    column["time"][:] = 1 + column["start_minute"] // 15
    stay = (visits.finished_at - visits.started_at).to_numpy() // np.timedelta64(30, "m")
    column["duration"][:] = 1 + np.minimum(stay, DURATIONS - 1)
    column["end_minute"][:] = local_minute(end)
    column["start_day"][:] = local_day(start)
    column["weekday"][:] = 1 + (column["start_day"] + 3) % 7  # 1970 began on a Thursday
    column["end_day"][:] = local_day(end)
    return torch.from_numpy(table)


def gather_fields(table: Tensor, names: Sequence[str], at: Tensor, *wanted: str) -> list[Tensor]:
    """Rows of these names at some columns: int64 for models, of a table that is kept as int32."""
    return [table[names.index(name)].take(at).long() for name in wanted]


@dataclass(frozen=True)
class Windows:
    """The windows of one split.

    Examples
    --------
    >>> import pgt
    >>> windows = pgt.prepare(pgt.load_city()).test
    >>> windows.batch([0, 1]).location.shape[0]
    2
    """

    visits: pd.DataFrame  # N of the split, sorted by person and time
    features: Tensor  # (9, N + 1) int32, a row a name in `ENCODED_FIELDS`; column 0 is padding
    first: np.ndarray  # (W,) int32, the row of each window's first visit
    target: np.ndarray  # (W,) int32, the row of its target, which follows its last visit
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.target)

    @property
    def lengths(self) -> np.ndarray:
        """(W,) visits in each window."""
        return (self.target - self.first).astype(np.int64)

    @property
    def users(self) -> np.ndarray:
        """(W,) the ``user_id`` of each window."""
        return self.visits.user_id.to_numpy()[self.target]

    @cached_property
    def targets(self) -> np.ndarray:
        """(W,) the vocabulary id of each window's target."""
        return self.features[0].cpu().numpy()[self.target + 1].astype(np.int64)

    @cached_property
    def in_window(self) -> np.ndarray:
        """(W,) True where the target is one of the window's locations; "unknown" counts as one."""
        location = self.features[0].cpu().numpy()[1:]
        previous, _ = same_place(self.visits.user_id, location)
        return previous[self.target] >= self.first

    def visits_of(self, i: int) -> pd.DataFrame:
        """The visits of window ``i``, oldest first."""
        return self.visits.iloc[self.first[i] : self.target[i]]

    def target_of(self, i: int) -> pd.Series:
        """The visit that window ``i`` asks for."""
        return self.visits.iloc[self.target[i]]

    def subset(self, keep: np.ndarray) -> Self:
        """Only the windows given by a mask or by their numbers."""
        return replace(self, first=self.first[keep], target=self.target[keep])

    def to(self, device: torch.device | str) -> Self:
        """The same windows, gathering their batches on another device."""
        return replace(self, features=self.features.to(device))

    def batch(self, index: np.ndarray | list[int] | int, max_len: int | None = None) -> Batch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        index = np.atleast_1d(index)
        return Batch(**self._fields(index, self.rows(index, max_len)))

    def rows(self, index: np.ndarray, max_len: int | None = None) -> Tensor:
        """(B, L) rows of windows' last ``max_len`` visits, oldest first; -1 at padding."""
        length = self.target[index] - self.first[index]
        number = last_numbers(length, max_len, self.features.device)
        return torch.where(number >= 0, self._on_device(self.first[index])[:, None] + number, -1)

    def _fields(self, index: np.ndarray, rows: Tensor) -> dict[str, Tensor]:
        """The fields of a `Batch` whose windows show these rows."""
        names = ("location", "time", "weekday", "duration", "start_minute")
        # Column 0 of the features is padding, hence the + 1.
        *seen, day = gather_fields(
            self.features, ENCODED_FIELDS, rows + 1, *names, "start_day"
        )  # each (B, L)
        inside, end = rows >= 0, self._on_device(self.target[index])  # the last visit's column
        user, now, last_day = gather_fields(
            self.features, ENCODED_FIELDS, end, "user", "end_minute", "start_day"
        )  # each (B,)
        target, time, weekday, then = gather_fields(
            self.features, ENCODED_FIELDS, end + 1, *names[:3], "start_day"
        )
        return {
            **dict(zip(names, seen, strict=True)),
            "days_ago": (last_day[:, None] - day) * inside,
            "user": user,
            "length": inside.sum(1),
            "now_minute": now,
            "index": self._on_device(index),
            "target": target,
            "target_time": time,
            "target_weekday": weekday,
            "gap_days": then - last_day,
        }

    def _on_device(self, numbers: np.ndarray) -> Tensor:
        """Integers as int64, where the batches are gathered."""
        return torch.from_numpy(numbers).long().to(self.features.device)

    def batches(
        self,
        batch_size: int,
        *,
        shuffle: np.random.Generator | None = None,
        max_len: int | None = None,
    ) -> Iterator[Batch]:
        """Go once through all windows, those of like length together, which saves padding.

        With ``shuffle`` they are shuffled first, and sorted within a few batches only.
        """
        lengths = self.lengths if max_len is None else np.minimum(self.lengths, max_len)
        for index in length_buckets(lengths, batch_size, shuffle):
            yield self.batch(index, max_len)


@dataclass(frozen=True)
class Dataset:
    """Windows of the three splits over one ``vocabulary``; ``config`` says how they were made.

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> len(data.train) > len(data.test) > 0
    True
    """

    train: Windows
    valid: Windows
    test: Windows
    vocabulary: Vocabulary
    config: WindowConfig

    def counts(self) -> dict[str, int]:
        """Windows per split."""
        return {name: len(getattr(self, name)) for name in SPLITS}


def prepare(
    visits: pd.DataFrame | CheckedVisits,
    *,
    days: int | None = None,
    min_visits: int | None = None,
    protocol: Protocol | None = None,
    vocabulary: Vocabulary | None = None,
    config: WindowConfig | None = None,
) -> Dataset:
    """Turn visits into the windows of the three splits, built inside each (Hong et al. 2023).

    Parameters
    ----------
    visits : DataFrame
        As `pgt.visits.check` wants it; a ``split`` column is made by `pgt.visits.split_by_days`.
    days, min_visits, protocol
        As in `pgt.config.WindowConfig`; left out, the vocabulary's, or 7, 3 and "published".
    vocabulary, config
        A trained model's, instead of the training visits'; in place of the three above.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import pgt
    >>> prepare(pgt.load_city(), days=3).config.days
    3
    """
    given: dict[str, Any] = {"days": days, "min_visits": min_visits, "protocol": protocol}
    given = {name: value for name, value in given.items() if value is not None}
    if config is not None and given:
        raise DataError("Give either config, or days, min_visits and protocol, not both.")
    trained_on = vocabulary.windows if vocabulary is not None else None
    config = config or replace(trained_on or DEFAULT, memory=0, older=0, **given)
    told = not isinstance(visits, CheckedVisits)  # else it was said where they were read
    visits = checked_table(visits)
    for text in (*visit_checks(visits), *scattered_places(visits)) if told else ():
        note(text)
    visits = visits if "split" in visits.columns else split_by_days(visits)
    require_splits_in_order(visits)
    if vocabulary is None:
        vocabulary = Vocabulary.build(visits, config.protocol)
    else:
        vocabulary.check_visits(visits)
        if vocabulary.n_known < len(vocabulary.locations):
            config = replace(config, protocol="exact")
        if trained_on is not None and (differs := config.differences(trained_on)):
            note(f"The model was trained on other windows ({differs}); leave these settings out "
                 "to have its own.")  # fmt: skip
    vocabulary = replace(vocabulary, windows=trained_on or config)
    parts = {name: build(visits[visits.split == name], vocabulary, config) for name in SPLITS}
    data = Dataset(**parts, vocabulary=vocabulary, config=config)
    for text in window_checks(data, visits):
        note(text)
    return data


def window_checks(data: Dataset, visits: pd.DataFrame) -> Iterator[str]:
    """What looks like a mistake in the windows that a table gives, one sentence each."""
    parts: list[Windows] = [getattr(data, name) for name in SPLITS]
    people = visits.user_id.nunique()
    asked = len(set().union(*(part.users.tolist() for part in parts)))
    if 0 < asked < FEW_ASKED * people:
        yield (
            f"Only {asked} of {people:,} people have a window ({data.config.min_visits} visits "
            f"within {data.config.days} days, in one part of the split): the others are in no "
            "score. More days, or fewer min_visits, take more people in."
        )
    for name, part in zip(SPLITS, parts, strict=True):
        unknown = float((part.targets == UNKNOWN).mean()) if len(part) else 0.0
        if data.config.protocol == "published" and unknown > MOSTLY_UNKNOWN:
            yield (
                f"{100 * unknown:.0f} % of the {name} windows ask for a place that training has "
                'not seen, and all of these are one place, "unknown": a score says little. '
                'protocol="exact" tells them apart; if the split is by people, take the '
                "predictor (pgt.NextLocation), which needs to have seen nobody."
            )


def build(visits: pd.DataFrame, vocabulary: Vocabulary, config: WindowConfig = DEFAULT) -> Windows:
    """Build the windows of one split's visits, sorted by person and time, all at once."""
    visits = visits.reset_index(drop=True)
    features = encode(visits, vocabulary)
    first, tracked = history_starts(visits.user_id, features, config)
    rows = np.arange(len(visits), dtype=np.int32)
    usable = (rows - first >= config.min_visits) & (tracked >= config.days)
    return Windows(visits, features, first[usable], rows[usable], vocabulary)


def history_starts(
    user: pd.Series, features: Tensor, config: WindowConfig
) -> tuple[np.ndarray, np.ndarray]:
    """(N,) the first row of each visit's history, and the person's days before it goes back."""
    start_day = features.numpy()[ENCODED_FIELDS.index("start_day"), 1:]
    person, begins = person_rows(user)
    # The visit whose day the history goes back from; a person's first visit has none before it.
    rows = np.arange(len(user), dtype=np.int32)
    back_from = rows if config.goes_back_from == "target_day" else np.maximum(rows - 1, begins)
    # People one after the other on one line of days, further apart than any history reaches.
    span = int(np.ptp(start_day)) + config.days + 1 if len(user) else 1
    key = start_day - start_day.min(initial=0) + person * span
    first = np.searchsorted(key, key[back_from] - config.days).astype(np.int32)
    return first, start_day[back_from] - start_day[begins]
