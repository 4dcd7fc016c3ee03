"""Notes on people and places of another data set that have the ids of this one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pgt.errors import DataNote


def note_places(location_id: pd.Series, is_shared: np.ndarray) -> None:
    """Warn of places that nobody of the training visits, and whose ids may be shared by chance.

    Parameters
    ----------
    location_id : Series
        (N,) of visits of people whom the training does not have.
    is_shared : ndarray
        (N,) whether the training has a place of that id.

    Notes
    -----
    Whole numbers, and words without a digit such as "home", are other places in every data set.
    """
    shared = location_id[is_shared].unique()
    words = [one for one in map(str, shared) if not any(map(str.isdigit, one))]
    if pd.api.types.is_integer_dtype(location_id.dtype) or 2 * len(words) > len(shared):
        warnings.warn(
            "The model was trained on none of these people, and the places are numbers or common "
            "words: make sure that they mean the same places as in the training, else the answers "
            "mean nothing.", DataNote, stacklevel=4,
        )  # fmt: skip


def note_people(known: Mapping[Any, str], found: Mapping[Any, str]) -> None:
    """Warn of people most of whom do not begin as those of the same ids in the training.

    Parameters
    ----------
    known, found : mapping
        By person, the mark of their first visits, as of `pgt.visits.marks_of`: in the
        training, and in a table.

    Examples
    --------
    >>> note_people({1: "a", 2: "b"}, {1: "a"})
    """
    others = [user for user, mark in found.items() if known[user] != mark]
    if 2 * len(others) <= len(found):
        return
    same = len(found) - len(others)
    who = f"Only {same}" if same else "None"
    warnings.warn(
        f"{who} of the {len(found)} people whose ids are also in the training begin"
        f"{'' if same > 1 else 's'} with the visits that they have there (user_id {others[0]!r} "
        "does not, for example): if this is another data set, its ids mean other people and "
        "places, and the answers mean nothing; if these are later visits of the same people, all "
        "is well.", DataNote, stacklevel=4,
    )  # fmt: skip
