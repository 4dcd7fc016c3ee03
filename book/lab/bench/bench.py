"""Measure how long things take and what memory they need, beside the references they replace.

    python book/lab/bench/bench.py [--quick] [--only NAME ...] [--out FILE]

Ours and the reference are timed in turn, in one process, or each in a fresh process where memory
is measured. The prepared GeoLife windows are used when they are there (PGT_GEOLIFE_WINDOWS names
their folder), else the simulated city. The section gps needs GeoLife's position fixes
(PGT_GEOLIFE_FIXES, a folder) and, for its comparison, a Python that has trackintel
(PGT_TRACKINTEL_PYTHON, its path). The section gpu needs CUDA, and may be measured on another
machine than the rest: ``bench.py --only gpu``. With ``--only``, other sections' rows stay as the
file has them.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import multiprocessing
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

ROOT = Path(__file__).resolve().parents[3]
# It runs from a checkout without installing.
sys.path[:0] = [str(ROOT), str(ROOT / "book"), str(Path(__file__).parent)]

from lab.data_sets import GEOLIFE_WINDOWS, has_data, read_windows_folder  # noqa: E402
from lab.hong_gps import fixes_to_visits, staypoints_and_triplegs  # noqa: E402
from reference import DocumentedTraining, prepare_by_loop  # noqa: E402
from wherenext import city, pointer_variants  # noqa: E402

from pgt import gps, graphs  # noqa: E402
from pgt.config import PRESETS, ModelConfig, TrainConfig  # noqa: E402
from pgt.datasets import read_fixes  # noqa: E402
from pgt.files import write_text  # noqa: E402
from pgt.large_vocabulary import losses  # noqa: E402
from pgt.model import PointerGeneratorTransformer  # noqa: E402
from pgt.train import fit  # noqa: E402
from pgt.windows import Dataset, prepare  # noqa: E402

Row = dict[str, Any]
RESULTS = ROOT / "book" / "results" / "bench.json"
TRACKINTEL = "PGT_TRACKINTEL_PYTHON"
COSTS = ("s", "MiB")  # of which less is better: the ratio says how many times less ours needs
CHAPTER_BUDGET, BOOK_BUDGET, GPS_BUDGET, STEP_BUDGET = 120.0, 900.0, 120.0, 150.0  # s, s, s, MiB
BUDGET = "(reference: the budget)"
BATCH = 128
CPU = torch.device("cpu")


def row(name: str, ours: float, reference: float | None, unit: str = "s", *, device: str = "",
        peak: float | None = None) -> Row:  # fmt: skip
    """One line of the table; ``peak`` is in MiB. Four digits, null for what was not measured."""
    ratio = reference / ours if reference is not None and unit in COSTS and ours > 0 else None
    values = {"ours": ours, "reference": reference, "ratio": ratio}
    about: Row = {"name": name}
    about |= {key: None if n is None else float(f"{n:.4g}") for key, n in values.items()}
    about |= {"unit": unit, "device": device or processor()}
    return about | ({} if peak is None else {"peak": float(f"{peak:.4g}")})


def clock(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fresh(work: Callable[..., Any], *args: Any) -> Any:
    """What a function returns in a process of its own, whose memory nothing else has grown."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *args).result()


def peak_of(work: Callable[[], object], who: int = resource.RUSAGE_SELF) -> float:
    """MiB by which the high-water mark rises while something is done."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    gc.collect()
    before = resource.getrusage(who).ru_maxrss
    work()
    return (resource.getrusage(who).ru_maxrss - before) / unit


@lru_cache
def processor() -> str:
    """The processor's model, and how many threads torch uses."""
    model, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.is_file():
        names = [one for one in info.read_text().splitlines() if one.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    n = torch.get_num_threads()
    return f"cpu ({model}, {n} thread{'s' * (n > 1)})"


@lru_cache
def usual_data(quick: bool) -> tuple[str, pd.DataFrame]:
    """The name and the visits of the data that are prepared again and again."""
    name, visits = "city", None
    if has_data(GEOLIFE_WINDOWS):
        name, visits = "geolife", read_windows_folder(os.environ[GEOLIFE_WINDOWS])
    visits = city.load().visits if visits is None else visits
    few = visits.user_id.isin(visits.user_id.unique()[:6])
    return name, visits[few].reset_index(drop=True) if quick else visits


def bench_windows(quick: bool) -> Iterator[Row]:
    """All windows of the three splits, from one table of visits."""
    name, visits = usual_data(quick)
    data = prepare(visits)  # also warms up
    pairs = [(clock(lambda: prepare(visits)), clock(lambda: prepare_by_loop(data)))
             for _ in range(2 if quick else 5)]  # fmt: skip
    took = [statistics.median(side) for side in zip(*pairs, strict=True)]
    yield row(f"{name}: build {sum(data.counts().values())} windows", *took)


def bench_training(quick: bool, device: torch.device = CPU, named: str = "") -> Iterator[Row]:
    """Epochs with validation, in turn; both models start from the same weights."""
    name, visits = usual_data(quick)
    data = prepare(visits)
    samples = prepare_by_loop(data)
    shape = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, target_time="day")
    epochs = 3 if quick else 10
    config = TrainConfig(batch_size=BATCH, max_epochs=epochs, patience=epochs, warmup_epochs=2)
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(shape)
    other = DocumentedTraining(model, samples["train"], samples["valid"], config, device)
    theirs: list[float] = []
    log = fit(model, data.train, data.valid, config, device=device, progress=False,
              after_epoch=lambda _: theirs.append(clock(other.one_epoch)))  # fmt: skip
    ours = log.table().seconds[1:]  # the first epoch warms up
    title = f"{name}: one epoch of training and validation, batch {BATCH}"
    yield row(title, ours.median(), statistics.median(theirs[1:]), device=named)


def bench_gpu(quick: bool) -> Iterator[Row]:
    """On CUDA: epochs beside the usual loop and beside single launches; whole trainings."""
    if not torch.cuda.is_available():
        print("There is no CUDA; the section 'gpu' stays as it was.")
        return
    device, named = torch.device("cuda"), torch.cuda.get_device_name()
    yield from bench_training(quick, device, named)
    name, visits = usual_data(quick)
    data = prepare(visits)
    preset = PRESETS["geolife" if name == "geolife" else "city"]

    def pgt(data: Dataset) -> Any:
        torch.manual_seed(42)
        sizes = data.vocabulary.n_locations, data.vocabulary.n_users
        return PointerGeneratorTransformer(ModelConfig(*sizes, **preset.model))

    def epoch(data: Dataset, most: int) -> float:
        kept, graphs.MOST = graphs.MOST, most
        config = replace(preset.training, max_epochs=4, patience=4, warmup_epochs=1)
        log = fit(pgt(data), data.train, data.valid, config, progress=False)
        graphs.MOST = kept
        return statistics.median(one["seconds"] for one in log.rows[1:])

    title = f"{name}: one epoch as graphs (reference: one launch after the other)"
    yield row(title, epoch(data, graphs.MOST), epoch(data, 0), device=named)
    for _ in range(2):  # the second one is measured: the first loads the libraries
        took = clock(lambda: fit(pgt(data), data.train, data.valid, preset.training,
                                 progress=False))  # fmt: skip
    yield row(f"{name}: PGT trained to its stop, graphs recorded", took, None, device=named)
    variant = pointer_variants.VARIANTS["full"]
    past = pointer_variants.windows(data, variant)
    model, config = pointer_variants.build(variant, data, 42)
    took = clock(lambda: fit(model, past.train, past.valid, config, progress=False))
    yield row(f"{name}: contextual pointer trained to its stop, graphs recorded", took, None,
              device=named)  # fmt: skip


def bench_gps(quick: bool) -> Iterator[Row]:
    """GeoLife's fixes to visits: all of them within the budget, some people beside trackintel."""
    folder, python = os.environ.get(gps.FIXES), os.environ.get(TRACKINTEL)
    if not folder or not python:
        print(f"{gps.FIXES} or {TRACKINTEL} names nothing; the section 'gps' stays as it was.")
        return
    fixes = read_fixes(folder)
    if not quick:
        took = clock(lambda: fixes_to_visits(read_fixes(folder), haversine_order="swapped"))
        title = f"geolife: read {len(fixes):,} fixes and make visits {BUDGET}"
        yield row(title, took, GPS_BUDGET)
    people = 3 if quick else 40
    fixes = fixes[fixes.user_id.isin(fixes.user_id.unique()[:people])]
    counts: dict[str, int] = {}

    def visits() -> None:
        tracks = staypoints_and_triplegs(fixes)
        found, places = gps.generate_locations(tracks.staypoints, haversine_order="swapped")
        counts.update(staypoints=len(found), triplegs=len(tracks.triplegs), locations=len(places),
                      visits=len(gps.merge_staypoints(found, places)))  # fmt: skip

    with tempfile.TemporaryDirectory() as empty:
        path = Path(empty) / "fixes.parquet"
        gps.clean_fixes(fixes)[0][[*gps.FIX_COLUMNS]].to_parquet(path)
        ours = statistics.median(clock(visits) for _ in range(2 if quick else 3))
        script = str(Path(__file__).with_name("trackintel_visits.py"))
        done = subprocess.run([python, script, str(path)], check=True, text=True,
                              stdout=subprocess.PIPE)  # fmt: skip
    theirs = json.loads(done.stdout.splitlines()[-1])
    if theirs["counts"] != counts:
        raise RuntimeError(f"trackintel finds {theirs['counts']}, we find {counts}")
    yield row(f"geolife: {len(fixes):,} fixes of {people} people to visits, as trackintel "
              f"{theirs['version']}", ours, sum(theirs["seconds"].values()))  # fmt: skip


def bench_vocabulary(quick: bool) -> Iterator[Row]:
    """A step of PGT with ever more places; the reference writes down the scores of all."""
    for n in (2_000, 11_000) if quick else (10_000, 100_000, 1_000_000):
        ours, dense = (fresh(step, n, way, 2 if quick else 5) if n <= 100_000 or way else None
                       for way in (True, False))  # fmt: skip
        title = f"{n:,} places: a training step of PGT, batch {BATCH}"
        yield row(title, ours[0], dense[0] if dense else None, peak=ours[1])
        if dense and n == 100_000:
            yield row(f"{title}, memory", ours[1], dense[1], "MiB")
        elif not dense:
            yield row(f"{title}, memory {BUDGET}", ours[1], STEP_BUDGET, "MiB")


def step(n: int, in_stretches: bool, repeats: int) -> tuple[float, float]:
    """Seconds of a step, and the MiB that it needs beyond its weights and their gradients."""
    visits = city.load().visits
    data = prepare(visits[visits.user_id.isin(visits.user_id.unique()[:12])], protocol="exact")
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(ModelConfig(n, data.vocabulary.n_users)).train()
    batch = data.train.batch(range(0, len(data.train), len(data.train) // BATCH)[:BATCH])  # type: ignore[arg-type]
    way: Any = losses if in_stretches and n > 10_000 else PointerGeneratorTransformer.losses

    def one() -> None:
        model.zero_grad(set_to_none=True)
        way(model, batch, 0.03).mean().backward()

    gradients = sum(one.numel() * one.element_size() for one in model.parameters()) / 2**20
    peak = max(0.0, peak_of(one) - gradients)
    return statistics.median(clock(one) for _ in range(repeats)), peak


def bench_chapters(quick: bool) -> Iterator[Row]:
    """Every chapter, executed alone in an empty folder, with its memory; the reference: budgets."""
    notebooks = sorted((ROOT / "book").glob("[0-9]*.ipynb"))[: 1 if quick else None]
    total = most = 0.0
    for path in notebooks:
        seconds, peak = fresh(executed, path)
        total, most = total + seconds, max(most, peak)
        yield row(f"chapter {path.stem} {BUDGET}", seconds, CHAPTER_BUDGET, peak=peak)
    if notebooks:
        title = f"all {len(notebooks)} chapters, one after the other {BUDGET}"
        yield row(title, total, BOOK_BUDGET, peak=most)


def executed(path: Path) -> tuple[float, float]:
    """Seconds and MiB that a notebook takes which imports from this checkout."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    search = os.pathsep.join([str(ROOT), str(ROOT / "book"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as empty:
        client = NotebookClient(notebook, kernel_name="python3",
                                resources={"metadata": {"path": empty}})  # fmt: skip
        began = time.perf_counter()
        env = os.environ | {"PYTHONPATH": search}
        peak = peak_of(lambda: client.execute(env=env), resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, peak


SECTIONS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "windows": bench_windows, "training": bench_training, "gpu": bench_gpu, "gps": bench_gps,
    "vocabulary": bench_vocabulary, "chapters": bench_chapters,
}  # fmt: skip


def header(quick: bool) -> dict[str, Any]:
    """Where the numbers come from; without a date, so that equal runs give equal files."""
    name, visits = usual_data(quick)
    versions = {one: importlib.metadata.version(one) for one in ("torch", "numpy", "pandas")}
    return {
        "experiment": "bench",
        "command": "python book/lab/bench/bench.py" + " --quick" * quick,
        "data": {"name": name, "windows": prepare(visits).counts()},
        "versions": {"python": platform.python_version(), **versions},
        "device": processor(),
        "threads": torch.get_num_threads(),
    }


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Time pgt beside the references it replaces.")
    parser.add_argument("--quick", action="store_true", help="a few people, a few seconds")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=[*SECTIONS])
    parser.add_argument("--out", type=Path, default=RESULTS, help="default: %(default)s")
    given = parser.parse_args(arguments)
    about = header(given.quick)
    kept = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else about
    elsewhere = any(kept[key] != about[key] for key in about)
    if elsewhere and given.only != ["gpu"]:  # whose rows name their own device
        parser.error(f"{given.out} was measured elsewhere or in another way; name another --out.")
    began, measured = time.perf_counter(), {}
    for name in given.only:
        measured[name] = [{"section": name, **one} for one in SECTIONS[name](given.quick)]
    old = [one for one in kept.get("rows", ()) if not measured.get(one["section"])]
    rows = [*old, *(one for some in measured.values() for one in some)]
    rows.sort(key=lambda one: [*SECTIONS].index(one["section"]))
    print(pd.DataFrame(rows).drop(columns="device").to_string(index=False))
    seconds = kept.get("seconds", 0) + round(time.perf_counter() - began)
    text = json.dumps({**kept, "seconds": seconds, "rows": rows}, indent=1, ensure_ascii=False)
    write_text(given.out, text + "\n")


if __name__ == "__main__":
    main()
