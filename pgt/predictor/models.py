"""Models by name: what `pgt.NextLocation` can be, fitted or opened."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pgt import checkpoint
from pgt.files import fitting
from pgt.predictor.bundle import Bundle, Novelty
from pgt.predictor.closed import Closed
from pgt.predictor.contextual import Contextual
from pgt.predictor.fitted import Fitted
from pgt.predictor.rules import FORMAT, OwnPast

CLOSED = ("pgt", "markov")


def fit(name: str, visits: pd.DataFrame, novelty: Novelty, seed: int) -> Fitted:
    """Fit a model other than the contextual pointer.

    Parameters
    ----------
    name : str
        "pgt", or one of `pgt.baselines.baselines`.
    visits : DataFrame
        Checked; without a ``split`` column each person's days are split in time.
    novelty : Novelty
        What a rule takes where there are too few visits to fit one.
    seed : int
        Of a network's first weights and shuffling.

    Returns
    -------
    Fitted
    """
    if name in CLOSED:
        return Closed.fit(name, visits, seed)
    return OwnPast.fit(name, visits, novelty)


def load(path: str | Path) -> Fitted:
    """Open the file of any of them.

    Raises
    ------
    DataError
        The file is missing or damaged.
    """
    info = checkpoint.read_info(path)
    model = info.get("model")
    if isinstance(model, dict) and "features" not in model:
        return Closed.of_pgt(path)
    if info.get("predictor") != FORMAT:
        return Contextual.of(Bundle.load(path))
    tensors, info = checkpoint.read(path)
    kind = Closed if info.get("rule") == "markov" else OwnPast
    with fitting(Path(path).name):
        return kind.of_file(tensors, info)
