"""Tuning: every candidate of every model, once, compared on the validation windows.

    PGT_GEOLIFE_WINDOWS=… python book/lab/run.py tuning

writes ``book/results/tuning.json``, one row a candidate. Test windows are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from lab.data_sets import DATA, data_fingerprint, dataset
from lab.reports import Report, Row
from lab.search_space import LEVELS, MODELS, build, candidates
from pgt import metrics
from pgt.train import fit

SEED = 42
KEY = "geolife_published"  # no model is tuned on other data
SHOWN = (*LEVELS, "d_feedforward", "batch_size", "monitor")  # of a candidate, in its row


def _rows() -> Iterator[Row]:
    train, valid = dataset(KEY).train, dataset(KEY).valid
    about = {"data": DATA[KEY].name, "protocol": DATA[KEY].protocol}
    for model in MODELS:
        for name, settings in candidates(model).items():
            network, training = build(model, settings, train.vocabulary, SEED)
            fit(network, train, valid, training, progress=False, device="cpu")
            known = asdict(network.config) | asdict(training)
            scores = metrics.summarize(metrics.evaluate(network, valid), ["all"])
            row = {"model": model, "variant": name, "target_time": "unknown", "seed": SEED,
                   "split": "valid"} | scores.to_dict("records")[0]  # fmt: skip
            print(f"{KEY} {model} {name} {row['acc@1']:.2f}", flush=True)
            yield about | row | {key: known[key] for key in SHOWN}


def _data(_: list[Row]) -> list[Row]:
    counts = {name: len(getattr(dataset(KEY), name)) for name in ("train", "valid")}
    return [{"name": DATA[KEY].name, "protocol": DATA[KEY].protocol,
             "fingerprint": data_fingerprint(KEY), "windows": counts}]  # fmt: skip


REPORT = Report(
    question="Which settings are best for each model on the validation windows?",
    rows=_rows,
    data=_data,
    more={"device": "cpu"},
    decimals=6,
)
