"""The next set, predicted: DNNTSP, its parts and plain counting, for chapter 18.

    PGT_DC=…/DC.json python book/lab/run.py temporal_sets

writes ``book/results/temporal_sets.json``. Scores are in percent, means over people or days; no
person, element or moment can be recognized in them.

Rows by ``group``: ``all`` for a run; of a network, ``lead``, ``lead low`` and ``lead high`` for the
difference to personal frequency (``personal``, variant ``backoff``), its mean over seeds and its
95 % interval, people and seeds resampled; ``gain``, ``gain low`` and ``gain high`` for that to the
whole network. ``facts`` tells of the data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from wherenext import city
from wherenext.relatives.temporal_sets import (
    METRICS,
    VARIANTS,
    Personal,
    Popular,
    Sequences,
    SetConfig,
    SetPredictor,
    SetTraining,
    daily_places,
    evaluate,
    fit,
    padded,
)

from lab.data_sets import from_environment
from lab.reports import Report, Row
from lab.runs import SEEDS
from pgt.metrics import percentile_interval, resampled_means

Parts = dict[str, Sequences]

DC = "PGT_DC"  # the environment variable that names DC.json
PARTS = {"train": "train", "valid": "validate", "test": "test"}  # ours: theirs
REFERENCE = ("personal", "backoff")
WHOLE = ("dnntsp", "full")


def baskets() -> Parts:
    """The sequences of DC in DNNTSP's file: part -> user -> baskets; the last one is the target."""
    raw = json.loads(from_environment(DC).read_text(encoding="utf-8"))
    everything = [baskets for theirs in PARTS.values() for baskets in raw[theirs].values()]
    n_elements = 1 + max(e for baskets in everything for one in baskets for e in one)
    found, first = {}, 0
    for ours, theirs in PARTS.items():
        own = list(raw[theirs].values())
        users = range(first, first + len(own))
        first += len(own)
        past, last = [one[:-1] for one in own], [one[-1] for one in own]
        found[ours] = padded(past, last, n_elements, users)
    return found


def fingerprint(parts: Parts) -> str:
    """A short hash of every sequence."""
    digest = hashlib.sha256()
    for one in parts.values():
        for tensor in (one.elements, one.present, one.length, one.target):
            digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()[:12]


def alone(sequences: Sequences) -> float:
    """The share of sets with one element, in percent."""
    size = sequences.present.sum(1)  # (U, T) elements in a set
    return 100 * float((size == 1).sum() / (size > 0).sum())


def trained(parts: Parts, name: str, fields: dict[str, Any], training: SetTraining) -> pd.DataFrame:
    """One network with these fields of its configuration, trained and scored on the test."""
    torch.manual_seed(training.seed)
    model = SetPredictor(SetConfig(parts["train"].n_elements, **fields))
    history = fit(model, parts["train"], parts["valid"], training)
    print(f"  {name} seed {training.seed}: {len(history)} epochs", flush=True)
    return evaluate(model, parts["test"])


def counted(parts: Parts) -> dict[tuple[str, str], pd.DataFrame]:
    """What needs no training, by model and variant."""
    rules: dict[tuple[str, str], Popular | Personal] = {
        ("popular", "full"): Popular(), ("personal", "own"): Personal(backoff=False),
        REFERENCE: Personal(),
    }  # fmt: skip
    return {key: evaluate(rule.fit(parts["train"]), parts["test"]) for key, rule in rules.items()}


def rows_of(tables: dict[tuple[str, str], list[pd.DataFrame]], about: Row) -> Iterator[Row]:
    """The rows of one data set: every run's, and the paired differences of networks."""
    stacks = {key: _stacked(runs) for key, runs in tables.items()}
    for (model, variant), runs in tables.items():
        head = about | {"model": model, "variant": variant, "split": "test"}
        network = model == WHOLE[0]
        for seed, table in zip(SEEDS if network else (None,), runs, strict=True):
            values = 100 * table[list(METRICS)].mean()
            yield head | {"seed": seed, "group": "all", "n": len(table)} | values.to_dict()
        users = runs[0].user_id.to_numpy()
        for name, other in {"lead": REFERENCE, "gain": WHOLE}.items():
            if not network or other == (model, variant):
                continue
            # Paired by seed; what needs no training is the same for all seeds.
            value = stacks[model, variant] - stacks[other]
            low, high = percentile_interval(100 * resampled_means(value, users))
            mean = 100 * np.nanmean(value.mean(axis=0), axis=0)
            for end, numbers in {"low": low, "high": high, "": mean}.items():
                group = {"group": f"{name} {end}".strip(), "seed": None, "n": len(users)}
                yield head | group | dict(zip(METRICS, map(float, numbers), strict=True))


def _stacked(runs: list[pd.DataFrame]) -> np.ndarray:
    """(S, U, M) what every sequence got in every run."""
    return np.stack([table[list(METRICS)].to_numpy(float) for table in runs])


def city_days() -> Parts:
    """The places of every active day of the small town's people."""
    return daily_places(city.load().visits)


# The data sets, and the networks that are trained on each.
DATA: dict[str, tuple[Callable[[], Parts], tuple[str, ...]]] = {
    "dc": (baskets, tuple(VARIANTS)),
    "city days": (city_days, ("full", "presence", "informed")),
}


def compared(parts: Parts, ways: dict[str, dict[str, Any]], about: Row) -> Iterator[Row]:
    """The rows of what needs no training and of networks, a name and its fields each."""
    tables = {key: [table] for key, table in counted(parts).items()}
    for name, fields in ways.items():
        tables[WHOLE[0], name] = [
            trained(parts, name, fields, replace(SetTraining(), seed=seed)) for seed in SEEDS
        ]
    yield from rows_of(tables, about)


def about(name: str) -> Row:
    """What every row says of its data set."""
    return {"data": name, "protocol": "next set", "target_time": "unknown"}


def measured() -> Iterator[Row]:
    """All rows."""
    for name, (load, variants) in DATA.items():
        parts = load()
        yield about(name) | {"model": "none", "variant": "full", "split": "test", "seed": None,
                       "group": "facts", "n": len(parts["test"]),
                       "alone": alone(parts["test"])}  # fmt: skip
        yield from compared(parts, {one: VARIANTS[one] for one in variants}, about(name))


def described(name: str, parts: Parts) -> Row:
    """A data set in the header of a results file."""
    return {
        "name": name, "protocol": "next set", "fingerprint": fingerprint(parts),
        "windows": {part: len(one) for part, one in parts.items()},
        "training": asdict(SetTraining()),
    }  # fmt: skip


def _data(_: list[Row]) -> list[Row]:
    return [described(name, load()) for name, (load, _) in DATA.items()]


REPORT = Report(
    question="Which elements does the next set hold: a network against counting",
    rows=measured,
    data=_data,
)
