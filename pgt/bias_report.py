"""What the position bias learns: many seeds, worlds with and without recency, and the real thing.

    python -m pgt.bias_report

writes ``book/results/position_bias.json``, the numbers of chapter 12. A row is one position of one
trained model: ``world``, ``variant``, ``seed``, ``position`` (1 = last visit), ``bias`` and
``content`` (logits: the learned bias, and the mean of what query and key say about visits at that
position), or, at position 0, the model's ``acc@1`` and ``loss`` on the test windows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pgt import copying, metrics, runs
from pgt.model import ModelConfig, PointerGeneratorTransformer
from pgt.reports import write_report
from pgt.results import results_folder
from pgt.train import TrainConfig, fit, loss_of
from pgt.windows import Dataset, Windows, prepare

SEEDS = tuple(range(10))
UPTO = copying.MEMORY  # positions that every counted window has

# In the copying worlds nothing but the order matters, so nothing else is given to the model.
BARE = ("user", "time", "weekday", "recency", "duration", "sinusoid", "generator", "gate")
SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 1, "n_layers": 1, "d_feedforward": 32}
QUICK = TrainConfig(learning_rate=1e-2, warmup_epochs=1, max_epochs=30, patience=8)

WORLDS = {"fading": copying.fading(), "flat": copying.flat()}
VARIANTS: dict[str, tuple[str, ...]] = {
    "bias fitted": ("position_from_end",),
    "bias and embedding": (),
    "embedding only": ("position_bias",),
    "bias off": ("position_from_end", "position_bias"),
    "bias frozen at the truth": ("position_from_end",),
}
CITY_VARIANTS: dict[str, tuple[str, ...]] = {
    "as documented": (),
    "no embedding of position": ("position_from_end", "sinusoid"),
    "bias off": ("position_bias",),
}


def world(name: str) -> Dataset:
    """The windows of a copying world; a test of its own size, so that scores are sharp."""
    return prepare(copying.simulate_copying(WORLDS[name], seed=0), protocol="exact")


def small_model(data: Dataset, world_name: str, variant: str, seed: int
                ) -> PointerGeneratorTransformer:  # fmt: skip
    """An untrained model for a copying world."""
    torch.manual_seed(seed)
    vocabulary = data.vocabulary
    config = ModelConfig(
        vocabulary.n_locations, vocabulary.n_users, dropout=0.0, max_len=30,
        without=BARE + VARIANTS[variant], **SMALL,
    )  # fmt: skip
    model = PointerGeneratorTransformer(config)
    if variant == "bias frozen at the truth":
        assert model.pointer is not None and model.pointer.position_bias is not None
        truth = torch.from_numpy(WORLDS[world_name]).log()
        with torch.no_grad():
            model.pointer.position_bias[1 : UPTO + 1] = truth.to(torch.float32)
            model.pointer.position_bias[UPTO + 1 :] = truth.min() - 5
        model.pointer.position_bias.requires_grad_(False)
    return model


@torch.no_grad()
def by_position(model: PointerGeneratorTransformer, windows: Windows) -> np.ndarray:
    """(2, UPTO) bias and mean content score by position 1 … UPTO, each with mean zero.

    The pointer's log-weight of a visit is content + bias up to a constant per window. Only
    windows with at least UPTO visits count, so that every position is an average over the same.
    """
    assert model.pointer is not None
    bias = torch.zeros(UPTO)
    if model.pointer.position_bias is not None:
        bias = model.pointer.position_bias[1 : UPTO + 1]
    long = windows.subset(windows.lengths >= UPTO)
    total = torch.zeros(UPTO)
    for batch in long.batches(512, max_len=model.config.max_len):
        log_weight = model(batch).pointer_attention.clamp(min=1e-30).log()  # (B, L)
        at = batch.length[:, None] - 1 - torch.arange(UPTO)  # (B, UPTO)
        recent = log_weight.gather(1, at)  # column 0 is the last visit
        total += (recent - recent.mean(1, keepdim=True)).sum(0)
    bias = bias - bias.mean()
    content = total / len(long) - bias
    return torch.stack([bias, content]).numpy()


def rows_of(
    model: PointerGeneratorTransformer, data: Dataset, **about: Any
) -> Iterator[dict[str, Any]]:
    """A trained model's rows."""
    loss = torch.cat(
        [loss_of(model.scores(batch), batch.target) for batch in data.test.batches(512)]
    )
    score = metrics.gains(metrics.evaluate(model, data.test))["acc@1"].mean()
    yield about | {"position": 0, "acc@1": 100 * float(score), "loss": float(loss.mean())}
    for position, (bias, content) in enumerate(by_position(model, data.test).T, start=1):
        yield about | {"position": position, "bias": float(bias), "content": float(content)}


def one(job: tuple[str, str, int]) -> list[dict[str, Any]]:
    """Train one model and describe its pointer."""
    torch.set_num_threads(1)
    name, variant, seed = job
    if name == "city":
        data = runs.dataset("city")
        torch.manual_seed(seed)
        sizes = data.vocabulary.n_locations, data.vocabulary.n_users
        model = PointerGeneratorTransformer(ModelConfig(*sizes, without=CITY_VARIANTS[variant]))
        training = replace(runs.DATA["city"].training, seed=seed)
    else:
        data = world(name)
        model = small_model(data, name, variant, seed)
        training = replace(QUICK, seed=seed)
    fit(model, data.train, data.valid, training, progress=False)
    return list(rows_of(model, data, world=name, variant=variant, seed=seed))


def jobs() -> list[tuple[str, str, int]]:
    """Every model that is trained."""
    small = [(name, variant, seed) for name in WORLDS for variant in VARIANTS for seed in SEEDS]
    return small + [("city", variant, seed) for variant in CITY_VARIANTS for seed in SEEDS]


def main(workers: int = 2) -> int:
    """Train all, and write the results file."""
    began, rows = time.perf_counter(), []
    with ProcessPoolExecutor(workers) as pool:
        for job, some in zip(jobs(), pool.map(one, jobs()), strict=True):
            rows += some
            print(f"{time.perf_counter() - began:7.0f} s", *job, round(some[0]["acc@1"], 1),
                  flush=True)  # fmt: skip
    print(
        write_report(
            results_folder() / "position_bias.json",
            question="What does the position bias learn, and what does it mean?",
            module="bias_report",
            data=["city"],
            seconds=time.perf_counter() - began,
            rows=rows,
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
