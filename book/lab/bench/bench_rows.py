"""What all sections of the benchmarks share: how much to measure, clocks, rows and data."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from lab.data_sets import GEOLIFE_WINDOWS, has_data, read_windows_folder
from wherenext import city

Row = dict[str, Any]
# Units of which less is better, so that the ratio says how many times less ours needs.
COSTS = ("s", "MiB")


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    quick: bool = False
    seeds: tuple[int, ...] = (42, 1, 2)
    epochs: int = 8
    repeats: int = 5
    batch_size: int = 128


QUICK = Settings(quick=True, seeds=(42,), epochs=2, repeats=2)


def row(
    name: str, ours: float, reference: float | None, unit: str, device: str = "", *,
    peak: float | None = None,
) -> Row:  # fmt: skip
    """One line of the table; ``ratio`` is how many times smaller ours is, ``peak`` is in MiB."""
    ratio = reference / ours if reference is not None and unit in COSTS and ours > 0 else None
    values = {"ours": ours, "reference": reference, "ratio": ratio}
    about: Row = {"name": name, **{key: rounded(value) for key, value in values.items()}}
    about |= {"unit": unit, "device": device or cpu_name()}
    return about | ({} if peak is None else {"peak": rounded(peak)})


def rounded(value: float | None) -> float | None:
    """Four digits, and null for what was not measured."""
    return None if value is None else float(f"{value:.4g}")


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


def find_data() -> tuple[str, pd.DataFrame]:
    """The name of the data and its visits: GeoLife's windows when present, else the city's."""
    if has_data(GEOLIFE_WINDOWS):
        folder = os.environ[GEOLIFE_WINDOWS]
        return "geolife", read_windows_folder(folder)
    return "city", city.load().visits


@lru_cache
def processor() -> str:
    """The processor's model."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return model


def cpu_name(threads: int | None = None) -> str:
    """The processor's model and how many threads torch uses."""
    threads = threads or torch.get_num_threads()
    return f"cpu ({processor()}, {threads} thread{'s' * (threads > 1)})"
