"""The predictor itself: fit it or take it as it comes, and ask."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from pgt.baselines import ContextKernel, MostFrequent
from pgt.contextual.presets import MEMORY, OLDER
from pgt.predict import find_user
from pgt.predictor import answers, fitting, scoring
from pgt.predictor.answers import Model
from pgt.predictor.asking import Asked, ask, past
from pgt.predictor.bundle import Bundle
from pgt.predictor.experts import PAST, Experts
from pgt.predictor.frames import as_visits
from pgt.predictor.watching import Watcher
from pgt.shipped import folder
from pgt.visits import DataError

MODELS = ("contextual", "kernel", "most_frequent")
PRETRAINED = "nobody.safetensors"


class NextLocation(BaseEstimator):
    """Say where people go next.

    Its parameters, ``get_params``, ``set_params`` and cloning follow scikit-learn.

    Parameters
    ----------
    model : {"contextual", "kernel", "most_frequent"}
        The contextual pointer; or a rule to compare it with, the context kernel or the most
        visited place, over the same past.
    choose : {"validation", "pretrained", "fine_tuned", "trained"}
        What `fit` takes of the contextual pointer: what foretells the visits of validation best,
        or always the same.
    seed : int
        Of first weights and shuffling.
    timezone : str, optional
        The local zone of tables whose times name none.

    Examples
    --------
    >>> import pgt
    >>> model = pgt.NextLocation.pretrained()
    >>> guesses = model.predict(pgt.city.load().visits, top=3)
    >>> guesses.columns.tolist()[:5]
    ['user_id', 'rank', 'location_id', 'probability', 'somewhere_new']
    >>> guesses.user_id.nunique()
    66
    """

    bundle_: Bundle
    rule_: ContextKernel | MostFrequent
    watcher_: Watcher
    selection_: pd.DataFrame

    def __init__(
        self, model: str = "contextual", *, choose: str = "validation", seed: int = 42,
        timezone: str | None = None,
    ) -> None:  # fmt: skip
        self.model = model
        self.choose = choose
        self.seed = seed
        self.timezone = timezone

    @classmethod
    def pretrained(cls, *, timezone: str | None = None) -> Self:
        """The predictor as it comes: trained on simulated people, and on nobody else."""
        made = cls(timezone=timezone)
        made.bundle_ = Bundle.load(folder("checkpoints") / PRETRAINED)
        return made

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote; a file that is damaged or no predictor is a DataError."""
        made = cls()
        made.bundle_ = Bundle.load(path)
        return made

    def save(self, path: str | Path) -> None:
        """Write one safetensors file that holds everything needed to predict, and no visit.

        Raises
        ------
        DataError
            The model is a rule, which has nothing to keep.
        """
        self._require_fitted()
        if self.model != "contextual":
            raise DataError(f"The rule {self.model!r} is fitted in no time; there is no file.")
        self.bundle_.save(path)

    def fit(self, visits: Any, y: None = None) -> Self:
        """Fit to these people: take the pretrained networks, tune them, or train new ones.

        Parameters
        ----------
        visits : table or path
            As `pgt.predictor.frames.as_visits` takes it; without a ``split`` column each person's
            days are split in time. The last part, ``test``, is not looked at.

        Returns
        -------
        self
            With ``selection_``: what was compared on the validation windows, and what was taken.
        """
        self._check_parameters()
        table = as_visits(visits, timezone=self.timezone)
        if self.model != "contextual":
            self.rule_ = fitting.rule(self.model, table)
            return self
        self.bundle_, self.selection_ = fitting.chosen(
            table, type(self).pretrained().bundle_, self.choose, self.seed
        )
        return self

    def predict(
        self, visits: Any, *, top: int = 5, at: Any = None, user: Any = None
    ) -> pd.DataFrame:
        """Where everybody in a table goes after their last visit.

        Parameters
        ----------
        visits : table or path
            Anybody's, anywhere: people and places need not have been seen before.
        top : int
            So many places a person, or fewer where the person knows no more.
        at : Timestamp or str, optional
            When the next visit begins, local time if it names no offset; visits that began later
            are not used. Without it, nothing is known of that.
        user : optional
            Only this person (a ``user_id``, or how it is written).

        Returns
        -------
        DataFrame
            One row a place, the likeliest first: ``user_id``, ``rank`` (from 1), ``location_id``,
            ``probability``, ``somewhere_new`` (the probability that it is none of the places where
            the person has been; with it, all probabilities add up to 1), ``after`` (when the last
            visit began), and ``lon`` and ``lat`` where the visits have them.
        """
        if top < 1:
            raise DataError(f"top is {top}; ask for at least 1 place.")
        asked, model, new = self._asked(visits, at, user)
        return answers.best(model, asked, new, top)

    def predict_set(
        self, visits: Any, *, coverage: float = 0.9, at: Any = None, user: Any = None
    ) -> pd.DataFrame:
        """A set of answers for each person that holds the truth as often as ``coverage`` says.

        The promise holds for windows like those of the calibration. An answer may be "somewhere
        new": its ``location_id`` is None. Source: Sadinle, Lei and Wasserman 2019,
        https://doi.org/10.1080/01621459.2017.1395341.

        Parameters
        ----------
        visits, at, user
            As for `predict`.
        coverage : float
            Between 0 and 1.

        Returns
        -------
        DataFrame
            As of `predict`, with as many rows a person as the set has answers.
        """
        if self.model != "contextual":
            raise DataError("Only the contextual pointer is calibrated; take model='contextual'.")
        self._require_fitted()
        limit = self.bundle_.limit(coverage)
        asked, model, new = self._asked(visits, at, user)
        return answers.sets(model, asked, new, limit)

    def explain(self, visits: Any, user: Any, *, at: Any = None, top: int = 3) -> pd.DataFrame:
        """What spoke for a person's likeliest places, and how much: see `answers.reasons`."""
        if self.model != "contextual":
            raise DataError("A rule explains itself; take model='contextual' for a table.")
        asked, model, new = self._asked(visits, at, user)
        return answers.reasons(model, asked, new, top)  # type: ignore[arg-type]

    def score(self, visits: Any, y: None = None) -> pd.DataFrame:
        """How good it is on the last part of each person's days, the rules beside it.

        Parameters
        ----------
        visits : table or path

        Returns
        -------
        DataFrame
            By ``model`` and ``group`` (`pgt.metrics.GROUPS`): ``n``, ``acc@1`` with ``low`` and
            ``high`` (95 % interval, people resampled), ``acc@5``, ``acc@10`` and ``mrr``, in
            percent. Windows are those of the exact protocol; experts are weighed by those of the
            training part.
        """
        self._require_fitted()
        table = as_visits(visits, timezone=self.timezone)
        return scoring.table(self.model, self._model(timed=False), table)

    def remember(self, visits: Any) -> Self:
        """Begin a diary for everybody in a table, which `update` goes on with.

        The networks are weighed by how well they foretold these visits; without a table, alike.
        """
        table = as_visits(visits, timezone=self.timezone)
        _, model, _ = self._asked(table, None, None)
        self.watcher_ = Watcher(self._bundle(), model)
        self.watcher_.read(table)
        return self

    def update(self, visit: Mapping[str, Any], *, top: int = 5) -> pd.DataFrame:
        """Take one more visit of one person, and say where they go next.

        Parameters
        ----------
        visit : mapping
            ``user_id``, ``location_id``, ``started_at`` and ``finished_at`` (with time zone;
            without an end, the visit is a check-in), as a dict or a row of a table.
        top : int

        Returns
        -------
        DataFrame
            ``user_id``, ``rank``, ``location_id``, ``probability`` and ``somewhere_new``: what
            `predict` says when the whole table has the visit.

        Examples
        --------
        >>> import pgt
        >>> model = pgt.NextLocation.pretrained()
        >>> at = pd.Timestamp("2024-05-01 08:00+02:00")
        >>> for hour, place in enumerate(["home", "work", "home"]):
        ...     visit = {"user_id": 1, "location_id": place,
        ...              "started_at": at + pd.Timedelta(hours=9 * hour)}
        ...     guesses = model.update(visit)
        >>> guesses.location_id.tolist()
        ['home', 'work']
        """
        if not hasattr(self, "watcher_"):
            self.watcher_ = Watcher(self._bundle(), self._bundle().next_place)
        return self.watcher_.update(visit, top)

    def _bundle(self) -> Bundle:
        self._require_fitted()
        if self.model != "contextual":
            raise DataError("Diaries are for the contextual pointer; take model='contextual'.")
        return self.bundle_

    def _asked(self, visits: Any, at: Any, user: Any) -> tuple[Asked, Model, np.ndarray]:
        self._require_fitted()
        table = as_visits(visits, timezone=self.timezone)
        whose = None if user is None else find_user(table, user)
        moment = None if at is None else pd.Timestamp(at)
        if moment is not None and moment.tz is None:
            moment = moment.tz_localize(table.started_at.dt.tz)
        model, sees = self._model(timed=moment is not None), {"memory": MEMORY, "older": OLDER}
        if isinstance(model, Experts):
            sees = {"memory": self.bundle_.memory, "older": self.bundle_.older}
        asked = ask(table, at=moment, **sees)
        if isinstance(model, Experts):
            # By everybody's past, so that a person's answer is the same alone and among others.
            model = model.weighed(past(asked, PAST, **sees))
        if whose is not None:
            asked = ask(table[table.user_id == whose], at=moment, **sees)
        if not isinstance(model, Experts):
            return asked, model, np.zeros(len(asked))
        return asked, model, self.bundle_.novelty(asked.new)

    def _model(self, *, timed: bool) -> Model:
        if self.model != "contextual":
            return self.rule_
        return self.bundle_.at_a_time if timed else self.bundle_.next_place

    def _check_parameters(self) -> None:
        if self.model not in MODELS:
            raise DataError(f"There is no model {self.model!r}; choose of {', '.join(MODELS)}.")
        if self.choose not in fitting.CHOICES:
            raise DataError(
                f"choose is {self.choose!r}; it must be one of {', '.join(fitting.CHOICES)}."
            )

    def _require_fitted(self) -> None:
        self._check_parameters()
        if not (hasattr(self, "bundle_") or hasattr(self, "rule_")):
            raise DataError(
                "This predictor is not fitted; call fit(visits), or take NextLocation.pretrained()."
            )
