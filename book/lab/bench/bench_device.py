"""The section of the graphics processor: the same work there and on two threads of the CPU."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from bench_fresh import MIB
from bench_rows import Row, Settings, row
from bench_vocabulary import PEOPLE, SMOOTHING, made_batch, take_step
from wherenext import city
from wherenext.pointer_variants import VARIANTS, build, windows

from pgt.config import CITY, PRESETS, ModelConfig, TrainConfig
from pgt.io import sources
from pgt.io.sources import GEOLIFE_WINDOWS, has_data
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.visits import SPLITS
from pgt.windows import Dataset, prepare

CORES = 2
Made = Callable[[], tuple[Any, TrainConfig]]
Data = TypeVar("Data", bound=Dataset)


def bench_device(settings: Settings, device: str | None = None) -> Iterator[Row]:
    """Training to the stop, an epoch of the large town, and a step among a million places."""
    if device is None and not torch.cuda.is_available():
        print("There is no CUDA device; the section 'device' stays empty.")
        return
    there = torch.device(device or "cuda")
    for name, data, preset in _data(settings):
        past = windows(data, VARIANTS["full"])
        yield from _both(
            f"{name}: train PGT to its stop", data, _pgt(data, preset, settings), there
        )
        yield from _both(
            f"{name}: train the contextual pointer to its stop", past,
            lambda data=data: _short(*build(VARIANTS["full"], data, seed=42), settings), there,
        )  # fmt: skip
    town = prepare(city.simulate("small" if settings.quick else "large").visits, protocol="exact")
    town = few(town) if settings.quick else town
    epoch = TrainConfig(max_epochs=1, warmup_epochs=1)
    yield from _both("large town: an epoch of PGT", town, _pgt(town, {}, settings, epoch), there)
    places, size = (500, 8) if settings.quick else (1_000_000, settings.batch_size)
    ours, peak = step_on(there, places, size, settings.repeats)
    with two_threads():
        reference, _ = step_on(torch.device("cpu"), places, size, settings.repeats)
    yield row(
        f"{places:,} places: a training step of PGT, batch {size} (reference: {CORES} threads)",
        ours, reference, "s", device_name(there), peak=peak, n=places,
    )  # fmt: skip


def _data(settings: Settings) -> Iterator[tuple[str, Dataset, dict[str, Any]]]:
    """The city, and GeoLife where it is there: name, windows, and the model's settings."""
    data = prepare(city.load().visits, protocol="exact")
    yield "city", few(data) if settings.quick else data, {"training": CITY}
    if has_data(GEOLIFE_WINDOWS) and not settings.quick:
        table = sources.read_windows_folder(os.environ[GEOLIFE_WINDOWS])
        preset = PRESETS["geolife"]
        yield "geolife", prepare(table), preset.model | {"training": preset.training}


def few(data: Data, n: int = 64) -> Data:
    """The first windows of each split."""
    parts = {name: getattr(data, name) for name in SPLITS}
    some = {name: part.subset(np.arange(min(n, len(part)))) for name, part in parts.items()}
    return replace(data, **some)


def _pgt(
    data: Dataset, preset: dict[str, Any], settings: Settings, training: TrainConfig = CITY
) -> Made:
    shape = {key: value for key, value in preset.items() if key != "training"}
    training = preset.get("training", training)

    def made() -> tuple[Any, TrainConfig]:
        torch.manual_seed(42)
        size = data.vocabulary.n_locations, data.vocabulary.n_users
        model = PointerGeneratorTransformer(ModelConfig(*size, **shape))
        return _short(model, training, settings)

    return made


def _short(model: Any, training: TrainConfig, settings: Settings) -> tuple[Any, TrainConfig]:
    """A training of two epochs where it has to be quick."""
    if settings.quick:
        training = replace(training, max_epochs=2, warmup_epochs=1)
    return model, training


def _both(title: str, data: Dataset, made: Made, there: torch.device) -> Iterator[Row]:
    """Seconds and test accuracy on the device and on the CPU."""
    model, training = made()
    start = few(data)  # what a device loads when it is first used is no training time
    fit(model, start.train, start.valid, replace(training, max_epochs=1), device=there,
        progress=False)  # fmt: skip
    ours, peak, accuracy, epochs = trained(data, made, there)
    with two_threads():
        reference, _, other, more = trained(data, made, torch.device("cpu"))
    yield row(f"{title}, {epochs} epochs (reference: {CORES} threads, {more} epochs)", ours,
              reference, "s", device_name(there), peak=peak)  # fmt: skip
    yield row(f"{title}: test Acc@1 (reference: {CORES} threads)", accuracy, other, "%",
              device_name(there))  # fmt: skip


def trained(
    data: Dataset, made: Made, device: torch.device
) -> tuple[float, float | None, float, int]:
    """Seconds, memory on the device (MiB), test Acc@1 in percent, and epochs."""
    model, training = made()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    began = time.perf_counter()
    log = fit(model, data.train, data.valid, training, device=device, progress=False)
    took = time.perf_counter() - began
    accuracy = 100 * float(gains(evaluate(model, data.test))["acc@1"].mean())
    return took, memory_on(device), accuracy, len(log.rows)


def step_on(
    device: torch.device, places: int, size: int, repeats: int
) -> tuple[float, float | None]:
    """Seconds of a step, and memory on the device (MiB)."""
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(ModelConfig(places, PEOPLE)).train().to(device)
    batch = made_batch(size, places).to(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)

    def work() -> float:
        began = time.perf_counter()
        take_step(model, model.mixture(batch).cross_entropy(batch.target, SMOOTHING))
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - began

    work()
    return statistics.median(work() for _ in range(repeats)), memory_on(device)


def memory_on(device: torch.device) -> float | None:
    """MiB that were in use on the device at most."""
    return torch.cuda.max_memory_allocated(device) / MIB if device.type == "cuda" else None


def device_name(device: torch.device) -> str:
    """As in ``cuda (NVIDIA H100)``."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "as a test"
    return f"{device.type} ({name})"


@contextmanager
def two_threads() -> Iterator[None]:
    """The CPU as a small machine has it."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(CORES, os.cpu_count() or 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)
