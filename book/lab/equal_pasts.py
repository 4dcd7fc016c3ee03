"""The same past for all: LSTM, MHSA and PGT with a hundred visits, tuned where they are scored.

    PGT_GEOLIFE=… python book/lab/run.py equal_pasts

writes ``book/results/equal_pasts.json``. The questions are GeoLife's in our own protocol, each with
the person's last hundred visits, whatever their age, as the kernel with a memory sees them. Each
network has three candidates: those of the ten in `lab.search_space` that were best on validation
windows of a week (tuning.json). Each is trained with one seed and scored on validation; the best is
trained with two more, and its mean counts.

The kernel has six hundred settings, which cost nothing. So that it is no luckier than they, the row
of ``tries`` lets it choose among three drawn at random, two hundred times: ``acc@1`` is the mean.

Tables: ``candidates`` has Acc@1 in percent on validation (``valid``) and test, and ``epochs`` until
the best. ``scores`` has the means with a 95 % interval over people and seeds; ``returns`` and
``first`` are Acc@1 where the person has been before, and on first visits; ``lead`` is that over the
kernel and ``gain`` that over the same model with a week, both paired. The ranks of the pointer, and
of all with a week, are those of other experiments. New York, with seven times the windows, was too
much for two cores.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from wherenext.results import read_results

from lab import runs
from lab.data_sets import dataset
from lab.models import HUNDRED, Run
from lab.provenance import MEMORY
from lab.reports import Report, Row
from lab.runs import SEEDS
from lab.search_space import MODELS
from pgt.baselines import ContextKernel
from pgt.metrics import evaluate, gains, interval_of_mean
from pgt.predictor.memory import HistoryWindows, with_history

HOME = "geolife_exact"
TRIED = 3  # candidates of a network: an epoch takes minutes where a week's takes seconds
FEW, DRAWS, WORKERS = SEEDS[:3], 200, 2
KERNEL, POINTER = Run("kernel_memory", "memory_100"), Run("contextual", "full")


def tried(model: str) -> list[Run]:
    """The candidates of a network, each with the first seed."""
    week = read_results("tuning").rows.query("model == @model")
    names = week.sort_values("acc@1", ascending=False, kind="stable").variant[:TRIED]
    return [Run(model, HUNDRED + name, seed=SEEDS[0]) for name in names]


def valid_score(key: str, run: Run) -> float:
    """Acc@1 on the validation windows, in percent, of a run that is kept."""
    result, _ = runs.read_kept(key, run)
    (score,) = (row["acc@1"] for row in result["rows"]
                if row["split"] == "valid" and row["group"] == "all")  # fmt: skip
    return float(score)


def best(model: str) -> Run:
    """The candidate with the best Acc@1 on GeoLife's validation windows; the first of equals."""
    return max(tried(model), key=lambda run: valid_score(HOME, run))


def make(jobs: list[tuple[str, Run]]) -> None:
    """Runs that are not kept yet, side by side."""
    with ProcessPoolExecutor(WORKERS) as pool:
        for label in pool.map(runs.make, jobs):
            print(label, flush=True)


@cache
def windows(key: str) -> HistoryWindows:
    """The test windows, each with a hundred visits."""
    test: Any = with_history(dataset(key), MEMORY).test
    return test


def score(
    key: str, model: str, some: list[pd.DataFrame], base: list[pd.DataFrame],
    week: list[pd.DataFrame] | None = None,
) -> Row:  # fmt: skip
    """A row of the table of scores; with the runs of a week, what the longer past gains."""
    visits = windows(key).visits
    earlier = visits.groupby(["user_id", "location_id"]).cumcount().to_numpy()
    new = earlier[windows(key).target] == 0
    hits = [100 * gains(one)["acc@1"].to_numpy() for one in some]
    mean, beside = np.mean(hits, axis=0), 100 * gains(base[0])["acc@1"].mean()
    (low, high), (less, more) = interval_of_mean(some), interval_of_mean(some, against=base)
    gain: Row = {}
    if week is not None:
        week = week[: len(some)]  # the same seeds
        ends = interval_of_mean(some, against=week)
        before = np.mean([gains(one)["acc@1"].mean() for one in week])
        gain = {"gain": float(mean.mean() - 100 * before),
                "gain_low": ends[0], "gain_high": ends[1]}  # fmt: skip
    return {"table": "scores", "data": key, "model": model, "n": len(mean),
            "people": int(some[0].user_id.nunique()), "acc@1": float(mean.mean()),
            "low": low, "high": high, "returns": float(mean[~new].mean()),
            "first": float(mean[new].mean()), "first visits": int(new.sum()),
            "lead": float(mean.mean() - beside), "lead_low": less, "lead_high": more,
            **gain}  # fmt: skip


def lucky_kernel() -> Row:
    """The kernel when it may choose among as few settings as a network."""
    data = with_history(dataset(HOME), MEMORY)
    rng = np.random.default_rng(0)
    every: Any = list(itertools.product(*ContextKernel.GRID.values()))
    kernels = [replace(ContextKernel(), **dict(zip(ContextKernel.GRID, one, strict=True))).fit(
        data.train) for one in every]  # fmt: skip
    hits = [float(gains(evaluate(one, data.valid))["acc@1"].mean()) for one in kernels]
    drawn = [rng.choice(len(kernels), len(tried("pgt")), replace=False) for _ in range(DRAWS)]
    chosen = [max(few, key=lambda k: hits[k]) for few in drawn]
    on_test = {k: gains(evaluate(kernels[k], data.test))["acc@1"].mean() for k in set(chosen)}
    all_draws = np.array([100 * on_test[k] for k in chosen])
    low, high = np.percentile(all_draws, [2.5, 97.5])
    return {"table": "kernel", "data": HOME, "tries": len(tried("pgt")), "of": len(kernels),
            "acc@1": float(all_draws.mean()), "low": float(low), "high": float(high)}  # fmt: skip


def rows() -> Iterator[Row]:
    """Candidates, scores, and the kernel with few tries."""
    each = [run for some in zip(*map(tried, MODELS), strict=True) for run in some]
    make([(HOME, run) for run in (*each, KERNEL)])
    for run in each:
        result, ranks = runs.read_kept(HOME, run)
        yield {"table": "candidates", "data": HOME, "model": run.model,
               "variant": run.variant.removeprefix(HUNDRED), "valid": valid_score(HOME, run),
               "acc@1": 100 * float(gains(ranks)["acc@1"].mean()), **result["notes"]}  # fmt: skip
    again = {model: [replace(best(model), seed=seed) for seed in FEW] for model in MODELS}
    make([(HOME, run) for some in again.values() for run in some])
    base = [runs.ranks_of(HOME, KERNEL)]
    short = runs.recorded(("geolife_exact",), HOME, Run("kernel"))
    yield score(HOME, "kernel", base, base, short)
    yield score(HOME, "contextual", runs.recorded(("beyond",), HOME, POINTER), base)
    for model, some in again.items():
        week = runs.recorded(("geolife_exact",), HOME, Run(model, "tuned"))
        yield score(HOME, model, [runs.ranks_of(HOME, run) for run in some], base, week)
    yield lucky_kernel()


REPORT = Report(
    question="How good are the networks when they see as much of the past as the pointer?",
    rows=rows,
    data=(HOME,),
    results=("beyond", "geolife_exact"),
    more={"seeds": [*FEW], "memory": MEMORY},
)
