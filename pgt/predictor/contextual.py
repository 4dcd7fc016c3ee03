"""The contextual pointer behind the common face: it takes any person and any place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from pgt.predictor import answers
from pgt.predictor.asking import Asked, ask, past
from pgt.predictor.bundle import Bundle
from pgt.predictor.experts import PAST, Experts
from pgt.predictor.fitted import Fitted
from pgt.predictor.watching import Watcher
from pgt.table.people import find_user


@dataclass(frozen=True)
class Contextual(Fitted):
    """The networks of a bundle.

    Attributes
    ----------
    bundle : Bundle
    """

    predictor: Experts
    bundle: Bundle

    remembers = True

    @classmethod
    def of(cls, bundle: Bundle) -> Self:
        """Put the face on a bundle."""
        return cls("contextual", bundle.next_place, bundle.calibration, bundle)

    def best(
        self, visits: pd.DataFrame, top: int, *, at: pd.Timestamp | None, user: Any
    ) -> pd.DataFrame:
        """The likeliest places."""
        asked, model, new = self.asked(visits, at=at, user=user)
        return answers.best(model, asked, new, top)

    def sets(
        self, visits: pd.DataFrame, coverage: float, *, at: pd.Timestamp | None, user: Any
    ) -> pd.DataFrame:
        """All answers that are no stranger than the promise allows."""
        limit = self.limit(coverage)
        asked, model, new = self.asked(visits, at=at, user=user)
        return answers.sets(model, asked, new, limit)

    def limit(self, coverage: float) -> float:
        """As strange as the bundle's promise allows."""
        return self.bundle.limit(coverage)

    def reasons(
        self, visits: pd.DataFrame, top: int, *, at: pd.Timestamp | None, user: Any
    ) -> pd.DataFrame:
        """What spoke for a person's likeliest places, see `pgt.predictor.answers.reasons`."""
        asked, model, new = self.asked(visits, at=at, user=user)
        return answers.reasons(model, asked, new, top)

    def watcher(self, visits: pd.DataFrame | None) -> Watcher:
        """Everybody's diary; without a table the networks are weighed alike."""
        if visits is None:
            return Watcher(self.bundle, self.bundle.next_place)
        _, model, _ = self.asked(visits)
        watcher = Watcher(self.bundle, model)
        watcher.read(visits)
        return watcher

    def save(self, path: str | Path) -> None:
        """Write the bundle; there is no visit in it."""
        self.bundle.save(path)

    def asked(
        self, visits: pd.DataFrame, *, at: pd.Timestamp | None = None, user: Any = None
    ) -> tuple[Asked, Experts, np.ndarray]:
        """The questions, the networks weighed, and (W,) how likely the next place is a new one."""
        whose = None if user is None else find_user(visits, user)
        model = self.bundle.next_place if at is None else self.bundle.at_a_time
        sees = {"memory": self.bundle.memory, "older": self.bundle.older}
        asked = ask(visits, at=at, user=whose, **sees)
        # By everybody's past, so that a person's answer is the same alone and among others.
        model = model.weighed(past(asked, PAST, **sees))
        if whose is not None:
            asked = ask(visits[visits.user_id == whose], at=at, user=whose, **sees)
        return asked, model, self.bundle.novelty(asked.new)
