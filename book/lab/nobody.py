"""The predictor that was trained on nobody, on real people and on the town, as it comes.

    PGT_GEOLIFE=… PGT_NEW_YORK=… python book/lab/run.py nobody

writes ``book/results/nobody.json``. The networks have seen simulated worlds alone
(`pgt.predictor.pretraining`), chosen on worlds that were held out. A row is one data set and one
``seed``: ``model`` says who answers: "predictor" both experts, weighed by how well they foretold
the people's visits of the training part; "all worlds" or "diaries" one expert alone. ``weight`` is
that of the expert of all worlds. In percent, with a 95 % interval of Acc@1, people resampled. No
person, place or moment can be recognized in the rows.

The weights that are shipped are those of seed 42: ``python -m pgt pretrain --out FILE`` makes them
again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lab import runs
from lab.provenance import code_mark
from lab.reports import Report
from pgt.contextual.history import HistoryWindows, with_history
from pgt.contextual.presets import MEMORY, OLDER
from pgt.intervals import interval
from pgt.metrics import evaluate, summarize
from pgt.predictor.bundle import Bundle
from pgt.predictor.experts import Experts
from pgt.predictor.pretraining import pretrain

SEEDS = (42,)
KEYS = ("geolife_exact", "new_york", "city")
PAST = 2000  # windows by which experts are weighed, as in `pgt.predictor.estimator`
NAMES = ("all worlds", "diaries")
Row = dict[str, Any]


def bundle(seed: int) -> Bundle:
    """The predictor of a seed, trained or taken from where it is kept."""
    code = code_mark(("pgt.predictor.pretraining:pretrain",))
    path = Path(tempfile.gettempdir()) / "pgt-runs" / f"nobody-{seed}-{code}.safetensors"
    if not path.is_file():
        pretrain(seed, progress=False).save(path)
    return Bundle.load(path)


def scored(key: str, seed: int) -> Iterator[Row]:
    """A data set's rows of one seed."""
    data = with_history(runs.dataset(key), MEMORY, OLDER)
    rng = np.random.default_rng(0)
    past = data.train.subset(np.sort(rng.permutation(len(data.train))[:PAST]))
    assert isinstance(past, HistoryWindows)
    both = bundle(seed).next_place.weighed(past)
    who = {"predictor": both} | {
        name: Experts([one]).eval() for name, one in zip(NAMES, both.networks, strict=True)
    }
    for name, model in who.items():
        ranks = evaluate(model, data.test)
        for row in summarize(ranks).to_dict("records"):
            low, high = interval(ranks, "acc@1", group=str(row["group"]))
            yield {
                "data": runs.DATA[key].name, "protocol": runs.DATA[key].protocol, "model": name,
                "variant": "full", "target_time": "unknown", "seed": seed, "split": "test", **row,
                "low": low, "high": high, "weight": float(both.weights[0]),
                "parameters": sum(one.n_parameters() for one in model.networks),
            }  # fmt: skip


def _rows() -> Iterator[Row]:
    for seed in SEEDS:
        for key in KEYS:
            yield from scored(key, seed)


REPORT = Report(
    question="How good is a predictor on real people that was trained on simulated ones alone?",
    rows=_rows,
    data=KEYS,
    starts=("scored", "pgt.predictor.pretraining:pretrain"),
    more={"seeds": list(SEEDS)},
)
