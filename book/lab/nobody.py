"""The predictor that was trained on nobody, on real people and on the town.

    PGT_GEOLIFE=… PGT_NEW_YORK=… python book/lab/run.py nobody

writes ``book/results/nobody.json``. The networks have seen simulated worlds alone
(`lab.pretraining`), chosen on worlds that were held out. A ``table`` holds:

``zero-shot``
    ``model`` says who answers: "predictor" both experts, weighed by how well they foretold the
    people's visits of the training part; "all worlds" or "diaries" one expert alone. ``weight`` is
    that of the expert of all worlds. A row without a seed is the mean over seeds.
``minus``
    The predictor minus ``model``, a rule fitted there, on the same windows; mean over seeds.
``worlds``
    One expert, trained in half as many worlds that lack what ``variant`` says, minus the same
    expert of worlds that lack nothing: mean over seeds, on the same windows.
``curve``
    With so many windows of these people to learn from, ``windows``, drawn at random, and a quarter
    as many to stop on: "fine-tuned" goes on from the better expert, "trained" begins anew.

In percent and points, with 95 % intervals of Acc@1 from people, and seeds where there are several,
resampled. No person, place or moment can be recognized in the rows.

The weights that are shipped are those of seed 42: ``lab.pretraining.pretrain().save(FILE)`` makes
them again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from wherenext.worlds import WorldConfig

from lab import data_sets, runs
from lab.data_sets import DATA
from lab.models import Run
from lab.pretraining import Pretraining, diaries, expert, simulated
from lab.reports import Report
from lab.runs import SEEDS
from pgt import checkpoint
from pgt.contextual import MEMORY, OLDER, TRAINING, ContextualPointer
from pgt.files import built
from pgt.history import HistoryWindows, with_history
from pgt.metrics import evaluate, gains, interval, interval_of_mean, summarize
from pgt.predictor import FINE_TUNING, Experts, new_network
from pgt.train import fit
from pgt.windows import Dataset

FEW_SEEDS = SEEDS[:3]
KEYS = ("geolife_exact", "new_york_last_visit", "city")  # none tells when the next visit is
REAL = KEYS[:2]
NAMES = ("all worlds", "diaries")
RULES = (Run("kernel"), Run("kernel_memory", "memory_100"))
FULL = Pretraining()
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


@cache
def seen(key: str) -> Dataset:
    """Windows of an entry of `lab.data_sets.DATA`, with the past that the predictor looks at."""
    return with_history(data_sets.dataset(key), MEMORY, OLDER)


@cache
def worlds(plan: Pretraining) -> Dataset:
    """The windows of simulated worlds, simulated once."""
    return simulated(plan)


def learned(plan: Pretraining, kind: str, seed: int) -> ContextualPointer:
    """An expert, trained or taken from where it is kept."""
    lacks = "-".join(name for name, there in vars(plan.config).items() if not there)
    name = f"nobody-{plan.worlds}-{kind}-{lacks}-{seed}-{code_hash()}.safetensors".replace(" ", "_")
    path = Path(tempfile.gettempdir()) / "pgt-runs" / name
    if path.is_file():
        tensors, _ = checkpoint.read(path)
        return built(lambda: new_network(seed, "unknown"), tensors, name)
    data = worlds(plan) if kind == NAMES[0] else diaries(worlds(plan))
    model = expert(data, "unknown", replace(plan.training, seed=seed))
    checkpoint.write(path, model.state_dict(), {})
    return model.eval()


def _about(key: str, **more: Any) -> Row:
    return {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown",
            "split": "test", **more}  # fmt: skip


def zero_shot(key: str) -> Iterator[Row]:
    """A data set's rows: both experts, and each alone; each seed, and their mean."""
    data = seen(key)
    assert isinstance(data.train, HistoryWindows)
    ranks: dict[str, list[pd.DataFrame]] = {name: [] for name in ("predictor", *NAMES)}
    for seed in SEEDS:
        both = Experts([learned(FULL, name, seed) for name in NAMES]).weighed(data.train)
        alone = zip(NAMES, (Experts([one]).eval() for one in both.experts), strict=True)
        for name, model in (("predictor", both), *alone):
            found = evaluate(model, data.test)
            found["user_id"] = pd.factorize(found.user_id)[0]  # as `lab.runs.ranks_of` has it
            ranks[name].append(found)
            for row in summarize(found).to_dict("records"):
                low, high = interval(found, "acc@1", group=str(row["group"]))
                yield _about(
                    key, table="zero-shot", model=name, variant="full", seed=seed, **row,
                    low=low, high=high, weight=float(both.weights[0]),
                    parameters=sum(one.n_parameters() for one in model.experts),
                )  # fmt: skip
    for name, found_of in ranks.items():
        low, high = interval_of_mean(found_of)
        scores = pd.concat([summarize(found, ["all"]) for found in found_of])
        yield _about(
            key, table="zero-shot", model=name, variant="full", seed=None, group="all",
            low=low, high=high, **scores.mean(numeric_only=True).to_dict(),
        )  # fmt: skip
    for rule in RULES:
        fitted = [runs.ranks_of(key, rule)]
        low, high = interval_of_mean(ranks["predictor"], against=fitted)
        yield _minus(key, "minus", rule.model, "full", ranks["predictor"], fitted, low, high)


def _minus(
    key: str, table: str, model: str, variant: str, ones: list[pd.DataFrame],
    others: list[pd.DataFrame], low: float, high: float,
) -> Row:  # fmt: skip
    mean = [np.mean([100 * gains(each)["acc@1"].mean() for each in some])
            for some in (ones, others)]  # fmt: skip
    return _about(key, table=table, model=model, variant=variant, seed=None, group="all",
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
            ready = weighed.experts[int(weighed.weights.argmax())]
            fit(ready, train, valid, replace(FINE_TUNING, seed=seed), progress=False)
            ranks["fine-tuned"].append(evaluate(ready, data.test))
            anew = new_network(seed, "unknown")
            fit(anew, train, valid, replace(TRAINING, seed=seed), progress=False)
            ranks["trained"].append(evaluate(anew, data.test))
        for name, found in ranks.items():
            low, high = interval_of_mean(found)
            scores = pd.concat([summarize(each, ["all"]) for each in found])
            yield _about(key, table="curve", model=name, variant="full", seed=None, group="all",
                         windows=n, low=low, high=high,
                         **scores.mean(numeric_only=True).to_dict())  # fmt: skip
        low, high = interval_of_mean(ranks["fine-tuned"], against=ranks["trained"])
        yield _minus(key, "curve", "fine-tuned - trained", "full", ranks["fine-tuned"],
                     ranks["trained"], low, high) | {"windows": n}  # fmt: skip


def _some(windows: Any, n: int, seed: int) -> Any:
    kept = np.random.default_rng(seed).permutation(len(windows))[:n]
    return windows.subset(np.sort(kept))


def _rows() -> Iterator[Row]:
    for key in KEYS:
        yield from zero_shot(key)
    for key in REAL:
        yield from curve(key)
    worlds.cache_clear()
    yield from ablated()


REPORT = Report(
    question="How good is a predictor on real people that was trained on simulated ones alone?",
    rows=_rows,
    data=KEYS,
    more={"seeds": list(SEEDS), "seeds of worlds and curve": list(FEW_SEEDS)},
)
