"""A table that nobody prepared, from a file to scores, at full size.

    python book/lab/run.py own_city

writes ``book/results/own_city.json``: what reading, training PGT and scoring took, and the scores,
for the check-ins of 500 people of a simulated large town. The rows with ``table`` "command" tell
each step's seconds of processor time; "scores" are one a model and seed; "ends" compare two rules
on the same visits with their ends and without, once with all visits and once with those that were
checked in.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from wherenext import city

from lab.data_sets import sampled
from lab.reports import Report, Row
from pgt import metrics
from pgt.baselines import baselines, fit_baseline
from pgt.config import PRESETS, ModelConfig
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.contextual import MEMORY
from pgt.predictor.memory import with_history
from pgt.readers import tables
from pgt.train import fit
from pgt.windows import Dataset, prepare

SEEDS, EPOCHS = (42, 1), 6
PEOPLE, SHARE = 500, 0.7  # of the town, and of their visits
PRESET = "city"
ZONE = "America/Regina"


def as_checkins(visits: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Visits as check-ins are found: other names, text ids, UTC, no ends, no order."""
    utc = visits.started_at.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    table = {
        "User ID": "u" + visits.user_id.astype(str),
        "Venue ID": "v" + visits.location_id.astype(str),
        "Latitude": visits.lat, "Longitude": visits.lon, "Check-in time": utc,
    }  # fmt: skip
    return pd.DataFrame(table).sample(frac=1, random_state=seed)


def ends(visits: pd.DataFrame, share: float) -> Iterator[Row]:
    """What two rules lose when a visit's end is taken away; ``share`` is that of all visits."""
    for name, table in (
        ("known", visits),
        ("unknown", visits.assign(finished_at=visits.started_at)),
    ):
        data = prepare(table, protocol="exact")
        for model in ("most_frequent", "kernel"):
            ranks = metrics.evaluate(fit_baseline(model, data.train, data.valid), data.test)
            yield {"table": "ends", "share": share, "group": name, "model": model, "n": len(ranks),
                   "value": 100 * float(metrics.gains(ranks)["acc@1"].mean())}  # fmt: skip


def timed(step: str, work: Callable[[], Any]) -> tuple[Row, Any]:
    """A row with the processor's seconds that a step took, whatever else the machine does."""
    before = time.process_time()
    made = work()
    return {"table": "command", "command": step, "took": time.process_time() - before}, made


def trained(data: Dataset, seed: int) -> PointerGeneratorTransformer:
    """PGT, trained for a few epochs."""
    torch.manual_seed(seed)
    words, preset = data.vocabulary, PRESETS[PRESET]
    model = PointerGeneratorTransformer(
        ModelConfig(words.n_locations, words.n_users, **preset.model)
    )
    training = replace(preset.training, seed=seed, max_epochs=EPOCHS)
    fit(model, data.train, data.valid, training, device="cpu", progress=False)
    return model


def ranked(
    model: PointerGeneratorTransformer, data: Dataset, rules: bool
) -> dict[str, pd.DataFrame]:
    """The ranks of PGT on the test windows, and of all rules beside it."""
    found = {"pgt": metrics.evaluate(model, data.test)}
    if rules:
        seen = with_history(data, MEMORY)
        some = {name: (name, data) for name in baselines()}
        some |= {f"{name.replace('_', ' ')}, {MEMORY} visits": (name, seen)
                 for name in ("most_frequent", "kernel")}  # fmt: skip
        for label, (name, on) in some.items():
            rule = fit_baseline(name, on.train, on.valid)
            found[label] = metrics.evaluate(rule, on.test)
    return found


def measured(folder: Path, table: pd.DataFrame) -> Iterator[Row]:
    """The three steps on a table, the last two for every seed."""
    path = folder / "checkins.csv"
    table.to_csv(path, index=False)
    row, visits = timed("prepare", lambda: tables.read_visits(path, timezone=ZONE))
    yield row
    data = prepare(visits, protocol="exact")
    for seed in SEEDS:
        row, model = timed("train", partial(trained, data, seed))
        yield row
        rules = seed == SEEDS[0]  # they have no seed
        row, found = timed("evaluate", partial(ranked, model, data, rules))
        yield row
        for name, ranks in found.items():
            (score,) = metrics.summarize(ranks, ["all"]).to_dict("records")
            yield {"table": "scores", "data": "visits", "protocol": "exact",
                   "target_time": "unknown", "model": name, "variant": "full",
                   "seed": seed if name == "pgt" else None, "split": "test", **score}  # fmt: skip


def _lived() -> pd.DataFrame:
    return city.simulate(preset="large").visits.drop(columns="split")


def _rows() -> Iterator[Row]:
    lived = _lived()
    with tempfile.TemporaryDirectory() as folder:
        yield from measured(Path(folder), as_checkins(sampled(lived, PEOPLE)))
    for share in (SHARE, 1.0):
        yield from ends(sampled(lived, PEOPLE, share), share)


def _data(_: list[Row]) -> list[Row]:
    table = as_checkins(sampled(_lived(), PEOPLE))
    return [{
        "name": "simulated large town",
        "people": table["User ID"].nunique(),
        "share of their visits": SHARE,
        "places": table["Venue ID"].nunique(),
        "check-ins": len(table),
    }]  # fmt: skip


REPORT = Report(
    question="Do three steps take a table that nobody prepared to scores?",
    rows=_rows,
    data=_data,
    more={
        "training": {
            "preset": PRESET,
            "epochs": EPOCHS,
            "seeds": list(SEEDS),
            "learning_rate": PRESETS[PRESET].training.learning_rate,
        }
    },
)  # fmt: skip
