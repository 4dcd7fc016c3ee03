"""What the position bias learns: many seeds, worlds with and without recency, and the real thing.

    PGT_GEOLIFE_WINDOWS=… python book/lab/run.py position_bias

writes ``book/results/position_bias.json``, the numbers of chapter 12. A row is one trained model:
``what`` (its world), ``variant``, ``seed``, its ``acc@1`` (percent) and ``loss`` (nats) on the test
windows, ``epochs`` until the best one, and by position, 1 being the last visit, the learned bias
``b1``, ``b2``, … and the mean ``c1``, ``c2``, … of what the content says
(`wherenext.position_bias.by_position`). In the copying world the windows are those whose target
was copied, and ``best`` is the loss of the true kernel. Trained weights are kept, so an interrupted
report goes on where it stopped. No person, place or moment can be recognized in the rows.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from wherenext import city
from wherenext.people import Behaviour
from wherenext.position_bias import by_position, faster_bias

from lab import data_sets, models, recency_world
from lab.provenance import code_hash
from lab.reports import Report, Row
from pgt import checkpoint, metrics
from pgt.checkpoint import load_weights
from pgt.config import ModelConfig, TrainConfig
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.train import fit
from pgt.windows import Dataset, prepare

SEEDS = tuple(range(10))
FEW = SEEDS[:3]  # where a curve is not the point
# Times the learning rate, for the bias alone.
RATES = {"fast bias": 100.0, "both, bias at a tenth": 0.1, "both, bias tenfold": 10.0}

# In the copying world nothing but the order matters, so nothing else is given to the model.
COPYING = "fading kernel"
BARE = ("user", "time", "weekday", "recency", "duration", "sinusoid", "generator", "gate")
SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 1, "n_layers": 1, "d_feedforward": 32}
SMALL_TRAINING = TrainConfig(
    learning_rate=2e-2, warmup_epochs=1, max_epochs=12, patience=5, label_smoothing=0.0
)
SMALL_VARIANTS: dict[str, tuple[str, ...]] = {
    "bias only": ("position_from_end",),
    "both": (),
    "both, bias at a tenth": (),
    "both, bias tenfold": (),
    "embedding only": ("position_bias",),
}

# Cities that differ from Larkmere in one number, and one that differs in its people only. Each
# seed has people of its own, so that the spread shows what another sample would have shown.
CITIES: dict[str, dict[str, Any]] = {
    "other people": {},
    "short memory": {"recency_decay": 0.8},
    "no recency": {"recency_decay": 1.0},
}
UPTO = {"copying": recency_world.MEMORY, "city": 15}  # positions that every counted window has


@dataclass(frozen=True)
class Job:
    """One model to train: its world, its variant, its seed."""

    what: str
    variant: str
    seed: int

    @property
    def upto(self) -> int:
        """The positions that are looked at."""
        return UPTO["copying" if self.what == COPYING else "city"]


def jobs() -> list[Job]:
    """Every model that is trained."""
    most = [(COPYING, variant) for variant in SMALL_VARIANTS]
    most += [("city", "as documented"), ("city", "fast bias"), ("geolife", "as documented")]
    others = [(what, "fast bias") for what in CITIES] + [("city", "bias off")]
    others += [("short memory", "as documented"), ("no recency", "as documented")]
    plan = [(pair, SEEDS) for pair in most] + [(pair, FEW) for pair in others]
    return [Job(*pair, seed) for pair, seeds in plan for seed in seeds]


@lru_cache(2)
def world(what: str, seed: int) -> Dataset:
    """The windows of a world; where the seed does not matter, those of the one there is."""
    if what == "city" or what == "geolife":
        return data_sets.dataset("city" if what == "city" else "geolife_published")
    if what in CITIES:
        people = city.simulate(seed=100 + seed, behaviour=Behaviour(**CITIES[what]))
        return prepare(people.visits, protocol="exact")
    visits = recency_world.simulate_copying(recency_world.fading(), seed=seed)
    data = prepare(visits, protocol="exact")
    # The windows whose target was copied; nothing is known of the others.
    train, valid, test = (w.subset(w.in_window) for w in (data.train, data.valid, data.test))
    return Dataset(train, valid, test, data.vocabulary, data.config)


def untrained(job: Job, data: Dataset) -> tuple[PointerGeneratorTransformer, TrainConfig]:
    """A job's model with its first weights, and the settings of its training."""
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    torch.manual_seed(job.seed)
    if job.what == COPYING:
        config = ModelConfig(*sizes, dropout=0.0, max_len=30, **SMALL,
                             without=BARE + SMALL_VARIANTS[job.variant])  # fmt: skip
        training = SMALL_TRAINING
    else:
        config, training = (
            models.preset("geolife_published", data.vocabulary, job.seed, "day")
            if job.what == "geolife"
            else models.preset("city", data.vocabulary, job.seed)
        )
        if job.variant == "bias off":
            config = replace(config, without=("position_bias",))
    model = PointerGeneratorTransformer(config)
    return model, replace(training, seed=job.seed)


def trained(job: Job, data: Dataset) -> tuple[PointerGeneratorTransformer, int]:
    """A job's trained model, made or taken from where it is kept, and its best epoch."""
    model, training = untrained(job, data)
    times = RATES.get(job.variant, 1.0)
    settings = hashlib.sha256(f"{model.config} {training} {times}".encode()).hexdigest()[:12]
    about = (job.what, job.variant, str(job.seed), settings, code_hash())
    name = "-".join(about).replace(" ", "_") + ".safetensors"
    path = Path(tempfile.gettempdir()) / "pgt-runs" / "bias" / name
    if path.exists():
        tensors, info = checkpoint.read_tensors(path)
        load_weights(model, tensors, path.name)
        return model.eval(), info["notes"]["epochs"]
    with faster_bias(model, times) if times != 1 else nullcontext():
        history = fit(model, data.train, data.valid, training, progress=False)
    checkpoint.save_model(path, model, data.vocabulary, {"epochs": history.best_epoch})
    return model, history.best_epoch


@torch.no_grad()
def best_loss(data: Dataset, kernel: np.ndarray) -> float:
    """Mean loss on the test windows of who knows the kernel and nothing else, in nats."""
    losses = []
    for batch in data.test.batches(512):
        table = torch.zeros(int(batch.length.max()) + 1, dtype=torch.float64)
        table[1 : len(kernel) + 1] = torch.from_numpy(kernel)
        weight = table[batch.position_from_end]  # (B, L), 0 at padding
        hit = (weight * (batch.location == batch.target[:, None])).sum(1)
        losses.append(-(hit / weight.sum(1)).log())
    return float(torch.cat(losses).mean())


def one(job: Job) -> Row:
    """Train one model and describe its pointer."""
    torch.set_num_threads(1)
    data = world(job.what, job.seed)
    model, epochs = trained(job, data)
    batches = data.test.batches(512)
    loss = torch.cat([cross_entropy(model.scores(batch), batch.target) for batch in batches])
    score = metrics.gains(metrics.evaluate(model, data.test))["acc@1"].mean()
    row: Row = asdict(job) | {"epochs": epochs}
    row |= {"acc@1": 100 * float(score), "loss": float(loss.mean())}
    if job.what == COPYING:
        row["best"] = best_loss(data, recency_world.fading())
    for letter, curve in zip("bc", by_position(model, data.test, job.upto), strict=True):
        row |= {f"{letter}{position}": float(value) for position, value in enumerate(curve, 1)}
    return row


def _rows() -> Iterator[Row]:
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        for job, row in zip(jobs(), pool.map(one, jobs()), strict=True):
            print(f"{job}  Acc@1 {row['acc@1']:.1f}", flush=True)
            yield row


REPORT = Report(
    question="What does the position bias learn, and what does it mean?",
    rows=_rows,
    data=("city", "geolife_published"),
)
