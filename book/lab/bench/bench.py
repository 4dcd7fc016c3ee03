"""Measure how long things take and what memory they need, beside the references they replace.

    python book/lab/bench/bench.py [--quick] [--only NAME ...] [--out FILE]

Each section is a function ``bench_NAME`` of a module beside this one. Ours and the reference are
timed in turn, in one process, or each in a fresh process where memory is measured. The prepared
GeoLife windows are used when they are there (the environment variable PGT_GEOLIFE_WINDOWS names
their folder), else the simulated city. The section gps needs GeoLife's position fixes
(PGT_GEOLIFE_FIXES, a folder) and, for its comparison, a Python that has trackintel
(PGT_TRACKINTEL_PYTHON, its path), which runs in a process of its own. With ``--only``, the other
sections' rows stay as the file has them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from bench_fresh import ROOT
from bench_programs import bench_chapters, bench_gps
from bench_rows import QUICK, Row, Settings, cpu_name, find_data
from bench_usual import bench_training, bench_windows
from bench_vocabulary import bench_vocabulary

from pgt.files import write_text
from pgt.windows import prepare

RESULTS = ROOT / "book" / "results" / "bench.json"
Section = Callable[[Settings], Iterator[Row]]


def sections() -> dict[str, Section]:
    """All sections, in the order in which they run."""
    return {
        "windows": lambda settings: bench_windows(*usual_data(settings), settings),
        "training": lambda settings: bench_training(*usual_data(settings), settings),
        "gps": bench_gps,
        "vocabulary": bench_vocabulary,
        "chapters": bench_chapters,
    }


def usual_data(settings: Settings) -> tuple[str, pd.DataFrame]:
    """The name and the visits of the data that are prepared again and again."""
    name, visits = find_data()
    few = visits.user_id.isin(visits.user_id.unique()[:6])
    return name, visits[few].reset_index(drop=True) if settings.quick else visits


def header(settings: Settings) -> dict[str, Any]:
    """Where the numbers come from; without a date, so that equal runs give equal files."""
    name, visits = usual_data(settings)
    packages = ("torch", "numpy", "pandas")
    versions = {package: importlib.metadata.version(package) for package in packages}
    return {
        "experiment": "bench",
        "command": "python book/lab/bench/bench.py" + " --quick" * settings.quick,
        "data": {"name": name, "windows": prepare(visits).counts()},
        "versions": {"python": platform.python_version(), **versions},
        "device": cpu_name(),
        "threads": torch.get_num_threads(),
    }


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    names = [*sections()]
    parser = argparse.ArgumentParser(description="Time pgt beside the references it replaces.")
    parser.add_argument("--quick", action="store_true", help="a few people, a few seconds")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="these sections")
    parser.add_argument("--out", type=Path, default=RESULTS, help="default: %(default)s")
    given = parser.parse_args(arguments)
    settings = QUICK if given.quick else Settings()
    about = header(settings)
    kept = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else about
    if any(kept[key] != about[key] for key in about):
        parser.error(f"{given.out} was measured elsewhere or in another way; name another --out.")

    began = time.perf_counter()
    rows = [row for row in kept.get("rows", ()) if row["section"] not in given.only]
    for name in given.only:
        rows += [{"section": name, **one} for one in sections()[name](settings)]
    rows.sort(key=lambda one: names.index(one["section"]))
    print(pd.DataFrame(rows).drop(columns="device").to_string(index=False))
    about["seconds"] = kept.get("seconds", 0) + round(time.perf_counter() - began)
    text = json.dumps(about | {"rows": rows}, indent=1, ensure_ascii=False)
    write_text(given.out, text + "\n")
    print(f"\nWritten to {given.out}")


if __name__ == "__main__":
    main()
