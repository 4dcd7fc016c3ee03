"""Buckets: what `pgt.NextLocation` says of people whose table does not fit into memory.

`pgt.scale` deals the people out to buckets. An answer needs the person's own visits, and of all
others only how well the networks foretold a few of their visits: these are fetched from the buckets
first. Then each bucket is answered for itself. So the networks have the weights that they have with
the whole table, bit for bit, and the answers are the same but for the last digits of single
precision, which depend on the batch that a question comes in. In memory are one bucket, the few
visits, two bytes a visit that say which are drawn, and the answers.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pgt.contextual import MEMORY, OLDER
from pgt.errors import DataError
from pgt.predictor.arguments import moment, whole
from pgt.predictor.bucket_samples import (
    EXACT,
    Validation,
    past_visits,
    training,
    windows_of_people,
)
from pgt.predictor.closed import Closed
from pgt.predictor.contextual import Contextual
from pgt.predictor.estimator import NextLocation
from pgt.predictor.experts import PAST, Experts
from pgt.predictor.fitted import Fitted, Question
from pgt.predictor.scoring import KERNEL, require_test, rules, scores
from pgt.scale import evaluating
from pgt.scale.buckets import numbers_of, visits_name
from pgt.scale.engines import Engine, InProcess
from pgt.scale.preparing import dataset, prepared, require_windows
from pgt.scale.storage import Folder
from pgt.visits import COORDINATES

SEES: dict[str, Any] = {"memory": MEMORY, "older": OLDER}


def predict(
    model: NextLocation, folder: str, *, at: Any = None, top: int = 5, engine: Engine | None = None
) -> pd.DataFrame:
    """Where everybody in a folder of buckets goes after their last visit.

    Parameters
    ----------
    model : NextLocation
        Fitted, loaded or pretrained.
    folder : str
        Path or address, where `pgt.scale.buckets.bucket` wrote.
    at, top
        As for `pgt.NextLocation.predict`.
    engine : Engine, optional
        Answers the buckets; this process otherwise.

    Returns
    -------
    DataFrame
        The rows that `pgt.NextLocation.predict` gives for the table of everybody.

    Raises
    ------
    DataError
        As `pgt.NextLocation.predict`; or the folder holds no buckets.

    Examples
    --------
    >>> import pgt
    >>> from pgt.scale.buckets import bucket
    >>> visits = wherenext.city.load().visits
    >>> Folder("memory://asked").write_table("town.parquet", visits)
    >>> _ = bucket(["memory://asked/town.parquet"], "memory://asked/buckets", n_buckets=2)
    >>> model = pgt.NextLocation.pretrained()
    >>> ours, theirs = predict(model, "memory://asked/buckets"), model.predict(visits)
    >>> pd.testing.assert_frame_equal(ours, theirs, rtol=1e-5)
    """
    whole(top, "top")
    fitted, when = weighed(model, folder, at=at, engine=engine).fitted_model, _moment(folder, at)
    found = evaluating.answered(folder, partial(_best, fitted, when, top), when, engine)
    axes = [name for name in COORDINATES if name in found]
    if not isinstance(fitted, Closed) or not axes:
        return found
    # It may send people where nobody of their bucket has been.
    there = partial(_where, folder, found.location_id.unique(), axes)
    places = evaluating.together(evaluating.each_bucket(folder, there, engine))
    where = places.drop_duplicates("location_id", keep="last").set_index("location_id")
    return found.assign(**{name: where[name].reindex(found.location_id).array for name in axes})


def weighed(
    model: NextLocation, folder: str, *, at: Any = None, engine: Engine | None = None
) -> NextLocation:
    """The same model, its networks weighed by the past of everybody in a folder of buckets.

    So one person's visits are enough to answer, explain or draw as from the table of everybody.

    Parameters
    ----------
    model, folder, at, engine
        As in `predict`. For another kind of question, with a moment or without, weigh anew.

    Returns
    -------
    NextLocation
        A copy; ``model`` itself where nothing is to be weighed.

    Raises
    ------
    DataError
        Nobody has a visit before ``at``; or the folder holds no buckets.
    """
    fitted, when = model.fitted_model, _moment(folder, at)
    if not isinstance(fitted, Contextual):
        return model
    past = past_visits(folder, PAST, when, **fitted.sees, engine=engine or InProcess())
    made = copy(model)
    made.fitted_ = fitted.weighed_by(past, when)
    return made


def evaluate(model: NextLocation, folder: str, *, engine: Engine | None = None) -> pd.DataFrame:
    """How good a model is on the test windows of a prepared folder, the rules beside it.

    Parameters
    ----------
    model : NextLocation
    folder : str
        Path or address, where `pgt.scale.preparing.prepare` worked, with the windows of the exact
        protocol.
    engine : Engine, optional
        Ranks the buckets; this process otherwise.

    Returns
    -------
    DataFrame
        As of `pgt.NextLocation.score`. The kernel's numbers are chosen on the same windows, whose
        hits are added up in another order: that could matter where two kernels are alike.

    Raises
    ------
    DataError
        The folder is not prepared, or for other windows; or there are no test windows.
    """
    fitted, out = model.fitted_model, Folder(folder)
    require_windows(folder, fitted.config if isinstance(fitted, Closed) else EXACT)
    about = prepared(out)
    require_test(about["counts"]["test"])
    if isinstance(fitted, Closed) and fitted.words.fingerprint() != about["vocabulary"]:
        raise DataError(
            f"{model.model!r} was fitted to another vocabulary than that of {folder}; fit it to "
            "the visits of this folder, or evaluate it on the table that it was fitted to."
        )
    people = windows_of_people(folder, engine or InProcess())
    ranker: Any = fitted.predictor
    if isinstance(ranker, Experts):
        ranker = ranker.weighed(training(folder, people, PAST, engine or InProcess()))
    valid: Any = Validation.drawn(folder, people, KERNEL)
    beside = rules(dataset(folder, numbers_of(out)[0]).train, valid)
    return scores(
        (label, evaluating.evaluate(folder, one, engine=engine, **(SEES if far else {})))
        for label, (one, far) in ({model.model: (ranker, fitted.remembers)} | beside).items()
    )


def _moment(folder: str, at: Any) -> pd.Timestamp | None:
    """What was asked for, by the clocks of the folder."""
    if at is None:
        return None
    out = Folder(folder)
    times = out.read_table(visits_name(numbers_of(out)[0]), ["started_at"]).started_at
    return moment(at, times.dt.tz)


def _best(fitted: Fitted, at: pd.Timestamp | None, top: int, visits: pd.DataFrame) -> pd.DataFrame:
    """The answers for a bucket."""
    return fitted.best(Question(visits, at), top)


def _where(folder: str, wanted: np.ndarray, axes: list[str], number: int) -> pd.DataFrame:
    """Where some places are, as the last visit of the bucket's last person has it."""
    columns = ["user_id", "location_id", *axes]
    visits = Folder(folder).read_table(visits_name(number), columns)
    there = visits[visits.location_id.isin(wanted)]
    return there.drop_duplicates("location_id", keep="last")
