"""The two pointer-generators with each other's parts, on windows of visits.

`Original` is the summarizer of See et al. (2017) whose words are places and whose summaries have
one word, the next place; with its decoder or without. `WithDecoder` is PGT with the summarizer's
decoder between its encoder and its pointer. Both are trained by `pgt.train.fit`.

Shapes: B windows, L visits, E = width of the embeddings, H = hidden size, D = d_model, V locations.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from wherenext.relatives.summarizer import AdditiveAttention, Decoder, Encoder, ReduceState, mixture

from lab.lstm_mhsa import Prediction
from pgt.batch import Batch
from pgt.config import ModelConfig
from pgt.model import PlaceModel, PointerGeneratorTransformer


@dataclass(frozen=True)
class OriginalConfig:
    """What shapes an `Original`."""

    n_locations: int
    embedding: int = 64
    hidden: int = 64
    decoder: bool = True
    max_len: int = 150


class Original(PlaceModel):
    """Reads places as a text, and writes the next place as a summary of one word.

    It sees places in order and nothing else: no person, no time, no duration.
    """

    def __init__(self, config: OriginalConfig) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.embedding, config.hidden
        self.embedding = nn.Embedding(config.n_locations, width)
        self.encoder = Encoder(width, hidden)
        self.reduce = ReduceState(hidden)
        self.decoder = Decoder(width, hidden) if config.decoder else None
        self.start = nn.Parameter(torch.zeros(width)) if config.decoder else None
        self.attention = None if config.decoder else AdditiveAttention(2 * hidden, 2 * hidden)
        self.gate = nn.Linear(4 * hidden + (width if config.decoder else 0), 1)
        self.project = nn.Linear(3 * hidden, hidden)
        self.generate = nn.Linear(hidden, config.n_locations)

    def forward(self, batch: Batch) -> Prediction:
        """(B, V) log-probabilities of the next place."""
        batch = batch.most_recent(self.config.max_len)
        states, last = self.encoder(self.embedding(batch.location), batch.length)  # (B, L, 2H)
        h, c = self.reduce(*last)  # (B, H) each
        if self.decoder is not None and self.start is not None:
            memory, begin = self.decoder.start(states, batch.padding, h, c)
            word = self.start.expand(len(batch), -1)  # (B, E) "begin"
            carried, fused, attention = self.decoder(word, begin, memory)
            h, c, context = carried.h, carried.c, carried.context
            evidence = torch.cat([context, c, h, fused], dim=-1)
        else:
            assert self.attention is not None
            state, features = torch.cat([c, h], dim=-1), self.attention.of_memory(states)
            context, attention = self.attention(state, states, features, batch.padding)
            evidence = torch.cat([context, c, h], dim=-1)
        p_gen = self.gate(evidence).sigmoid()[..., 0]  # (B,)
        words = self.generate(self.project(torch.cat([h, context], dim=-1))).softmax(-1)  # (B, V)
        mixed = mixture(p_gen, words, attention, batch.location, 0)
        return Prediction(mixed.clamp_min(torch.finfo(mixed.dtype).tiny).log())


class WithDecoder(PointerGeneratorTransformer):
    """PGT with one step of the summarizer's decoder after its encoder.

    The encoded last visit starts an LSTM, whose input is a learned "begin"; it attends to all
    visits and makes the vector that asks the pointer, the generator and the gate.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        if self.pointer is None or self.generator is None or self.gate is None:
            raise ValueError("A decoder needs the whole model; leave pointer, generator and gate.")
        d = config.d_model
        self.reduce = ReduceState(d // 2)
        self.decoder = Decoder(d, d // 2)
        self.start = nn.Parameter(torch.zeros(d))
        self.project = nn.Linear(d // 2 + d, d)

    def decoded(self, encoded: Tensor, last: Tensor, padding: Tensor) -> Tensor:
        """(B, L, D), (B, D), (B, L) -> (B, D) what the decoder makes of the window."""
        h, c = self.reduce(last, last)  # (B, D / 2) each
        memory, begin = self.decoder.start(encoded, padding, h, c)
        carried, _, _ = self.decoder(self.start.expand(len(last), -1), begin, memory)
        return self.project(torch.cat([carried.h, carried.context], dim=-1))

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor | None, tuple[Tensor, ...]]:
        """(B, D) what the decoder asks with, (B, L) the pointer's log-weights, attention."""
        assert self.pointer is not None
        x, seen = self.encoder(self.embeddings(batch), batch.padding)  # (B, L, D)
        rows = torch.arange(len(batch), device=x.device)
        context = self.decoded(x, x[rows, batch.length - 1], batch.padding)  # (B, D)
        return context, self.pointer(context, x, batch), seen
