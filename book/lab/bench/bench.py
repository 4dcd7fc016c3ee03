"""Measure how long things take, beside the references they replace.

    python book/lab/bench/bench.py [--quick] [--only NAME ...] [--out FILE]

Five sections: windows, training, city, gps, chapters. Ours and the reference are timed in turn, in
one process, on the CPU. The prepared GeoLife windows are used when they are there (the environment
variable PGT_GEOLIFE_WINDOWS names their folder), else the simulated city. The section gps needs
GeoLife's position fixes (PGT_GEOLIFE_FIXES, a folder) and, for its comparison, a Python that has
trackintel (PGT_TRACKINTEL_PYTHON, its path), which runs in a process of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# It runs from a checkout without installing.
sys.path[:0] = [str(ROOT), str(ROOT / "book"), str(ROOT / "book" / "lab" / "bench")]

import pandas as pd  # noqa: E402
import torch  # noqa: E402
from documented_model import DocumentedModel, DocumentedTraining, SampleDataset, collate  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from windows_loop import prepare_by_loop  # noqa: E402

from pgt import city, gps  # noqa: E402
from pgt.config import CITY, ModelConfig, TrainConfig  # noqa: E402
from pgt.files import write_text  # noqa: E402
from pgt.io import sources  # noqa: E402
from pgt.io.fixes import read_fixes  # noqa: E402
from pgt.io.fixes_base import Report  # noqa: E402
from pgt.io.sources import GEOLIFE_WINDOWS, has_data  # noqa: E402
from pgt.metrics import evaluate, gains  # noqa: E402
from pgt.model import PointerGeneratorTransformer  # noqa: E402
from pgt.train import fit  # noqa: E402
from pgt.windows import Dataset, prepare  # noqa: E402

RESULTS = ROOT / "book" / "results" / "bench.json"
PACKAGES = ("torch", "numpy", "pandas")
CITY_BUDGET, CHAPTER_BUDGET, BOOK_BUDGET, GPS_BUDGET = 90.0, 120.0, 900.0, 120.0  # seconds
PRESET_BUDGET = 60.0
TRACKINTEL = "PGT_TRACKINTEL_PYTHON"
Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    quick: bool = False
    seeds: tuple[int, ...] = (42, 1, 2)
    epochs: int = 8
    repeats: int = 5
    batch_size: int = 128


QUICK = Settings(quick=True, seeds=(42,), epochs=2, repeats=2)


def find_data() -> tuple[str, pd.DataFrame]:
    """The name of the data and its visits: GeoLife's windows when present, else the city's."""
    if has_data(GEOLIFE_WINDOWS):
        folder = os.environ[GEOLIFE_WINDOWS]
        return "geolife", sources.read_windows_folder(folder)
    loaded = city.load()
    return "city", loaded.visits


def row(name: str, ours: float, reference: float | None, unit: str, device: str = "") -> Row:
    """One line of the table; ``ratio`` is how many times smaller ours is."""
    ratio = reference / ours if reference is not None and unit == "s" else None
    values = {"ours": ours, "reference": reference, "ratio": ratio}
    rounded = {k: None if v is None else float(f"{v:.4g}") for k, v in values.items()}
    return {"name": name, **rounded, "unit": unit, "device": device or cpu_name()}


def clock(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def alternate(
    ours: Callable[[], object], reference: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of both, timed in turn."""
    pairs = [(clock(ours), clock(reference)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def bench_windows(name: str, visits: pd.DataFrame, settings: Settings) -> Iterator[Row]:
    """All windows of the three splits, from one table of visits; then all of them as batches."""
    data = prepare(visits)  # also warms up
    total = sum(data.counts().values())
    ours, reference = alternate(
        lambda: prepare(visits), lambda: prepare_by_loop(data), settings.repeats
    )
    yield row(f"{name}: build {total} windows", ours, reference, "s")

    samples = prepare_by_loop(data)

    def gather() -> None:
        for part in (data.train, data.valid, data.test):
            for _ in part.batches(settings.batch_size):
                pass

    def load() -> None:
        for part in samples.values():
            for _ in DataLoader(SampleDataset(part), settings.batch_size, collate_fn=collate):
                pass

    ours, reference = alternate(gather, load, settings.repeats)
    yield row(f"{name}: gather all windows into padded batches", ours, reference, "s")


def bench_training(name: str, visits: pd.DataFrame, settings: Settings) -> Iterator[Row]:
    """Epochs with validation in turn, and the test accuracy of both after the last one."""
    data = prepare(visits)
    samples = prepare_by_loop(data)
    shape = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, target_time="day")
    seconds: list[tuple[float, float]] = []
    accuracies: list[tuple[float, float]] = []
    for seed in settings.seeds:
        config = TrainConfig(
            batch_size=settings.batch_size, max_epochs=settings.epochs,
            patience=settings.epochs, warmup_epochs=min(5, settings.epochs - 1), seed=seed,
        )  # fmt: skip
        torch.manual_seed(seed)
        model = PointerGeneratorTransformer(shape)
        documented = DocumentedModel(shape).copy_weights(model)  # both start from the same weights
        other = DocumentedTraining(documented, samples["train"], samples["valid"], config)

        def after(
            done: dict[str, float],
            other: DocumentedTraining = other,
            model: PointerGeneratorTransformer = model,
        ) -> None:
            seconds.append((done["seconds"], clock(other.one_epoch)))
            if done["epoch"] == settings.epochs:
                both = [
                    100 * float(gains(evaluate(it, data.test))["acc@1"].mean())
                    for it in (model, other.model)
                ]
                accuracies.append((both[0], both[1]))

        fit(model, data.train, data.valid, config, device="cpu", progress=False, after_epoch=after)
    warm = [pair for i, pair in enumerate(seconds) if i % settings.epochs]
    yield row(
        f"{name}: one epoch of training and validation, batch {settings.batch_size}",
        statistics.median(ours for ours, _ in warm),
        statistics.median(theirs for _, theirs in warm),
        "s",
    )
    for seed, (ours, theirs) in zip(settings.seeds, accuracies, strict=True):
        yield row(
            f"{name}: test Acc@1 after {settings.epochs} epochs, seed {seed}", ours, theirs, "%"
        )
    if len(accuracies) > 1:
        one, two = zip(*accuracies, strict=True)
        title = f"{name}: test Acc@1 after {settings.epochs} epochs"
        mean, spread = statistics.mean, lambda side: max(side) - min(side)
        yield row(f"{title}, mean of {len(one)} seeds", mean(one), mean(two), "%")
        yield row(f"{title}, spread of {len(one)} seeds", spread(one), spread(two), "points")


def bench_city(settings: Settings) -> Iterator[Row]:
    """The simulation, then PGT on the city until early stopping; the references are budgets."""
    preset = "small" if settings.quick else "large"
    took = clock(partial(city.simulate, preset))
    yield row(
        f"city: simulate the {preset} preset (reference: the budget)", took, PRESET_BUDGET, "s"
    )
    visits = city.load().visits
    data = prepare(few_people(visits) if settings.quick else visits, protocol="exact")
    config = replace(CITY, max_epochs=2, warmup_epochs=1) if settings.quick else CITY
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(
        ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    )
    began = time.perf_counter()
    history = fit(model, data.train, data.valid, config, device="cpu", progress=False)
    took = time.perf_counter() - began
    yield row(
        f"city: train PGT to early stopping, {len(history.rows)} epochs (reference: the budget)",
        took, CITY_BUDGET, "s",
    )  # fmt: skip


def bench_gps(settings: Settings) -> Iterator[Row]:
    """GeoLife's fixes to visits: all of them within the budget, some people beside trackintel."""
    folder = os.environ.get(gps.FIXES)
    if not folder:
        print(f"{gps.FIXES} names no folder of position fixes; the section 'gps' stays empty.")
        return
    if not settings.quick:
        report = Report()
        took = clock(
            lambda: gps.fixes_to_visits(
                read_fixes(folder, report=report), haversine_order="swapped"
            )
        )
        yield row(
            f"geolife: read {report.n_fixes:,} fixes and make visits (reference: the budget)",
            took, GPS_BUDGET, "s",
        )  # fmt: skip
    python = os.environ.get(TRACKINTEL)
    if not python:
        print(f"{TRACKINTEL} names no Python that has trackintel; no comparison with it.")
        return
    people = 3 if settings.quick else 40
    frames = list(islice(read_fixes(folder, report=Report()), people))
    counts: dict[str, int] = {}

    def visits() -> None:
        tracks = gps.staypoints_and_triplegs(frames)
        found, places = gps.generate_locations(tracks.staypoints, haversine_order="swapped")
        merged = gps.merge_staypoints(found, places)
        counts.update(staypoints=len(found), triplegs=len(tracks.triplegs),
                      locations=len(places), visits=len(merged))  # fmt: skip

    with tempfile.TemporaryDirectory() as empty:
        path = Path(empty) / "fixes.parquet"
        fixes = pd.concat([gps.clean_fixes(frame)[0] for frame in frames], ignore_index=True)
        fixes[[*gps.FIX_COLUMNS]].to_parquet(path)
        ours = [clock(visits) for _ in range(min(3, settings.repeats))]
        script = str(ROOT / "book" / "lab" / "bench" / "trackintel_visits.py")
        done = subprocess.run(
            [python, script, str(path)], check=True, text=True, stdout=subprocess.PIPE
        )  # fmt: skip
    theirs = json.loads(done.stdout.splitlines()[-1])
    if theirs["counts"] != counts:
        raise RuntimeError(f"trackintel finds {theirs['counts']}, we find {counts}")
    yield row(
        f"geolife: {len(fixes):,} fixes of {people} people to visits, as trackintel "
        f"{theirs['version']}",
        statistics.median(ours), sum(theirs["seconds"].values()), "s",
    )  # fmt: skip


def bench_chapters(settings: Settings) -> Iterator[Row]:
    """Every chapter, executed alone in an empty folder; the reference is the budget."""
    notebooks = sorted((ROOT / "book").glob("*.ipynb"))[: 1 if settings.quick else None]
    if not notebooks:
        print("There are no book/*.ipynb to execute; the section 'chapters' stays empty.")
        return
    import nbformat
    from nbclient import NotebookClient

    # The chapters see the checkout's package; their own first cell skips what is installed.
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    total = 0.0
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as empty:
            client = NotebookClient(
                notebook, kernel_name="python3", resources={"metadata": {"path": empty}}
            )
            took = clock(partial(client.execute, env={**os.environ, "PYTHONPATH": search}))
        total += took
        yield row(f"chapter {path.stem} (reference: the budget)", took, CHAPTER_BUDGET, "s")
    yield row(
        f"all {len(notebooks)} chapters, one after the other (reference: the budget)",
        total, BOOK_BUDGET, "s",
    )  # fmt: skip


def few_people(visits: pd.DataFrame, n: int = 6) -> pd.DataFrame:
    """The visits of the first ``n`` people."""
    return visits[visits.user_id.isin(visits.user_id.unique()[:n])].reset_index(drop=True)


def cpu_name() -> str:
    """The processor's model and how many threads torch uses."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"cpu ({model}, {torch.get_num_threads()} threads)"


def fingerprint(data: Dataset) -> str:
    """A short hash of the encoded visits of the three splits."""
    digest = hashlib.sha256()
    for part in (data.train, data.valid, data.test):
        digest.update(part.features.numpy().tobytes())
    return digest.hexdigest()[:12]


def header(name: str, visits: pd.DataFrame, command: str) -> dict[str, Any]:
    """Where the numbers come from; without a date, so that equal runs give equal files."""
    data = prepare(visits)
    versions = {package: importlib.metadata.version(package) for package in PACKAGES}
    return {
        "experiment": "bench",
        "command": command,
        "data": {"name": name, "fingerprint": fingerprint(data), "windows": data.counts()},
        "versions": {"python": platform.python_version(), **versions},
        "device": cpu_name(),
        "threads": torch.get_num_threads(),
    }


def show(rows: list[Row]) -> None:
    """Print the rows as a table."""
    print(f"\n{'':72}{'ours':>10}{'reference':>11}{'ratio':>8}  unit")
    for one in rows:
        cells = [one[key] for key in ("ours", "reference", "ratio")]
        ours, reference, ratio = ("–" if cell is None else f"{cell:.4g}" for cell in cells)
        print(f"{one['name']:72}{ours:>10}{reference:>11}{ratio:>8}  {one['unit']}")


def write(result: dict[str, Any], path: Path) -> None:
    """Write the file, whole or not at all."""
    write_text(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def main(arguments: list[str] | None = None) -> None:
    """Measure what was asked for, print it and write it."""
    names = ("windows", "training", "city", "gps", "chapters")
    parser = argparse.ArgumentParser(description="Time pgt beside the references it replaces.")
    parser.add_argument("--quick", action="store_true", help="a few people, a few seconds")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="these sections")
    parser.add_argument(
        "--out", type=Path,
        help="default: book/results/bench.json; _build/bench.json when --quick or --only is given",
    )  # fmt: skip
    given = parser.parse_args(arguments)
    settings = QUICK if given.quick else Settings()
    whole = not given.quick and set(given.only) == set(names)
    out = given.out or (RESULTS if whole else ROOT / "_build" / "bench.json")

    name, visits = find_data()
    if given.quick:
        visits = few_people(visits)
    sections: dict[str, Callable[[], Iterator[Row]]] = {
        "windows": lambda: bench_windows(name, visits, settings),
        "training": lambda: bench_training(name, visits, settings),
        "city": lambda: bench_city(settings),
        "gps": lambda: bench_gps(settings),
        "chapters": lambda: bench_chapters(settings),
    }
    began = time.perf_counter()
    rows = [one for section in names if section in given.only for one in sections[section]()]
    took = round(time.perf_counter() - began)
    flags = ["--quick"] * given.quick
    flags += ["--only", *given.only] if set(given.only) != set(names) else []
    command = " ".join(["python book/lab/bench/bench.py", *flags])
    show(rows)
    write({**header(name, visits, command), "seconds": took, "rows": rows}, out)
    print(f"\nWritten to {out}")


if __name__ == "__main__":
    main()
