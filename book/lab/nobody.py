"""The predictor that was trained on nobody, on real people and on the town.

    PGT_GEOLIFE=… PGT_NEW_YORK=… PGT_CITIES=… python book/lab/run.py nobody

writes ``book/results/nobody.json``. The networks have seen simulated worlds alone
(`lab.pretraining`), chosen on worlds that were held out. A ``table`` holds:

``zero-shot``
    The pool of two networks and fixed kernels, weighed by how well they foretold the people's
    visits of the training part. A row without a seed is the mean over seeds.
``minus``
    The predictor minus ``model`` on the same windows, mean over seeds: rules fitted there, PGT
    trained there (from the file that says so), or the pool with "no networks".
``sets``
    Of the sets that are to hold the truth in ``asked`` percent of the cases, how many hold it,
    ``coverage``; calibrated on visits before those of the test part, as `NextLocation.predict_set`
    does it.
``certainty``
    The expected calibration error of the likeliest place, in ten bins.

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
import torch
from wherenext.results import read_results

from lab import data_sets, runs
from lab.data_sets import DATA
from lab.models import Run
from lab.pretraining import Pretraining, diaries, expert, simulated
from lab.provenance import code_hash
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt import NextLocation, checkpoint
from pgt.checkpoint import built
from pgt.metrics import (
    evaluate,
    gains,
    interval,
    interval_of_mean,
    percentile_interval,
    resampled_means,
    summarize,
)
from pgt.predictor.calibration import expected_calibration_error
from pgt.predictor.contextual import MEMORY, OLDER, ContextualPointer, new_network
from pgt.predictor.memory import HistoryWindows, sample, with_history
from pgt.predictor.pool import PAST, RIDGE, Experts, pool_weights
from pgt.predictor.predictor import conformal_quantiles, nonconformity
from pgt.predictor.questions import CALIBRATED, share_of_new
from pgt.windows import Dataset

# None tells when the next visit is.
KEYS = ("geolife_exact", "new_york_last_visit", "city", "hanover", "phoenix")
REAL = KEYS[:2]
TRAINED = {"geolife_exact": "geolife_exact", "new_york_last_visit": "last_visit", "city": "city"}
COVERAGES = (0.5, 0.8, 0.9, 0.95)
NAMES = ("all worlds", "diaries")
RULES = (Run("kernel"), Run("kernel_memory", "memory_100"))
FULL = Pretraining()


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
        tensors, _ = checkpoint.read_tensors(path)
        return built(lambda: new_network(seed, "unknown"), tensors, name)
    data = worlds(plan) if kind == NAMES[0] else diaries(worlds(plan))
    model = expert(data, "unknown", replace(plan.training, seed=seed))
    checkpoint.write_tensors(path, model.state_dict(), {})
    return model.eval()


def about(key: str, **more: Any) -> Row:
    """What the rows of a data set begin with."""
    return {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown",
            "split": "test", **more}  # fmt: skip


def without_networks(experts: Experts, past: Any) -> Experts:
    """The pool in which the kernels and facts alone have weights, by what these people did."""
    n = len(experts.experts)
    own = [(said[..., n:], used, hit) for said, used, hit in experts.returns(past)]
    start = torch.zeros(len(experts.weights) - n, dtype=torch.double)
    bare = Experts([*experts.experts]).eval()
    bare.weights = torch.cat([torch.zeros(n), pool_weights(own, start, RIDGE).float()])
    return bare


def before_test(data: Dataset) -> tuple[Any, Any]:
    """Windows before the test part, of later halves and of last quarters, as `ask` has them."""
    train, valid = data.train, data.valid
    assert isinstance(train, HistoryWindows) and isinstance(valid, HistoryWindows)
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(train, name), getattr(valid, name)])
        for name in ("first", "target", "floor", "older", "inside")
    }  # fmt: skip
    both = replace(train, **columns)
    before = pd.Series(both.target - both.floor)
    most = before.groupby(both.users).transform("max")
    parts = []
    for begin, n in ((most // 2, PAST), (0.75 * most, CALIBRATED)):
        kept = np.flatnonzero(before >= np.maximum(3, begin))
        parts.append(both.subset(kept[sample(len(kept), n)]))
    return parts[0], parts[1]


def zero_shot(key: str) -> Iterator[Row]:
    """A data set's rows: each seed of the pool and their mean, its rivals, and its promises."""
    data, shipped = seen(key), NextLocation.pretrained()
    past = data.train.subset(sample(len(data.train), PAST))
    bare = without_networks(shipped.experts["next_place"], past)
    ranks, others = [], {"no networks": [_ranks(bare, data)]}
    for seed in SEEDS:
        experts = shipped.experts["next_place"]
        if seed != SEEDS[0]:
            experts = Experts([learned(FULL, name, seed) for name in NAMES]).eval()
        ranks.append(_ranks(experts.fit_weights(past), data))
        for row in summarize(ranks[-1]).to_dict("records"):
            low, high = interval(ranks[-1], "acc@1", group=str(row["group"]))
            yield about(key, table="zero-shot", model="predictor", variant="full", seed=seed,
                        **row, low=low, high=high)  # fmt: skip
    for row in promised(shipped, *before_test(data), data.test):
        yield about(key, model="predictor", variant="full", **row)
    scores = pd.concat([summarize(found, ["all"]) for found in ranks]).mean(numeric_only=True)
    yield about(key, table="zero-shot", model="predictor", variant="full", seed=None, group="all",
                **scores.to_dict())  # fmt: skip
    others |= {rule.model: [runs.ranks_of(key, rule)] for rule in RULES}
    if key in TRAINED:
        one = {"model": "pgt", "variant": "full", "target_time": "unknown"}
        trained = read_results(TRAINED[key]).ranks(**one)
        others["pgt"] = [run for run in trained if run.seed.iloc[0] in SEEDS]
    for name, theirs in others.items():
        yield about(key, table="minus", model=name, variant="full", seed=None, group="all",
                    **lead(ranks, theirs))  # fmt: skip


def _ranks(model: Experts, data: Dataset) -> pd.DataFrame:
    found = evaluate(model, data.test)
    return found.assign(user_id=pd.factorize(found.user_id)[0])  # as `lab.runs.ranks_of` has it


def lead(ones: list[pd.DataFrame], others: list[pd.DataFrame]) -> Row:
    """The mean of some runs minus that of others on the same windows, and its interval."""
    mean = [np.mean([gains(each)["acc@1"].mean() for each in some]) for some in (ones, others)]
    low, high = interval_of_mean(ones, against=others)
    return {"acc@1": 100 * float(mean[0] - mean[1]), "low": low, "high": high}


def promised(shipped: NextLocation, past: Any, late: Any, test: Any) -> Iterator[Row]:
    """What sets of the shipped predictor hold, and how well its likeliest place is calibrated."""
    experts = shipped.experts["next_place"].fit_weights(past)
    own, scores = (nonconformity(experts, part, shipped.novelty) for part in (late, test))
    for asked in COVERAGES:
        held = scores <= conformal_quantiles(own, late.users, test.users, 1 - asked)
        low, high = percentile_interval(100 * resampled_means([held], test.users))
        yield {"table": "sets", "asked": 100 * asked, "n": len(held), "low": float(low),
               "coverage": 100 * float(held.mean()), "high": float(high)}  # fmt: skip
    surest, right = np.zeros((2, len(test)))
    for batch in test.batches(512):
        out = experts.mixture(batch)
        share, at = out.pointer.exp().max(1)
        surest[batch.index] = share.detach()
        right[batch.index] = out.place.gather(1, at[:, None])[:, 0] == batch.target
    surest *= 1 - share_of_new(test, *shipped.novelty)
    error = 100 * expected_calibration_error(surest, right)
    yield {"table": "certainty", "n": len(scores), "error": error}


def _rows() -> Iterator[Row]:
    for key in KEYS:
        yield from zero_shot(key)


REPORT = Report(
    question="How good is a predictor on real people that was trained on simulated ones alone?",
    rows=_rows,
    data=KEYS,
    results=tuple(TRAINED.values()),
    more={"seeds": list(SEEDS)},
)
