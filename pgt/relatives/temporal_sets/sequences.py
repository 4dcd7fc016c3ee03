"""Sequences of sets: baskets of a shop, or the places of a day; padded once, then only sliced.

A sequence is somebody's sets in order of time, and the question is which elements the next set
holds. Everything about a sequence that a model needs is which *elements* occur in it and in which
of its sets each of them is: a table of ones and zeros, ``present``, with one row an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.errors import DataError
from pgt.visits import SPLITS

NOBODY = -1  # padding of elements and of targets


@dataclass(frozen=True)
class Sequences:
    """Sequences of sets and what came next. U sequences, N elements, T sets, padded with -1.

    Attributes
    ----------
    elements : Tensor
        (U, N) which elements a sequence holds, each once; -1 is padding.
    present : Tensor
        (U, N, T) bool, whether an element is in a set. Time runs from the first set on, so that
        padding comes last.
    length : Tensor
        (U,) sets in each sequence, at least 1.
    target : Tensor
        (U, S) the elements of the next set; -1 is padding.
    user : Tensor
        (U,) whose sequence it is, a number.
    n_elements : int
        Elements that exist: 0 to ``n_elements - 1``.
    """

    elements: Tensor
    present: Tensor
    length: Tensor
    target: Tensor
    user: Tensor
    n_elements: int

    def __len__(self) -> int:
        return len(self.length)

    def batch(self, rows: Tensor | np.ndarray) -> Sequences:
        """Some sequences, with no more padding than they need."""
        rows = torch.as_tensor(rows)
        elements, length, target = self.elements[rows], self.length[rows], self.target[rows]
        n, t = int((elements >= 0).sum(1).max()), int(length.max())
        s = max(int((target >= 0).sum(1).max()), 1)
        present = self.present[rows, :n, :t]
        return Sequences(
            elements[:, :n], present, length, target[:, :s], self.user[rows], self.n_elements
        )

    def truth(self) -> Tensor:
        """(U, n_elements) bool: the next set."""
        return _hot(self.target, self.n_elements)

    def seen(self) -> Tensor:
        """(U, n_elements) bool: the elements of the sequence."""
        return _hot(self.elements, self.n_elements)


def _hot(ids: Tensor, width: int) -> Tensor:
    """(U, K) ids, -1 for none -> (U, width) bool."""
    hot = torch.zeros(len(ids), width + 1, dtype=torch.bool)
    hot.scatter_(1, torch.where(ids >= 0, ids, width), True)
    return hot[:, :width]


def padded(
    histories: Sequence[Sequence[Sequence[int]]],
    targets: Sequence[Sequence[int]],
    n_elements: int,
    users: Sequence[int] | None = None,
) -> Sequences:
    """Pad sequences of sets.

    Parameters
    ----------
    histories : sequence of sequences of sets
        Everybody's sets in order of time; a set is a list of element numbers.
    targets : sequence of sets
    n_elements : int
    users : sequence of int, optional
        Whose sequence each is; a person of its own when left out.

    Raises
    ------
    DataError
        For a sequence without an element, or an element that does not exist.

    Examples
    --------
    >>> two = padded([[[4, 2], [4]], [[0]]], [[2], [0, 1]], n_elements=5)
    >>> two.elements.tolist()
    [[4, 2], [0, -1]]
    >>> two.present[0].int().tolist()  # element 4 is in both sets, element 2 in the first
    [[1, 1], [1, 0]]
    """
    elements = [list(dict.fromkeys(e for one in history for e in one)) for history in histories]
    for row, (own, target) in enumerate(zip(elements, targets, strict=True)):
        if not own:
            raise DataError(f"Sequence {row} has no element; leave it out.")
        if not all(0 <= e < n_elements for e in (*own, *target)):
            raise DataError(
                f"Sequence {row} has an element outside 0 to {n_elements - 1}; number the elements "
                "from 0 and give n_elements."
            )
    n, t = max(map(len, elements), default=0), max(map(len, histories), default=0)
    s = max([1, *(len(set(target)) for target in targets)])
    ids = np.full((len(histories), n), NOBODY)
    present = np.zeros((len(histories), n, t), dtype=bool)
    goal = np.full((len(histories), s), NOBODY)
    for row, (history, own, target) in enumerate(zip(histories, elements, targets, strict=True)):
        ids[row, : len(own)] = own
        at = {e: k for k, e in enumerate(own)}
        for when, one in enumerate(history):
            present[row, [at[e] for e in one], when] = True
        unique = sorted(set(target))
        goal[row, : len(unique)] = unique
    return Sequences(
        torch.from_numpy(ids),
        torch.from_numpy(present),
        torch.tensor([len(history) for history in histories]),
        torch.from_numpy(goal),
        torch.arange(len(histories)) if users is None else torch.as_tensor(users),
        n_elements,
    )


def daily_places(visits: pd.DataFrame, days: int = 7) -> dict[str, Sequences]:
    """The places of each active day as a set, and the sets of the active days before it.

    Parameters
    ----------
    visits : DataFrame
        With ``split``; places are numbered over all of it, as in the exact protocol.
    days : int
        A sequence has the sets of at most so many active days. Days are not joined over a
        border between splits; every target has at least two of them before it.

    Returns
    -------
    dict
        train, valid and test, each a `Sequences` with one row a day to predict.
    """
    place, names = pd.factorize(visits.location_id, sort=True)
    person, _ = pd.factorize(visits.user_id, sort=True)
    table = pd.DataFrame({
        "split": visits.split.to_numpy(), "person": person, "place": place,
        "day": pd.DatetimeIndex(visits.started_at).tz_localize(None).normalize(),
    })  # fmt: skip
    found = {}
    for split in SPLITS:
        histories, targets, users = [], [], []
        for who, own in table[table.split == split].groupby("person"):
            sets = own.groupby("day").place.agg(lambda one: list(dict.fromkeys(one))).tolist()
            for at in range(2, len(sets)):
                histories.append(sets[max(0, at - days) : at])
                targets.append(sets[at])
                users.append(int(str(who)))
        found[split] = padded(histories, targets, len(names), users)
    return found
