"""Fitting: the pretrained networks, the same tuned on these people, or new ones, by validation."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from lab.pretraining import ENOUGH, NETWORKS, calibrated, expert

from pgt.contextual import MEMORY, OLDER, TRAINING
from pgt.errors import DataError
from pgt.history import with_history
from pgt.metrics import evaluate, gains
from pgt.predictor.bundle import Bundle
from pgt.predictor.experts import Experts
from pgt.train import fit
from pgt.windows import Dataset, prepare

CHOICES = ("validation", "pretrained", "fine_tuned", "trained")
FINE_TUNING = replace(TRAINING, learning_rate=2e-3, warmup_epochs=0, max_epochs=3)


def remembering(week: Dataset) -> Dataset:
    """The same windows, with the past that the predictor looks at."""
    return with_history(week, MEMORY, OLDER)


def seen(visits: pd.DataFrame) -> Dataset:
    """The windows of the exact protocol, with that past."""
    return remembering(prepare(visits, protocol="exact"))


def chosen(
    visits: pd.DataFrame, pretrained: Bundle, choose: str, seed: int
) -> tuple[Bundle, pd.DataFrame]:
    """Make what is asked for, or all, and take what foretells the validation windows best.

    Parameters
    ----------
    visits : DataFrame
    pretrained : Bundle
    choose : str
        Of `CHOICES`.
    seed : int

    Returns
    -------
    bundle : Bundle
        Calibrated on the validation windows, if there are enough.
    selection : DataFrame
        ``candidate``, ``acc@1`` and ``mrr`` on the validation windows in percent, ``chosen`` and
        ``why``.
    """
    data = seen(visits)
    n_train, n_valid = len(data.train), len(data.valid)
    names = CHOICES[1:] if choose == "validation" else (choose,)
    why = "best MRR on the validation windows" if choose == "validation" else "as was asked for"
    if n_valid < ENOUGH or (n_train < ENOUGH and choose == "validation"):
        if choose in ("fine_tuned", "trained"):
            raise DataError(
                f"There are {n_train} windows to train on and {n_valid} to stop on, too few to be "
                f"{choose.replace('_', ' ')}; give more visits, or take "
                "choose='pretrained'."
            )
        names, why = ("pretrained",), f"only {n_train} windows to train on and {n_valid} to judge"
    rows, found = [], {}
    for name in names:
        found[name] = _networks(name, pretrained, data, seed)
        ranks = gains(evaluate(found[name]["next_place"], data.valid)) if n_valid else None
        score = {m: np.nan if ranks is None else 100 * ranks[m].mean() for m in ("acc@1", "mrr")}
        rows.append({"candidate": name, **score})
    selection = pd.DataFrame(rows)
    best = 0 if len(rows) == 1 else int(selection.mrr.idxmax())
    taken = str(selection.candidate[best])
    selection["chosen"] = selection.index == best
    selection["why"] = np.where(selection.chosen, why, "")
    if n_valid < ENOUGH:
        return pretrained, selection
    bundle = calibrated(found[taken], data.valid)
    bundle.notes |= {"taken": taken, "why": why, "windows": data.counts(), "seed": seed}
    return bundle, selection


def _networks(name: str, pretrained: Bundle, data: Dataset, seed: int) -> dict[str, Any]:
    """The two networks of a candidate."""
    found: dict[str, Any] = {}
    for part, target_time in NETWORKS.items():
        experts: Experts = getattr(pretrained, part).weighed(data.train)
        if name == "pretrained":
            found[part] = experts
            continue
        if name == "trained":
            model = expert(data, target_time, replace(TRAINING, seed=seed))
        else:
            model = deepcopy(experts.best)
            fit(model, data.train, data.valid, replace(FINE_TUNING, seed=seed), progress=False)
        found[part] = Experts([model]).eval()
    return found
