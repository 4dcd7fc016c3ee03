"""Measure how long things take and what memory they need, beside the references they replace.

    python book/lab/bench/bench.py [--only NAME ...] [--out FILE]

Ours and the reference are timed in turn, or in fresh processes where memory is measured. GeoLife's
windows are used when they are there (PGT_GEOLIFE_WINDOWS names their folder), else the simulated
city. The section gps needs GeoLife's position fixes (PGT_GEOLIFE_FIXES, a folder) and a Python that
has trackintel (PGT_TRACKINTEL_PYTHON, its path); the section gpu needs CUDA, and may come from
another machine than the rest. With ``--only``, other sections' rows stay as the file has them.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import itertools
import json
import multiprocessing
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

ROOT = Path(__file__).resolve().parents[3]
# It runs from a checkout without installing.
sys.path[:0] = [str(ROOT), str(ROOT / "book"), str(Path(__file__).parent)]

import answer_times  # noqa: E402
from lab.data_sets import GEOLIFE_WINDOWS, has_data, read_windows_folder  # noqa: E402
from lab.gps_protocol import staypoints_and_triplegs  # noqa: E402
from reference import DocumentedTraining, prepare_by_loop  # noqa: E402
from suite_times import bench_suite  # noqa: E402
from wherenext import city, pointer_variants  # noqa: E402

from pgt import graphs  # noqa: E402
from pgt.config import PRESETS, ModelConfig, TrainConfig  # noqa: E402
from pgt.files import write_text  # noqa: E402
from pgt.large_vocabulary import losses  # noqa: E402
from pgt.model import PointerGeneratorTransformer  # noqa: E402
from pgt.readers import gps  # noqa: E402
from pgt.readers.tables import read_fixes  # noqa: E402
from pgt.train import fit  # noqa: E402
from pgt.windows import prepare  # noqa: E402

Row = dict[str, Any]
RESULTS = ROOT / "book" / "results" / "bench.json"
TRACKINTEL = "PGT_TRACKINTEL_PYTHON"
BATCH = 128
CPU = torch.device("cpu")


def row(name: str, ours: float, reference: float | None, unit: str = "s", *, device: str = "",
        peak: float | None = None) -> Row:  # fmt: skip
    """One line of the table: less is better, so the ratio says how many times less ours needs."""
    ratio = reference / ours if reference is not None and ours > 0 else None
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


def peak_of(work: Callable[[], object]) -> float:
    """MiB that this process needs at most, beyond what it has, while something is done (Linux)."""

    def now(name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
        return int(found[1]) if found else 0

    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is now
    before = now("VmRSS")
    work()
    return (now("VmHWM") - before) / 2**10


def processor() -> str:
    """The processor's model, and how many threads torch uses."""
    info, n = Path("/proc/cpuinfo"), torch.get_num_threads()
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.is_file() else None
    model = found[1] if found else platform.processor() or platform.machine()
    return f"cpu ({model}, {n} thread{'s' * (n > 1)})"


@lru_cache
def usual_data() -> tuple[str, pd.DataFrame]:
    """The name and the visits of the data that are prepared again and again."""
    if has_data(GEOLIFE_WINDOWS):
        return "geolife", read_windows_folder(os.environ[GEOLIFE_WINDOWS])
    return "city", city.load().visits


def bench_windows() -> Iterator[Row]:
    """All windows of the three splits, from one table of visits."""
    name, visits = usual_data()
    data = prepare(visits)  # also warms up
    pairs = [(clock(lambda: prepare(visits)), clock(lambda: prepare_by_loop(data)))
             for _ in range(5)]  # fmt: skip
    took = [statistics.median(side) for side in zip(*pairs, strict=True)]
    yield row(f"{name}: build {sum(data.counts().values())} windows", *took)


def bench_training(device: torch.device = CPU, named: str = "") -> Iterator[Row]:
    """Epochs with validation, in turn; both models start from the same weights."""
    name, visits = usual_data()
    data = prepare(visits)
    samples = prepare_by_loop(data)
    shape = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, target_time="day")
    config = TrainConfig(batch_size=BATCH, max_epochs=8, patience=8, warmup_epochs=2)
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(shape)
    other = DocumentedTraining(model, samples["train"], samples["valid"], config, device)
    theirs: list[float] = []
    log = fit(model, data.train, data.valid, config, device=device, progress=False,
              after_epoch=lambda _: theirs.append(clock(other.one_epoch)))  # fmt: skip
    ours = log.table().seconds[1:]  # the first epoch warms up
    title = f"{name}: one epoch of training and validation, batch {BATCH}"
    yield row(title, ours.median(), statistics.median(theirs[1:]), device=named)


def bench_gpu() -> Iterator[Row]:
    """On CUDA: epochs beside the usual loop and beside single launches; whole trainings."""
    if not torch.cuda.is_available():
        print("There is no CUDA; the section 'gpu' stays as it was.")
        return
    device, named = torch.device("cuda"), torch.cuda.get_device_name()
    yield from bench_training(device, named)
    town, (usual, visits) = prepare(city.load().visits, protocol="exact"), usual_data()
    for name, data in ({usual: prepare(visits)} | {"city": town}).items():
        preset, variant = PRESETS[name], pointer_variants.VARIANTS["full"]
        torch.manual_seed(42)
        sizes = data.vocabulary.n_locations, data.vocabulary.n_users
        pgt = PointerGeneratorTransformer(ModelConfig(*sizes, **preset.model))
        found = {}
        for most in (0, graphs.MOST_BYTES):  # one launch after the other, then graphs
            graphs.MOST_BYTES, model = most, copy.deepcopy(pgt)
            began = time.perf_counter()
            log = fit(model, data.train, data.valid, preset.training, progress=False)
            took = time.perf_counter() - began
            found[bool(most)] = took, log.table().seconds[1:].median()
        title = f"{name}: one epoch as graphs (reference: one launch after the other)"
        yield row(title, found[True][1], found[False][1], device=named)
        title = f"{name}: PGT to its stop, as graphs (reference: one launch after the other)"
        yield row(title, found[True][0], found[False][0], device=named)
        past = pointer_variants.windows(data, variant)
        pointer, config = pointer_variants.build(variant, data, 42)
        took = clock(lambda: fit(pointer, past.train, past.valid, config, progress=False))  # noqa: B023
        yield row(f"{name}: contextual pointer to its stop, as graphs", took, None, device=named)
    large = prepare(city.simulate(preset="large").visits, protocol="exact")
    sizes = large.vocabulary.n_locations, large.vocabulary.n_users
    few = replace(PRESETS["city"].training, max_epochs=4)
    log = fit(PointerGeneratorTransformer(ModelConfig(*sizes)), large.train, large.valid, few,
              progress=False)  # fmt: skip
    title = f"large city, {len(large.train):,} windows: one epoch as graphs"
    yield row(title, log.table().seconds[1:].median(), None, device=named)


def bench_gps() -> Iterator[Row]:
    """GeoLife's fixes of forty people to visits, beside trackintel."""
    folder, python = os.environ.get(gps.FIXES), os.environ.get(TRACKINTEL)
    if not folder or not python:
        print(f"{gps.FIXES} or {TRACKINTEL} names nothing; the section 'gps' stays as it was.")
        return
    fixes = read_fixes(folder)
    fixes = fixes[fixes.user_id.isin(fixes.user_id.unique()[:40])]
    counts: dict[str, int] = {}

    def visits() -> None:
        tracks = staypoints_and_triplegs(fixes)
        found, places = gps.generate_locations(tracks.staypoints, haversine_order="swapped")
        counts.update(staypoints=len(found), triplegs=len(tracks.triplegs), locations=len(places),
                      visits=len(gps.merge_staypoints(found, places)))  # fmt: skip

    with tempfile.TemporaryDirectory() as empty:
        path = Path(empty) / "fixes.parquet"
        gps.clean_fixes(fixes)[0][[*gps.FIX_COLUMNS]].to_parquet(path)
        ours = statistics.median(clock(visits) for _ in range(3))
        script = str(Path(__file__).with_name("trackintel_visits.py"))
        done = subprocess.run([python, script, str(path)], check=True, text=True,
                              stdout=subprocess.PIPE)  # fmt: skip
    theirs = json.loads(done.stdout.splitlines()[-1])
    if theirs["counts"] != counts:
        raise RuntimeError(f"trackintel finds {theirs['counts']}, we find {counts}")
    yield row(f"geolife: {len(fixes):,} fixes of 40 people to visits, as trackintel "
              f"{theirs['version']}", ours, theirs["seconds"])  # fmt: skip


def bench_vocabulary() -> Iterator[Row]:
    """A step of PGT with ever more places; the reference writes down the scores of all."""
    for n in (100_000, 1_000_000):
        ours, peak = fresh(step, n, True)
        dense = fresh(step, n, False) if n == 100_000 else (None, None)
        title = f"{n:,} places: a training step of PGT, batch {BATCH}"
        yield row(title, ours, dense[0], peak=peak)
        yield row(f"{title}, memory", peak, dense[1], "MiB")


def step(n: int, in_stretches: bool) -> tuple[float, float]:
    """Seconds of a step, and the MiB that it needs beyond its weights and their gradients."""
    train = prepare(city.load().visits, protocol="exact").train
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(ModelConfig(n, train.vocabulary.n_users)).train()
    way: Any = losses if in_stretches else PointerGeneratorTransformer.losses
    batch = train.batch(np.linspace(0, len(train) - 1, BATCH).astype(int))

    def one(batch: Any = batch) -> None:
        model.zero_grad(set_to_none=True)
        way(model, batch, 0.03).mean().backward()

    one(train.batch([0]))  # code is loaded, and what is always needed is there
    model.zero_grad(set_to_none=True)
    gradients = sum(one.numel() * one.element_size() for one in model.parameters()) / 2**20
    peak = max(0.0, peak_of(one) - gradients)
    return statistics.median(clock(one) for _ in range(5)), peak


def bench_answers() -> Iterator[Row]:
    """From a file to an answer, in processor seconds."""
    for name, ours, reference, peak in answer_times.bench_answers():
        yield row(name, ours, reference, peak=peak)


def bench_tests() -> Iterator[Row]:
    """The tests of a day, in processor seconds."""
    yield from itertools.starmap(row, bench_suite())


SECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "windows": bench_windows, "training": bench_training, "gpu": bench_gpu, "gps": bench_gps,
    "vocabulary": bench_vocabulary, "answers": bench_answers, "tests": bench_tests,
}  # fmt: skip


def header(out: Path = RESULTS, only: Sequence[str] = ()) -> dict[str, Any]:
    """Where the numbers come from; without a date, so that equal runs give equal files."""
    name, visits = usual_data()
    versions = {one: importlib.metadata.version(one) for one in ("torch", "numpy", "pandas")}
    # The file of all sections is the result of all runs, one with a part of them that of one.
    words = (
        [] if out.name == RESULTS.name else ["--only", *only, "--out", f"book/results/{out.name}"]
    )
    return {
        "experiment": out.stem, "command": " ".join(["python book/lab/bench/bench.py", *words]),
        "data": {"name": name, "windows": prepare(visits).counts()},
        "versions": {"python": platform.python_version(), **versions},
        "device": processor(), "threads": torch.get_num_threads(),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Time pgt beside the references it replaces.")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=[*SECTIONS])
    parser.add_argument("--out", type=Path, default=RESULTS, help="default: %(default)s")
    given = parser.parse_args(arguments)
    about = header(given.out, given.only)
    kept = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else about
    if given.only != ["gpu"] and any(kept[key] != about[key] for key in about):
        parser.error(f"{given.out} was measured elsewhere or in another way; name another --out.")
    rows, began = kept.get("rows", []), time.perf_counter()
    for name in given.only:
        if new := [{"section": name, **one} for one in SECTIONS[name]()]:
            rows = [one for one in rows if one["section"] != name] + new
    rows.sort(key=lambda one: [*SECTIONS].index(one["section"]))
    print(pd.DataFrame(rows).drop(columns="device").to_string(index=False))
    seconds = kept.get("seconds", 0) + round(time.perf_counter() - began)
    text = json.dumps({**kept, "seconds": seconds, "rows": rows}, indent=1, ensure_ascii=False)
    write_text(given.out, text + "\n")


if __name__ == "__main__":
    main()
