"""What the predictor's pool is made of: its kernels, and how strongly its weights are held back.

    PGT_GEOLIFE=… PGT_NEW_YORK=… PGT_CITIES=… python book/lab/run.py pool

writes ``book/results/pool.json``. The pool's weights are fitted to past visits of each table: the
training windows. Everything else is chosen here, on simulated worlds that no network has seen, and
on the *validation* windows of real tables; no test window is looked at. A row is a ``variant`` on
one table: ``loss`` is the mean of minus the logarithm of the probability of the truth where it is
among a person's places, in nats; ``acc@1`` is of all windows, in percent; ``kernels`` numbers those
that speak, of `TRIED`, and ``ridge`` says how strongly weights are drawn to where they start.

One kernel after another is left out, each time the one that is missed least: "8 kernels", and so
on. A variant's loss is the mean over worlds, and that over real tables, counted alike. `chosen` are
the fewest kernels within `NEAR` of the least loss, and then the ridge with the least loss, where
many past windows weigh the pool and where few do ("ridge 3, few"). For comparison: "alone 0" and
"alone 1" are one network as it is, and "equal" both with equal weights; "no networks" are the
chosen kernels alone, and "no places" does not know where the person is and was.
"""

from __future__ import annotations

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
from pgt.config import WindowConfig
from pgt.predictor.contextual import MEMORY, OLDER
from pgt.predictor.memory import sample, with_history
from pgt.predictor.pool import Experts, pool_weights, pooled
from pgt.windows import Dataset, prepare

KEYS = ("geolife_exact", "new_york_last_visit", "city", "hanover", "phoenix")
WORLDS = range(96, 102)  # the networks have learned from those before, or were chosen on them
# Decay, base, same, clock, width: memories long and short, steps, the clock, counts.
TRIED = tuple(ContextKernel(*numbers) for numbers in (
    (0.99, 0.03, 1.0, 0.0, 30.0), (1.0, 0.03, 1.0, 0.0, 30.0), (0.98, 0.3, 1.0, 0.0, 30.0),
    (0.98, 0.03, 1.0, 5.0, 60.0), (0.98, 0.03, 1.0, 5.0, 150.0), (0.98, 0.03, 5.0, 0.5, 60.0),
    (0.9, 1.0, 0.0, 0.0, 30.0), (1.0, 1.0, 0.0, 0.0, 30.0),
))  # fmt: skip
RIDGES = (1.0, 3.0, 10.0, 30.0)
FIRST = 3.0  # the ridge with which kernels are left out
NEAR = 0.002  # nats
MOST, FEW = 1000, 100  # windows of a part; past windows where there are few
Row = dict[str, Any]
Parts = list[tuple[Tensor, Tensor, Tensor]]


class Table:
    """What is said of a table's windows: of past ones to weigh by, and of later ones to score."""

    def __init__(self, about: Row, data: Dataset) -> None:
        experts = Experts([learned(FULL, name, 42) for name in NAMES]).eval()
        experts.kernels = TRIED
        self.about, self.n = about, min(len(data.valid), MOST)
        self.past, self.later = (
            experts.returns(part.subset(sample(len(part), MOST)))
            for part in (data.train, data.valid)
        )

    def scored(
        self, kernels: tuple[int, ...], ridge: float, *, networks: bool = True,
        places: bool = True, most: int = MOST,
    ) -> Row:  # fmt: skip
        """Loss and Acc@1 of a pool, weighed by the past."""
        columns = [0, 1] * networks + [2 + k for k in kernels]
        columns += [2 + len(TRIED), 3 + len(TRIED)] * places
        start = torch.zeros(len(columns), dtype=torch.double)
        start[: 2 * networks] = 0.5
        step = MOST // most
        past = [(said[::step], used[::step], hit[::step])
                for said, used, hit in _some(self.past, columns)]  # fmt: skip
        weights = pool_weights(past, start, ridge)
        about = {"kernels": " ".join(map(str, kernels)), "ridge": ridge, "past": most}
        return self.said(columns, weights) | about

    def said(self, columns: list[int], weights: Tensor) -> Row:
        """Loss and Acc@1 of weights."""
        loss, right, returns = 0.0, 0.0, 0
        for said, used, hit in _some(self.later, columns):
            found = pooled(said, used, weights)
            truth = found[hit]
            loss, returns = loss - float(truth.sum()), returns + len(truth)
            right += float((truth >= found.amax(1)).sum())
        return {"n": self.n, "loss": loss / returns, "acc@1": 100 * right / self.n}


def _some(parts: Parts, columns: list[int]) -> Parts:
    return [(said[..., columns], used, hit) for said, used, hit in parts]


def tables() -> Iterator[Table]:
    """Worlds and validation windows."""
    for number in WORLDS:
        visits = world(number).drop(columns="world")
        data = prepare(visits, config=WindowConfig(protocol="exact"))
        yield Table({"data": "world", "world": number}, with_history(data, MEMORY, OLDER))
    for key in KEYS:
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol}
        yield Table(about, with_history(data_sets.dataset(key), MEMORY, OLDER))


def mean_loss(rows: list[Row]) -> float:
    """Over worlds and over real tables, counted alike."""
    parts = ([row["loss"] for row in rows if ("world" in row) is simulated]
             for simulated in (True, False))  # fmt: skip
    return float(np.mean([np.mean(part) for part in parts]))


def chosen(rows: list[Row]) -> tuple[tuple[int, ...], float]:
    """The kernels and the ridge that the rows speak for."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        by.setdefault(row["variant"], []).append(row)
    counts = {name: mean_loss(own) for name, own in by.items() if name.endswith(" kernels")}
    near = [name for name, loss in counts.items() if loss <= min(counts.values()) + NEAR]
    fewest = by[min(near, key=lambda name: int(name.split()[0]))][0]["kernels"]
    ridges = {ridge: sum(mean_loss(own) for name, own in by.items()
                         if name.removesuffix(", few") == f"ridge {ridge:g}")
              for ridge in RIDGES}  # fmt: skip
    best = min(ridges, key=lambda ridge: ridges[ridge])
    return tuple(map(int, fewest.split())), best


def _rows() -> Iterator[Row]:
    rows: list[Row] = []
    every = list(tables())

    def tried(label: str, kernels: tuple[int, ...], ridge: float = FIRST, **how: Any) -> list[Row]:
        about = {"model": "predictor", "variant": label, "target_time": "unknown",
                 "split": "valid", "group": "all"}  # fmt: skip
        return [one.about | about | one.scored(kernels, ridge, **how) for one in every]

    kernels = tuple(range(len(TRIED)))
    rows += tried(f"{len(kernels)} kernels", kernels)
    while kernels:
        less = [tuple(k for k in kernels if k != out) for out in kernels]
        found = [tried(f"{len(some)} kernels", some) for some in less]
        best = int(np.argmin([mean_loss(own) for own in found]))
        kernels, rows = less[best], rows + found[best]
    kernels, _ = chosen(rows)
    for ridge in RIDGES:
        rows += tried(f"ridge {ridge:g}", kernels, ridge)
        rows += tried(f"ridge {ridge:g}, few", kernels, ridge, most=FEW)
    rows += tried("no networks", kernels, networks=False)
    rows += tried("no places", kernels, places=False)
    for name, columns in {"alone 0": [0], "alone 1": [1], "equal": [0, 1]}.items():
        weights = torch.full((len(columns),), 1 / len(columns), dtype=torch.double)
        rows += [one.about | {"variant": name, "split": "valid"} | one.said(columns, weights)
                 for one in every]  # fmt: skip
    print("chosen:", *chosen(rows))
    yield from rows


REPORT = Report(
    question="Which fixed kernels speak beside the predictor's networks, and how freely?",
    rows=_rows,
    data=KEYS,
    more={"worlds": [WORLDS.start, WORLDS.stop - 1], "windows": MOST},
)
