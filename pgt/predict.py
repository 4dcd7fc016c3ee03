"""Predict: where somebody goes next, after the last visit that the table has of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pgt.batch import Batch
from pgt.config import WindowConfig
from pgt.errors import DataError
from pgt.mixture import MixtureModel, evaluating
from pgt.visits import check, find_user, nobody_before, until
from pgt.vocabulary import PADDING, Vocabulary
from pgt.windows import DEFAULT, FEATURES, Windows, gather, with_moments

COLUMNS = ("user_id", "rank", "location_id", "probability", "copied", "gate", "known_user", "after")


@dataclass(frozen=True)
class Questions(Windows):
    """Windows without a target: what comes next is not there yet.

    ``target`` is the row behind a window's last visit, and nothing of that row reaches a batch,
    whose ``target`` is 0. ``features`` end with an empty column, for the window that ends with the
    table. ``moment`` is (9, W) the moment of asking, of which clock, weekday and day mean anything.
    """

    moment: Tensor

    @property
    def users(self) -> np.ndarray:
        """(W,) the ``user_id`` of each window."""
        return self.visits.user_id.to_numpy()[self.target - 1]

    @property
    def targets(self) -> np.ndarray:
        """(W,) 0: nobody knows yet."""
        return np.full(len(self), PADDING)

    @property
    def in_window(self) -> np.ndarray:
        """(W,) False: nobody knows yet."""
        return np.zeros(len(self), dtype=bool)

    def target_of(self, i: int) -> pd.Series:
        """There is none: a `DataError`."""
        raise DataError(f"Window {i} has no target: what comes next has not happened yet.")

    def subset(self, keep: np.ndarray) -> Self:
        """Only the windows given by a mask or by their numbers."""
        return replace(super().subset(keep), moment=self.moment[:, np.arange(len(self))[keep]])

    def to(self, device: torch.device | str) -> Self:
        """The same windows, gathering their batches on another device."""
        return replace(super().to(device), moment=self.moment.to(device))

    def batch(self, index: np.ndarray | list[int], max_len: int | None = None) -> Batch:
        """Gather windows into one padded batch, each cut to its ``max_len`` most recent visits."""
        batch = super().batch(index, max_len)
        time, weekday, day = gather(self.moment, FEATURES, batch.index,
                                    "time", "weekday", "start_day")  # fmt: skip
        (last_day,) = self._gather(self._on_device(self.target[np.asarray(index)]), "start_day")
        return replace(
            batch,
            target=torch.full_like(batch.target, PADDING),
            target_time=time,
            target_weekday=weekday,
            gap_days=day - last_day,
        )


def latest(
    visits: pd.DataFrame,
    vocabulary: Vocabulary,
    config: WindowConfig = DEFAULT,
    *,
    at: pd.Timestamp | None = None,
) -> Questions:
    """Build the window that asks for what comes next: one a person, its target not yet there.

    The window holds the visits of the days before the moment's day and of that day itself (or of
    the days up to the last visit's, if ``config.goes_back_from`` is that), and always the last
    visit, however long ago, so that everybody gets an answer. At ``at``, a moment with time zone,
    visits that begin later are not used, and one that is still going on ends then, as far as
    anybody can know. Without it, each person is asked about at the end of their last visit.
    """
    visits = until(check(visits), at)
    user = visits.user_id.to_numpy()
    changes = np.flatnonzero(user[1:] != user[:-1]) + 1
    target = np.append(changes, len(user)) if len(user) else changes
    first = np.append(0, target[:-1])[: len(target)]
    features, moment = with_moments(visits, target - 1, at, vocabulary)
    row = FEATURES.index("start_day")
    day = features[row].numpy()[1:]
    back_from = moment[row].numpy() if config.goes_back_from == "target_day" else day[target - 1]
    for i, end in enumerate(target):
        recent = np.searchsorted(day[first[i] : end], back_from[i] - config.days)
        first[i] = min(first[i] + recent, end - 1)
    return Questions(visits, features, first, target, vocabulary, moment)


@torch.no_grad()
def predict(
    model: MixtureModel,
    vocabulary: Vocabulary,
    visits: pd.DataFrame,
    *,
    windows: WindowConfig,
    user: Any = None,
    at: pd.Timestamp | None = None,
    top: int = 5,
    batch_size: int = 256,
) -> pd.DataFrame:
    """Predict the next location of every person in the table, or of one ``user``.

    A person whom training has not seen is predicted with the vector of an unseen person
    (``known_user`` is False). A place that training has not seen is read as "unknown" (id 1), and
    may be predicted as such: its ``location_id`` is then None. ``windows`` are those of the
    training (`pgt.checkpoint.load_windows_config`); ``at`` is the moment of asking, see `latest`.

    Gives one row a candidate, the likeliest first: ``user_id``, ``rank`` (from 1),
    ``location_id``, ``probability``, ``copied`` (the share of it that the pointer copied from the
    window, 0 to 1), ``gate``, ``known_user``, ``after`` (when the last visit began).
    """
    if top < 1:
        raise DataError(f"top is {top}; ask for at least 1 location.")
    visits = check(visits)
    vocabulary.check_visits(visits)
    if user is not None:
        visits = visits[visits.user_id == find_user(visits, user)]
    questions = latest(visits, vocabulary, windows, at=at)
    if len(questions) == 0:
        raise nobody_before(at, user)
    parts = []
    for start in range(0, len(questions), batch_size):
        index = np.arange(start, min(start + batch_size, len(questions)))
        batch = questions.batch(index, model.config.max_len)
        with evaluating(model):
            mixture = model.mixture(batch)
        best, places, copied = mixture.best(top)  # (B, top)
        if best.isnan().any() or (best == -torch.inf).all(1).any():
            raise DataError(
                "The model gives no place a probability: its weights are damaged, or far too "
                "large; copy its file again, or train anew."
            )
        gate = mixture.gate_logit.sigmoid()
        rows, ranks = np.nonzero((best > -torch.inf).numpy())
        last = questions.visits.iloc[questions.target[index] - 1]
        parts.append(
            pd.DataFrame(
                {
                    "user_id": last.user_id.to_numpy()[rows],
                    "rank": ranks + 1,
                    "location_id": vocabulary.decode(places.numpy()[rows, ranks]),
                    "probability": best.exp().numpy()[rows, ranks],
                    "copied": copied.numpy()[rows, ranks],
                    "gate": gate.numpy()[rows],
                    "known_user": (batch.user > 0).numpy()[rows],
                    "after": last.started_at.iloc[rows].reset_index(drop=True),
                },
                columns=list(COLUMNS),
            )
        )
    return pd.concat(parts, ignore_index=True)
