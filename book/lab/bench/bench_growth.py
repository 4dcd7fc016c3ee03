"""Sections of growth: what every stage of the data costs with ever more visits.

Places stay 5,000 while people and visits grow, so that a stage that looks at each visit a fixed
number of times takes ten times as long for ten times as many. Each size has processes of its own,
and the median of them counts. A stage's memory is what it needs beyond what was there before it,
its result included. Time is that of one thread: batches are small, and threads that share them
mostly wait for each other.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench_fresh import Watch, in_fresh_process
from bench_rows import Row, Settings, alternate, clock, cpu_name, exponent, row
from grown import grown
from wherenext.pointer_variants import VARIANTS, build, windows

from pgt.contextual import MEMORY, OLDER
from pgt.history import with_history
from pgt.io import tables
from pgt.metrics import evaluate, gains, interval
from pgt.visits import check, split_by_days
from pgt.vocabulary import Vocabulary
from pgt.windows import prepare

PLACES = 5_000
STAGES = {
    "read": "read a CSV",
    "check": "check",
    "split": "split by days",
    "vocabulary": "collect the vocabulary",
    "windows": "prepare windows",
    "batches": "gather all training windows into batches",
    "past": f"remember {MEMORY} visits and {OLDER} older places",
    "past_batches": "gather all training windows with their past",
    "interval": "an interval by resampling people",
}
SPELL, MOST = 1.0, 20  # short work is done for a second, or so many times
MOST_SECONDS = 60.0  # a stage that would take longer at the largest size is left out there
STEEPEST = 1.1
PROCESSES = 3  # for each size: two runs of the same code differ by a tenth
WINDOWS_BUDGET, PAST_BUDGET = 1024.0, 3072.0  # MiB at 8.5 million visits
BUDGET, MEMORY_BUDGET, EPOCH_BUDGET = 600.0, 8192.0, 360.0  # seconds, MiB, seconds
EPOCHS = 2  # of the contextual pointer on a million visits, which have 80 times the town's steps
FEW = 1  # windows validated where validation is to cost nothing


def bench_growth(settings: Settings) -> Iterator[Row]:
    """Each stage at every size, how steeply it grows, and the memory at 8.5 million visits."""
    sizes = (500, 2_000) if settings.quick else (10_000, 100_000, 1_000_000)
    one_thread = cpu_name(1)
    runs: dict[int, list[dict[str, Any]]] = {n: [] for n in sizes}
    for _ in range(1 if settings.quick else PROCESSES):
        for n in sizes:  # in turn, so that a slow minute of the machine meets all of them
            runs[n].append(in_fresh_process(
                f"{__name__}.stages", n, list(STAGES), settings.repeats, threads=1
            ))  # fmt: skip
    found = {n: {name: _median([run[name] for run in each]) for name in STAGES}
             for n, each in runs.items()}  # fmt: skip
    if not settings.quick:
        last = found[sizes[-1]]
        # Text of ten million visits takes minutes to write.
        few = [
            name for name in STAGES
            if name != "read" and 10 * last[name]["seconds"] < MOST_SECONDS
        ]  # fmt: skip
        found[10 * sizes[-1]] = in_fresh_process(
            f"{__name__}.stages", 10 * sizes[-1], few, 1, threads=1
        )
    for name, what in STAGES.items():
        for n in (n for n in found if name in found[n]):
            one = found[n][name]
            yield row(
                f"{n:,} visits: {what}" + " (reference: pandas alone)" * (name == "read"),
                one["seconds"], one.get("reference"), "s", one_thread, peak=one["peak"], n=n,
            )  # fmt: skip
        pair = sizes[-2:]
        slope = exponent(pair, [found[n][name]["seconds"] for n in pair])
        yield row(
            f"{what}: exponent from {pair[0]:,} to {pair[1]:,} visits (reference: the bound)",
            slope, STEEPEST, "exponent", one_thread,
        )  # fmt: skip
    n = 3_000 if settings.quick else 8_500_000
    large = in_fresh_process(f"{__name__}.stages", n, ["windows", "past"], 1, threads=1)
    table = large["windows"]["held"]
    for name, budget in (("windows", WINDOWS_BUDGET), ("past", PAST_BUDGET)):
        yield row(
            f"{n:,} visits: {STAGES[name]}, memory beyond the table (reference: the budget)",
            large[name]["whole"] - table, budget, "MiB", one_thread, n=n,
        )  # fmt: skip


def stages(n: int, wanted: list[str], repeats: int) -> dict[str, dict[str, float]]:
    """Seconds and memory of the wanted stages at ``n`` visits."""
    found: dict[str, dict[str, float]] = {}

    def measure(
        name: str, work: Callable[[], Any], reference: Callable[[], object] | None = None
    ) -> Any:
        """What the work returns; the first time also shows the memory."""
        if name not in wanted:
            return None
        with Watch() as seen:
            answer = work()
        found[name] = seen.found()
        if reference is None:
            found[name]["seconds"] = _usual(work, repeats, seen.seconds)
        else:
            found[name]["seconds"], found[name]["reference"] = alternate(
                work, reference, MOST if repeats > 1 else 1
            )
        return answer

    _warm_up()
    visits = grown(n, PLACES)
    if "read" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            path, zone = Path(folder) / "visits.csv", str(visits.started_at.dt.tz)
            write_csv(visits, path)
            del visits
            visits = measure(
                "read", lambda: tables.read(path, timezone=zone), lambda: pd.read_csv(path)
            )
    measure("check", lambda: check(visits))
    measure("split", lambda: split_by_days(visits))
    if "vocabulary" in wanted:
        parted = split_by_days(visits)
        measure("vocabulary", lambda: Vocabulary.build(parted, "exact"))
        del parted
    if "interval" in wanted:
        ranks = made_ranks(visits.user_id.to_numpy())
        measure("interval", lambda: interval(ranks))
        del ranks
    if not {"windows", "batches", "past", "past_batches"} & set(wanted):
        return found
    data = measure("windows", lambda: prepare(visits)) or prepare(visits)
    measure("batches", lambda: sum(1 for _ in data.train.batches(128)))
    if {"past", "past_batches"} & set(wanted):
        past = measure("past", lambda: with_history(data, MEMORY, OLDER))
        past = past or with_history(data, MEMORY, OLDER)
        measure("past_batches", lambda: sum(1 for _ in past.train.batches(128)))
    return found


def _median(figures: list[dict[str, float]]) -> dict[str, float]:
    """Of each figure, over several processes."""
    return {key: statistics.median(one[key] for one in figures) for key in figures[0]}


def _usual(work: Callable[[], Any], repeats: int, first: float) -> float:
    """The median of as many times as wanted, or, where work is short, of more: it varies most."""
    seconds = [first]
    while len(seconds) < repeats or (repeats > 1 and sum(seconds) < SPELL and len(seconds) < MOST):
        seconds.append(clock(work))
    return statistics.median(seconds)


def _warm_up() -> None:
    """Code is loaded before anything is measured."""
    data = prepare(grown(500, 50))
    for part in (data, with_history(data, 10, 10)):
        next(iter(part.train.batches(8)))
    interval(made_ranks(np.arange(9)))


def write_csv(visits: pd.DataFrame, path: Path) -> None:
    """Visits as text, their times in UTC; several times as fast as pandas writes times."""
    text = {}
    for name in ("started_at", "finished_at"):
        plain = visits[name].dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        text[name] = np.datetime_as_string(plain, unit="s").astype(object) + "+00:00"
    visits.assign(**text).to_csv(path, index=False)


def made_ranks(users: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """As `pgt.metrics.evaluate` returns them, as far as intervals look."""
    better = np.random.default_rng(seed).integers(0, 20, len(users))
    return pd.DataFrame(
        {"user_id": users, "better": better, "tied": 1, "known": True, "in_window": True}
    )


def bench_large(settings: Settings) -> Iterator[Row]:
    """A million visits from CSV to an evaluated contextual pointer; an epoch of PGT on them."""
    n, places = (3_000, 50) if settings.quick else (1_000_000, 50_000)
    found = in_fresh_process(f"{__name__}.from_csv", n, places, EPOCHS)
    title = (
        f"{n:,} visits, {places:,} places: from CSV to a contextual pointer of {EPOCHS} epochs, "
        f"evaluated (Acc@1 {found['accuracy']:.1f} %)"
    )
    yield row(f"{title} (reference: the budget)", found["seconds"], BUDGET, "s",
              peak=found["whole"], n=n)  # fmt: skip
    yield row(f"{title}, memory of the whole process (reference: the budget)", found["whole"],
              MEMORY_BUDGET, "MiB", n=n)  # fmt: skip
    for what, part in found["parts"].items():
        yield row(f"{n:,} visits, {places:,} places: of which {what}", part["seconds"], None, "s",
                  peak=part["peak"], n=n)  # fmt: skip
    for what, validated in (("with validation", None), ("without validation", FEW)):
        found = in_fresh_process(f"{__name__}.epoch_of_pgt", n, places, validated)
        yield row(
            f"{n:,} visits, {places:,} places: an epoch of PGT {what} (reference: the budget)",
            found["seconds"], EPOCH_BUDGET, "s", peak=found["whole"], n=n,
        )  # fmt: skip


def from_csv(n: int, places: int, epochs: int) -> dict[str, Any]:
    """Read, prepare, remember, train and evaluate; seconds and memory of each, and of the whole."""
    from pgt.train import fit

    parts: dict[str, dict[str, float]] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        with Watch() as seen:
            answer = work()
        parts[what] = seen.found()
        return answer

    variant = VARIANTS["full"]
    with tempfile.TemporaryDirectory() as folder:
        path, visits = Path(folder) / "visits.csv", grown(n, places)
        zone = str(visits.started_at.dt.tz)
        write_csv(visits, path)
        del visits
        visits = timed("reading", lambda: tables.read(path, timezone=zone))
        data = timed("windows", lambda: prepare(visits, protocol="exact"))
        past = timed("the past", lambda: windows(data, variant))
        model, training = timed("the model", lambda: build(variant, data, seed=42))
        training = replace(training, max_epochs=epochs)
        timed("training", lambda: fit(model, past.train, past.valid, training, device="cpu",
                                      progress=False))  # fmt: skip
        ranks = timed("evaluation", lambda: evaluate(model, past.test))
    return {
        "seconds": sum(part["seconds"] for part in parts.values()),
        "whole": max(part["whole"] for part in parts.values()),
        "parts": parts,
        "accuracy": 100 * float(gains(ranks)["acc@1"].mean()),
    }


def epoch_of_pgt(n: int, places: int, validated: int | None, size: int = 128) -> dict[str, float]:
    """One epoch, validated on all windows or so many; how long it takes, what the process holds."""
    import torch

    from pgt.config import ModelConfig, TrainConfig
    from pgt.model import PointerGeneratorTransformer
    from pgt.train import fit

    data = prepare(grown(n, places), protocol="exact")
    torch.manual_seed(42)
    model = PointerGeneratorTransformer(
        ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users)
    )
    config = TrainConfig(batch_size=size, max_epochs=1, warmup_epochs=1)
    valid = data.valid.subset(np.arange(len(data.valid))[:validated])
    with Watch() as seen:
        fit(model, data.train, valid, config, device="cpu", progress=False)
    return seen.found()
