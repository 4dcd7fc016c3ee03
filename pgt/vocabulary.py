"""The vocabulary: which integer stands for which location and which person."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from pgt.config import WindowConfig
from pgt.refusals.chains import require_ids
from pgt.refusals.sizes import require_shared
from pgt.refusals.strangers import note_people, note_places
from pgt.visits import first_visits, marks_of

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
    people : tuple of str
        Of each of ``users`` a short hash of the first visits of the training, which nobody can
        turn back; empty where it is not known. Vocabularies without it can be the same.
    """

    locations: tuple[int | str, ...]
    users: tuple[int | str, ...]
    n_known: int
    people: tuple[str, ...] = field(default=(), compare=False)

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
        users = tuple(sorted(train.user_id.unique().tolist()))
        marks = marks_of(first_visits(train)) if "started_at" in train.columns else {}
        return cls(
            locations=tuple(known + (others if protocol == "exact" else [])),
            users=users,
            n_known=len(known),
            people=tuple(marks[user] for user in users) if marks else (),
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

    def note_strangers(self, visits: pd.DataFrame) -> None:
        """Warn of visits that share ids with this vocabulary, and few of its people.

        Ids such as 1, 2, 3, and words such as "home", are other people and other places in every
        data set. A person is the same who begins with the visits that the training has of them.
        """
        shared = visits[self.encode_users(visits.user_id) > 0]
        if len(shared) == 0:
            places = visits.location_id
            return note_places(places, self.encode_locations(places) > UNKNOWN)
        if "split" in shared.columns:
            shared = shared[shared.split == "train"]
        if self.people:
            known = dict(zip(self.users, self.people, strict=True))
            note_people(known, marks_of(first_visits(shared)))
        return None

    def windows(self, config: WindowConfig, location_id: pd.Series) -> WindowConfig:
        """The windows that visits to these places have with this vocabulary, of other visits.

        Raises a `DataError` where `pgt.refusals.sizes.require_shared` does.
        """
        require_shared(self, location_id)
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

    def to_json(self, *, people: bool = False) -> str:
        """Write as JSON, with the marks of ``people`` or without; `from_json` reads both."""
        ids = {"locations": self.locations, "users": self.users, "n_known": self.n_known}
        return json.dumps(ids | ({"people": self.people} if people and self.people else {}))

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Read what `to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        require_ids(raw)
        people = tuple(map(str, raw.get("people", ())))
        if people and len(people) != len(raw["users"]):
            raise ValueError(f"it has {len(raw['users'])} users and marks of {len(people)}")
        if not 0 <= (n_known := raw["n_known"]) <= len(raw["locations"]):
            raise ValueError(f"it knows {n_known} of {len(raw['locations'])} places")
        return cls(tuple(raw["locations"]), tuple(raw["users"]), int(n_known), people)

    def fingerprint(self) -> str:
        """A short hash that differs when the ids do; ``people`` tell people of the same ids."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]
