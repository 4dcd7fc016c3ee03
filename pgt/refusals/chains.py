"""Files of a Markov chain whose counts are none, and vocabularies whose ids are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def require_ids(raw: Mapping[str, Any]) -> None:
    """Refuse a vocabulary whose places or people are neither numbers nor texts, or there twice.

    Parameters
    ----------
    raw : mapping
        As `pgt.vocabulary.Vocabulary.to_json` writes it.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> require_ids({"locations": ["home", []], "users": [1]})
    Traceback (most recent call last):
    ValueError: [] is no id
    """
    for name in ("locations", "users"):
        if not isinstance(raw[name], list):
            raise ValueError(f"its {name} are no list")
        for one in raw[name]:
            if not isinstance(one, int | str) or isinstance(one, bool):
                raise ValueError(f"{one!r} is no id")
        if len(set(raw[name])) < len(raw[name]):
            raise ValueError(f"two of its {name} have the same id")


def require_chain(tensors: Mapping[str, Tensor], n_locations: int, n_users: int) -> None:
    """Refuse counts that no chain over these places and people can have.

    Parameters
    ----------
    tensors : mapping
        Of a file: ``popularity``, and ``keys`` and ``counts`` of ``everybody`` and of each ``own``.
    n_locations, n_users : int
        Of its vocabulary.

    Raises
    ------
    ValueError
    """
    popularity = tensors["popularity"]
    if popularity.shape != (n_locations,) or popularity.isnan().any():
        raise ValueError("its counts are of another vocabulary")
    steps = n_locations**2
    for name, most in (("everybody", steps), ("own", n_users * steps)):
        keys, counts = tensors[f"{name}.keys"], tensors[f"{name}.counts"]
        if not (keys.dtype == torch.int64 and keys.ndim == 1 and keys.shape == counts.shape):
            raise ValueError("some of its steps have no count")
        if len(keys) == 0 or keys[0] < 0 or keys[-1] >= most or (keys[1:] <= keys[:-1]).any():
            raise ValueError("some of its steps are none")
        if not ((counts >= 0).all() and counts.isfinite().all()):
            raise ValueError("some of its counts are no counts")
