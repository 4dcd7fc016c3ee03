"""Experiments: models × data × seeds -> one results file, from which the book takes its numbers.

    python -m pgt.experiments geolife_published
    python -m pgt.experiments city
    python -m pgt.experiments city --confirm

writes ``book/results/NAME.json`` (how it was made, and one flat row per model, seed, split and
group) and ``NAME.ranks.parquet`` (where each test window's target was ranked, by person, without
places or times), from which intervals are computed. Finished runs are kept, so an interrupted
experiment goes on where it stopped.

A results file holds a fingerprint of the code that made it; the book is not built from a file
whose code has changed since. ``--confirm`` runs one seed of each changed model again and, when
every window is ranked as before, brings the fingerprints up to date; otherwise the experiment
has to be run again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pgt import beyond, runs
from pgt.baselines import all_baselines
from pgt.improvements.parts import IMPROVEMENTS
from pgt.model import ABLATIONS
from pgt.reports import about_data, environment, stale, write_results
from pgt.results import Results, read_results, results_folder
from pgt.runs import DATA, GEOLIFE, GEOLIFE_WINDOWS, Run, has_data
from pgt.visits import DataError

__all__ = [
    "EXPERIMENTS", "GEOLIFE", "GEOLIFE_WINDOWS", "SEEDS", "Experiment", "Results", "Run",
    "execute", "has_data", "read_results", "results_folder", "stale",
]  # fmt: skip

SEEDS = (42, 1, 2, 3, 4)


@dataclass(frozen=True)
class Experiment:
    """What is run on which data.

    Attributes
    ----------
    runs : dict of str to tuple of Run
        By entry of `pgt.runs.DATA`.
    question : str
        What it is for, in one line.
    """

    question: str
    runs: dict[str, tuple[Run, ...]]

    @property
    def jobs(self) -> list[tuple[str, Run]]:
        """Every run, with the data it is for."""
        return [(key, run) for key, some in self.runs.items() for run in some]


def _seeded(variants: list[tuple[str, str, str]]) -> tuple[Run, ...]:
    """Each (model, variant, when), with every seed."""
    return tuple(Run(*variant, seed) for variant in variants for seed in SEEDS)


BASELINES = tuple(Run(name) for name in all_baselines())


def _headline(*when: str) -> tuple[Run, ...]:
    """Baselines, and PGT with and without its two halves."""
    halves = [("pgt", variant, when[0]) for variant in ("full", "no_pointer", "no_generator")]
    return BASELINES + _seeded(halves + [("pgt", "full", other) for other in when[1:]])


# As others publish them, and PGT with the same care: settings from `pgt.tuned`.
TUNED = _seeded([(model, "tuned", "unknown") for model in ("lstm", "mhsa", "pgt")])


def _ablations(when: str) -> tuple[Run, ...]:
    return _seeded([("pgt", variant, when) for variant in ABLATIONS])


def _contextual(*variants: str) -> tuple[Run, ...]:
    """Variants of `pgt.beyond`, the whole one told the time as well, beside what they must beat."""
    asked = [("contextual", "full", when) for when in ("unknown", "hour", "time")]
    asked += [("contextual", variant, "unknown") for variant in variants if variant != "full"]
    rivals = (Run("kernel"), Run("kernel_memory", "memory_100"))
    return rivals + _seeded([("pgt", "full", "unknown"), *asked])


def _improvements() -> tuple[Run, ...]:
    """Every proposed improvement beside the plain model and the kernel, seed by seed."""
    runs = [Run("improved", name, seed=seed) for seed in SEEDS for name in IMPROVEMENTS]
    return Run("kernel"), *runs


# On many windows a seed makes little difference; three show how little.
_ELSEWHERE = (
    Run("most_frequent"), Run("kernel"), Run("kernel_memory", "memory_100"),
    *(Run("contextual", "full", seed=seed) for seed in SEEDS[:3]),
)  # fmt: skip


EXPERIMENTS: dict[str, Experiment] = {
    "geolife_published": Experiment(
        "How good is each model on GeoLife, by the published protocol?",
        {"geolife_published": _headline("day", "unknown") + TUNED},
    ),
    "geolife_exact": Experiment(
        "How good is each model on GeoLife when it must name the very place?",
        {"geolife_exact": _headline("unknown") + TUNED},
    ),
    "city": Experiment(
        "How good is each model on the simulated city?", {"city": _headline("unknown")}
    ),
    "ablations": Experiment(
        "What does PGT lose with each of its parts?",
        {
            "city": _ablations("unknown"),
            "geolife_published": _ablations("day"),
            "geolife_exact": _ablations("unknown"),
        },
    ),
    "beyond": Experiment(
        "What beats the context kernel, which of its terms do, and how much past does it need?",
        {
            "geolife_exact": _contextual(*beyond.VARIANTS_WHERE_NOTHING_IS_MERGED),
            "geolife_published": _contextual(*beyond.VARIANTS_WITH_UNKNOWN),
            "city": _contextual("full", "window"),
        },
    ),
    "improvements": Experiment(
        "Do the improvements that the design documents propose improve PGT?",
        {"city": _improvements(), "geolife_exact": _improvements()},
    ),
    "elsewhere": Experiment(
        "Does the contextual pointer lead on a large town and on check-ins, as it is?",
        {"city_large": _ELSEWHERE, "checkins": _ELSEWHERE},
    ),
}


def execute(name: str, folder: Path, workers: int = 2) -> Path:
    """Run an experiment and write its two files; returns the JSON's path."""
    jobs = EXPERIMENTS[name].jobs
    for key in EXPERIMENTS[name].runs:
        runs.data_fingerprint(key)  # says at once which data are missing
    began = time.perf_counter()
    with ExitStack() as stack:
        # With no workers the runs are made one after the other, in this process.
        each = stack.enter_context(ProcessPoolExecutor(workers)).map if workers else map
        for label in each(runs.make, jobs):
            print(f"{time.perf_counter() - began:7.0f} s  {label}", flush=True)
    return write(name, folder)


def write(name: str, folder: Path) -> Path:
    """Put an experiment's finished runs together into its two files."""
    experiment = EXPERIMENTS[name]
    rows: list[dict[str, Any]] = []
    notes: dict[str, Any] = {}
    tables = []
    for key, run in experiment.jobs:
        result, ranks = runs.read_kept(key, run)
        rows += result["rows"]
        label = run.key if len(experiment.runs) == 1 else f"{key}/{run.key}"
        notes[label] = result["notes"] | {"seconds": round(result["seconds"], 1)}
        about = {"data": DATA[key].name, "protocol": DATA[key].protocol} | asdict(run)
        tables.append(ranks.assign(**about))
    sources = [about_data(key) for key in experiment.runs]
    header = {
        "experiment": name,
        "question": experiment.question,
        "command": f"python -m pgt.experiments {name}",
        "data": sources[0] if len(sources) == 1 else sources,
        "code": {model: runs.code_of(model) for model in dict.fromkeys(r["model"] for r in rows)},
        **environment(),
        "seconds": round(sum(note["seconds"] for note in notes.values()), 1),
        "runs": notes,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.concat(tables, ignore_index=True).astype({"seed": "Int16"})
    for column in ("data", "protocol", "model", "variant", "when"):
        table[column] = table[column].astype("category")
    table.to_parquet(folder / f"{name}.ranks.parquet", index=False, compression="zstd")
    return write_results(folder / f"{name}.json", header, rows)


def confirm(name: str, folder: Path) -> Path:
    """Bring a results file up to date with code that was rewritten but does the same.

    Raises
    ------
    DataError
        When a window is ranked otherwise than before: the results are stale indeed.
    """
    results = read_results(name, folder)
    changed = stale(results)
    seen = set()
    for key, run in EXPERIMENTS[name].jobs:
        if run.model not in changed or (key, run.model, run.variant) in seen:
            continue
        seen.add((key, run.model, run.variant))
        where: dict[str, Any] = {"data": DATA[key].name, "protocol": DATA[key].protocol}
        where |= {k: v for k, v in asdict(run).items() if v is not None}
        (before,) = results.ranks(**where)
        now = runs.one_run(key, run)["ranks"].rename(columns={"user": "user_id"})
        same = (before[["better", "tied"]].to_numpy() == now[["better", "tied"]].to_numpy()).all(1)
        print(f"{key} {run.key}: {same.mean():.2%} of the windows ranked as before", flush=True)
        if not same.all():
            raise DataError(
                f"{name}.json is stale: {run.key} gives other results now; run python -m "
                f"pgt.experiments {name} again."
            )
    header = results.header | {"code": {model: runs.code_of(model)
                                        for model in results.header["code"]}}  # fmt: skip
    rows = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return write_results(folder / f"{name}.json", header, rows)


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pgt.experiments", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--out", type=Path, default=results_folder())
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--confirm", action="store_true", help="the code changed, its work did not")
    options = parser.parse_args(arguments)
    try:
        if options.confirm:
            print(confirm(options.name, options.out))
        else:
            print(execute(options.name, options.out, options.workers))
    except DataError as error:
        print(f"pgt: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
