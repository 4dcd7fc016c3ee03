"""The predictor that was trained on nobody, on real people and on the town.

    PGT_GEOLIFE=… PGT_NEW_YORK=… PGT_CITIES=… python book/lab/run.py nobody

writes ``book/results/nobody.json``. The networks have seen simulated worlds alone
(`lab.pretraining`), chosen on worlds that were held out. A ``table`` holds:

``zero-shot``
    ``model`` says who answers: "predictor" the pool of two networks and fixed kernels, weighed by
    how well they foretold the people's visits of the training part; "no networks" the same pool
    without networks; "all worlds" or "diaries" one network alone. A row without a seed is the mean
    over seeds.
``minus``
    The predictor minus ``model`` on the same windows, mean over seeds: rules fitted there, PGT
    trained there (from the file that says so), or "no networks".
``sets``
    Of the sets that are to hold the truth in ``asked`` percent of the cases, how many hold it,
    ``coverage``, and how many answers they have, ``size``. ``calibration``: "this table", on
    visits before those of the test part, as `NextLocation.predict_set` does it, or "worlds".
``certainty``
    The likeliest place: how probable on average, ``said``, and how often right, ``acc@1``;
    ``error`` is the expected calibration error in ten bins, ``floor`` what luck alone makes of it.
    The loss is of the windows whose target is a place in sight, in nats.

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
from torch import Tensor
from wherenext.results import read_results

from lab import data_sets, runs
from lab.confidence import floor_of_error
from lab.data_sets import DATA
from lab.models import Run
from lab.pretraining import Pretraining, diaries, expert, simulated
from lab.provenance import code_hash
from lab.reports import Report
from lab.runs import SEEDS
from pgt import NextLocation, checkpoint
from pgt.calibration import expected_calibration_error, pool_weights, pooled, threshold
from pgt.contextual import (
    MEMORY,
    OLDER,
    PAST,
    RIDGE,
    ContextualPointer,
    Experts,
    Mixture,
    MixtureModel,
    new_network,
)
from pgt.files import built
from pgt.history import HistoryWindows, sample, with_history
from pgt.metrics import (
    ends,
    evaluate,
    gains,
    group_mask,
    interval,
    interval_of_mean,
    resampled_means,
    summarize,
)
from pgt.predictor import nonconformity, share_of_new
from pgt.windows import Dataset

# None tells when the next visit is.
KEYS = ("geolife_exact", "new_york_last_visit", "city", "hanover", "phoenix")
REAL = KEYS[:2]
TRAINED = {"geolife_exact": "geolife_exact", "new_york_last_visit": "last_visit", "city": "city"}
COVERAGES = (0.5, 0.8, 0.9, 0.95)
BATCH = 512  # windows, as `evaluate` has it
NAMES = ("all worlds", "diaries")
RULES = (Run("kernel"), Run("kernel_memory", "memory_100"))
FULL = Pretraining()
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


def about(key: str, **more: Any) -> Row:
    """What the rows of a data set begin with."""
    return {"data": DATA[key].name, "protocol": DATA[key].protocol, "target_time": "unknown",
            "split": "test", **more}  # fmt: skip


class Part(MixtureModel):
    """A pool of some of what experts say, which is computed once for all parts."""

    def __init__(
        self, experts: Experts, columns: list[int], weights: Tensor, memory: dict[int, Any]
    ) -> None:
        super().__init__()
        self.experts, self.columns, self.weights, self.memory = experts, columns, weights, memory
        self.config, self.generator = experts.config, None

    @torch.no_grad()
    def mixture(self, batch: Any) -> Mixture:
        """Predict every window of a batch."""
        first = int(batch.index[0])
        if first not in self.memory:
            self.memory[first] = self.experts.said(batch)
        place, said = self.memory[first]
        return Mixture(place, pooled(said[..., self.columns], place >= 0, self.weights))


def parts_of(experts: Experts, past: Any) -> dict[str, Part]:
    """The models of the rows: the pool, weighed by what these people did, and parts of it."""
    n, every, memory = len(experts.experts), len(experts.weights), {}  # type: ignore[var-annotated]
    rules = list(range(n, every))
    own = [(said[..., rules], used, hit) for said, used, hit in experts.returns(past)]
    start = torch.zeros(len(rules), dtype=torch.double)
    found = {
        "predictor": (list(range(every)), experts.weighed(past).weights),
        "no networks": (rules, pool_weights(own, start, RIDGE).float()),
        **{name: ([k], torch.ones(1)) for k, name in enumerate(NAMES)},
    }
    return {name: Part(experts, *one, memory).eval() for name, one in found.items()}


def before_test(data: Dataset) -> tuple[Any, np.ndarray]:
    """Of windows before the test part some of everybody's later half, and which are late.

    As `pgt.predictor.ask` has them: late are those of the last quarter.
    """
    train, valid = data.train, data.valid
    assert isinstance(train, HistoryWindows) and isinstance(valid, HistoryWindows)
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(train, name), getattr(valid, name)])
        for name in ("first", "target", "floor", "older", "inside")
    }  # fmt: skip
    both = replace(train, **columns)
    before = pd.Series(both.target - both.floor)
    most = before.groupby(both.users).transform("max")
    late = before >= np.maximum(3, most // 2)
    kept = np.flatnonzero(late)
    kept = kept[sample(len(kept), PAST)]
    return both.subset(kept), (before >= 0.75 * most).to_numpy()[kept]


def zero_shot(key: str) -> Iterator[Row]:
    """A data set's rows: the pool and its parts, each seed and their mean, and its promises."""
    data, shipped = seen(key), NextLocation.pretrained()
    past = data.train.subset(sample(len(data.train), PAST))
    ranks: dict[str, list[pd.DataFrame]] = {}
    for seed in SEEDS:
        experts = shipped.experts["next_place"]
        if seed != SEEDS[0]:
            experts = Experts([learned(FULL, name, seed) for name in NAMES]).eval()
        models = parts_of(experts, past)
        for name, model in models.items():
            found = evaluate(model, data.test)
            found["user_id"] = pd.factorize(found.user_id)[0]  # as `lab.runs.ranks_of` has it
            ranks.setdefault(name, []).append(found)
            for row in summarize(found).to_dict("records"):
                low, high = interval(found, "acc@1", group=str(row["group"]))
                yield about(
                    key, table="zero-shot", model=name, variant="full", seed=seed, **row,
                    low=low, high=high, weights=[round(one, 2) for one in model.weights.tolist()],
                )  # fmt: skip
        if seed == SEEDS[0]:
            rows = promised(shipped, models["predictor"], *before_test(data), data.test)
            yield from (about(key, model="predictor", variant="full", **row) for row in rows)
    for name, found_of in ranks.items():
        low, high = interval_of_mean(found_of)
        scores = pd.concat([summarize(found, ["all"]) for found in found_of])
        yield about(
            key, table="zero-shot", model=name, variant="full", seed=None, group="all",
            low=low, high=high, **scores.mean(numeric_only=True).to_dict(),
        )  # fmt: skip
    others = {rule.model: [runs.ranks_of(key, rule)] for rule in RULES}
    others["no networks"] = ranks["no networks"]
    if key in TRAINED:
        one = {"model": "pgt", "variant": "full", "target_time": "unknown"}
        others["pgt"] = [*read_results(TRAINED[key]).ranks(**one)]
    for name, theirs in others.items():
        for group in ("all", "known"):
            low, high = interval_of_mean(ranks["predictor"], against=theirs, group=group)
            mean = [np.mean([gains(each[group_mask(each, group)])["acc@1"].mean() for each in some])
                    for some in (ranks["predictor"], theirs)]  # fmt: skip
            yield about(
                key, table="minus", model=name, variant="full", seed=None, group=group,
                **{"acc@1": 100 * float(mean[0] - mean[1])}, low=low, high=high,
            )  # fmt: skip


def promised(
    shipped: NextLocation, part: Part, past: Any, late: np.ndarray, test: Any
) -> Iterator[Row]:
    """What sets of the shipped predictor hold, and how certain its likeliest place should be."""
    experts = shipped.experts["next_place"].weighed(past)
    part = Part(experts, part.columns, experts.weights, part.memory).eval()
    new, width = share_of_new(test, *shipped.novelty)[:, None], int(test.lengths.max())
    share, hit = np.zeros((len(test), width)), np.zeros((len(test), width), dtype=bool)
    for batch in test.batches(BATCH):
        out, at = part.mixture(batch), np.ix_(batch.index, np.arange(batch.location.shape[1]))
        share[at], hit[at] = out.pointer.exp(), out.place == batch.target[:, None]
    answer = np.hstack([share * (1 - new), new])  # (W, S + 1) the last one is "somewhere new"
    truth = np.hstack([hit, ~hit.any(1, keepdims=True)])
    said = answer[truth]
    scores = np.where(said == answer.max(1), 0.0, 1 - said)
    for whose, own in (("this table", nonconformity(experts, past.subset(late), shipped.novelty)),
                       ("worlds", shipped.calibration)):  # fmt: skip
        for asked in COVERAGES:
            limit = threshold(own, 1 - asked)
            size = np.maximum(1, ((answer > 0) & (1 - answer <= limit)).sum(1))
            low, high = ends(100 * resampled_means([scores <= limit], test.users))
            yield {"table": "sets", "calibration": whose, "asked": 100 * asked, "n": len(said),
                   "coverage": 100 * float((scores <= limit).mean()), "low": float(low),
                   "high": float(high), "size": float(size.mean())}  # fmt: skip
    first, back = answer[:, :-1].argmax(1), hit.any(1)
    p, right = answer[np.arange(len(said)), first], hit[np.arange(len(said)), first]
    yield {"table": "certainty", "n": len(said), "said": 100 * float(p.mean()),
           "acc@1": 100 * float(right.mean()), "floor": 100 * floor_of_error(p)[0],
           "error": 100 * expected_calibration_error(p, right.astype(float)),
           "loss": float(-np.log(share[hit]).mean()), "new": 100 * float(1 - back.mean()),
           "new_said": 100 * float(new.mean())}  # fmt: skip


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
