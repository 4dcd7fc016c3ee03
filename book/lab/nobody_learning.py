"""What the predictor's networks need to learn: what worlds must have, and what real windows add.

    PGT_GEOLIFE=… PGT_NEW_YORK=… python book/lab/run.py nobody_learning

writes ``book/results/nobody_learning.json``. A ``table`` holds:

``worlds``
    One network, trained in half as many worlds that lack what ``variant`` says, minus the same
    network of worlds that lack nothing: mean over seeds, on the same windows.
``curve``
    With so many windows of these people to learn from, ``windows``, drawn at random, and a quarter
    as many to stop on: "fine-tuned" goes on from the better network, "trained" begins anew.

In percent and points, with 95 % intervals of Acc@1 from people and seeds, resampled. No person,
place or moment can be recognized in the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from wherenext.worlds import WorldConfig

from lab.nobody import FULL, NAMES, REAL, about, learned, seen, worlds
from lab.reports import Report
from lab.runs import SEEDS
from pgt.contextual import TRAINING, Experts, new_network
from pgt.history import HistoryWindows
from pgt.metrics import evaluate, gains, interval_of_mean, summarize
from pgt.predictor import FINE_TUNING
from pgt.train import fit

FEW_SEEDS = SEEDS[:3]
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
Row = dict[str, Any]


def _minus(
    key: str, table: str, model: str, variant: str, ones: list[pd.DataFrame],
    others: list[pd.DataFrame], low: float, high: float,
) -> Row:  # fmt: skip
    mean = [np.mean([100 * gains(each)["acc@1"].mean() for each in some])
            for some in (ones, others)]  # fmt: skip
    return about(key, table=table, model=model, variant=variant, seed=None, group="all",
                  **{"acc@1": float(mean[0] - mean[1])}, low=low, high=high)  # fmt: skip


def ablated() -> Iterator[Row]:
    """What is lost without each thing that worlds have."""
    scored: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for variant, lacks in WORLDS.items():
        plan = replace(HALF, config=WorldConfig(**lacks))
        for seed in FEW_SEEDS:
            model = Experts([learned(plan, NAMES[0], seed)]).eval()
            for key in KEYS:
                scored.setdefault((variant, key), []).append(evaluate(model, seen(key).test))
        worlds.cache_clear()
    for (variant, key), ranks in scored.items():
        whole = scored["everything", key]
        low, high = interval_of_mean(ranks, against=whole)
        yield _minus(key, "worlds", "all worlds", variant, ranks, whole, low, high)


def curve(key: str) -> Iterator[Row]:
    """What windows of these very people add."""
    data = seen(key)
    assert isinstance(data.train, HistoryWindows)
    for size in SIZES:
        ranks: dict[str, list[pd.DataFrame]] = {"fine-tuned": [], "trained": []}
        n = min(size or len(data.train), len(data.train))
        for seed in FEW_SEEDS:
            train = _some(data.train, n, seed)
            valid = _some(data.valid, max(25, n // 4), seed)
            both = Experts([learned(FULL, name, seed) for name in NAMES])
            weighed = both.weighed(train)
            ready = weighed.experts[int(weighed.weights[: len(NAMES)].argmax())]
            fit(ready, train, valid, replace(FINE_TUNING, seed=seed), progress=False)
            ranks["fine-tuned"].append(evaluate(ready, data.test))
            anew = new_network(seed, "unknown")
            fit(anew, train, valid, replace(TRAINING, seed=seed), progress=False)
            ranks["trained"].append(evaluate(anew, data.test))
        for name, found in ranks.items():
            low, high = interval_of_mean(found)
            scores = pd.concat([summarize(each, ["all"]) for each in found])
            yield about(key, table="curve", model=name, variant="full", seed=None, group="all",
                         windows=n, low=low, high=high,
                         **scores.mean(numeric_only=True).to_dict())  # fmt: skip
        low, high = interval_of_mean(ranks["fine-tuned"], against=ranks["trained"])
        yield _minus(key, "curve", "fine-tuned - trained", "full", ranks["fine-tuned"],
                     ranks["trained"], low, high) | {"windows": n}  # fmt: skip


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
    more={"seeds": list(FEW_SEEDS)},
)
