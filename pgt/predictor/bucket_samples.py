"""Samples of buckets: a few of everybody's visits and windows, those that the whole table gives.

Which are drawn depends on how many everybody has, and on the order of the people. So the buckets
are counted first, and what is drawn is fetched from them then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from pgt.batch import Batch
from pgt.config import WindowConfig
from pgt.history import HistoryWindows
from pgt.predictor.asking import ask, drawn, later, of_past
from pgt.predictor.fitting import remembering
from pgt.scale.buckets import numbers_of, visits_name
from pgt.scale.engines import Engine
from pgt.scale.evaluating import together
from pgt.scale.preparing import dataset, prepared, vocabulary_of
from pgt.scale.storage import Folder
from pgt.visits import SPLITS, nobody_before
from pgt.windows import PreparedDataset, build

EXACT = WindowConfig(protocol="exact")  # the windows that a score is of


def past_visits(
    folder: str, n: int, at: pd.Timestamp | None, *, memory: int, older: int, engine: Engine
) -> HistoryWindows:
    """Some visits that have happened already, as `pgt.predictor.asking.past` draws them.

    Parameters
    ----------
    folder : str
        Path or address, where `pgt.scale.buckets.bucket` wrote.
    n : int
        How many are drawn, at most.
    at : Timestamp, optional
        When is asked; later visits are not used.
    memory, older : int
        As in `pgt.history.with_history`.
    engine : Engine

    Raises
    ------
    DataError
        Nobody has a visit before ``at``.
    """
    people = _counted(folder, partial(_visits, folder, at), engine)
    if len(people) == 0:
        raise nobody_before(at)
    person, number = drawn(later(people.n.to_numpy()), n)
    few, visits = _fetched(folder, people, person, engine)
    asked = ask(visits, at=at, memory=memory, older=older)
    return of_past(asked, few, number, memory, older)


def windows_of_people(folder: str, engine: Engine) -> pd.DataFrame:
    """Everybody in the table's order: ``user_id``, ``bucket``, and the windows of each split."""
    return _counted(folder, partial(_windows, folder), engine)


def training(folder: str, people: pd.DataFrame, n: int, engine: Engine) -> HistoryWindows:
    """Up to so many of the training windows, in the table's order.

    Parameters
    ----------
    folder : str
        A prepared folder.
    people : DataFrame
        Of `windows_of_people`.
    n : int
    engine : Engine
    """
    person, number = drawn(people.train.to_numpy(), n)
    few, visits = _fetched(folder, people, person, engine)
    words = vocabulary_of(folder, prepared(Folder(folder))["vocabulary"])
    parts = {name: build(visits[visits.split == name], words, EXACT) for name in SPLITS}
    data = PreparedDataset(**parts, vocabulary=words, config=EXACT)
    size = people.train.to_numpy()[np.unique(person)]
    rows = (np.cumsum(size) - size)[few] + number
    return cast(HistoryWindows, remembering(data).train).subset(rows)


@dataclass(frozen=True)
class Validation:
    """Some validation windows of all buckets, with the past that the predictor looks at.

    Attributes
    ----------
    folder : str
    index : dict
        Their numbers among the windows of each bucket.
    """

    folder: str
    index: dict[int, np.ndarray]

    @classmethod
    def drawn(cls, folder: str, people: pd.DataFrame, n: int) -> Validation:
        """Draw up to so many, those that would be drawn of the table's."""
        person, number = drawn(people.valid.to_numpy(), n)
        before = people.groupby("bucket").valid.cumsum().to_numpy() - people.valid.to_numpy()
        bucket = people.bucket.to_numpy()[person]
        rows = before[person] + number
        return cls(folder, {int(one): rows[bucket == one] for one in np.unique(bucket)})

    def __len__(self) -> int:
        return sum(map(len, self.index.values()))

    def batches(self, batch_size: int) -> Iterator[Batch]:
        """Go once through all of them, with one bucket after the other in memory."""
        for bucket, rows in self.index.items():
            valid = remembering(dataset(self.folder, bucket)).valid
            yield from valid.subset(rows).batches(batch_size)


def _counted(folder: str, count: Any, engine: Engine) -> pd.DataFrame:
    """What is counted of the people of each bucket, of all in the table's order."""
    numbers = numbers_of(Folder(folder))
    parts = zip(numbers, engine.map(count, numbers), strict=True)
    return together([part.assign(bucket=number) for number, part in parts])


def _fetched(
    folder: str, people: pd.DataFrame, person: np.ndarray, engine: Engine
) -> tuple[np.ndarray, pd.DataFrame]:
    """(K,) the numbers of some people among themselves, and their visits in the table's order."""
    few, again = np.unique(person, return_inverse=True)
    asked = people.iloc[few if len(few) else [0]]  # nobody's visits cannot be asked about
    users = [(int(number), part.user_id.tolist()) for number, part in asked.groupby("bucket")]
    return again, together(engine.map(partial(_of_users, folder), users))


# What the workers do, each with one bucket.


def _visits(folder: str, at: pd.Timestamp | None, number: int) -> pd.DataFrame:
    """How many visits everybody has, until a moment."""
    visits = Folder(folder).read_table(visits_name(number), ["user_id", "started_at"])
    user = visits.user_id if at is None else visits.user_id[visits.started_at <= at]
    return user.groupby(user, sort=False).size().rename("n").rename_axis("user_id").reset_index()


def _windows(folder: str, number: int) -> pd.DataFrame:
    """How many windows of each split everybody has."""
    data = dataset(folder, number)
    everybody = pd.concat([getattr(data, name).visits.user_id for name in SPLITS]).unique()
    people = pd.DataFrame({"user_id": np.sort(everybody)})
    for name in SPLITS:
        own = pd.Series(getattr(data, name).users).value_counts()
        people[name] = people.user_id.map(own).fillna(0).astype(np.int64)
    return people


def _of_users(folder: str, asked: tuple[int, list[Any]]) -> pd.DataFrame:
    """The visits of some people of a bucket."""
    number, users = asked
    visits = Folder(folder).read_table(visits_name(number))
    return visits[visits.user_id.isin(users)]
