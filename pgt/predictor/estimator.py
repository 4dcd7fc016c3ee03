"""The predictor itself: fit it or take it as it comes, and ask."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
from sklearn.base import BaseEstimator

from pgt.baselines import baselines
from pgt.errors import DataError
from pgt.files import folder
from pgt.predictor import fitting, models, scoring
from pgt.predictor.arguments import moment, number, one_of, required, seed, whole
from pgt.predictor.bundle import Bundle
from pgt.predictor.contextual import Contextual
from pgt.predictor.fitted import Fitted, Question
from pgt.predictor.frames import as_visits, like
from pgt.predictor.watching import Watcher
from pgt.visits import until

# Drawing loads matplotlib, which a prediction does not need.
if TYPE_CHECKING:
    import folium
    from wherenext.viz.figures import Shown

MODELS = ("contextual", "pgt", *baselines())
PRETRAINED = "nobody.safetensors"


class NextLocation(BaseEstimator):
    """Say where people go next.

    Its parameters, ``get_params``, ``set_params`` and cloning follow scikit-learn.

    Parameters
    ----------
    model : {"contextual", "pgt", "last", "most_frequent", "markov", "kernel"}
        The contextual pointer; or another model behind the same face: the book's PGT, or a rule.
        PGT and the Markov chain know only the people and places of the table they are fitted to.
    choose : {"validation", "pretrained", "fine_tuned", "trained"}
        What `fit` takes of the contextual pointer: the best on validation, or always the same.
    seed : int
        Of first weights and shuffling, from 0.
    timezone : str, optional
        The local zone of tables whose times name none.

    Examples
    --------
    >>> import pgt
    >>> model = pgt.NextLocation.pretrained()
    >>> guesses = model.predict(wherenext.city.load().visits, top=3)
    >>> guesses.columns.tolist()[:5]
    ['user_id', 'rank', 'location_id', 'probability', 'somewhere_new']
    """

    fitted_: Fitted
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
        made.fitted_ = Contextual.of(Bundle.load(folder("checkpoints") / PRETRAINED))
        return made

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote, or `pgt.save_model` of a PGT; a damaged file is a DataError."""
        fitted = models.load(path)
        made = cls(fitted.name)
        made.fitted_ = fitted
        return made

    def save(self, path: str | Path) -> None:
        """Write one safetensors file that holds everything needed to predict, and no visit."""
        self.fitted_model.save(path)

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
            The contextual pointer with ``selection_``: what was compared on the validation
            windows, and what was taken.
        """
        self._check_parameters()
        table = as_visits(visits, timezone=self.timezone)
        known = type(self).pretrained().bundle_
        if self.model == "contextual":
            bundle, self.selection_ = fitting.chosen(table, known, self.choose, self.seed)
            self.fitted_ = Contextual.of(bundle)
        else:
            self.fitted_ = models.fit(self.model, table, known.novelty, self.seed)
        self.__dict__.pop("watcher_", None)  # its diaries are read by the networks of before
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
            are not used. Without it, nothing is known of that. Rules cannot know it.
        user : optional
            Only this person (a ``user_id``, or how it is written).

        Returns
        -------
        DataFrame (of Polars or PyArrow, if ``visits`` is)
            One row a place, the likeliest first: ``user_id``, ``rank`` (from 1), ``location_id``,
            ``probability``, ``somewhere_new`` (what is left for places that no row can name: for
            the pointer and the rules those where the person has never been, for ``"pgt"`` and
            ``"markov"`` those that were not in the visits they were fitted to; with it, all
            probabilities add up to 1), ``after`` (when the last visit began), and ``lon`` and
            ``lat`` where the visits have them.
        """
        whole(top, "top")
        return like(visits, self.fitted_model.best(self._question(visits, at, user), top))

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
        asked = self._question(visits, at, user)
        return like(visits, self.fitted_model.sets(asked, number(coverage)))

    def explain(self, visits: Any, user: Any, *, at: Any = None, top: int = 3) -> pd.DataFrame:
        """What spoke for a person's likeliest places: see `pgt.predictor.answers.reasons`."""
        whole(top, "top")
        asked = self._question(visits, at, required(user))
        return like(visits, self.fitted_model.reasons(asked, top))

    def plot(
        self, visits: Any, user: Any, *, at: Any = None, top: int = 3, reasons: int = 5
    ) -> Shown:
        """Draw what `explain` says: for each place the reasons, the strongest first, as bars."""
        from wherenext.viz import reasons as drawing

        whole(reasons, "reasons")
        found = self.explain(as_visits(visits, timezone=self.timezone), user, at=at, top=top)
        return drawing.reasons(found, user, most=reasons)

    def map(
        self, visits: Any, user: Any, *, at: Any = None, top: int = 5, streets: bool = False
    ) -> folium.Map:
        """Draw a person's places and the guesses; ``save(path)`` of the map writes a page.

        Visits need ``lon`` and ``lat``. With ``streets`` these are shown at once, and a tile server
        learns the area.
        """
        from pgt.maps import places_map

        whole(top, "top")
        asked = self._question(visits, at, required(user))
        guesses = self.fitted_model.best(asked, top)
        known = until(asked.of_person, asked.at)
        new = guesses.somewhere_new.iloc[0] if len(guesses) else 1.0
        caption = (
            f"The {known.location_id.nunique()} places of {known.user_id.iloc[0]}, and the "
            f"likeliest next ones. Somewhere new has {new:.0%}."
        )
        return places_map(known, guesses, caption=caption, streets=streets)

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
        model = self.fitted_model
        windows = model.windows(as_visits(visits, timezone=self.timezone))
        return like(visits, scoring.table(self.model, model.predictor, windows, model.remembers))

    def remember(self, visits: Any) -> Self:
        """Begin a diary for everybody in a table, which `update` goes on with.

        The networks are weighed by how well they foretold these visits; without a table, alike.
        """
        self.watcher_ = self.fitted_model.watcher(as_visits(visits, timezone=self.timezone))
        return self

    def update(self, visit: Mapping[str, Any], *, top: int = 5) -> pd.DataFrame:
        """Take one more visit of one person, and say where they go next.

        Parameters
        ----------
        visit : mapping
            ``user_id``, ``location_id``, ``started_at`` and ``finished_at`` (without an end, the
            visit is a check-in), as a dict or a row of a table. Times are brought to the zone of
            the table of `remember`, or to ``timezone``; without both they must name an offset.
        top : int

        Returns
        -------
        DataFrame
            As of `predict`, without ``after``, ``lon`` and ``lat``: what it says when the whole
            table has the visit, but with the networks weighed as `remember` left them, and a place
            is new again after visits to more than a thousand others (`pgt.predictor.diary`).

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
        whole(top, "top")
        fitted = self.fitted_model
        if not hasattr(self, "watcher_"):
            self.watcher_ = fitted.watcher(None)
        return self.watcher_.update(visit, top, self.timezone)

    @property
    def bundle_(self) -> Bundle:
        """The networks of the contextual pointer, and what turns their scores into promises."""
        fitted = getattr(self, "fitted_", None)
        if not isinstance(fitted, Contextual):
            raise AttributeError("Only a fitted contextual pointer has a bundle.")
        return fitted.bundle

    @property
    def fitted_model(self) -> Fitted:
        """The model that was fitted or loaded; a DataError where there is none."""
        self._check_parameters()
        fitted: Fitted | None = getattr(self, "fitted_", None)
        if fitted is None or fitted.name != self.model:
            raise DataError(
                "This predictor is not fitted; call fit(visits), or take NextLocation.pretrained()."
            )
        return fitted

    def _question(self, visits: Any, at: Any, user: Any) -> Question:
        table = as_visits(visits, timezone=self.timezone)
        when = None if at is None else moment(at, table.started_at.dt.tz)
        return Question(table, when, user)

    def _check_parameters(self) -> None:
        one_of(MODELS, self.model, "model")
        one_of(fitting.CHOICES, self.choose, "choose")
        seed(self.seed)
