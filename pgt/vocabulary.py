"""The vocabulary: which integer stands for which location and which person."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pgt.config import Protocol, WindowConfig
from pgt.errors import DataError, note
from pgt.visits import marks_of

PADDING = 0
UNKNOWN = 1


@dataclass(frozen=True)
class Vocabulary:
    """Locations and people as integers: 0 is padding, or a person whom training has not seen.

    Location 1 is "unknown"; then come those of the training visits, then the exact protocol's own.
    """

    locations: tuple[int | str, ...]
    users: tuple[int | str, ...]
    n_known: int
    people: tuple[str, ...] = field(default=(), compare=False)  # hashes of their first visits
    windows: WindowConfig | None = field(default=None, compare=False)  # for which it was made

    @classmethod
    def build(cls, visits: pd.DataFrame, protocol: Protocol = "published") -> Vocabulary:
        """Collect the locations and people of visits that have a ``split``, in sorted order."""
        train = visits[visits.split == "train"]
        known = sorted(train.location_id.unique().tolist())
        others = sorted(set(visits.location_id.unique().tolist()) - set(known))
        users = tuple(sorted(train.user_id.unique().tolist()))
        marks = marks_of(train) if "started_at" in train.columns else {}
        locations = tuple(known + (others if protocol == "exact" else []))
        people = tuple(marks[user] for user in users) if marks else ()
        return cls(locations, users, len(known), people)

    @property
    def n_locations(self) -> int:
        """Location ids, with padding and unknown."""
        return len(self.locations) + 2

    @property
    def n_users(self) -> int:
        """User ids, with 0."""
        return len(self.users) + 1

    def encode_locations(self, location_id: pd.Series) -> np.ndarray:
        """Ids of locations; 1 for those not in the vocabulary."""
        at = pd.Index(self.locations).get_indexer(location_id)  # (N,) -1 where it is not there
        return np.where(at < 0, UNKNOWN, at + 2)

    def encode_users(self, user_id: pd.Series) -> np.ndarray:
        """Ids of people; 0 for those whom training has not seen."""
        return 1 + pd.Index(self.users).get_indexer(user_id)

    def decode(self, ids: np.ndarray) -> np.ndarray:
        """The ``location_id`` of each id, as objects; None for padding and unknown."""
        names = np.empty(self.n_locations, dtype=object)
        names[2:] = self.locations
        return names[np.asarray(ids)]

    def is_known(self, ids: np.ndarray) -> np.ndarray:
        """True for ids of locations that the training visits show."""
        ids = np.asarray(ids)
        return (ids >= 2) & (ids < 2 + self.n_known)

    def check_visits(self, visits: pd.DataFrame) -> None:
        """Refuse visits to none of these places, and warn where only the ids are the same."""
        places = visits.location_id
        shared = places[self.encode_locations(places) > UNKNOWN].unique()
        if len(places) and not len(shared):
            raise DataError(
                f"None of the table's {places.nunique()} locations (such as {places.iloc[0]!r}) is "
                f"among the {len(self.locations)} that the model was trained on: it is of another "
                "vocabulary; use the table it was trained on, or train on this one."
            )
        known = visits[self.encode_users(visits.user_id) > 0]
        if len(known) == 0:
            words = [word for word in map(str, shared) if not any(map(str.isdigit, word))]
            if pd.api.types.is_integer_dtype(places) or 2 * len(words) > len(shared):
                note(
                    "The model was trained on none of these people, and the places are numbers or "
                    "common words: make sure that they mean the same places as in the training, "
                    "else the answers mean nothing."
                )
        elif self.people:
            # Who is the same begins with the visits that the training has of them.
            known = known[known.split == "train"] if "split" in known.columns else known
            own = dict(zip(self.users, self.people, strict=True))
            same = [own[user] == mark for user, mark in marks_of(known).items()]
            if 2 * sum(same) < len(same):
                note(
                    f"{sum(same) or 'None'} of the {len(same)} people whose ids are also in the "
                    "training begin with the visits that they have there: unless these are later "
                    "visits of the same people, their ids mean other people and places, and the "
                    "answers mean nothing."
                )

    def check_model(self, model: Any) -> None:
        """Refuse a model that was made for other places or people than these.

        A model without weights for places fits any, such as a rule that counts a person's visits.
        """
        config = getattr(model, "config", model if hasattr(model, "popularity") else None)
        if 0 < getattr(config, "n_trained_ids", 0) <= 2:  # it knows no place but "unknown"
            return
        if differs := self.differs(config):
            raise DataError(
                f"The model was made for other windows ({differs}); make them with the model's "
                "vocabulary: pgt.prepare(visits, vocabulary=...)."
            )
        if getattr(model, "made_for", self.fingerprint()) != self.fingerprint():
            raise DataError(
                "The model was made for other places or people, as many as these; make the windows "
                "with its own vocabulary: pgt.prepare(visits, vocabulary=...)."
            )

    def differs(self, config: Any) -> str:
        """In which sizes a model's configuration differs from this vocabulary; "" if in none."""
        for name in ("n_locations", "n_users"):
            ours, theirs = getattr(self, name), getattr(config, name, None)
            if theirs not in (None, ours):
                return f"the model's {name} is {theirs}, the vocabulary's {ours}"
        return ""

    def to_json(self, *, people: bool = False) -> str:
        """Write as JSON, with ``people`` or without; `from_json` reads both."""
        ids = {"locations": self.locations, "users": self.users, "n_known": self.n_known}
        return json.dumps(ids | ({"people": self.people} if people and self.people else {}))

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Read what `to_json` wrote; a ValueError says what is wrong with it."""
        raw: dict[str, Any] = json.loads(text)
        locations, users, n_known = tuple(raw["locations"]), tuple(raw["users"]), raw["n_known"]
        for ids in (locations, users):
            if not all(type(name) in (int, str) for name in ids) or len(set(ids)) < len(ids):
                raise ValueError("ids are numbers or texts, each there once")
        people = tuple(map(str, raw.get("people", ())))
        if people and len(people) != len(users):
            raise ValueError(f"it has {len(users)} users and marks of {len(people)}")
        if not 0 <= n_known <= len(locations):
            raise ValueError(f"it knows {n_known} of {len(locations)} places")
        return cls(locations, users, int(n_known), people)

    def fingerprint(self) -> str:
        """A short hash that differs when the ids do; ``people`` tell people of the same ids."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]
