"""What a model says about every place, for all windows of a split, and what it could not say.

All places that it neither copies nor has trained become one answer more, "somewhere new".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from pgt.metrics import Predictor
from pgt.predictor import calibration
from pgt.vocabulary import UNKNOWN
from pgt.windows import Windows

# What "somewhere new" has at least: it comes last then, and a set of answers can still hold it.
LEAST = 1e-9


@dataclass(frozen=True)
class Predictions:
    """What a model says about the N windows of one split, and V places."""

    log_probs: np.ndarray  # (N, V), -inf for what is no answer
    named: np.ndarray  # (N, V) bool, which places it can name
    target: np.ndarray  # (N,) columns of `log_probs`
    users: np.ndarray  # (N,)

    @property
    def new(self) -> np.ndarray:
        """(N,) True where the target cannot be named."""
        return ~self.named[np.arange(len(self.target)), self.target]

    @property
    def answer(self) -> np.ndarray:
        """(N,) columns of the targets among the answers of `with_unseen`."""
        return np.where(self.new, self.named.shape[1], self.target)

    def at(self, t: float) -> np.ndarray:
        """(N, V) log-probabilities at a temperature."""
        return calibration.scale(self.log_probs, t)

    def only_named(self) -> np.ndarray:
        """(N, V) log-probabilities of the places that can be named; -inf for all others."""
        return np.where(self.named, self.log_probs, -np.inf)


@torch.no_grad()
def collect(predictor: Predictor, windows: Windows, n_known: int) -> Predictions:
    """Ask a model, of which ``n_known`` places have trained weights (0: it only copies)."""
    size = len(windows), windows.vocabulary.n_locations
    table, copied = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=bool)
    for batch in windows.batches(256):
        at = batch.index.cpu().numpy()
        table[at] = torch.log_softmax(predictor.scores(batch).cpu(), dim=1).numpy()
        copied[at[:, None], batch.location.cpu().numpy()] = True
    # What it neither copies nor has trained, training has only pushed down: that is no forecast.
    place = np.arange(size[1])
    named = (table > -np.inf) & (place > UNKNOWN) & (copied | (place < UNKNOWN + 1 + n_known))
    return Predictions(table, named, windows.targets, windows.users)


def with_unseen(log_probs: ArrayLike, named: ArrayLike, new: ArrayLike | None = None) -> np.ndarray:
    """(N, V + 1) log-probabilities with one answer "somewhere new" for all that cannot be named.

    ``new`` (N,) is its probability, the others share the rest as before; without it, it is what the
    model gives to those places, and at least `LEAST`.
    """
    table, named = calibration.as_log_probs(log_probs), np.asarray(named, dtype=bool)
    places = calibration.as_log_probs(np.where(named, table, -np.inf))
    if new is None:
        new = np.exp(table, where=~named, out=np.zeros(table.shape)).sum(1)
    share = np.clip(np.asarray(new, dtype=float), LEAST, 1 - LEAST)[:, None]  # (N, 1)
    return np.hstack([log_softmax(places, axis=1) + np.log1p(-share), np.log(share)])


def top(log_probs: ArrayLike, target: ArrayLike) -> pd.DataFrame:
    """The likeliest place of each window, never somewhere new: its ``confidence``, and ``hit``."""
    places = np.asarray(log_probs, dtype=float)[:, :-1]
    chosen = places.argmax(1)
    confidence = np.minimum(np.exp(places.max(1)), 1.0)
    return pd.DataFrame({"confidence": confidence, "hit": chosen == np.asarray(target)})


def recalibrated(forecast: ArrayLike, y: ArrayLike, other: ArrayLike) -> np.ndarray:
    """(M,) probabilities of ``other``, (M,) or (M, K): logistic regression of ``y`` on log-odds."""
    from sklearn.linear_model import LogisticRegression

    outcome, new = np.asarray(y, dtype=float), np.atleast_2d(np.asarray(other, dtype=float).T).T
    if outcome.min() == outcome.max():
        return np.full(len(new), outcome[0])
    known = np.atleast_2d(np.asarray(forecast, dtype=float).T).T  # (N, K)
    line = LogisticRegression(C=1e9, solver="newton-cholesky")
    line.fit(calibration.logit(known), outcome)
    return np.asarray(line.predict_proba(calibration.logit(new))[:, 1])
