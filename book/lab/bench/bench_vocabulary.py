"""Sections of the vocabulary's size: what a step and a ranking cost with ever more places.

The reference writes down the scores of all places, as the printed formula does. Time is that of
one thread. Memory is what a training step needs beyond the parameters and their gradients, and a
ranking beyond the model: the parameters are there before the watch begins, and the size of the
gradients is taken off.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from bench_fresh import MIB, Watch, in_fresh_process, needed
from bench_rows import Row, Settings, alternate, clock, cpu_name, row
from grown import grown
from torch import Tensor, nn

from pgt.baselines import ContextKernel
from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.contextual import ALONE, MEMORY, ContextualConfig, ContextualPointer, like_kernel
from pgt.history import HistoryBatch, with_history
from pgt.mixture import MixtureModel
from pgt.model import PointerGeneratorTransformer
from pgt.sparse import cross_entropy, rank_all
from pgt.windows import prepare

PEOPLE, LENGTH, SMOOTHING = 100, 25, 0.03
SMALL = 10_000  # places, at most, with which a step is quick
DENSE = 100_000  # places, at most, with all their scores written down
STEP_BUDGET, RANK_BUDGET = 150.0, 300.0  # MiB at a million places


def bench_vocabulary(settings: Settings) -> Iterator[Row]:
    """A step of PGT, a ranking by it, and a step of the contextual pointer."""
    one = cpu_name(1)
    sizes = (200, 500) if settings.quick else (1_000, 2_000, 10_000, 100_000, 1_000_000)
    size = 8 if settings.quick else settings.batch_size
    for n in sizes:
        # A step of few places is short, so that it takes more of them to see a difference.
        repeats = settings.repeats * (1 if n > SMALL else 4)
        found = in_fresh_process(f"{__name__}.step", n, size, repeats, threads=1)
        title = f"{n:,} places: a training step of PGT, batch {size}"
        yield row(title, *found["seconds"], "s", one, peak=found["peak"][0], n=n)
        yield from _memory_row(f"{title}, memory", found, sizes, n, STEP_BUDGET)
    windows = 16 if settings.quick else 512
    for n in sizes[-2:]:
        found = in_fresh_process(f"{__name__}.ranking", n, windows, settings.repeats, threads=1)
        title = f"{n:,} places: PGT ranks {windows} windows"
        yield row(title, *found["seconds"], "s", one, peak=found["peak"][0], n=n)
        yield from _memory_row(f"{title}, memory", found, sizes, n, RANK_BUDGET)
    few, many = 2_000, sizes[-1] if sizes[-1] > 2_000 else 4_000
    size = 8 if settings.quick else 64
    repeats = 4 * settings.repeats
    found = in_fresh_process(f"{__name__}.contextual_step", many, few, size, repeats, threads=1)
    yield row(
        f"{many:,} places: a training step of the contextual pointer, batch {size} "
        f"(reference: at {few:,})", *found["seconds"], "s", one, peak=found["peak"], n=many,
    )  # fmt: skip


def _memory_row(
    title: str, found: dict[str, Any], sizes: tuple[int, ...], n: int, budget: float
) -> Iterator[Row]:
    """Memory beside that of all scores, and at the largest size beside the budget."""
    ours, reference = found["peak"]
    if n == sizes[-1]:
        yield row(f"{title} (reference: the budget)", ours, budget, "MiB", cpu_name(1), n=n)
    elif n == sizes[-2]:
        yield row(title, ours, reference, "MiB", cpu_name(1), n=n)


def step(n_places: int, size: int, repeats: int) -> dict[str, list[float | None]]:
    """Seconds and memory of a training step, ours and with all scores."""
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(ModelConfig(n_places, PEOPLE)).train()
    small, batch = made_batch(1, n_places), made_batch(size, n_places)

    def ours(batch: Batch = batch) -> None:
        take_step(model, model.mixture(batch).cross_entropy(batch.target, SMOOTHING))

    def dense(batch: Batch = batch) -> None:
        take_step(model, cross_entropy(model(batch).log_probs, batch.target, SMOOTHING))

    gradients = sum(p.numel() * p.element_size() for p in model.parameters()) / MIB
    with_dense = n_places <= DENSE
    peaks = []
    for work in (ours, dense)[: 1 + with_dense]:
        work(small)  # code is loaded, and memory that is always needed is there
        model.zero_grad(set_to_none=True)
        with Watch() as seen:
            work()
        model.zero_grad(set_to_none=True)
        peaks.append(max(0.0, seen.peak - gradients))
    return _pairs(ours, dense if with_dense else None, repeats, peaks)


@torch.no_grad()
def ranking(n_places: int, n_windows: int, repeats: int) -> dict[str, list[float | None]]:
    """Seconds and memory of ranking a batch, ours and with all scores."""
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(ModelConfig(n_places, PEOPLE)).eval()
    small, batch = made_batch(1, n_places), made_batch(n_windows, n_places)

    def ours(batch: Batch = batch) -> None:
        model.rank(batch)

    def dense(batch: Batch = batch) -> None:
        rank_all(model.scores(batch), batch.target, batch.index)

    with_dense = n_places <= DENSE
    peaks = []
    for work in (ours, dense)[: 1 + with_dense]:
        work(small)
        with Watch() as seen:
            work()
        peaks.append(seen.peak)
    return _pairs(ours, dense if with_dense else None, repeats, peaks)


def contextual_step(many: int, few: int, size: int, repeats: int) -> dict[str, Any]:
    """Seconds of a step of the contextual pointer among many places and among few, in turn.

    The memory is what the step among many needs beyond the model, gradients included.
    """
    data = prepare(grown(20_000, few - 100), protocol="exact")
    train = with_history(data, MEMORY).train
    batch = train.batch(train.lengths.argsort()[-size:])

    def stepper(n_places: int) -> Callable[[], None]:
        torch.manual_seed(0)
        config = ContextualConfig(n_places, data.vocabulary.n_users, **ALONE)
        model = ContextualPointer(config).train()
        assert model.scorer is not None
        like_kernel(model.scorer, ContextKernel())
        mine = apart(batch, n_places // few)

        def work() -> None:
            take_step(model, model.mixture(mine).cross_entropy(mine.target, SMOOTHING))

        work()
        return work

    among_many = stepper(many)
    peak = needed(among_many)
    return {"seconds": [*alternate(among_many, stepper(few), repeats)], "peak": peak}


def _pairs(
    ours: Callable[[], None], dense: Callable[[], None] | None, repeats: int, peaks: list[float]
) -> dict[str, list[float | None]]:
    """Seconds and memory, each as ours and the reference's."""
    if dense is None:
        seconds = statistics.median(clock(ours) for _ in range(repeats))
        return {"seconds": [seconds, None], "peak": [peaks[0], None]}
    return {"seconds": [*alternate(ours, dense, repeats)], "peak": [*peaks]}


def take_step(model: MixtureModel | nn.Module, losses: Tensor) -> None:
    """Gradients of the mean loss, the earlier ones thrown away."""
    model.zero_grad(set_to_none=True)
    losses.mean().backward()


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


def apart(batch: HistoryBatch, by: int) -> HistoryBatch:
    """The same batch with the numbers of its places further from each other."""
    names = ("location", "before", "two_before", "target")
    places = {name: getattr(batch, name) for name in names}
    return replace(batch, **{name: torch.where(at > 1, at * by, at) for name, at in places.items()})
