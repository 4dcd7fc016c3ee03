"""Executing an experiment: its runs are made, kept, and put together into files."""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from wherenext.results import Results, read_results

from lab import data_sets, runs
from lab.data_sets import DATA
from lab.experiments import EXPERIMENTS
from lab.models import Run
from lab.reports import about_data, write_results
from pgt.errors import DataError


def execute(
    name: str, folder: Path, workers: int = 2, seeds: Collection[int] | None = None, *,
    commit: str | None = None,
) -> Path:  # fmt: skip
    """Run an experiment by the code of a commit and write its two files; returns the JSON's path.

    With ``seeds`` only these are run; those of the files that are there stay.
    """
    if seeds is not None:
        earlier_seeds(name, folder, seeds)  # says at once if there is nothing to stay
    jobs = [job for job in EXPERIMENTS[name].jobs if is_wanted(job[1], seeds)]
    for key in EXPERIMENTS[name].runs:
        data_sets.data_fingerprint(key)  # says at once which data are missing
    began = time.perf_counter()
    with ExitStack() as stack:
        # With no workers the runs are made one after the other, in this process.
        each = stack.enter_context(ProcessPoolExecutor(workers)).map if workers else map
        for label in each(runs.make, jobs):
            print(f"{time.perf_counter() - began:7.0f} s  {label}", flush=True)
    return write(name, folder, seeds, commit=commit)


def is_wanted(run: Run, seeds: Collection[int] | None) -> bool:
    """Whether a run has one of these seeds, or needs none."""
    return seeds is None or run.seed is None or run.seed in seeds


def earlier_seeds(
    name: str, folder: Path, seeds: Collection[int]
) -> tuple[Results, pd.Series, dict[str, Any]]:
    """The file that is there, which of its rows stay, and by what they were made."""
    there = read_results(name, folder)
    stay = there.rows.seed.notna() & ~there.rows.seed.isin(seeds)
    left = sorted(set(there.rows.seed[stay].astype(int)))
    parts = {part: there.header[part] for part in ("code", "versions", "device", "data")}
    before = there.header.get("earlier", parts | {"seeds": left})
    if newer := sorted(set(left) - set(before["seeds"])):
        raise DataError(
            f"{name}.json would hold seeds of three versions of the code; add "
            f"{' '.join(map(str, newer))} to --seeds."
        )
    return there, stay, before | {"seeds": left}


def write(
    name: str, folder: Path, seeds: Collection[int] | None = None, *, commit: str | None = None
) -> Path:
    """Put an experiment's finished runs together into its two files."""
    experiment = EXPERIMENTS[name]
    rows: list[dict[str, Any]] = []
    notes: dict[str, Any] = {}
    files: dict[str, str] = {}
    tables = []
    made: dict[str, Any] = {}
    for key, run in experiment.jobs:
        if not is_wanted(run, seeds):
            continue
        result, ranks = runs.read_kept(key, run)
        rows += result["rows"]
        files |= result["files"]
        made = result["environment"]
        label = run.key if len(experiment.runs) == 1 else f"{key}/{run.key}"
        notes[label] = result["notes"] | {"seconds": round(result["seconds"], 1)}
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol} | asdict(run)
        tables.append(ranks.assign(**about))
    sources = [about_data(key) for key in experiment.runs]
    header = {
        "experiment": name,
        "question": experiment.question,
        "command": f"python book/lab/run.py {name}",
        "data": sources[0] if len(sources) == 1 else sources,
        "code": {"commit": commit, "files": dict(sorted(files.items()))},
        **made,
        "seconds": round(sum(note["seconds"] for note in notes.values()), 1),
        "runs": notes,
    }  # fmt: skip
    if seeds is not None:
        there, stay, before = earlier_seeds(name, folder, seeds)
        rows += there.rows[stay].astype({"seed": int}).to_dict("records")
        ranks = pd.read_parquet(folder / f"{name}.ranks.parquet")
        tables.append(ranks[ranks.seed.isin(before["seeds"])])
        header["runs"] = there.header["runs"] | notes
        header["earlier"] = before
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.concat(tables, ignore_index=True).astype({"seed": "Int16"})
    for column in ("data", "protocol", "model", "variant", "target_time"):
        table[column] = table[column].astype("category")
    # All answers to one question side by side: they are alike, and so are the numbers of the rows.
    # Of a rank the upper bytes are nearly always 0, and stand apart from the lowest.
    table = table.sort_values(["data", "row"], kind="stable", ignore_index=True)
    table.to_parquet(
        folder / f"{name}.ranks.parquet", index=False, compression="brotli", compression_level=11,
        use_dictionary=[column for column in table if column not in ("row", "better")],
        column_encoding={"row": "DELTA_BINARY_PACKED", "better": "BYTE_STREAM_SPLIT"},
    )  # fmt: skip
    return write_results(folder / f"{name}.json", header, rows)
