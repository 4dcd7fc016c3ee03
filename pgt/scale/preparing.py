"""Preparing: from buckets of visits to buckets of windows, the same numbers as in memory.

DuckDB makes the vocabulary of all visits; then each bucket is encoded by `pgt.windows.build`. What
a bucket holds are arrays (.npy) that numpy can map and that contain no code.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.config import Protocol, WindowConfig
from pgt.errors import DataError
from pgt.refusals.folders import (
    require_arrays,
    require_done,
    require_features,
    require_prepared,
)
from pgt.scale import duck
from pgt.scale.buckets import numbers_of, visits_name
from pgt.scale.engines import Engine, InProcess
from pgt.scale.storage import Folder
from pgt.visits import FIRST, SPLITS, marks_of
from pgt.vocabulary import Vocabulary
from pgt.windows import DEFAULT, PreparedDataset, Windows, build

PREPARED = "prepared.json"
VOCABULARY = "vocabulary.json"
PEOPLE = "people.parquet"
ARRAYS = ("features", "first", "target", "inside")


def inside_name(number: int, name: str) -> str:
    """A file of a bucket's windows."""
    return f"windows/{number:05d}/{name}"


def array_name(number: int, split: str, name: str) -> str:
    """One of `ARRAYS` of a bucket and a split."""
    return inside_name(number, f"{split}.{name}.npy")


def prepare(
    folder: str,
    config: WindowConfig = DEFAULT,
    *,
    vocabulary: Vocabulary | None = None,
    memory: str = "1GB",
    engine: Engine | None = None,
) -> dict[str, int]:
    """Turn the buckets of a folder into windows, as `pgt.windows.prepare` does in memory.

    Parameters
    ----------
    folder : str
        Path or address, where `pgt.scale.buckets.bucket` wrote. A bucket that is prepared in the
        same way already is not prepared again.
    config : WindowConfig
        Which windows.
    vocabulary : Vocabulary, optional
        Use this one (a trained model's), as `pgt.windows.prepare` does.
    memory : str
        What DuckDB may use for the vocabulary.
    engine : Engine, optional
        Prepares the buckets; this process otherwise.

    Returns
    -------
    dict
        Windows per split.

    Raises
    ------
    DataError
        When the folder holds no buckets, or no location of ``vocabulary``.

    Examples
    --------
    >>> import pgt
    >>> from pgt.scale.buckets import bucket
    >>> visits = wherenext.city.load().visits
    >>> Folder("memory://prepared").write_table("town.parquet", visits)
    >>> _ = bucket(["memory://prepared/town.parquet"], "memory://prepared/buckets", n_buckets=2)
    >>> prepare("memory://prepared/buckets") == pgt.prepare(visits).counts()
    True
    """
    out = Folder(folder)
    numbers = numbers_of(out)
    if vocabulary is None:
        vocabulary = build_vocabulary(folder, config.protocol, memory=memory)
    else:
        places = build_vocabulary(folder, "exact", memory=memory).locations
        config = vocabulary.windows(config, pd.Series(places))
    about = {"windows": config.to_dict(), "vocabulary": vocabulary.fingerprint()}
    if out.has(PREPARED) and not about.items() <= prepared(out).items():
        out.remove(PREPARED)  # the folder is nothing whole until all buckets are prepared anew
    with out.whole(VOCABULARY) as handle:
        handle.write(vocabulary.to_json(people=True).encode())
    work = partial(_encode, folder, about)
    counts = (engine or InProcess()).map(work, numbers)
    total = {name: sum(one[name] for one in counts) for name in SPLITS}
    out.write_json(PREPARED, about | {"counts": total})
    return total


def build_vocabulary(folder: str, protocol: Protocol, *, memory: str = "1GB") -> Vocabulary:
    """The vocabulary of all buckets, as `Vocabulary.build` makes it of the table."""
    out = Folder(folder)
    with duck.connect(memory) as connection:
        names = [out.address(visits_name(number)) for number in numbers_of(out)]
        table = duck.relation(connection, names)

        def sorted_ids(sql: str) -> list[int | str]:
            return [value for (value,) in connection.sql(f"{sql} ORDER BY 1").fetchall()]

        places = f"SELECT location_id FROM {table}"
        known = sorted_ids(f"SELECT DISTINCT location_id FROM {table} WHERE split = 'train'")
        others = f"{places} EXCEPT {places} WHERE split = 'train'"
        users = sorted_ids(f"SELECT DISTINCT user_id FROM {table} WHERE split = 'train'")
        first = connection.sql(
            "SELECT user_id, location_id, CAST(floor(epoch(started_at)) AS BIGINT) "
            f"FROM {table} WHERE split = 'train' QUALIFY {FIRST} >= "
            "row_number() OVER (PARTITION BY user_id ORDER BY started_at) ORDER BY 1, 3"
        )
        marks = marks_of(first.fetchall())
        return Vocabulary(
            locations=(*known, *(sorted_ids(others) if protocol == "exact" else ())),
            users=tuple(users),
            n_known=len(known),
            people=tuple(marks[user] for user in users),
        )


def dataset(folder: str, number: int) -> PreparedDataset:
    """The windows of one bucket, in memory.

    People are whole within a bucket, so that whatever is done to the windows of all, such as
    `pgt.history.with_history`, can be done to those of one bucket after the other.

    Raises
    ------
    DataError
        When the folder is not prepared.
    """
    out = Folder(folder)
    about = prepared(out)
    vocabulary = vocabulary_of(folder, about["vocabulary"])
    visits = out.read_table(visits_name(number))
    parts = {}
    for name in SPLITS:
        features, first, target, inside = (
            out.read_array(array_name(number, name, array)) for array in ARRAYS
        )
        table = visits[visits.split == name].reset_index(drop=True)
        path = out.path(array_name(number, name, "features"))
        require_arrays(path, len(table), features, first, target, inside)
        require_features(path, features, vocabulary.n_locations, vocabulary.n_users)
        encoded = torch.from_numpy(features)
        parts[name] = Windows(table, encoded, first, target, vocabulary)
    return PreparedDataset(
        **parts, vocabulary=vocabulary, config=WindowConfig.from_dict(about["windows"])
    )


def prepared(out: Folder) -> dict[str, Any]:
    """How a folder was prepared.

    Raises
    ------
    DataError
        It is not, or not to the end.
    """
    if not out.has(PREPARED):
        raise DataError(f"{out.url} is not prepared; 'pgt prepare --engine' does it.")
    about = out.read_json(PREPARED)
    require_prepared(out.path(PREPARED), about)
    return dict(about)


def require_windows(folder: str, asked: WindowConfig) -> None:
    """Refuse a folder that was prepared with other windows than those that are asked for.

    Raises
    ------
    DataError
        It was, or it is not prepared.
    """
    has = prepared(Folder(folder))["windows"]
    for name, value in asked.to_dict().items():
        if has[name] != value:
            raise DataError(
                f"{folder} was prepared with {name} {has[name]}, not {value}; prepare it anew, or "
                "ask for the same."
            )


@lru_cache(maxsize=1)
def vocabulary_of(folder: str, fingerprint: str) -> Vocabulary:
    """The vocabulary of a folder; a process reads it once for all buckets."""
    with Folder(folder).open(VOCABULARY) as handle:
        vocabulary = Vocabulary.from_json(handle.read().decode())
    if vocabulary.fingerprint() != fingerprint:
        raise DataError(f"{folder} is being prepared anew; try again when that is done.")
    return vocabulary


def _encode(folder: str, about: dict[str, Any], number: int) -> dict[str, int]:
    """Prepare one bucket, and count its windows."""
    out = Folder(folder)
    done = inside_name(number, "done.json")
    if out.has(done):
        old = out.read_json(done)
        require_done(out.path(done), old)
        if old["about"] == about:
            return dict(old["counts"])
    out.remove(done)
    config = WindowConfig.from_dict(about["windows"])
    vocabulary = vocabulary_of(folder, about["vocabulary"])
    visits = out.read_table(visits_name(number))
    people = pd.DataFrame({"user_id": visits.user_id.unique()})
    counts = {}
    for name in SPLITS:
        windows = build(visits[visits.split == name], vocabulary, config)
        arrays = (windows.features.numpy(), windows.first, windows.target, windows.in_window)
        for array, values in zip(ARRAYS, arrays, strict=True):
            out.write_array(array_name(number, name, array), values)
        rows = windows.visits.user_id.value_counts()
        people[name] = people.user_id.map(rows).fillna(0).astype(np.int64)
        counts[name] = len(windows)
    out.write_table(inside_name(number, PEOPLE), people)
    out.write_json(done, {"about": about, "counts": counts})  # last: now the bucket is whole
    return counts
