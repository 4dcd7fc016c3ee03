"""The next set, predicted: DNNTSP, its parts and plain counting, for chapter 18.

    PGT_DC=…/DC.json python book/lab/run.py temporal_sets

writes ``book/results/temporal_sets.json``. Scores are in percent, means over people or days; no
person, element or moment can be recognized in them.

Rows by ``group``: ``all`` for a run; ``low`` and ``high`` for the 95 % interval of the mean over
seeds, people and seeds resampled; ``lead``, ``lead low`` and ``lead high`` for the difference to
personal frequency (``personal``, variant ``backoff``); ``gain``, ``gain low`` and ``gain high`` for
that to the whole network. ``facts`` tells of the data.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from wherenext import city

from lab.reports import Report
from lab.runs import SEEDS
from pgt.errors import DataError
from pgt.metrics import ends, resampled_means
from pgt.temporal_sets import (
    KS,
    METRICS,
    VARIANTS,
    Personal,
    Popular,
    Sequences,
    SetConfig,
    SetPredictor,
    SetTraining,
    chosen,
    daily_places,
    evaluate,
    fit,
    padded,
)

Row = dict[str, Any]
Parts = dict[str, Sequences]

DC = "PGT_DC"  # the environment variable that names DC.json
PARTS = {"train": "train", "valid": "validate", "test": "test"}  # ours: theirs
COLUMNS = (*METRICS, *(f"{kind}@{k}" for kind in ("repeated", "new") for k in KS))
REFERENCE = ("personal", "backoff")
WHOLE = ("dnntsp", "full")


def read_baskets(path: Path | str) -> dict[str, Sequences]:
    """Baskets in the file format of DNNTSP: part -> user -> baskets; the last one is the target."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no {path.name}; set {DC} to the file's place.")
    raw = json.loads(path.read_text(encoding="utf-8"))
    for theirs in PARTS.values():
        if theirs not in raw:
            raise DataError(f"{path.name} has no part {theirs!r}; is it a file of DNNTSP?")
    everything = [baskets for theirs in PARTS.values() for baskets in raw[theirs].values()]
    n_elements = 1 + max(e for baskets in everything for one in baskets for e in one)
    found, first = {}, 0
    for ours, theirs in PARTS.items():
        for user, baskets in raw[theirs].items():
            if len(baskets) < 2:
                raise DataError(f"User {user} of {path.name} has one basket; two are needed.")
        sequences = list(raw[theirs].values())
        users = range(first, first + len(sequences))
        first += len(sequences)
        found[ours] = padded(
            [baskets[:-1] for baskets in sequences],
            [baskets[-1] for baskets in sequences],
            n_elements,
            users,
        )
    return found


def baskets() -> Parts:
    """The sequences of DC, where the environment says that they are."""
    if not os.environ.get(DC):
        raise DataError(f"Set {DC} to the place of DC.json to measure on it.")
    return read_baskets(os.environ[DC])


def fingerprint(parts: Parts) -> str:
    """A short hash of every sequence."""
    digest = hashlib.sha256()
    for one in parts.values():
        for tensor in (one.elements, one.present, one.length, one.target):
            digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()[:12]


def facts(parts: Parts) -> Row:
    """What the data are like, in percent and counts, over the test sequences."""
    one = parts["test"]
    size = one.present.sum(1)  # (U, T) elements in a set
    filled = size > 0
    truth, seen = one.truth(), one.seen()
    return {
        "alone": 100 * float((size == 1).sum() / filled.sum()),
        "repeats": 100 * float((truth & seen).sum() / truth.sum()),
        "set_size": float(size[filled].float().mean()),
        "sets": float(one.length.float().mean()),
        "n_elements": one.n_elements,
    }


def trained(parts: Parts, variant: str, training: SetTraining) -> pd.DataFrame:
    """One network, trained and scored on the test sequences."""
    torch.manual_seed(training.seed)
    config = SetConfig(parts["train"].n_elements, **VARIANTS[variant])
    model = SetPredictor(config)
    began = time.process_time()
    history = fit(model, parts["train"], parts["valid"], training)
    seconds = time.process_time() - began
    print(f"  {variant} seed {training.seed}: {len(history)} epochs, {seconds:.0f} s", flush=True)
    return evaluate(model, parts["test"]).assign(seconds=seconds)


def counted(parts: Parts) -> dict[tuple[str, str], pd.DataFrame]:
    """What needs no training, by model and variant."""
    train, valid, test = parts["train"], parts["valid"], parts["test"]
    best = chosen(train, valid)
    print(f"  half-life chosen: {best.half_life} sets", flush=True)
    return {
        ("popular", "full"): evaluate(Popular().fit(train), test),
        ("personal", "own"): evaluate(Personal(backoff=False).fit(train), test),
        REFERENCE: evaluate(Personal().fit(train), test),
        ("personal", "half_life"): evaluate(best, test),
    }


def rows_of(
    tables: dict[tuple[str, str], list[pd.DataFrame]], seeds: Sequence[int | None], about: Row
) -> Iterator[Row]:
    """The rows of one data set: every run's, the intervals, and the paired differences."""
    stacks = {key: _stacked(runs) for key, runs in tables.items()}
    for (model, variant), runs in tables.items():
        head = about | {"model": model, "variant": variant, "split": "test"}
        own: Sequence[int | None] = [None] if model != WHOLE[0] else seeds
        for seed, table in zip(own, runs, strict=False):
            values = 100 * table[list(COLUMNS)].mean()
            yield head | {"seed": seed, "group": "all", "n": len(table)} | values.to_dict()
        users = runs[0].user_id.to_numpy()
        compared = {"": None, "lead": REFERENCE, "gain": WHOLE}
        for name, other in compared.items():
            if other is not None and (other not in stacks or other == (model, variant)):
                continue
            # Paired by seed; what needs no training is the same for all seeds.
            value = stacks[model, variant] - (0 if other is None else stacks[other])
            low, high = ends(100 * resampled_means(value, users))
            found = {"low": low, "high": high}
            if other is not None:
                found[""] = 100 * np.nanmean(value.mean(axis=0), axis=0)
            for end, numbers in found.items():
                group = {"group": f"{name} {end}".strip(), "seed": None, "n": len(users)}
                yield head | group | dict(zip(COLUMNS, map(float, numbers), strict=True))


def _stacked(runs: list[pd.DataFrame]) -> np.ndarray:
    """(S, U, M) what every sequence got in every run."""
    return np.stack([table[list(COLUMNS)].to_numpy(float) for table in runs])


def city_days() -> Parts:
    """The places of every active day of the small town's people."""
    return daily_places(city.load().visits)


# The data sets, and the networks that are trained on each.
DATA: dict[str, tuple[Callable[[], Parts], tuple[str, ...]]] = {
    "dc": (baskets, tuple(VARIANTS)),
    "city days": (city_days, ("full", "presence", "informed")),
}


def measured() -> Iterator[Row]:
    """All rows."""
    for name, (load, variants) in DATA.items():
        parts = load()
        about: Row = {"data": name, "protocol": "next set", "target_time": "unknown"}
        yield about | {"model": "none", "variant": "full", "split": "test", "seed": None,
                       "group": "facts", "n": len(parts["test"])} | facts(parts)  # fmt: skip
        tables = {key: [table] for key, table in counted(parts).items()}
        for variant in variants:
            tables[WHOLE[0], variant] = [
                trained(parts, variant, replace(SetTraining(), seed=seed)) for seed in SEEDS
            ]
        yield from rows_of(tables, SEEDS, about)


def _data(_: list[Row]) -> list[Row]:
    return [
        {
            "name": name, "protocol": "next set", "fingerprint": fingerprint(parts),
            "windows": {part: len(one) for part, one in parts.items()},
            "training": asdict(SetTraining()),
        }
        for name, parts in ((name, load()) for name, (load, _) in DATA.items())
    ]  # fmt: skip


REPORT = Report(
    question="Which elements does the next set hold: a network against counting",
    rows=measured,
    data=_data,
)
