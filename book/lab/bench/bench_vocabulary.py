"""Section of the vocabulary's size: what a training step costs with ever more places.

The reference writes down the scores of all places, as the printed formula does. Time is that of
one thread. Memory is what a step needs beyond the parameters and their gradients: the parameters
are there before the watch begins, and the size of the gradients is taken off.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import torch
from bench_fresh import MIB, Watch, in_fresh_process
from bench_rows import Row, Settings, alternate, clock, cpu_name, row
from pgt.sparse import cross_entropy
from torch import Tensor

from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer

PEOPLE, LENGTH, SMOOTHING = 100, 25, 0.03
SMALL = 10_000  # places, at most, with which a step is quick
DENSE = 100_000  # places, at most, with all their scores written down
STEP_BUDGET = 150.0  # MiB at a million places


def bench_vocabulary(settings: Settings) -> Iterator[Row]:
    """A training step of PGT."""
    one = cpu_name(1)
    sizes = (200, 500) if settings.quick else (1_000, 2_000, 10_000, 100_000, 1_000_000)
    size = 8 if settings.quick else settings.batch_size
    for n in sizes:
        # A step of few places is short, so that it takes more of them to see a difference.
        repeats = settings.repeats * (1 if n > SMALL else 4)
        found = in_fresh_process(f"{__name__}.step", n, size, repeats, threads=1)
        title = f"{n:,} places: a training step of PGT, batch {size}"
        ours, reference = found["peak"]
        yield row(title, *found["seconds"], "s", one, peak=ours)
        if n == sizes[-1]:
            title = f"{title}, memory (reference: the budget)"
            yield row(title, ours, STEP_BUDGET, "MiB", one)
        elif n == sizes[-2]:
            yield row(f"{title}, memory", ours, reference, "MiB", one)


def step(n_places: int, size: int, repeats: int) -> dict[str, list[float | None]]:
    """Seconds and memory of a training step, ours and with all scores."""
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(ModelConfig(n_places, PEOPLE)).train()
    small, batch = made_batch(1, n_places), made_batch(size, n_places)

    def ours(batch: Batch = batch) -> None:
        model.zero_grad(set_to_none=True)
        model.mixture(batch).cross_entropy(batch.target, SMOOTHING).mean().backward()

    def dense(batch: Batch = batch) -> None:
        model.zero_grad(set_to_none=True)
        cross_entropy(model(batch).log_probs, batch.target, SMOOTHING).mean().backward()

    gradients = sum(p.numel() * p.element_size() for p in model.parameters()) / MIB
    works = [ours, dense] if n_places <= DENSE else [ours]
    peaks: list[float | None] = []
    for work in works:
        work(small)  # code is loaded, and memory that is always needed is there
        model.zero_grad(set_to_none=True)
        with Watch() as seen:
            work()
        model.zero_grad(set_to_none=True)
        peaks.append(max(0.0, seen.peak - gradients))
    if len(works) == 2:
        return {"seconds": [*alternate(*works, repeats)], "peak": peaks}
    seconds = statistics.median(clock(ours) for _ in range(repeats))
    return {"seconds": [seconds, None], "peak": [*peaks, None]}


def made_batch(size: int, n_places: int, own: int = 12, seed: int = 0) -> Batch:
    """Made windows, each of `LENGTH` visits to few places; most targets are one of these."""
    random = torch.Generator().manual_seed(seed)

    def whole(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, shape or (size,), generator=random)

    shape = (size, LENGTH)
    place = whole(2, n_places, size, own).gather(1, whole(0, own, *shape))
    again = torch.rand(size, generator=random) < 0.7
    return Batch(
        location=place,
        time=whole(1, QUARTERS + 1, *shape),
        weekday=whole(1, WEEKDAYS + 1, *shape),
        duration=whole(1, DURATIONS + 1, *shape),
        days_ago=whole(0, 8, *shape),
        start_minute=whole(0, 1440, *shape),
        user=whole(1, PEOPLE),
        length=torch.full((size,), LENGTH),
        now_minute=whole(0, 1440),
        index=torch.arange(size),
        target=torch.where(again, place[:, 0], whole(2, n_places)),
        target_time=whole(1, QUARTERS + 1),
        target_weekday=whole(1, WEEKDAYS + 1),
        gap_days=whole(0, 3),
    )
