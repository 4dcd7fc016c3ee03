"""What the predictor's pool is made of: its kernels, and how strongly its weights are held back.

    PGT_GEOLIFE=… PGT_NEW_YORK=… PGT_CITIES=… python book/lab/run.py pool

writes ``book/results/pool.json``. The pool's weights are fitted to past visits of each table: the
training windows. Everything else is chosen here, on simulated worlds that no network has seen, and
on the *validation* windows of real tables; no test window is looked at. A row is a ``variant`` on
one table: ``loss`` is the mean of minus the logarithm of the probability of the truth where it is
among a person's places, in nats; ``acc@1`` is of all windows, in percent; ``kernels`` and ``ridge``
say what was tried.

``variant``: "eight" has the eight kernels of a first try; "without 3" lacks the fourth of them;
"drawn 0" has as many, drawn from the grid that the fitted kernel is chosen from; "none" has the
networks alone, "no networks" the kernels alone; "no places" does not know where the person is and
was. `CHOSEN` has the least loss on average, where the worlds count half and real tables half;
"alone 0" and "alone 1" are one network as it is, and "equal" both with equal weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from wherenext.worlds import world

from lab import data_sets
from lab.data_sets import DATA
from lab.nobody import FULL, NAMES, learned
from lab.reports import Report
from pgt.baselines import ContextKernel
from pgt.calibration import pool_weights, pooled
from pgt.config import WindowConfig
from pgt.contextual import KERNELS, MEMORY, OLDER, RIDGE, Experts
from pgt.history import sample, with_history
from pgt.windows import Dataset, prepare

KEYS = ("geolife_exact", "new_york_last_visit", "city", "hanover", "phoenix")
WORLDS = range(96, 104)  # the networks have learned from those before, or were chosen on them
RIDGES = (1.0, 3.0, 10.0, 30.0)
DRAWN = 3
MOST = 1000  # windows of a part
CHOSEN = "eight"
Row = dict[str, Any]
Parts = list[tuple[Tensor, Tensor, Tensor]]
Tried = dict[str, tuple[list[int], float]]  # of the columns of what is said, which; the ridge


def candidates() -> tuple[tuple[ContextKernel, ...], Tried]:
    """All kernels that are tried, and the variants: which columns each has, and its ridge.

    The columns are two networks, the kernels, "is here" and "was here before".
    """
    options = [dict(zip(ContextKernel.GRID, one, strict=True))
               for one in itertools.product(*ContextKernel.GRID.values())]  # fmt: skip
    rng, n = np.random.default_rng(7), len(KERNELS)
    drawn = [ContextKernel(**options[i]) for i in rng.choice(len(options), DRAWN * n, False)]
    every = (*KERNELS, *drawn)
    networks, eight = [0, 1], list(range(2, 2 + n))
    places = [2 + len(every), 3 + len(every)]
    tried: Tried = {f"eight, ridge {ridge:g}": ([*networks, *eight, *places], ridge)
                    for ridge in RIDGES if ridge != RIDGE}  # fmt: skip
    tried["eight"] = ([*networks, *eight, *places], RIDGE)
    tried["none"] = ([*networks, *places], RIDGE)
    tried["no networks"] = ([*eight, *places], RIDGE)
    tried["no places"] = ([*networks, *eight], RIDGE)
    for k in range(n):
        tried[f"without {k}"] = ([*networks, *(e for e in eight if e != 2 + k), *places], RIDGE)
    for k in range(DRAWN):
        own = range(2 + n + k * n, 2 + n + (k + 1) * n)
        tried[f"drawn {k}"] = ([*networks, *own, *places], RIDGE)
    return every, tried


def some(parts: Parts, columns: list[int]) -> Parts:
    """Of all that is said, these columns."""
    return [(said[..., columns].double(), used, hit) for said, used, hit in parts]


def scored(parts: Parts, weights: Tensor, n: int) -> Row:
    """Loss and Acc@1 of weights."""
    loss, right, returns = 0.0, 0.0, 0
    for said, used, hit in parts:
        found = pooled(said, used, weights)
        truth = found[hit]
        loss -= float(truth.sum())
        right += float((truth >= found.amax(1)).sum())
        returns += len(truth)
    return {"n": n, "loss": loss / returns, "acc@1": 100 * right / n}


def measured(data: Dataset) -> Iterator[Row]:
    """The rows of one table."""
    every, tried = candidates()
    experts = Experts([learned(FULL, name, 42) for name in NAMES]).eval()
    experts.kernels = every
    n = min(len(data.valid), MOST)
    past, later = (experts.returns(part.subset(sample(len(part), MOST)))
                   for part in (data.train, data.valid))  # fmt: skip
    for k in range(2):
        alone = torch.ones(1, dtype=torch.double)
        yield {"variant": f"alone {k}"} | scored(some(later, [k]), alone, n)
    equal = torch.full((2,), 0.5, dtype=torch.double)
    yield {"variant": "equal"} | scored(some(later, [0, 1]), equal, n)
    for variant, (columns, ridge) in tried.items():
        of = sum(column < 2 for column in columns)
        start = torch.zeros(len(columns), dtype=torch.double)
        start[:of] = 1 / max(of, 1)
        weights = pool_weights(some(past, columns), start, ridge)
        kernels = sum(2 <= column < 2 + len(every) for column in columns)
        about = {"variant": variant, "kernels": kernels, "ridge": ridge}
        yield about | scored(some(later, columns), weights, n)


def _rows() -> Iterator[Row]:
    for number in WORLDS:
        visits = world(number).drop(columns="world")
        data = prepare(visits, config=WindowConfig(protocol="exact"))
        for row in measured(with_history(data, MEMORY, OLDER)):
            yield {"data": "world", "world": number, "split": "valid"} | row
    for key in KEYS:
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol, "split": "valid"}
        for row in measured(with_history(data_sets.dataset(key), MEMORY, OLDER)):
            yield about | row


REPORT = Report(
    question="Which fixed kernels speak beside the predictor's networks, and how freely?",
    rows=_rows,
    data=KEYS,
    more={"worlds": [WORLDS.start, WORLDS.stop - 1], "windows": MOST},
)
