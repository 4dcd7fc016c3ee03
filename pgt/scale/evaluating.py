"""Evaluating and predicting bucket by bucket: the rows of all, without all in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pgt import checkpoint, metrics
from pgt import predict as predicting
from pgt.contextual import load_contextual
from pgt.errors import DataError, DataNote
from pgt.history import with_history
from pgt.metrics import Predictor
from pgt.scale.buckets import numbers_of, visits_name
from pgt.scale.engines import Engine, InProcess
from pgt.scale.preparing import dataset, prepared
from pgt.scale.storage import Folder
from pgt.visits import nobody_before
from pgt.vocabulary import Vocabulary

Split = Literal["train", "valid", "test"]
Answer = Callable[[pd.DataFrame], pd.DataFrame]  # from the visits of a bucket


def load(path: str | Path) -> tuple[Any, Vocabulary]:
    """Load a model of either kind, and its vocabulary."""
    contextual = "features" in checkpoint.read_info(path).get("model", {})
    return load_contextual(path) if contextual else checkpoint.load_model(path)


def evaluate(
    folder: str,
    predictor: Predictor | str | Path,
    *,
    split: Split = "test",
    memory: int = 0,
    older: int = 0,
    engine: Engine | None = None,
) -> pd.DataFrame:
    """Rank the target of every window of a prepared folder.

    Parameters
    ----------
    folder : str
        Path or address, where `pgt.scale.preparing.prepare` worked.
    predictor : Predictor or path
        A model or a baseline, or the file of a model, which the workers then read.
    split : {"train", "valid", "test"}
    memory, older : int
        As in `pgt.history.with_history`, for predictors that remember.
    engine : Engine, optional
        Ranks the buckets; this process otherwise.

    Returns
    -------
    DataFrame
        The rows of `pgt.metrics.evaluate`, in the order that they have there.

    Raises
    ------
    DataError
        When the folder is not prepared, or has another vocabulary than the model.

    Examples
    --------
    >>> import pgt
    >>> from pgt.scale.buckets import bucket
    >>> from pgt.scale.preparing import prepare
    >>> visits = wherenext.city.load().visits
    >>> Folder("memory://ranked").write_table("town.parquet", visits)
    >>> _ = bucket(["memory://ranked/town.parquet"], "memory://ranked/buckets", n_buckets=2)
    >>> counts = prepare("memory://ranked/buckets")
    >>> kernel = pgt.ContextKernel().fit(pgt.prepare(visits).train)
    >>> len(evaluate("memory://ranked/buckets", kernel)) == counts["test"]
    True
    """
    out = Folder(folder)
    about = prepared(out)
    mark = None
    if isinstance(predictor, (str, Path)):
        predictor, mark = str(predictor), _mark(predictor)
        if _model(predictor, mark)[1].fingerprint() != about["vocabulary"]:
            raise DataError(
                f"{predictor} has another vocabulary than {folder}; train on this folder, or "
                "prepare the visits that the model was trained on."
            )
    work = partial(_rank, folder, predictor, mark, split, memory, older)
    return together(each_bucket(folder, work, engine))


def predict(
    folder: str,
    model: str | Path,
    *,
    at: pd.Timestamp | None = None,
    top: int = 5,
    engine: Engine | None = None,
) -> pd.DataFrame:
    """Predict the next location of everybody in a folder of buckets.

    Parameters
    ----------
    folder : str
        Path or address, where `pgt.scale.buckets.bucket` wrote.
    model : path
        The file of a PGT.
    at, top
        As in `pgt.predict.predict`.
    engine : Engine, optional
        Predicts the buckets; this process otherwise.

    Returns
    -------
    DataFrame
        The rows of `pgt.predict.predict`, in the order that they have there.

    Raises
    ------
    DataError
        As `pgt.predict.predict`.
    """
    return answered(folder, partial(_predict, str(model), _mark(model), at, top), at, engine)


def each_bucket(
    folder: str, work: Callable[[int], pd.DataFrame], engine: Engine | None = None
) -> list[pd.DataFrame]:
    """What some work gives for the number of every bucket, in their order."""
    return (engine or InProcess()).map(work, numbers_of(Folder(folder)))


def answered(
    folder: str,
    answer: Answer,
    at: pd.Timestamp | None = None,
    engine: Engine | None = None,
) -> pd.DataFrame:
    """What is answered from the visits of each bucket, but of one in which nobody has any yet.

    Raises
    ------
    DataError
        Nobody in any bucket has a visit before ``at``.
    """
    work = partial(_answer, folder, answer, at)
    parts = [part for part in each_bucket(folder, work, engine) if len(part)]
    if not parts:
        raise nobody_before(at)
    return together(parts)


def _rank(
    folder: str,
    predictor: Any,
    mark: str | None,
    split: Split,
    memory: int,
    older: int,
    number: int,
) -> pd.DataFrame:
    data = dataset(folder, number)
    if memory:
        data = with_history(data, memory, older)
    if mark is not None:
        predictor, _ = _model(predictor, mark)
    return metrics.evaluate(predictor, getattr(data, split))


def _answer(folder: str, answer: Answer, at: pd.Timestamp | None, number: int) -> pd.DataFrame:
    visits = Folder(folder).read_table(visits_name(number))
    if at is not None and not (visits.started_at <= at).any():
        return pd.DataFrame()
    with warnings.catch_warnings():  # the few people of a bucket say little of all
        warnings.simplefilter("ignore", DataNote)
        return answer(visits)


def _predict(
    path: str, mark: str, at: pd.Timestamp | None, top: int, visits: pd.DataFrame
) -> pd.DataFrame:
    model, vocabulary = _model(path, mark)
    windows = checkpoint.load_windows_config(path)
    return predicting.predict(model, vocabulary, visits, windows=windows, at=at, top=top)


def together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Rows of one bucket after the other, as rows of one person after the other."""
    table = pd.concat(parts, ignore_index=True)
    return table.sort_values("user_id", kind="stable", ignore_index=True)


def _mark(path: str | Path) -> str:
    """What changes when a model's file does: a worker may have loaded what was there before."""
    if not Path(path).is_file():
        raise DataError(f"There is no model {path}; check the path.")
    about = Path(path).stat()
    return f"{about.st_size}-{about.st_mtime_ns}"


@lru_cache(maxsize=1)
def _model(path: str, mark: str) -> tuple[Any, Vocabulary]:
    """A worker loads the model once for all its buckets."""
    return load(path)
