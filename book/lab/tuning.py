"""Tuning: every candidate of every model, once, compared on the validation windows.

    python book/lab/run.py tuning

writes ``book/results/tuning.json``, one row a candidate. Test windows are not looked at: `choose`
does not get them. A data set that is in the file already, and is not named, stays.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from lab.data_sets import DATA, data_fingerprint, dataset
from lab.provenance import imported, unchanged
from lab.reports import environment, write_results
from lab.search_space import LEVELS, MODELS, Settings, build, candidates
from pgt import metrics
from pgt.train import fit
from pgt.windows import Windows

SEED = 42
KEY = "geolife_published"  # no model is tuned on other data
SHOWN = (*LEVELS, "d_feedforward", "batch_size", "monitor")  # of a candidate, in its row


def choose(
    model: str,
    train: Windows,
    valid: Windows,
    among: dict[str, Settings] | None = None,
    after: Callable[[dict[str, Any]], None] | None = None,
    done: Iterable[dict[str, Any]] = (),
) -> tuple[str, pd.DataFrame]:
    """Train every candidate of a model with one seed and keep the most accurate."""
    rows = {row["variant"]: row for row in done}
    among = among or candidates(model)
    for name, settings in among.items():
        if name in rows:
            continue
        network, training = build(model, settings, train.vocabulary, SEED)
        began = time.process_time()
        history = fit(network, train, valid, training, progress=False, device="cpu")
        seconds = time.process_time() - began
        known = asdict(network.config) | asdict(training)
        (scores,) = metrics.summarize(metrics.evaluate(network, valid), ["all"]).to_dict("records")
        rows[name] = (
            {"model": model, "variant": name, "target_time": "unknown", "seed": SEED,
             "split": "valid"}
            | scores
            | {key: known[key] for key in SHOWN}
            | {"parameters": network.n_parameters(), "epochs": history.best_epoch,
               "seconds": round(seconds, 1)}
        )  # fmt: skip
        if after is not None:
            after(rows[name])
    table = pd.DataFrame([rows[name] for name in among])
    return str(table.variant[table["acc@1"].idxmax()]), table


def tune(key: str, path: Path) -> None:
    """Choose for every model on an entry of `lab.data_sets.DATA`, adding each row to the file."""
    torch.set_num_threads(1)
    about = {"data": DATA[key].name, "protocol": DATA[key].protocol}
    for model in MODELS:

        def keep(row: dict[str, Any]) -> None:
            write(path, key, [about | row])
            print(f"{key} {row['model']} {row['variant']} {row['acc@1']:.2f}", flush=True)

        data, mine = dataset(key), (about | {"model": model}).items()
        done = [row for row in read(path)["rows"] if mine <= row.items()]
        name, _ = choose(model, data.train, data.valid, after=keep, done=done)
        print(f"{key} {model}: {name}", flush=True)


def read(path: Path) -> dict[str, Any]:
    """The results file so far; with no rows if other code made them."""
    if not path.exists():
        return {"data": [], "rows": []}
    raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return raw if unchanged(raw["code"]["files"]) else raw | {"rows": []}


def write(path: Path, key: str, rows: list[dict[str, Any]]) -> None:
    """Add rows to the results file, in the place of those of the same candidates."""
    before = read(path)
    source = {
        "name": DATA[key].name,
        "protocol": DATA[key].protocol,
        "fingerprint": data_fingerprint(key),
        "windows": {n: len(getattr(dataset(key), n)) for n in ("train", "valid")},
    }
    same = ("data", "protocol", "model", "variant")
    new = {tuple(row[name] for name in same) for row in rows}
    rows = [row for row in before["rows"] if tuple(row[n] for n in same) not in new] + rows
    sources = [one for one in before["data"] if one["fingerprint"] != source["fingerprint"]]
    sources += [source]
    header = {
        "experiment": "tuning",
        "question": "Which settings are best for each model on the validation windows?",
        "command": "python book/lab/run.py tuning",
        "data": sources,
        "code": {"files": imported()},
        **environment(),
        "device": "cpu",
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }
    write_results(path, header, rows, decimals=6)


def execute(folder: Path) -> Path:
    """Tune on GeoLife, by the published protocol."""
    path = folder / "tuning.json"
    tune(KEY, path)
    return path
