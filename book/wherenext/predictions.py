"""What a model says about every place, for all windows of a split, and what it could not say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from pgt import calibration
from pgt.baselines import ContextKernel
from pgt.metrics import Predictor
from pgt.windows import Windows


@dataclass(frozen=True)
class Predictions:
    """What a model says about the N windows of one split, and V places."""

    log_probs: np.ndarray  # (N, V), -inf for what is no answer; of the kernel, its votes' shares
    named: np.ndarray  # (N, V) bool, `pgt.calibration.nameable`
    target: np.ndarray  # (N,) columns of `log_probs`
    users: np.ndarray  # (N,)
    early: np.ndarray  # (N,) whether in the first half of the person's windows of the split

    @property
    def new(self) -> np.ndarray:
        """(N,) True where the target cannot be named."""
        return ~self.named[np.arange(len(self.target)), self.target]

    @property
    def answer(self) -> np.ndarray:
        """(N,) columns of the targets among the answers of `calibration.with_unseen`."""
        return calibration.answer_of(self.target, self.named)

    def at(self, t: float) -> np.ndarray:
        """(N, V) log-probabilities at a temperature."""
        return calibration.scale(self.log_probs, t)

    def only_named(self) -> np.ndarray:
        """(N, V) log-probabilities of the places that can be named; -inf for all others."""
        return np.where(self.named, self.log_probs, -np.inf)


@torch.no_grad()
def collect(predictor: Predictor, windows: Windows, n_known: int) -> Predictions:
    """Ask a model for the log-probabilities of all places; the context kernel's votes are made to
    be.

    ``n_known`` says how many places have trained weights; 0 for a model that only copies.
    """
    size = len(windows), windows.vocabulary.n_locations
    table, copied = np.full(size, -np.inf, dtype=np.float32), np.zeros(size, dtype=bool)
    for batch in windows.batches(256):
        at = batch.index.cpu().numpy()
        scores = predictor.scores(batch).cpu()
        if isinstance(predictor, ContextKernel):
            scores = scores.clamp(min=0).log()  # of votes; places without any have none
        table[at] = torch.log_softmax(scores, dim=1).numpy()
        here = torch.zeros(scores.shape, dtype=torch.bool).scatter(1, batch.location.cpu(), True)
        copied[at] = here.numpy()
    users = windows.users
    own = pd.Series(users).groupby(users)
    early = own.cumcount() < own.transform("size") / 2
    named = calibration.nameable(table, copied, n_known)
    return Predictions(table, named, windows.targets, users, early.to_numpy())
