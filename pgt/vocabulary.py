"""The vocabulary: which integer stands for which location and which person."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from pgt.config import WindowConfig
from pgt.visits import DataError

PADDING = 0
UNKNOWN = 1


@dataclass(frozen=True)
class Vocabulary:
    """Locations and people as integers.

    Location ids: 0 padding, 1 unknown, 2 … ``n_known`` + 1 the locations of the training visits,
    and, under the exact protocol, the other places after them. People: 0 a person whom training
    has not seen, 1 … the others.

    Attributes
    ----------
    locations : tuple
        The ``location_id`` of ids 2, 3, …
    users : tuple
        The ``user_id`` of ids 1, 2, …
    n_known : int
        How many of ``locations`` the training visits show.
    """

    locations: tuple[int | str, ...]
    users: tuple[int | str, ...]
    n_known: int

    @classmethod
    def build(
        cls, visits: pd.DataFrame, protocol: Literal["published", "exact"] = "published"
    ) -> Vocabulary:
        """Collect the locations and people of visits that have a ``split``, in sorted order.

        Examples
        --------
        >>> visits = pd.DataFrame({"user_id": [1, 1, 1], "location_id": ["b", "a", "c"],
        ...                        "split": ["train", "train", "test"]})
        >>> Vocabulary.build(visits).locations
        ('a', 'b')
        >>> Vocabulary.build(visits, "exact").locations
        ('a', 'b', 'c')
        """
        if protocol not in ("published", "exact"):
            raise ValueError(f"protocol is {protocol!r}; it must be 'published' or 'exact'.")
        train = visits[visits.split == "train"]
        known = sorted(train.location_id.unique().tolist())
        seen = set(known)
        others = [
            place for place in sorted(visits.location_id.unique().tolist()) if place not in seen
        ]
        return cls(
            locations=tuple(known + (others if protocol == "exact" else [])),
            users=tuple(sorted(train.user_id.unique().tolist())),
            n_known=len(known),
        )

    @property
    def n_locations(self) -> int:
        """Location ids, with padding and unknown."""
        return len(self.locations) + 2

    @property
    def n_users(self) -> int:
        """User ids, with 0."""
        return len(self.users) + 1

    @cached_property
    def _location_ids(self) -> pd.Index:
        return pd.Index(self.locations)

    @cached_property
    def _user_ids(self) -> pd.Index:
        return pd.Index(self.users)

    def encode_locations(self, location_id: pd.Series) -> np.ndarray:
        """Ids of locations; 1 for those not in the vocabulary."""
        at = self._location_ids.get_indexer(location_id)  # (N,) -1 where it is not there
        return np.where(at < 0, UNKNOWN, at + 2)

    def encode_users(self, user_id: pd.Series) -> np.ndarray:
        """Ids of people; 0 for those whom training has not seen."""
        return 1 + self._user_ids.get_indexer(user_id)

    def require_shared(self, location_id: pd.Series) -> None:
        """Refuse locations of which this vocabulary has none: they are of another data set."""
        if len(location_id) and not (self.encode_locations(location_id) > UNKNOWN).any():
            ours = repr(self.locations[0]) if self.locations else "none"
            raise DataError(
                f"None of the table's {location_id.nunique()} locations (such as "
                f"{location_id.tolist()[0]!r}) is among the {len(self.locations)} that the model "
                f"was trained on (such as {ours}): it is of another vocabulary; use the table it "
                "was trained on, or train on this one."
            )

    def windows(self, config: WindowConfig, location_id: pd.Series) -> WindowConfig:
        """The windows that visits to these places have with this vocabulary, of other visits.

        Raises
        ------
        DataError
            As `require_shared`.
        """
        self.require_shared(location_id)
        exact = self.n_known < len(self.locations)
        return replace(config, protocol="exact") if exact else config

    def decode(self, ids: np.ndarray) -> np.ndarray:
        """The ``location_id`` of each id, as objects; None for padding and unknown."""
        names = np.empty(self.n_locations, dtype=object)
        names[2:] = self.locations
        return names[np.asarray(ids)]

    def is_known(self, ids: np.ndarray) -> np.ndarray:
        """True for ids of locations that the training visits show."""
        ids = np.asarray(ids)
        return (ids >= 2) & (ids < 2 + self.n_known)

    def to_json(self) -> str:
        """Write as JSON; `from_json` reads it."""
        return json.dumps(
            {"locations": self.locations, "users": self.users, "n_known": self.n_known}
        )

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Read what `to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        return cls(tuple(raw["locations"]), tuple(raw["users"]), int(raw["n_known"]))

    def fingerprint(self) -> str:
        """A short hash that differs when the vocabulary does."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]
