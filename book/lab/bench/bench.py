"""Measure how long things take and what memory they need, beside the references they replace.

    python book/lab/bench/bench.py [--quick] [--only NAME ...] [--update] [--out FILE]

Each section is a function ``bench_NAME`` of a module beside this one. Ours and the reference are
timed in turn, in one process, or each in a fresh process where memory is measured. The prepared
GeoLife windows are used when they are there (the environment variable PGT_GEOLIFE_WINDOWS names
their folder), else the simulated city. The section gps needs GeoLife's position fixes
(PGT_GEOLIFE_FIXES, a folder) and, for its comparison, a Python that has trackintel
(PGT_TRACKINTEL_PYTHON, its path), which runs in a process of its own. The section device needs a
graphics processor.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from bench_device import bench_device
from bench_engines import bench_engines, bench_team
from bench_fresh import ROOT
from bench_growth import bench_growth, bench_large
from bench_many import bench_baskets, bench_clustering, bench_intervals
from bench_mapped import bench_mapped
from bench_programs import bench_chapters, bench_city, bench_gps
from bench_rows import QUICK, Row, Settings, cpu_name, few_people, find_data
from bench_usual import bench_training, bench_windows
from bench_vocabulary import bench_vocabulary

from pgt.files import write_text
from pgt.windows import Dataset, prepare

RESULTS = ROOT / "book" / "results" / "bench.json"
PACKAGES = ("torch", "numpy", "pandas")
Section = Callable[[Settings], Iterator[Row]]


def sections() -> dict[str, Section]:
    """All sections, in the order in which they run."""
    return {
        "windows": lambda settings: bench_windows(*usual_data(settings), settings),
        "training": lambda settings: bench_training(*usual_data(settings), settings),
        "city": bench_city,
        "gps": bench_gps,
        "vocabulary": bench_vocabulary,
        "growth": bench_growth,
        "large": bench_large,
        "engines": bench_engines,
        "mapped": bench_mapped,
        "team": bench_team,
        "intervals": bench_intervals,
        "clustering": bench_clustering,
        "baskets": bench_baskets,
        "device": bench_device,
        "chapters": bench_chapters,
    }


def usual_data(settings: Settings) -> tuple[str, pd.DataFrame]:
    """The name and the visits of the data that are prepared again and again."""
    name, visits = find_data()
    return name, few_people(visits) if settings.quick else visits


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
    wide = max((len(one["name"]) for one in rows), default=0)
    print(f"\n{'':{wide}}{'ours':>10}{'reference':>11}{'ratio':>8}  {'unit':9}{'peak':>7}")
    for one in rows:
        cells = [one[key] for key in ("ours", "reference", "ratio")]
        ours, reference, ratio = ("–" if cell is None else f"{cell:.4g}" for cell in cells)
        peak = f"{one['peak']:7,.0f} MiB" if "peak" in one else ""
        print(f"{one['name']:{wide}}{ours:>10}{reference:>11}{ratio:>8}  {one['unit']:9}{peak}")


def write(result: dict[str, Any], path: Path) -> None:
    """Write the file, whole or not at all."""
    write_text(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def measured(names: list[str], settings: Settings) -> tuple[list[Row], list[str]]:
    """The rows of the named sections, and a sentence for each section that failed."""
    rows: list[Row] = []
    failed = []
    for name, section in sections().items():
        if name not in names:
            continue
        began = time.perf_counter()
        try:
            # What was measured before a failure stays.
            for one in section(settings):
                rows.append({"section": name, **one})
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[-1].rstrip(".")
            failed.append(f"The section '{name}' failed: {reason}.")
            print(failed[-1])
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return rows, failed


def others(path: Path, names: list[str]) -> dict[str, Any]:
    """The results file without the rows of these sections."""
    if not path.exists():
        sys.exit(f"There is no {path} to bring up to date; measure everything first.")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    versions = header(*find_data(), "")["versions"]
    if result["versions"] != versions or result["device"] != cpu_name():
        sys.exit(f"{path} was measured elsewhere or with other versions; measure everything again.")
    return result | {"rows": [one for one in result["rows"] if one["section"] not in names]}


def main(arguments: list[str] | None = None) -> None:
    """Measure what was asked for, print it and write it."""
    names = [*sections()]
    parser = argparse.ArgumentParser(description="Time pgt beside the references it replaces.")
    parser.add_argument("--quick", action="store_true", help="a few people, a few seconds")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="these sections")
    parser.add_argument(
        "--out", type=Path,
        help="default: book/results/bench.json; _build/bench.json when --quick or --only is given",
    )  # fmt: skip
    parser.add_argument("--update", action="store_true",
                        help="keep the other sections' rows of the results file")  # fmt: skip
    given = parser.parse_args(arguments)
    settings = QUICK if given.quick else Settings()
    whole = not given.quick and set(given.only) == set(names)
    out = given.out or (RESULTS if whole or given.update else ROOT / "_build" / "bench.json")
    kept = others(out, given.only) if given.update else None

    began = time.perf_counter()
    rows, failed = measured(given.only, settings)
    took = round(time.perf_counter() - began)
    flags = ["--quick"] * given.quick
    flags += ["--only", *given.only] if set(given.only) != set(names) else []
    command = " ".join(["python book/lab/bench/bench.py", *flags])
    show(rows)
    about = header(*usual_data(settings), command) | {"seconds": took}
    if kept is not None:
        rows = sorted(kept["rows"] + rows, key=lambda one: names.index(one["section"]))
        again = [name for name in names if name in {*kept.get("measured_again", ()), *given.only}]
        about = {name: kept[name] for name in about} | {"measured_again": again}
    write(about | ({"failed": failed} if failed else {}) | {"rows": rows}, out)
    print(f"\nWritten to {out}")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
