"""Mapped: the windows of all buckets as one data set whose features stay on disk.

`open_prepared` puts the arrays of the buckets together once, in the order of `pgt.windows.prepare`.
After that the operating system reads what a batch needs and forgets it again when memory is short.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from pgt.config import WindowConfig
from pgt.errors import DataError
from pgt.io.damage import UNREADABLE, reason
from pgt.refusals.folders import require_arrays
from pgt.scale.buckets import MANIFEST, number_of, visits_name
from pgt.scale.joining import join
from pgt.scale.preparing import ARRAYS, PEOPLE, PREPARED, prepared, vocabulary_of
from pgt.scale.storage import Folder
from pgt.visits import SPLITS
from pgt.vocabulary import Vocabulary
from pgt.windows import PreparedDataset, Windows

MAPPED = "mapped"


@dataclass(frozen=True)
class MappedWindows(Windows):
    """Windows whose features are a file. Batches, ranks and counts are those of `Windows`.

    Attributes
    ----------
    visits : DataFrame
        Empty: ``visits_of`` and ``target_of`` read what they are asked for.
    folder : str
        The prepared folder.
    split : str
    people : DataFrame
        Who has visits in the split, in order: ``user_id``, and ``begin``, the row of the first.
    inside : ndarray
        (W,) what ``in_window`` says.
    """

    folder: str
    split: str
    people: pd.DataFrame
    inside: np.ndarray

    @property
    def users(self) -> np.ndarray:
        """(W,) the ``user_id`` of each window."""
        return self.people.user_id.to_numpy()[self._person(self.target)]

    @property
    def in_window(self) -> np.ndarray:
        """(W,) True where the target is one of the window's locations."""
        return np.asarray(self.inside)

    def visits_of(self, i: int) -> pd.DataFrame:
        """The visits of window ``i``, oldest first."""
        return self._rows(int(self.first[i]), int(self.target[i]))

    def target_of(self, i: int) -> pd.Series:
        """The visit that window ``i`` asks for."""
        return self._rows(int(self.target[i]), int(self.target[i]) + 1).iloc[0]

    def subset(self, keep: np.ndarray) -> MappedWindows:
        """Only the windows given by a mask or by their numbers."""
        cut = {name: getattr(self, name)[keep] for name in ("first", "target", "inside")}
        return replace(self, **cut)

    def _person(self, row: np.ndarray | int) -> np.ndarray:
        return np.searchsorted(self.people.begin.to_numpy(), row, side="right") - 1

    def _rows(self, begin: int, end: int) -> pd.DataFrame:
        """Visits of one person, numbered as in the table of all."""
        user_id, since = self.people.iloc[int(self._person(begin))]
        out = Folder(self.folder)
        table = out.read_table(visits_name(number_of(out, user_id)))
        own = table[(table.user_id == user_id) & (table.split == self.split)]
        own.index = pd.RangeIndex(since, since + len(own))
        return own.loc[begin : end - 1]


def is_prepared(path: str | Path) -> bool:
    """Whether a folder of this machine holds windows of buckets."""
    return Path(path, PREPARED).is_file()


def open_prepared(folder: str, *, here: str | Path | None = None) -> PreparedDataset:
    """Open a prepared folder as one data set.

    Parameters
    ----------
    folder : str
        Path or address, where `pgt.scale.preparing.prepare` worked.
    here : path, optional
        A folder of this machine for the files that are mapped, needed where ``folder`` is not of
        this machine. They are made once: 36 bytes a visit and 9 a window.

    Returns
    -------
    PreparedDataset
        Its windows, their order, their features and batches are those of `pgt.windows.prepare`.

    Raises
    ------
    DataError
        When the folder is not prepared, or damaged.

    Examples
    --------
    >>> import pgt, tempfile
    >>> from pgt.scale.buckets import bucket
    >>> from pgt.scale.preparing import prepare
    >>> visits = wherenext.city.load().visits
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     visits.to_parquet(f"{folder}/town.parquet")
    ...     _ = bucket([f"{folder}/town.parquet"], f"{folder}/buckets", n_buckets=2)
    ...     _ = prepare(f"{folder}/buckets")
    ...     mapped = open_prepared(f"{folder}/buckets")
    ...     torch.equal(mapped.test.features, pgt.prepare(visits).test.features)
    True
    """
    try:
        return _opened(Folder(folder), here)
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"{folder} is damaged ({reason(error)}); prepare it anew.") from error


def _opened(out: Folder, here: str | Path | None) -> PreparedDataset:
    about = prepared(out)
    if here is None:
        if not out.is_local:
            raise DataError(f"{out.url} cannot be mapped; give here=, a folder of this machine.")
        here = out.path(MAPPED)
    vocabulary = vocabulary_of(out.url, about["vocabulary"])
    config = WindowConfig.from_dict(about["windows"])
    made_from = json.dumps([out.read_json(MANIFEST), about], sort_keys=True)
    at = Path(here) / hashlib.sha256(made_from.encode()).hexdigest()[:12]
    if not at.exists():
        join(out, at, vocabulary)
    parts = {split: _open(out, at, split, vocabulary) for split in SPLITS}
    return PreparedDataset(**parts, vocabulary=vocabulary, config=config)


def _open(out: Folder, at: Path, split: str, vocabulary: Vocabulary) -> MappedWindows:
    # Mode "c" keeps writes in memory: torch wants arrays that could be written.
    features, first, target, inside = (
        np.load(at / f"{split}.{name}.npy", mmap_mode="c", allow_pickle=False) for name in ARRAYS
    )
    require_arrays(str(at), features.shape[-1] - 1, features, first, target, inside)
    people = pd.read_parquet(at / f"{split}.{PEOPLE}")
    encoded = torch.from_numpy(features)
    return MappedWindows(
        people.iloc[:0], encoded, first, target, vocabulary, out.url, split, people, inside
    )
