"""What the predictor's networks need to learn: what worlds must have, and what real windows add.

    PGT_GEOLIFE=… PGT_NEW_YORK=… python book/lab/run.py nobody_learning

writes ``book/results/nobody_learning.json``. A ``table`` holds:

``worlds``
    One network, trained in half as many worlds that lack what ``variant`` says, minus the same
    network of worlds that lack nothing: mean over seeds, on the same windows.
``curve``
    With so many windows of these people to learn from, ``windows``, drawn at random, and a quarter
    as many to stop on: "fine-tuned" goes on from the better network, "trained" begins anew.

In percent and points; intervals of 95 % are from people and seeds, resampled. No person, place or
moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from wherenext.worlds import WorldConfig

from lab.nobody import FULL, NAMES, REAL, about, lead, learned, seen, worlds
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt.metrics import evaluate, summarize
from pgt.predictor.contextual import TRAINING, new_network
from pgt.predictor.memory import HistoryWindows
from pgt.predictor.pool import Experts
from pgt.predictor.predictor import FINE_TUNING
from pgt.train import fit

KEYS = (*REAL, "city")
HALF = replace(FULL, worlds=FULL.worlds // 2)
WORLDS: dict[str, dict[str, bool]] = {
    "everything": {},
    "no clock": {"clock": False},
    "no new places": {"novelty": False},
    "no gaps": {"gaps": False},
    "no check-ins": {"checkins": False},
    "one town's habits": {"drawn": False},
}
SIZES = (100, 300, 1000, 3000, 10_000, 0)  # 0: all there are


def ablated() -> Iterator[Row]:
    """What is lost without each thing that worlds have."""
    scored: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for variant, lacks in WORLDS.items():
        plan = replace(HALF, config=WorldConfig(**lacks))
        for seed in SEEDS:
            model = Experts([learned(plan, NAMES[0], seed)]).eval()
            for key in KEYS:
                scored.setdefault((variant, key), []).append(evaluate(model, seen(key).test))
        worlds.cache_clear()
    for (variant, key), ranks in scored.items():
        yield about(key, table="worlds", model="all worlds", variant=variant, seed=None,
                    group="all", **lead(ranks, scored["everything", key]))  # fmt: skip


def curve(key: str) -> Iterator[Row]:
    """What windows of these very people add."""
    data = seen(key)
    assert isinstance(data.train, HistoryWindows)
    for size in SIZES:
        ranks: dict[str, list[pd.DataFrame]] = {"fine-tuned": [], "trained": []}
        n = min(size or len(data.train), len(data.train))
        for seed in SEEDS:
            train = _some(data.train, n, seed)
            valid = _some(data.valid, max(25, n // 4), seed)
            both = Experts([learned(FULL, name, seed) for name in NAMES])
            weighed = both.fit_weights(train)
            ready = weighed.experts[int(weighed.weights[: len(NAMES)].argmax())]
            fit(ready, train, valid, replace(FINE_TUNING, seed=seed), progress=False)
            ranks["fine-tuned"].append(evaluate(ready, data.test))
            anew = new_network(seed, "unknown")
            fit(anew, train, valid, replace(TRAINING, seed=seed), progress=False)
            ranks["trained"].append(evaluate(anew, data.test))
        for name, found in ranks.items():
            scores = pd.concat([summarize(each, ["all"]) for each in found])
            yield about(key, table="curve", model=name, variant="full", seed=None, group="all",
                        windows=n, **scores.mean(numeric_only=True).to_dict())  # fmt: skip


def _some(windows: Any, n: int, seed: int) -> Any:
    kept = np.random.default_rng(seed).permutation(len(windows))[:n]
    return windows.subset(np.sort(kept))


def _rows() -> Iterator[Row]:
    for key in REAL:
        yield from curve(key)
    worlds.cache_clear()
    yield from ablated()


REPORT = Report(
    question="What must simulated worlds have, and what do windows of real people add?",
    rows=_rows,
    data=KEYS,
    more={"seeds": list(SEEDS)},
)
