"""The contextual pointer behind the common face: it takes any person and any place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from pgt.history import HistoryWindows
from pgt.predictor import answers
from pgt.predictor.asking import Asked, ask, past
from pgt.predictor.bundle import Bundle
from pgt.predictor.experts import PAST, Experts
from pgt.predictor.fitted import FromPast, Question
from pgt.predictor.watching import Watcher


@dataclass(frozen=True)
class Contextual(FromPast):
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

    @classmethod
    def of(cls, bundle: Bundle) -> Self:
        """Put the face on a bundle."""
        return cls("contextual", bundle.next_place, bundle.calibration, bundle)

    def limit(self, coverage: float) -> float:
        """As strange as the bundle's promise allows."""
        return self.bundle.limit(coverage)

    def reasons(self, question: Question, top: int) -> pd.DataFrame:
        """What spoke for a person's likeliest places, see `pgt.predictor.answers.reasons`."""
        return answers.reasons(*self.asked(question), top)

    def watcher(self, visits: pd.DataFrame | None) -> Watcher:
        """Everybody's diary; without a table the networks are weighed alike."""
        model = self.bundle.next_place if visits is None else self.asked(Question(visits))[0]
        return Watcher(model, self.bundle.novelty, **self.sees, visits=visits)

    def save(self, path: str | Path) -> None:
        """Write the bundle; there is no visit in it."""
        self.bundle.save(path)

    def asked(self, question: Question) -> tuple[Experts, Asked, np.ndarray]:
        """The networks weighed, the windows, and (W,) how likely the next place is a new one."""
        asked, part = self._ask(question, question.of_person), _part(question.at)
        model: Experts = getattr(self.bundle, part)
        if self.weighed != part:
            # By everybody's past, so that a person's answer is the same alone and among others.
            alone = question.user is not None
            everybody = self._ask(question, question.visits) if alone else asked
            model = model.weighed(past(everybody, PAST, **self.sees))
        return model, asked, self.bundle.novelty(asked.new)

    @property
    def sees(self) -> dict[str, int]:
        """How much of the past is looked at."""
        return {"memory": self.bundle.memory, "older": self.bundle.older}

    def weighed_by(self, past: HistoryWindows, at: pd.Timestamp | None) -> Self:
        """The same, with the networks that answer at such a moment weighed for good."""
        part = _part(at)
        weighed = {part: getattr(self.bundle, part).weighed(past)}
        return replace(self, bundle=replace(self.bundle, **weighed), weighed=part)

    def _ask(self, question: Question, visits: pd.DataFrame) -> Asked:
        return ask(visits, at=question.at, user=question.user, **self.sees)


def _part(at: pd.Timestamp | None) -> str:
    """The networks of a bundle that answer, with a moment or without."""
    return "next_place" if at is None else "at_a_time"
