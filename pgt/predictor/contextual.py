"""The contextual pointer behind the common face: it takes any person and any place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from pgt.contextual.history import HistoryWindows
from pgt.predictor import answers
from pgt.predictor.asking import Asked, ask, past
from pgt.predictor.bundle import Bundle
from pgt.predictor.experts import PAST, Experts
from pgt.predictor.fitted import Fitted, of_person
from pgt.predictor.watching import Watcher, begun
from pgt.table.people import find_user


@dataclass(frozen=True)
class Contextual(Fitted):
    """The networks of a bundle.

    Attributes
    ----------
    bundle : Bundle
    weighed : str, optional
        Those of its networks that are weighed for good, and not anew by every table.
    """

    predictor: Experts
    bundle: Bundle
    weighed: str | None = None

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
        model = self.bundle.next_place if visits is None else self.asked(visits)[1]
        return begun(Watcher(model, self.bundle.novelty, **self.sees), visits)

    def save(self, path: str | Path) -> None:
        """Write the bundle; there is no visit in it."""
        self.bundle.save(path)

    def asked(
        self, visits: pd.DataFrame, *, at: pd.Timestamp | None = None, user: Any = None
    ) -> tuple[Asked, Experts, np.ndarray]:
        """The questions, the networks weighed, and (W,) how likely the next place is a new one."""
        whose = None if user is None else find_user(visits, user)
        asked, part = self._ask(of_person(visits, whose), at, whose), _part(at)
        model: Experts = getattr(self.bundle, part)
        if self.weighed != part:
            # By everybody's past, so that a person's answer is the same alone and among others.
            everybody = asked if whose is None else self._ask(visits, at, whose)
            model = model.weighed(past(everybody, PAST, **self.sees))
        return asked, model, self.bundle.novelty(asked.new)

    @property
    def sees(self) -> dict[str, int]:
        """How much of the past is looked at."""
        return {"memory": self.bundle.memory, "older": self.bundle.older}

    def weighed_by(self, past: HistoryWindows, at: pd.Timestamp | None) -> Self:
        """The same, with the networks that answer at such a moment weighed for good."""
        part = _part(at)
        weighed = {part: getattr(self.bundle, part).weighed(past)}
        return replace(self, bundle=replace(self.bundle, **weighed), weighed=part)

    def _ask(self, visits: pd.DataFrame, at: pd.Timestamp | None, whose: Any) -> Asked:
        return ask(visits, at=at, user=whose, **self.sees)


def _part(at: pd.Timestamp | None) -> str:
    """The networks of a bundle that answer, with a moment or without."""
    return "next_place" if at is None else "at_a_time"
