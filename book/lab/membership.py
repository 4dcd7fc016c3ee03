"""Who was in training? What two models betray, one of which has seen a person and one has not.

    PGT_GEOLIFE=… python book/lab/run.py membership

writes ``book/results/membership.json``. GeoLife's people are parted into two halves, twins
together (`lab.newcomers.folds`), three times. A model is trained on the training days of each half.
Then somebody who holds both models and a person's training days says which model has seen that
person: the one that finds these visits likelier. A row says in how many percent of the cases that
is right, ``right``; the ``group`` is "people" (all of a person's visits together) or "windows" (one
visit and what came before). Half of all guesses are right without any knowledge.

``model``: "pgt" knows places and people by name; "contextual" knows places by their relations alone
and is trained on these people as well; "nobody" is the predictor's first expert with two seeds, one
for each half, which have seen no real person: the control. The 95 % interval is from people and
splits resampled. Source of the attack: Carlini et al. 2022,
https://doi.org/10.1109/SP46214.2022.9833649, with one model on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab import data_sets, models, nobody
from lab.newcomers import folds
from lab.reports import Report
from lab.runs import SEEDS
from pgt.metrics import percentile_interval, resampled_means
from pgt.model import PointerGeneratorTransformer, evaluating
from pgt.predictor.contextual import TRAINING, new_network
from pgt.train import fit
from pgt.windows import Dataset

KEY = "geolife_exact"
SPLITS = (0, 1, 2)
FEWEST = 20  # windows of a person
Row = dict[str, Any]


def likelihood(model: Any, windows: Any) -> np.ndarray:
    """(W,) log-probability of each target."""
    out = np.empty(len(windows))
    with evaluating(model), torch.no_grad():
        for batch in windows.batches(256):
            out[batch.index.numpy()] = -model.losses(batch).numpy()
    return out


def _pgt(data: Dataset, seed: int, half: int) -> Any:
    config, training = models.preset(KEY, data.vocabulary, seed)
    torch.manual_seed(seed)
    model = PointerGeneratorTransformer(config)
    fit(model, data.train, data.valid, training, progress=False)
    return model


def _contextual(data: Dataset, seed: int, half: int) -> Any:
    model = new_network(seed, "unknown")
    fit(model, data.train, data.valid, replace(TRAINING, seed=seed), progress=False)
    return model


def _nobody(data: Dataset, seed: int, half: int) -> Any:
    return nobody.learned(nobody.FULL, nobody.NAMES[0], SEEDS[half])


MODELS: dict[str, Callable[[Dataset, int, int], Any]] = {
    "pgt": _pgt, "contextual": _contextual, "nobody": _nobody,
}  # fmt: skip


def betrayed(likelihoods: np.ndarray, half: np.ndarray) -> np.ndarray:
    """(W,) by how much the model that has seen a window finds it likelier than the other."""
    rows = np.arange(len(half))
    more: np.ndarray = likelihoods[half, rows] - likelihoods[1 - half, rows]
    return more


def _rows() -> Iterator[Row]:
    week, long = data_sets.dataset(KEY), nobody.seen(KEY)
    users = np.asarray(week.train.users)
    for name, make in MODELS.items():
        data = week if name == "pgt" else long
        more = np.stack([_parted(data, make, split) for split in SPLITS])  # (S, W)
        yield from rows_of(name, more, users)


def _parted(data: Dataset, make: Callable[[Dataset, int, int], Any], split: int) -> np.ndarray:
    """(W,) of the training windows, what `betrayed` says when people are parted this way."""
    parted = folds(data.train.visits, seed=split, n=2)

    def own(windows: Any) -> np.ndarray:
        return parted.reindex(windows.users).to_numpy()

    half = own(data.train)
    likelihoods = []
    for one in (0, 1):
        part = replace(data, train=data.train.subset(half == one),
                       valid=data.valid.subset(own(data.valid) == one))  # fmt: skip
        likelihoods.append(likelihood(make(part, SEEDS[split], one), data.train))
    return betrayed(np.stack(likelihoods), half)


def rows_of(name: str, more: np.ndarray, users: np.ndarray) -> Iterator[Row]:
    """A model's rows: of (S, W) differences in as many ways to part people."""
    person, names = pd.factorize(users)
    count = np.bincount(person)
    # A window that neither can name says nothing.
    single = np.where(more == 0, 0.5, more > 0)
    whole = np.stack([np.bincount(person, weights=each) > 0 for each in more])
    enough = count >= FEWEST
    cases = {"windows": (single, users), "people": (whole[:, enough], np.asarray(names)[enough])}
    for group, (right, who) in cases.items():
        low, high = percentile_interval(100 * resampled_means(right, who))
        yield {
            "data": data_sets.DATA[KEY].name, "protocol": data_sets.DATA[KEY].protocol,
            "model": name, "variant": "halves", "target_time": "unknown", "seed": None,
            "split": "train",
            "group": group, "n": right.shape[1], "right": 100 * float(right.mean()),
            "low": float(low), "high": float(high),
        }  # fmt: skip


REPORT = Report(
    question="Do a model's weights betray whose visits they were trained on?",
    rows=_rows,
    data=(KEY,),
    more={"splits": list(SPLITS)},
)
