"""Sections of the usual size: windows and training, beside a loop and PyTorch's own encoder."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pandas as pd
import torch
from bench_fresh import needed
from bench_rows import Row, Settings, alternate, clock, row
from documented_model import DocumentedModel, DocumentedTraining, SampleDataset, collate
from torch.utils.data import DataLoader
from windows_loop import prepare_by_loop

from pgt.config import ModelConfig, TrainConfig
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.windows import prepare


def bench_windows(name: str, visits: pd.DataFrame, settings: Settings) -> Iterator[Row]:
    """All windows of the three splits, from one table of visits; then all of them as batches."""
    data = prepare(visits)  # also warms up
    total = sum(data.counts().values())
    ours, reference = alternate(
        lambda: prepare(visits), lambda: prepare_by_loop(data), settings.repeats
    )
    peak = needed(lambda: prepare(visits))
    yield row(f"{name}: build {total} windows", ours, reference, "s", peak=peak)

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
    title = f"{name}: gather all windows into padded batches"
    yield row(title, ours, reference, "s", peak=needed(gather))


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
    once = TrainConfig(batch_size=settings.batch_size, max_epochs=1)
    model = PointerGeneratorTransformer(shape)
    peak = needed(lambda: fit(model, data.train, data.valid, once, device="cpu", progress=False))
    warm = [pair for i, pair in enumerate(seconds) if i % settings.epochs]
    yield row(
        f"{name}: one epoch of training and validation, batch {settings.batch_size}",
        statistics.median(ours for ours, _ in warm),
        statistics.median(theirs for _, theirs in warm),
        "s",
        peak=peak,
    )
    title = f"{name}: test Acc@1 after {settings.epochs} epochs"
    for seed, (ours, theirs) in zip(settings.seeds, accuracies, strict=True):
        yield row(f"{title}, seed {seed}", ours, theirs, "%")
    one, two = (statistics.mean(side) for side in zip(*accuracies, strict=True))
    yield row(f"{title}, mean of {len(accuracies)} seeds", one, two, "%")
