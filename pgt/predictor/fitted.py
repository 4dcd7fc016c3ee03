"""Fitted models: what each of them can be asked, so that one face serves them all.

`pgt.predictor.contextual` is the contextual pointer; `pgt.predictor.rules` has the rules that vote
for places of a person's own past; `pgt.predictor.closed` has the models that know the people and
places of the table that they were fitted to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lab.pretraining import CALIBRATION, ENOUGH

from pgt.calibration import threshold
from pgt.errors import DataError
from pgt.metrics import Predictor, Ranker
from pgt.predictor import answers
from pgt.predictor.answers import Model
from pgt.predictor.asking import Asked
from pgt.predictor.watching import Watcher
from pgt.visits import find_user
from pgt.windows import PreparedDataset, prepare


@dataclass(frozen=True)
class Question:
    """Where people go after their last visit.

    Attributes
    ----------
    visits : DataFrame
        Checked visits of everybody.
    at : Timestamp, optional
        When the next visit begins; without it, nothing is known of that.
    user : optional
        Only this person.
    """

    visits: pd.DataFrame
    at: pd.Timestamp | None = None
    user: Any = None

    @cached_property
    def of_person(self) -> pd.DataFrame:
        """The person's visits; everybody's if nobody is named."""
        if self.user is None:
            return self.visits
        return self.visits[self.visits.user_id == find_user(self.visits, self.user)]


@dataclass(frozen=True)
class Fitted(ABC):
    """A fitted model.

    Attributes
    ----------
    name : str
        As `pgt.NextLocation` takes it.
    predictor : Predictor or Ranker
        What is scored.
    strange : ndarray
        How strange the true answers of windows were that it was not fitted to: 1 minus their
        probability, in order.
    """

    name: str
    predictor: Predictor | Ranker
    strange: np.ndarray

    remembers = False  # whether it looks at more than the week

    @abstractmethod
    def best(self, question: Question, top: int) -> pd.DataFrame:
        """The likeliest places, as `pgt.NextLocation.predict` returns them."""

    @abstractmethod
    def sets(self, question: Question, coverage: float) -> pd.DataFrame:
        """The sets of answers, as `pgt.NextLocation.predict_set` returns them."""

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Write one safetensors file."""

    def windows(self, visits: pd.DataFrame) -> PreparedDataset:
        """The windows that it is scored on."""
        return prepare(visits, protocol="exact")

    def reasons(self, question: Question, top: int) -> pd.DataFrame:
        """What spoke for a person's places, as `pgt.NextLocation.explain` returns it.

        Raises
        ------
        DataError
            The model tells none.
        """
        raise DataError(
            f"{self.name!r} tells no reasons; take NextLocation.pretrained(), or a rule that votes "
            "for visits (kernel, most_frequent, last)."
        )

    def watcher(self, visits: pd.DataFrame | None) -> Watcher:
        """Everybody's diary, begun with a table.

        Raises
        ------
        DataError
            The model keeps none.
        """
        raise DataError(
            f"{self.name!r} keeps no diaries, since it looks at days and not at visits; predict "
            "from the table with the new visit in it, or take NextLocation.pretrained()."
        )

    def limit(self, coverage: float) -> float:
        """How strange an answer of a set may be, as `pgt.predictor.bundle.Bundle.limit`.

        Raises
        ------
        DataError
            The coverage is no share, or there is too little to make a promise on.
        """
        if not 0 < coverage < 1:
            raise DataError(f"coverage={coverage} must lie between 0 and 1, say 0.9.")
        if len(self.strange) == 0:
            raise DataError(
                f"{self.name!r} has no validation windows to promise a coverage on; fit it with "
                "NextLocation.fit, to enough visits, or take NextLocation.pretrained()."
            )
        if len(self.strange) < ENOUGH:
            raise DataError(
                f"{self.name!r} has {len(self.strange)} validation windows to promise a coverage "
                f"on, and needs {ENOUGH}; fit it to more visits, or take NextLocation.pretrained()."
            )
        return threshold(self.strange, 1 - coverage)

    def refuse_time(self, at: pd.Timestamp | None) -> None:
        """Refuse a moment that it cannot know.

        Raises
        ------
        DataError
        """
        if at is not None:
            raise DataError(
                f"{self.name!r} knows nothing of the time of the next visit; leave 'at' out, or "
                "take the model 'contextual'."
            )


class FromPast(Fitted):
    """A fitted model that knows people by their own visits, and so takes anybody's."""

    remembers = True

    @abstractmethod
    def asked(self, question: Question) -> tuple[Model, Asked, np.ndarray]:
        """What answers, the windows, and (W,) how likely the next place is a new one."""

    def best(self, question: Question, top: int) -> pd.DataFrame:
        """The likeliest places."""
        return answers.best(*self.asked(question), top)

    def sets(self, question: Question, coverage: float) -> pd.DataFrame:
        """All answers that are no stranger than the promise allows."""
        limit = self.limit(coverage)
        return answers.sets(*self.asked(question), limit)


def in_order(strange: np.ndarray) -> np.ndarray:
    """The numbers that stand for all of them in a file, in order."""
    at = np.linspace(0, len(strange) - 1, min(CALIBRATION, len(strange))).round().astype(int)
    return np.sort(strange)[at] if len(strange) else strange
