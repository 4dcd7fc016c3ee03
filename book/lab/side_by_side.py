"""Both pointer-generators on one machine, for chapter 17: how long they take, how well they do.

    python book/lab/run.py side_by_side

writes ``book/results/side_by_side.json``. Rows with ``table`` "encoder" are steps of training
through one encoder of width 64, by length and batch; "model" are steps of whole models at the sizes
of the design documents, by what a step learns from (``items`` texts or windows); both in
``milliseconds`` of processor time on one thread, the fastest of several. "training" are models
trained on the city, scored as everywhere, and the processor seconds that took: PGT, PGT with the
summarizer's encoder or decoder, and the summarizer on windows, with its decoder and without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from wherenext.side_by_side import ENCODERS, Kind, encoder_step, seconds

from lab.data_sets import dataset
from lab.hybrids import Original, OriginalConfig, WithDecoder
from lab.models import preset
from lab.reports import Report
from pgt import metrics
from pgt.config import PRESETS, ModelConfig
from pgt.improvements import RecurrentEncoder
from pgt.model import PlaceModel, PointerGeneratorTransformer, cross_entropy
from pgt.summarizer import DOCUMENT, STOP, PointerGenerator, TextBatch
from pgt.train import fit

SEEDS = (42, 1, 2)
LENGTHS = (5, 10, 18, 50, 100, 200, 400)
BATCHES = (1, 16, 64)
MOST = 16 * 400  # visits of a batch; self-attention's memory grows with L²
KINDS: tuple[Kind, ...] = ("bilstm", "transformer")
TYPICAL = 18  # visits of a window, as the documents have it


def encoders() -> Iterator[dict[str, Any]]:
    """A step of training through each encoder."""
    config = ModelConfig(n_locations=100, n_users=10, dropout=0.0)
    assert set(KINDS) == set(ENCODERS)
    for batch in BATCHES:
        for length in (length for length in LENGTHS if batch * length <= MOST):
            for kind in KINDS:
                step = encoder_step(kind, length, batch, config)
                spent = seconds(step, repeats=3, at_least=0.1)
                yield {"table": "encoder", "model": kind, "batch": batch, "length": length,
                       "milliseconds": 1000 * spent}  # fmt: skip


def texts(n: int, length: int, written: int, n_words: int) -> TextBatch:
    """Random texts and summaries of one length each, without words that the vocabulary lacks."""
    noise = torch.Generator().manual_seed(0)
    source = torch.randint(STOP + 1, n_words, (n, length), generator=noise)
    summary = torch.randint(STOP + 1, n_words, (n, written), generator=noise)
    lengths = torch.full((n,), length)
    return TextBatch(source, source, lengths, summary, summary, tuple([] for _ in range(n)))


def whole_models() -> Iterator[dict[str, Any]]:
    """A step of training of each model at the documents' sizes."""
    torch.manual_seed(0)
    summarizer = PointerGenerator(DOCUMENT)
    data = dataset("city")
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    config = ModelConfig(*sizes, **PRESETS["diy"].model)
    shapes = {"article": (2, DOCUMENT.max_source, DOCUMENT.max_summary), "window": (16, TYPICAL, 1)}
    for name, (n, length, written) in shapes.items():
        batch = texts(n, length, written, DOCUMENT.n_words)
        spent = seconds(_step(summarizer, partial(_loss, summarizer, batch)), repeats=1)
        yield {"table": "model", "model": "summarizer", "variant": name, "items": n,
               "length": length, "milliseconds": 1000 * spent,
               "parameters": summarizer.n_parameters()}  # fmt: skip
    pgt = PointerGeneratorTransformer(config).train()
    typical = [k for k, size in enumerate(data.train.lengths) if size == TYPICAL][:16]
    windows = data.train.batch(typical)
    spent = seconds(
        _step(pgt, lambda: cross_entropy(pgt(windows).log_probs, windows.target).mean()),
        at_least=1.0,
    )
    yield {"table": "model", "model": "pgt", "variant": "window", "items": len(typical),
           "length": TYPICAL, "milliseconds": 1000 * spent,
           "parameters": pgt.n_parameters()}  # fmt: skip


def _loss(model: PointerGenerator, batch: TextBatch) -> torch.Tensor:
    return model.loss(batch).total


def _step(model: torch.nn.Module, loss: Callable[[], torch.Tensor]) -> Callable[[], None]:
    def step() -> None:
        model.zero_grad()
        loss().backward()

    return step


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


def trainings() -> Iterator[dict[str, Any]]:
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
                     "best_epoch": history.best_epoch, "cpu_seconds": spent}  # fmt: skip
            ranks = metrics.evaluate(model, data.test)
            for row in metrics.summarize(ranks).to_dict("records"):
                yield about | row
            print(f"{name} ({variant}), seed {seed}: {spent:.0f} s", flush=True)


def _rows() -> Iterator[dict[str, Any]]:
    yield from (*whole_models(), *encoders(), *trainings())


REPORT = Report(
    question="What do both pointer-generators cost, and what does each other's part do?",
    rows=_rows,
    data=("city",),
)
