"""Training a summarizer as See et al. (2017) did: first without coverage, then a little with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Literal

import numpy as np
import pandas as pd
import torch

from pgt.relatives.summarizer.model import PointerGenerator, SummarizerConfig
from pgt.relatives.summarizer.words import Pair, TextBatch, Words, text_batch


@dataclass(frozen=True)
class SummarizerTraining:
    """How a summarizer is trained.

    Parameters
    ----------
    steps : int
        Batches without coverage.
    coverage_steps : int
        Batches with coverage after them; 0 for none.
    batch : int
        Texts in a batch.
    optimizer : {"adam", "adagrad"}
        The paper has Adagrad with a learning rate of 0.15 and accumulators that start at 0.1.
    learning_rate : float
    clip : float
        The largest norm of a gradient.
    seed : int
        Of the first weights and of the order of the texts.
    """

    steps: int = 400
    coverage_steps: int = 120
    batch: int = 16
    optimizer: Literal["adam", "adagrad"] = "adam"
    learning_rate: float = 0.005
    clip: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 0 or self.coverage_steps < 0 or self.batch < 1:
            raise ValueError("steps and coverage_steps must not be negative, batch at least 1.")
        if self.optimizer not in ("adam", "adagrad"):
            raise ValueError(f"optimizer is {self.optimizer!r}; it must be 'adam' or 'adagrad'.")


def batches(
    pairs: Sequence[Pair], words: Words, config: SummarizerConfig, size: int, seed: int
) -> list[TextBatch]:
    """One epoch in random order.

    Batches hold texts of one length, so that nothing has to be padded; what is left over of each
    length makes the last batches.
    """
    rng = np.random.default_rng(seed)
    by_length: dict[int, list[int]] = {}
    for k in rng.permutation(len(pairs)).tolist():
        by_length.setdefault(len(pairs[k][0]), []).append(k)
    cut, rest = [], list[int]()
    for length in sorted(by_length):
        same = by_length[length]
        whole = len(same) - len(same) % size
        cut += [same[at : at + size] for at in range(0, whole, size)]
        rest += same[whole:]
    cut += [rest[at : at + size] for at in range(0, len(rest), size)]
    return [
        text_batch([pairs[k] for k in cut[at]], words, config.max_source, config.max_summary)
        for at in rng.permutation(len(cut))
    ]


def stream(
    pairs: Sequence[Pair], words: Words, config: SummarizerConfig, training: SummarizerTraining
) -> Iterator[TextBatch]:
    """Batches without end, epoch after epoch."""
    for epoch in count():
        yield from batches(pairs, words, config, training.batch, training.seed * 1000 + epoch)


def fit_summarizer(
    config: SummarizerConfig, training: SummarizerTraining, words: Words, pairs: Sequence[Pair]
) -> tuple[PointerGenerator, pd.DataFrame]:
    """Train a summarizer.

    Parameters
    ----------
    config : SummarizerConfig
        Its ``coverage`` is what the result shall have; training begins without.
    training : SummarizerTraining
    words : Words
        The vocabulary; ``config.n_words`` is its size.
    pairs : sequence of (source, summary)
        To learn from.

    Returns
    -------
    model : PointerGenerator
        In evaluation mode.
    history : DataFrame
        One row a step: ``words`` (nats a word), ``coverage`` (attention paid again, a word),
        ``p_gen`` (its mean), ``gradient`` (norm before clipping), ``phase``.
    """
    model = new_summarizer(config, training, words)
    source = stream(pairs, words, config, training)
    history = train(model, source, training.steps, training).assign(phase="without coverage")
    if config.coverage:
        model = model.with_coverage()
        more = train(model, source, training.coverage_steps, training)
        history = pd.concat([history, more.assign(phase="with coverage")], ignore_index=True)
    return model.eval(), history


def new_summarizer(
    config: SummarizerConfig, training: SummarizerTraining, words: Words
) -> PointerGenerator:
    """An untrained one, without coverage yet."""
    if config.n_words != len(words):
        raise ValueError(f"n_words is {config.n_words}, but there are {len(words)} words.")
    torch.manual_seed(training.seed)
    return PointerGenerator(replace(config, coverage=False))


def train(
    model: PointerGenerator, source: Iterator[TextBatch], steps: int, training: SummarizerTraining
) -> pd.DataFrame:
    """Learn from some batches, with a fresh optimizer; one row a step, see `fit_summarizer`."""
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer: torch.optim.Optimizer
    if training.optimizer == "adam":
        optimizer = torch.optim.Adam(learned, lr=training.learning_rate)
    else:
        optimizer = torch.optim.Adagrad(
            learned, lr=training.learning_rate, initial_accumulator_value=0.1
        )
    model.train()
    rows = []
    for batch in islice(source, steps):
        loss = model.loss(batch)
        optimizer.zero_grad()
        loss.total.backward()
        norm = torch.nn.utils.clip_grad_norm_(learned, training.clip)
        optimizer.step()
        rows.append(
            {
                "words": loss.words.item(),
                "coverage": loss.coverage.item(),
                "p_gen": loss.p_gen.item(),
                "gradient": norm.item(),
            }
        )
    return pd.DataFrame(rows)
