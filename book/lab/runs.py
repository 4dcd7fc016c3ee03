"""One run of an experiment: a model, trained and scored once on one data set.

A run knows by itself what it depends on: the windows it sees and the code it executes. Finished
runs are kept under a name made of both, so that an interrupted experiment goes on where it
stopped, and two experiments that share a run make it once.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from wherenext.results import read_results

from lab import models
from lab.data_sets import DATA, data_fingerprint
from lab.models import Run
from lab.provenance import code_hash, environment, imported
from lab.search_space import TUNED
from pgt import metrics
from pgt.files import write_text

SEEDS = (42, 1, 2, 3, 4)  # of reports with five runs; `lab.experiments` names more and fewer
RANKS = ["user", "row", "better", "tied", "known", "in_window"]


def one_run(key: str, run: Run) -> dict[str, Any]:
    """Train and score once; rows for the results file, and the test ranks."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    predictor, notes = models.trained(key, run)
    data = models.windows_of(key, run)
    rows = []
    for split in ("valid", "test"):
        ranks = metrics.evaluate(predictor, getattr(data, split))
        table = metrics.summarize(ranks)
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol} | asdict(run)
        rows += [about | {"split": split} | row for row in table.to_dict("records")]
    ranks["user"] = pd.factorize(ranks.user_id)[0]
    ranks["row"] = data.test.target  # of the split's visits: the same visit in other windows
    small = ranks[RANKS].astype(
        {"user": "int16", "row": "int32", "better": "int32", "tied": "int32"}
    )
    return {
        "rows": rows, "ranks": small, "notes": notes, "files": imported(),
        "seconds": time.perf_counter() - began, "environment": environment(),
    }  # fmt: skip


def kept(key: str, run: Run) -> Path:
    """Where a finished run is kept; other data or other code is another place."""
    folder = Path(tempfile.gettempdir()) / "pgt-runs" / f"{key}-{data_fingerprint(key)}"
    settings = f"-{TUNED[run.model]}" if run.variant == "tuned" else ""
    return folder / f"{run.key}{settings}-{code_hash()}.json"


def make(job: tuple[str, Run]) -> str:
    """Do a run unless it is kept already; returns its name."""
    key, run = job
    path = kept(key, run)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        result = one_run(key, run)
        result.pop("ranks").to_parquet(path.with_suffix(".parquet"), index=False)
        write_text(path, json.dumps(result))
    return f"{key} {run.key}"


def read_kept(key: str, run: Run) -> tuple[dict[str, Any], pd.DataFrame]:
    """A finished run: its rows, notes and seconds, and its ranks."""
    path = kept(key, run)
    return json.loads(path.read_text()), pd.read_parquet(path.with_suffix(".parquet"))


def ranks_of(key: str, run: Run) -> pd.DataFrame:
    """The test ranks of a run, as of `pgt.metrics.evaluate`; it is made unless it is kept."""
    make((key, run))
    return read_kept(key, run)[1].rename(columns={"user": "user_id"})


def recorded(results: tuple[str, ...], key: str, run: Run) -> list[pd.DataFrame]:
    """The test ranks, in the order of `SEEDS`, of the first experiment that has the run."""
    data = DATA[key]
    where = {"data": data.name, "protocol": data.protocol, "model": run.model,
             "variant": run.variant, "target_time": run.target_time}  # fmt: skip
    for name in results:
        by_seed = {ranks.seed.iloc[0]: ranks for ranks in read_results(name).ranks(**where)}
        found = [by_seed[seed] for seed in SEEDS if seed in by_seed]
        found = found or [ranks for seed, ranks in by_seed.items() if pd.isna(seed)]
        if found:
            return found
    raise KeyError(f"Neither of {', '.join(results)} has {run.key} on {key}; run one that does.")
