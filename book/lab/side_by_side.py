"""Both pointer-generators on one machine, for chapter 17: how long they take, how well they do.

    python book/lab/run.py side_by_side

writes ``book/results/side_by_side.json``. Rows with ``table`` "encoder" are steps of training
through one encoder of width 64, by length and batch, in ``milliseconds`` of processor time on one
thread, the fastest of several. "training" are models trained on the city, scored as everywhere, and
the processor seconds that took: PGT, PGT with the summarizer's encoder or decoder, and the
summarizer on windows, with its decoder and without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import product

import torch
from wherenext.relatives.improvements import RecurrentEncoder
from wherenext.side_by_side import Kind, encoder_step, seconds

from lab.data_sets import dataset
from lab.hybrids import Original, OriginalConfig, WithDecoder
from lab.models import preset
from lab.reports import Report, Row
from pgt import metrics
from pgt.config import ModelConfig
from pgt.model import PlaceModel, PointerGeneratorTransformer
from pgt.train import fit

SEEDS = (42, 1, 2)
LENGTHS = (5, 10, 18, 50, 100, 200, 400)
BATCHES = (1, 16, 64)
KINDS: tuple[Kind, ...] = ("bilstm", "transformer")
MOST = 16 * 400  # visits of a batch; self-attention's memory grows with L²


def encoders() -> Iterator[Row]:
    """A step of training through each encoder."""
    config = ModelConfig(n_locations=100, n_users=10, dropout=0.0)
    for batch, length, kind in product(BATCHES, LENGTHS, KINDS):
        if batch * length <= MOST:
            step = encoder_step(kind, length, batch, config)
            spent = seconds(step, repeats=3, at_least=0.1)
            yield {"table": "encoder", "model": kind, "batch": batch, "length": length,
                   "milliseconds": 1000 * spent}  # fmt: skip


def with_recurrent_encoder(config: ModelConfig) -> PointerGeneratorTransformer:
    """PGT with the summarizer's encoder."""
    model = PointerGeneratorTransformer(config)
    model.encoder = RecurrentEncoder(config)  # type: ignore[assignment]
    return model


MODELS: dict[tuple[str, str], Callable[[ModelConfig], PlaceModel]] = {
    ("pgt", "full"): PointerGeneratorTransformer,
    ("pgt", "with BiLSTM"): with_recurrent_encoder,
    ("pgt", "with decoder"): WithDecoder,
    ("summarizer", "full"): lambda config: Original(OriginalConfig(config.n_locations)),
    ("summarizer", "no decoder"): lambda config: Original(
        OriginalConfig(config.n_locations, decoder=False)
    ),
}


def trainings() -> Iterator[Row]:
    """Each model trained and scored on the city, with every seed."""
    data = dataset("city")
    for seed in SEEDS:
        config, training = preset("city", data.vocabulary, seed)
        for (name, variant), make in MODELS.items():
            torch.manual_seed(seed)
            model = make(config)
            began = time.process_time()
            history = fit(model, data.train, data.valid, training, device="cpu", progress=False)
            spent = time.process_time() - began
            about = {"table": "training", "data": "city", "protocol": "exact", "model": name,
                     "variant": variant, "target_time": "unknown", "seed": seed, "split": "test",
                     "parameters": model.n_parameters(), "epochs": len(history.rows),
                     "cpu_seconds": spent}  # fmt: skip
            scores = metrics.summarize(metrics.evaluate(model, data.test), ["all"])
            yield about | scores.to_dict("records")[0]
            print(f"{name} ({variant}), seed {seed}: {spent:.0f} s", flush=True)


def _rows() -> Iterator[Row]:
    yield from (*encoders(), *trainings())


REPORT = Report(
    question="What do both pointer-generators cost, and what does each other's part do?",
    rows=_rows,
    data=("city",),
)
