"""Joining: the arrays of all buckets as one file each, in the order of `pgt.windows.prepare`."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from pgt.refusals.folders import require_arrays, require_features
from pgt.scale.buckets import numbers_of
from pgt.scale.preparing import ARRAYS, PEOPLE, array_name, inside_name
from pgt.scale.storage import Folder
from pgt.visits import SPLITS
from pgt.vocabulary import Vocabulary
from pgt.windows import FEATURES

ROWS = 1_000_000  # that are put together at a time


def join(out: Folder, at: Path, vocabulary: Vocabulary) -> None:
    """Write the arrays of all buckets as one, person after person as in the sorted table.

    Parameters
    ----------
    out : Folder
        A prepared folder.
    at : path
        A folder of this machine, which appears when all of it is written.
    vocabulary : Vocabulary
        That of the prepared folder.

    Raises
    ------
    DataError
        An array is damaged.
    """
    half = at.with_name(f".{at.name}.{secrets.token_hex(4)}.part")
    half.mkdir(parents=True)
    try:
        numbers = numbers_of(out)
        tables = [out.read_table(inside_name(number, PEOPLE)) for number in numbers]
        people = pd.concat(
            [table.assign(bucket=number) for number, table in zip(numbers, tables, strict=True)]
        ).sort_values("user_id", kind="stable", ignore_index=True)
        for split in SPLITS:
            _join_split(out, half, split, people, vocabulary)
        os.replace(half, at)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _join_split(
    out: Folder, half: Path, split: str, people: pd.DataFrame, vocabulary: Vocabulary
) -> None:
    size = people[split].to_numpy()
    begin = np.cumsum(size) - size
    there = size > 0
    table = pd.DataFrame({"user_id": people.user_id[there], "begin": begin[there]})
    table.to_parquet(half / f"{split}.{PEOPLE}", index=False)
    shares = [
        Share(number, np.flatnonzero(people.bucket.to_numpy() == number), size, begin)
        for number in numbers_of(out)
    ]
    shape = (len(FEATURES), int(size.sum()) + 1)
    path = half / f"{split}.features.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype=np.int32, shape=shape)  # zeros: column 0 too
    sources = [_source(out, half, share.number, split) for share in shares]
    spans = []
    for share, source in zip(shares, sources, strict=True):
        name = out.path(array_name(share.number, split, "features"))
        first, target, inside = (
            out.read_array(array_name(share.number, split, array)) for array in ARRAYS[1:]
        )
        rows, place = share.between(0, len(size))
        require_arrays(name, rows.stop, source, first, target, inside)
        require_features(name, source, vocabulary.n_locations, vocabulary.n_users)
        row = place.astype(np.int32)
        spans.append((row[first], row[target], inside))
    # Buckets are sorted by person too, so a stretch of the whole is one stretch of each of them.
    steps = np.searchsorted(begin, np.arange(ROWS, shape[1], ROWS))
    for since, until in pairwise(np.unique([0, *steps, len(size)])):
        flat = np.load(path, mmap_mode="r+", allow_pickle=False)
        for share, source in zip(shares, sources, strict=True):
            rows, place = share.between(int(since), int(until))
            flat[:, place + 1] = source[:, rows.start + 1 : rows.stop + 1]
    joined = [np.concatenate(arrays) for arrays in zip(*spans, strict=True)]
    order = np.argsort(joined[1], kind="stable")
    for name, array in zip(ARRAYS[1:], joined, strict=True):
        np.save(half / f"{split}.{name}.npy", array[order], allow_pickle=False)


def _source(out: Folder, half: Path, number: int, split: str) -> np.ndarray:
    """A bucket's features, mapped; those of an object store by way of a passing file."""
    name = array_name(number, split, "features")
    path = Path(out.path(name))
    if not out.is_local:
        path = half / "source.npy"
        np.save(path, out.read_array(name), allow_pickle=False)
    mapped: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    if not out.is_local:
        path.unlink()  # what is mapped stays until nobody uses it
    return mapped


@dataclass(frozen=True)
class Share:
    """Where one bucket's rows stand in the whole.

    Attributes
    ----------
    number : int
        Of the bucket.
    own : ndarray
        Its people, by their numbers in the whole, in order.
    size, begin : ndarray
        For everybody in the whole: how many rows, and the first one.
    """

    number: int
    own: np.ndarray
    size: np.ndarray
    begin: np.ndarray

    def between(self, since: int, until: int) -> tuple[slice, np.ndarray]:
        """The rows of people ``since`` … ``until`` - 1, and where they stand in the whole."""
        a, b = np.searchsorted(self.own, [since, until])
        size = self.size[self.own]
        before, size = int(size[:a].sum()), size[a:b]
        rows = slice(before, before + int(size.sum()))
        shift = self.begin[self.own[a:b]] - (np.cumsum(size) - size)
        return rows, np.repeat(shift, size) + np.arange(rows.stop - rows.start)
