"""Experiments: models × data × seeds -> one results file, from which the book takes its numbers.

    python -m pgt.experiments geolife_published
    python -m pgt.experiments city

writes ``book/results/NAME.json`` (how it was made, and one flat row per model, seed, split and
group) and ``NAME.ranks.parquet`` (where each test window's target was ranked, by person, without
places or times), from which intervals are computed. Finished runs are kept until all are, so an
interrupted experiment goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import pgt
from pgt import city, metrics
from pgt.baselines import ContextKernel, all_baselines, fitted
from pgt.model import ModelConfig, PointerGeneratorTransformer, ablate
from pgt.sources import read_source, read_windows_folder
from pgt.train import CITY, TrainConfig, fit, pick_device
from pgt.visits import DataError
from pgt.windows import Dataset, Protocol, prepare

SEEDS = (42, 1, 2, 3, 4)
GEOLIFE_WINDOWS = "PGT_GEOLIFE_WINDOWS"  # folder with train.csv, valid.csv and test.csv
GEOLIFE = "PGT_GEOLIFE"  # a table of GeoLife visits
RANKS = ["user", "better", "tied", "known", "in_window"]


@dataclass(frozen=True)
class Run:
    """One row's worth of work."""

    model: str
    variant: str = "full"
    when: str = "unknown"
    seed: int | None = None


@dataclass(frozen=True)
class Experiment:
    """What is run on which data.

    Attributes
    ----------
    data : str
        Name for the rows.
    load : callable
        Gives the visits.
    protocol : {"published", "exact"}
    runs : tuple of Run
    training : TrainConfig
        Settings of every PGT; the seed is each run's.
    """

    data: str
    load: Callable[[], pd.DataFrame]
    protocol: Protocol
    runs: tuple[Run, ...]
    training: TrainConfig = field(default_factory=TrainConfig)


def from_environment(name: str) -> Path:
    """The path in an environment variable, or one sentence on how to set it."""
    if not os.environ.get(name):
        raise DataError(f"Set {name} to the path of the GeoLife data; chapter 22 says which.")
    return Path(os.environ[name])


def has_data(name: str) -> bool:
    """Whether an environment variable points to data that is there."""
    return bool(os.environ.get(name)) and Path(os.environ[name]).exists()


def _grid(variants: dict[str, tuple[str, str]]) -> tuple[Run, ...]:
    """The four baselines and, for every seed, each PGT variant: name -> (ablation, when)."""
    baselines = tuple(Run(name) for name in all_baselines())
    return baselines + tuple(
        Run("pgt", ablation, when, seed) for ablation, when in variants.values() for seed in SEEDS
    )


EXPERIMENTS: dict[str, Experiment] = {
    "geolife_published": Experiment(
        "geolife", lambda: read_windows_folder(from_environment(GEOLIFE_WINDOWS)), "published",
        _grid({"documented": ("full", "day"), "pointerless": ("no_pointer", "day"),
               "pure pointer": ("no_generator", "day"), "blind": ("full", "unknown")}),
    ),
    "geolife_exact": Experiment(
        "geolife", lambda: read_source(from_environment(GEOLIFE)), "exact",
        _grid({"blind": ("full", "unknown"), "pointerless": ("no_pointer", "unknown"),
               "pure pointer": ("no_generator", "unknown")}),
    ),
    "city": Experiment(
        "city", lambda: city.load().visits, "exact",
        _grid({"blind": ("full", "unknown"), "pointerless": ("no_pointer", "unknown"),
               "pure pointer": ("no_generator", "unknown")}),
        training=CITY,
    ),
}  # fmt: skip


@cache
def dataset(name: str) -> Dataset:
    """The experiment's windows, prepared once a process."""
    experiment = EXPERIMENTS[name]
    return prepare(experiment.load(), protocol=experiment.protocol)


def fingerprint(data: Dataset) -> str:
    """A short hash of every window the experiment sees."""
    digest = hashlib.sha256()
    for part in (data.train, data.valid, data.test):
        digest.update(part.features.numpy().tobytes())
        digest.update(part.first.tobytes() + part.target.tobytes())
    return digest.hexdigest()[:12]


def code_fingerprint() -> str:
    """A short hash of the package's source."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def one_run(name: str, run: Run) -> dict[str, Any]:
    """Train and score once; rows for the results file, and the test ranks."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    experiment, data = EXPERIMENTS[name], dataset(name)
    notes: dict[str, Any] = {}
    predictor: metrics.Predictor
    if run.model == "pgt":
        assert run.seed is not None
        torch.manual_seed(run.seed)
        vocabulary = data.vocabulary
        config = ablate(
            ModelConfig(vocabulary.n_locations, vocabulary.n_users, when=run.when),  # type: ignore[arg-type]
            run.variant,
        )
        predictor = model = PointerGeneratorTransformer(config)
        training = TrainConfig(**{**asdict(experiment.training), "seed": run.seed})
        history = fit(model, data.train, data.valid, training, progress=False)
        notes = {"parameters": model.n_parameters(), "epochs": history.best_epoch}
    else:
        baseline = fitted(run.model, data.train, data.valid)
        if isinstance(baseline, ContextKernel):
            notes = {key: getattr(baseline, key) for key in ContextKernel.GRID}
        predictor = baseline
    rows = []
    for split in ("valid", "test"):
        ranks = metrics.evaluate(predictor, getattr(data, split))
        table = metrics.summarize(ranks)
        about = {"data": experiment.data, "protocol": experiment.protocol} | asdict(run)
        rows += [about | {"split": split} | row for row in table.to_dict("records")]
    ranks["user"] = pd.factorize(ranks.user_id)[0]
    small = ranks[RANKS].astype({"user": "int16", "better": "int32", "tied": "int32"})
    return {"rows": rows, "ranks": small, "notes": notes, "seconds": time.perf_counter() - began}


def _job(job: tuple[str, Run, str]) -> str:
    name, run, folder = job
    key = "-".join(str(part) for part in asdict(run).values())
    path = Path(folder) / f"{key}.json"
    if not path.exists():
        result = one_run(name, run)
        result.pop("ranks").to_parquet(path.with_suffix(".parquet"), index=False)
        half = path.with_suffix(".part")
        half.write_text(json.dumps(result))
        half.replace(path)
    return key


def execute(name: str, folder: Path, workers: int = 2) -> Path:
    """Run an experiment and write its two files; returns the JSON's path."""
    experiment, data = EXPERIMENTS[name], dataset(name)
    mark = fingerprint(data)
    # Finished runs wait here; other data or other code begins anew.
    working = Path(tempfile.gettempdir()) / f"pgt-{name}-{mark}-{code_fingerprint()}"
    working.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    jobs = [(name, run, str(working)) for run in experiment.runs]
    keys = []
    with ExitStack() as stack:
        # With no workers the runs are made one after the other, in this process.
        each = stack.enter_context(ProcessPoolExecutor(workers)).map if workers else map
        for key in each(_job, jobs):
            keys.append(key)
            print(f"{time.perf_counter() - began:7.0f} s  {key}", flush=True)
    rows: list[dict[str, Any]] = []
    notes: dict[str, Any] = {}
    ranks = []
    for run, key in zip(experiment.runs, keys, strict=True):
        result = json.loads((working / f"{key}.json").read_text())
        rows += result["rows"]
        notes[key] = result["notes"] | {"seconds": round(result["seconds"], 1)}
        ranks.append(pd.read_parquet(working / f"{key}.parquet").assign(**asdict(run)))
    header = {
        "experiment": name,
        "command": f"python -m pgt.experiments {name}",
        "data": {"name": experiment.data, "fingerprint": mark, "windows": data.counts()},
        "protocol": experiment.protocol,
        "training": asdict(experiment.training) | {"seed": list(SEEDS)},
        "versions": {"python": platform.python_version(), "torch": torch.__version__.split("+")[0],
                     "pgt": pgt.__version__},
        "device": pick_device().type,
        "seconds": round(sum(note["seconds"] for note in notes.values()), 1),
        "runs": notes,
    }  # fmt: skip
    path = folder / f"{name}.json"
    lines = ",\n".join("  " + json.dumps(_rounded(row), allow_nan=False) for row in rows)
    text = json.dumps(header, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n'
    table = pd.concat(ranks, ignore_index=True).astype({"seed": "Int16"})
    for column in ("model", "variant", "when"):
        table[column] = table[column].astype("category")
    table.to_parquet(folder / f"{name}.ranks.parquet", index=False, compression="zstd")
    path.write_text(text)
    shutil.rmtree(working)
    return path


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: (None if value != value else round(value, 3)) if isinstance(value, float) else value
        for key, value in row.items()
    }


def results_folder() -> Path:
    """Where results files are: in the repository, or in the installed package."""
    beside = Path(__file__).resolve().parent.parent / "book" / "results"
    return beside if beside.is_dir() else Path(__file__).resolve().parent / "_results"


@dataclass(frozen=True)
class Results:
    """A results file, opened.

    Attributes
    ----------
    header : dict
        How it was made.
    rows : DataFrame
        One row per model, variant, seed, split and group; metrics in percent.
    """

    name: str
    header: dict[str, Any]
    rows: pd.DataFrame

    def select(self, group: str = "all", split: str = "test", **where: Any) -> pd.DataFrame:
        """Rows of one group and split, and of one model, variant, … when given."""
        keep = (self.rows.group == group) & (self.rows.split == split)
        for column, value in where.items():
            keep &= self.rows[column] == value
        return self.rows[keep]

    def mean(self, metric: str = "acc@1", **where: Any) -> float:
        """Mean over seeds.

        Examples
        --------
        >>> read_results("city").mean("acc@1", model="kernel") > 0
        True
        """
        chosen = self.select(**where)
        if chosen.empty:
            raise KeyError(f"{self.name}.json has no row with {where}.")
        return float(chosen[metric].mean())

    def spread(self, metric: str = "acc@1", **where: Any) -> float:
        """Standard deviation over seeds (ddof 1; 0 for a single row)."""
        chosen = self.select(**where)[metric]
        return float(chosen.std()) if len(chosen) > 1 else 0.0

    def ranks(self, **where: Any) -> Iterator[pd.DataFrame]:
        """The test ranks of every matching run, for `pgt.metrics.interval`."""
        table = pd.read_parquet(results_folder() / f"{self.name}.ranks.parquet")
        for column, value in where.items():
            table = table[table[column] == value]
        for _, part in table.groupby(["model", "variant", "when", "seed"], observed=True,
                                     dropna=False):  # fmt: skip
            yield part.rename(columns={"user": "user_id"}).reset_index(drop=True)

    def interval(self, metric: str = "acc@1", group: str = "all", **where: Any
                 ) -> tuple[float, float]:  # fmt: skip
        """95 % interval of the mean over seeds, by resampling users."""
        runs = list(self.ranks(**where))
        if not runs:
            raise KeyError(f"{self.name}.ranks.parquet has no run with {where}.")
        return metrics.interval_of_mean(runs, metric, group=group)

    def difference(
        self, one: dict[str, Any], other: dict[str, Any], metric: str = "acc@1", group: str = "all"
    ) -> tuple[float, float, float]:
        """Mean of ``one`` minus mean of ``other``, paired by window, with its 95 % interval."""
        runs = [list(self.ranks(**where)) for where in (one, other)]
        low, high = metrics.interval_of_mean(runs[0], metric, against=runs[1], group=group)
        gap = self.mean(metric, group=group, **one) - self.mean(metric, group=group, **other)
        return gap, low, high


def read_results(name: str, folder: Path | None = None) -> Results:
    """Open ``book/results/NAME.json``."""
    path = (folder or results_folder()) / f"{name}.json"
    if not path.is_file():
        raise DataError(f"There is no {path.name}; make it with python -m pgt.experiments {name}.")
    raw = json.loads(path.read_text())
    rows = pd.DataFrame(raw.pop("rows"))
    return Results(name, raw, rows)


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m pgt.experiments", description=__doc__)
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--out", type=Path, default=results_folder())
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8))
    options = parser.parse_args(arguments)
    try:
        print(execute(options.name, options.out, options.workers))
    except DataError as error:
        print(f"pgt: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
