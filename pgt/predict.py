"""Predict: where somebody goes next, after the last visit that the table has of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from pgt.model import PointerGeneratorTransformer
from pgt.visits import DataError, check
from pgt.vocabulary import PADDING, Vocabulary
from pgt.windows import FEATURES, Windows, encode

COLUMNS = ("user_id", "rank", "location_id", "probability", "copied", "gate", "known_user", "after")


def find_user(visits: pd.DataFrame, name: Any) -> Any:
    """The ``user_id`` written as ``name``, say "7" for 7.

    Raises
    ------
    DataError
        When the table has nobody of that name.
    """
    users = visits.user_id.unique()
    for user in users:
        if str(user) == str(name):
            return user
    some = ", ".join(map(str, users[:3])) + (", …" if len(users) > 3 else "")
    raise DataError(
        f"There is no user '{name}' in the table (it has {len(users)}: {some}); check the id."
    )


def latest(
    visits: pd.DataFrame,
    vocabulary: Vocabulary,
    *,
    days: int = 7,
    at: pd.Timestamp | None = None,
) -> Windows:
    """Build the window that asks for what comes next: one a person, its target not yet there.

    In place of the target stands a row of its own: it begins at the moment of asking, its
    location id is 0, and so is the batch's ``target``. The window holds the visits of the
    ``days`` days before that moment's day and of that day itself, and always the last visit,
    however long ago, so that everybody gets an answer.

    Parameters
    ----------
    visits : DataFrame
        As `pgt.visits.check` wants it; the splits, if any, do not matter.
    vocabulary : Vocabulary
        The trained model's.
    days : int
        Days of history, as the model was trained.
    at : Timestamp, optional
        The moment of asking, with time zone: visits that begin later are not used, and one that
        is still going on ends then, as far as anybody can know. Without it, each person is asked
        about at the end of their last visit.

    Returns
    -------
    Windows
        People without a visit before ``at`` have none.

    Examples
    --------
    >>> at = pd.to_datetime(["2024-05-01 08:00+02:00", "2024-05-01 19:00+02:00"])
    >>> visits = pd.DataFrame({"user_id": 1, "location_id": ["work", "home"], "started_at": at,
    ...                        "finished_at": at + pd.Timedelta(hours=1)})
    >>> windows = latest(visits, Vocabulary(("home", "work"), (1,), 2))
    >>> windows.batch([0]).location.tolist()
    [[3, 2]]
    """
    visits = check(visits)
    zone = visits.started_at.dt.tz
    if at is not None:
        if at.tz is None:
            raise DataError(f"The moment {at} has no time zone; write one, as in {at}+02:00.")
        at = at.tz_convert(zone)
        visits = visits[visits.started_at <= at]
        visits = visits.assign(finished_at=visits.finished_at.where(visits.finished_at <= at, at))
    last = visits.groupby("user_id", sort=False).tail(1)
    moment = last.finished_at if at is None else at
    # A stable sort by person puts each question right behind that person's last visit.
    table = pd.concat([visits, last.assign(started_at=moment, finished_at=moment)])
    table = table.sort_values("user_id", kind="stable", ignore_index=True)
    user = table.user_id.to_numpy()
    asks = np.append(user[1:] != user[:-1], True) if len(table) else np.zeros(0, dtype=bool)
    features = encode(table, vocabulary)
    features[0, 1:][torch.from_numpy(asks)] = PADDING
    day = features[FEATURES.index("start_day")].numpy()[1:]
    target = np.flatnonzero(asks)
    first = np.append(0, target[:-1] + 1)[: len(target)]
    for i, end in enumerate(target):
        recent = np.searchsorted(day[first[i] : end], day[end] - days)
        first[i] = min(first[i] + recent, end - 1)
    return Windows(table, features, first, target, vocabulary)


@torch.no_grad()
def predict(
    model: PointerGeneratorTransformer,
    vocabulary: Vocabulary,
    visits: pd.DataFrame,
    *,
    user: Any = None,
    at: pd.Timestamp | None = None,
    top: int = 5,
    days: int = 7,
    batch_size: int = 256,
) -> pd.DataFrame:
    """Predict the next location of every person in the table, or of one.

    A person whom training has not seen is predicted with the vector of an unseen person
    (``known_user`` is False). A place that training has not seen is read as "unknown" (id 1), and
    may be predicted as such: its ``location_id`` is then None. A model that is told the target's
    day (``target_time="day"``) is told the day of ``at``, or the day on which the last visit ended.

    Parameters
    ----------
    model, vocabulary
        Of `pgt.checkpoint.load_model`.
    visits : DataFrame
        As `pgt.visits.check` wants it.
    user : optional
        Only this person (a ``user_id``, or how it is written).
    at : Timestamp, optional
        The moment of asking, see `latest`.
    top : int
        So many candidates a person, or fewer where the model can name no more.

    Returns
    -------
    DataFrame
        One row a candidate, the likeliest first: ``user_id``, ``rank`` (from 1), ``location_id``,
        ``probability``, ``copied`` (the share of it that the pointer copied from the window,
        0 to 1), ``gate``, ``known_user``, ``after`` (when the last visit began).
    """
    if top < 1:
        raise DataError(f"top is {top}; ask for at least 1 location.")
    visits = check(visits)
    vocabulary.require_shared(visits.location_id)
    if user is not None:
        visits = visits[visits.user_id == find_user(visits, user)]
    windows = latest(visits, vocabulary, days=days, at=at)
    if len(windows) == 0:
        who = "Nobody in the table" if user is None else f"User {user}"
        has = "has a" if user is None else "has no"
        raise DataError(f"{who} {has} visit before {at}; choose a later moment.")
    was_training = model.training
    model.eval()
    parts = []
    for start in range(0, len(windows), batch_size):
        index = np.arange(start, min(start + batch_size, len(windows)))
        batch = windows.batch(index, model.config.max_len)
        out = model(batch)
        log_probs = out.log_probs.clone()
        log_probs[:, PADDING] = -torch.inf  # no place at all, though the generator has a score
        best, places = log_probs.topk(min(top, log_probs.shape[1]), dim=1)  # (B, top)
        copied = out.gate[:, None] * out.pointer_log_probs.gather(1, places).exp() / best.exp()
        rows, ranks = np.nonzero((best > -torch.inf).numpy())
        last = windows.visits.iloc[windows.target[index] - 1]
        parts.append(
            pd.DataFrame(
                {
                    "user_id": last.user_id.to_numpy()[rows],
                    "rank": ranks + 1,
                    "location_id": vocabulary.decode(places.numpy()[rows, ranks]),
                    "probability": best.exp().numpy()[rows, ranks],
                    "copied": copied.clamp(0, 1).numpy()[rows, ranks],
                    "gate": out.gate.numpy()[rows],
                    "known_user": (batch.user > 0).numpy()[rows],
                    "after": last.started_at.iloc[rows].reset_index(drop=True),
                },
                columns=list(COLUMNS),
            )
        )
    model.train(was_training)
    return pd.concat(parts, ignore_index=True)
