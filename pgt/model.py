"""The Pointer-Generator Transformer.

Reads top to bottom: embeddings, encoder, pointer, generator, gate, and the model that mixes a
distribution copied from the window with one generated over the whole vocabulary:

    P(l) = g · P_pointer(l) + (1 - g) · P_generator(l)

Shapes: B windows, L visits, D = d_model, H heads, V locations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.counter_random import Dropout
from pgt.mixture import Mixture, MixtureModel
from pgt.sparse import (
    DenseLogits,
    LinearLogits,
    Logits,
    Slots,
    at_least_float32,
    log_mixture,
    scatter_log_probs,
)

RECENCIES = 8  # 1 = same day .. 8 = seven days ago and more, 0 is padding


@dataclass(frozen=True)
class Output:
    """One forward pass: the prediction and everything it was made of."""

    log_probs: Tensor  # (B, V); -inf where only a pointer is left and the place is not in sight
    gate: Tensor  # (B,) weight of the pointer, 0 to 1
    pointer_attention: Tensor  # (B, L) the pointer's weight on each visit; sums to one
    pointer_log_probs: Tensor  # (B, V)
    generator_log_probs: Tensor  # (B, V)
    self_attention: tuple[Tensor, ...] = ()  # per layer (B, H, L, L), rows attend to columns


class Embeddings(nn.Module):
    """Seven embeddings of a visit, concatenated, projected to D and normalised.

    Row 0 is padding (or a person whom training has not seen) and stays zero.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        wide, narrow = config.d_model, config.d_model // 4
        sizes = {
            "location": (config.n_locations, wide),
            "user": (config.n_users, wide),
            "time": (QUARTERS + 1, narrow),
            "weekday": (WEEKDAYS + 1, narrow),
            "recency": (RECENCIES + 1, narrow),
            "duration": (DURATIONS + 1, narrow),
            "position_from_end": (config.max_len + 1, narrow),
        }
        sizes = {name: size for name, size in sizes.items() if config.has(name)}
        self.tables = nn.ModuleDict(
            {name: nn.Embedding(*size, padding_idx=0) for name, size in sizes.items()}
        )
        self.project = nn.Linear(sum(width for _, width in sizes.values()), config.d_model)
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, batch: Batch) -> Tensor:
        """(B, L, D) one vector per visit."""
        indices = {
            "location": batch.location,
            "user": batch.user[:, None].expand_as(batch.location),
            "time": batch.time,
            "weekday": batch.weekday,
            "recency": recency(batch, self.config.target_time),
            "duration": batch.duration,
            "position_from_end": batch.position_from_end,
        }
        parts = [table(indices[name]) for name, table in self.tables.items()]
        return self.norm(self.project(torch.cat(parts, dim=-1)))  # (B, L, sum) -> (B, L, D)


def recency(batch: Batch, target_time: str) -> Tensor:
    """(B, L) 1 = the same day … 8 = seven days before and more; 0 at padding."""
    days = batch.days_ago
    if target_time == "day":
        days = days + batch.gap_days[:, None]
    return (days.clamp(0, RECENCIES - 1) + 1).masked_fill(batch.padding, 0)  # (B, L)


def sinusoids(n: int, d: int) -> Tensor:
    """(n, d) the positional encoding of Vaswani et al. (2017), §3.5: even sine, odd cosine."""
    position = torch.arange(n, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(10000.0) / d))
    angle = position * frequency  # (n, d / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


class SelfAttention(nn.Module):
    """Multi-head attention, written out: the attention that maps show is the one that is used."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.project = nn.Linear(config.d_model, 3 * config.d_model)
        self.out = nn.Linear(config.d_model, config.d_model)
        self.dropout = Dropout(config.dropout)
        nn.init.xavier_uniform_(self.project.weight)  # as nn.MultiheadAttention begins
        nn.init.zeros_(self.project.bias)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L, D) -> (B, L, D), and the weights (B, H, L, L) before dropout."""
        b, n, d = x.shape
        heads = self.project(x).view(b, n, 3, self.n_heads, d // self.n_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (B, H, L, D / H)
        scores = self.scores(query, key, padding)  # (B, H, L, L)
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        mixed = self.dropout(weights) @ value  # (B, H, L, D / H)
        return self.out(mixed.transpose(1, 2).reshape(b, n, d)), weights

    def scores(self, query: Tensor, key: Tensor, padding: Tensor) -> Tensor:
        """(B, H, L, D / H), twice -> (B, H, L, L): how well each visit's key fits each query."""
        return (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)


class EncoderLayer(nn.Module):
    """Pre-norm, as ``nn.TransformerEncoderLayer(norm_first=True, activation="gelu")``."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.d_model
        self.norm_attention = nn.LayerNorm(d)
        self.attention = SelfAttention(config)
        self.norm_feedforward = nn.LayerNorm(d)
        self.feedforward = nn.Sequential(
            nn.Linear(d, config.d_feedforward),
            nn.GELU(),
            Dropout(config.dropout),
            nn.Linear(config.d_feedforward, d),
            Dropout(config.dropout),
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L, D) -> (B, L, D), and the attention (B, H, L, L)."""
        attended, weights = self.attention(self.norm_attention(x), padding)
        x = x + self.dropout(attended)
        return x + self.feedforward(self.norm_feedforward(x)), weights


class Encoder(nn.Module):
    """Sinusoidal positions, then a stack of pre-norm layers."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList([EncoderLayer(config) for _ in range(config.n_layers)])
        positions = sinusoids(config.max_len, config.d_model) * config.has("sinusoid")
        self.register_buffer("positions", positions, persistent=False)

    def forward(
        self, x: Tensor, padding: Tensor, attention: bool = False
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(B, L, D) -> (B, L, D), and each layer's attention if it is asked for."""
        x, seen = x + self.positions[: x.shape[1]], []
        for layer in self.layers:
            x, weights = layer(x, padding)
            if attention:
                seen.append(weights)
        return x, tuple(seen)


class Pointer(nn.Module):
    """Attention from the last visit to all visits, plus a learned bias for each position.

    The bias has an entry for each position from the end; entry 0 is padding's and stays 0.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.position_bias = (
            nn.Parameter(torch.zeros(config.max_len + 1)) if config.has("position_bias") else None
        )

    def forward(self, context: Tensor, encoded: Tensor, batch: Batch) -> Tensor:
        """(B, D), (B, L, D) -> (B, L) log-weight of each visit, -inf at padding."""
        scores = at_least_float32(self.scores(context, encoded))  # (B, L)
        if self.position_bias is not None:
            scores = scores + self.position_bias[batch.position_from_end]
        return F.log_softmax(scores.masked_fill(batch.padding, -math.inf), dim=-1)

    def scores(self, context: Tensor, encoded: Tensor) -> Tensor:
        """(B, D), (B, L, D) -> (B, L): how well each visit's key fits the query."""
        query = self.query(context)[:, :, None]  # (B, D, 1)
        scores = (self.key(encoded) @ query).squeeze(-1)  # (B, L)
        return at_least_float32(scores) / math.sqrt(context.shape[-1])


class Generator(nn.Linear):
    """A score for every location of the vocabulary."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.d_model, config.n_locations)


class Gate(nn.Sequential):
    """A two-layer network: the logit of how much to trust the pointer."""

    def __init__(self, config: ModelConfig) -> None:
        d = config.d_model
        super().__init__(nn.Linear(d, d // 2), nn.GELU(), nn.Linear(d // 2, 1))


class PointerGeneratorTransformer(MixtureModel):
    """Next location = copy one of the window's, or generate one of the vocabulary's.

    Parameters
    ----------
    config : ModelConfig

    Examples
    --------
    >>> import pgt
    >>> data = pgt.prepare(pgt.load_city())
    >>> size = data.vocabulary.n_locations, data.vocabulary.n_users
    >>> model = PointerGeneratorTransformer(ModelConfig(*size)).eval()
    >>> out = model(data.test.batch([0, 1]))
    >>> bool(torch.allclose(out.log_probs.exp().sum(1), torch.ones(2), atol=1e-5))
    True
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pointer = Pointer(config) if config.has("pointer") else None
        self.generator = Generator(config) if config.has("generator") else None
        both = config.has("pointer") and config.has("generator")
        self.gate = Gate(config) if both and config.has("gate") else None

    def forward(self, batch: Batch, attention: bool = False) -> Output:
        """Predict every window of a batch; with ``attention``, write down the encoder's, too."""
        batch = batch.most_recent(self.config.max_len)
        context, log_weights, seen = self._encoded(batch, attention)
        # Half precision is for the encoder; probabilities are float32 at least.
        shape = (len(batch), self.config.n_locations)
        pointer = generator = at_least_float32(context).new_full(shape, -math.inf)
        weights = pointer.new_zeros(batch.location.shape)
        if log_weights is not None:
            weights = log_weights.exp()
            pointer = scatter_log_probs(log_weights, batch.location, shape[1])  # (B, V)
        if self.generator is not None:
            generator = F.log_softmax(at_least_float32(self.generator(context)), dim=-1)  # (B, V)

        logit = self._gate_logit(context)  # (B,)
        log_probs = pointer
        if self.generator is not None:
            log_probs = log_mixture(logit, pointer, generator)  # (B, V)
        return Output(log_probs, logit.sigmoid(), weights, pointer, generator, seen)

    def mixture(self, batch: Batch) -> Mixture:
        """Predict every window of a batch, and write down what a loss or a rank needs."""
        batch = batch.most_recent(self.config.max_len)
        context, log_weights, _ = self._encoded(batch)
        logit = self._gate_logit(context)  # (B,)
        place = batch.location.new_empty(len(batch), 0)
        pointer = logit.new_empty(len(batch), 0)
        if log_weights is not None:
            slots = Slots.of(batch.location, batch.padding)
            place, width = slots.place, slots.place.shape[1]
            pointer = scatter_log_probs(log_weights, slots.of_visit, width)  # (B, L)
        logits = logits_of(self.generator, context) if self.generator is not None else None
        return Mixture(self.config.n_locations, logit, place, pointer, logits)

    def _gate_logit(self, context: Tensor) -> Tensor:
        """(B,) +inf without a generator, -inf without a pointer, 0 if it is fixed."""
        fixed = math.inf if self.generator is None else -math.inf if self.pointer is None else 0.0
        return gate_logit(self.gate, context, fixed)

    def _encoded(
        self, batch: Batch, attention: bool = False
    ) -> tuple[Tensor, Tensor | None, tuple[Tensor, ...]]:
        """(B, D) the last visit in its context, (B, L) the pointer's log-weights, attention."""
        x = self.embeddings(batch)  # (B, L, D)
        x, seen = self.encoder(x, batch.padding, attention)  # (B, L, D)
        rows = torch.arange(len(batch), device=x.device)
        context = x[rows, batch.length - 1]  # (B, D)
        log_weights = self.pointer(context, x, batch) if self.pointer is not None else None
        return context, log_weights, seen


def gate_logit(gate: Gate | None, context: Tensor, fixed: float) -> Tensor:
    """(B,) logit of the gate, float32 at least, or where there is none a fixed number."""
    if gate is None:
        return at_least_float32(context).new_full((len(context),), fixed)
    return at_least_float32(gate(context)).squeeze(-1)  # (B, 1) -> (B,)


def logits_of(generator: nn.Module, context: Tensor, first: int = 0) -> Logits:
    """The logits of (B, D) contexts from column ``first`` on, in stretches if that can be."""
    context = at_least_float32(context)
    if type(generator) is Generator:
        return LinearLogits(context, generator.weight[first:], generator.bias[first:], first)
    return DenseLogits(at_least_float32(generator(context))[:, first:], first)
