"""The Pointer-Generator Transformer.

Reads top to bottom: embeddings, (`pgt.encoder`), pointer, generator, gate, and the model that
mixes a distribution copied from the window with one generated over the whole vocabulary:

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
from pgt.encoder import Encoder
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
    """Seven embeddings, concatenated, projected to D and normalised.

    Location and user have D dimensions, the five others D / 4 each. Index 0 is padding in every
    table (and, for users, a person whom training has not seen) and embeds to zero.
    Source: design documents, model architecture §2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        wide, narrow = config.d_model, config.d_model // 4
        tables = {
            "location": (config.n_locations, wide),
            "user": (config.n_users, wide),
            "time": (QUARTERS + 1, narrow),
            "weekday": (WEEKDAYS + 1, narrow),
            "recency": (RECENCIES + 1, narrow),
            "duration": (DURATIONS + 1, narrow),
            "position_from_end": (config.max_len + 1, narrow),
        }
        self.tables = nn.ModuleDict(
            {
                name: nn.Embedding(rows, width, padding_idx=0)
                for name, (rows, width) in tables.items()
                if config.has(name)
            }
        )
        total = sum(width for name, (_, width) in tables.items() if config.has(name))
        self.project = nn.Linear(total, config.d_model)
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


class Pointer(nn.Module):
    """Scaled dot-product attention from the last visit to all visits, plus a position bias.

    Source: design documents, model architecture §5. The bias has one entry per position from the
    end, 1 … max_len; entry 0 belongs to padding and stays 0.
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
        query = self.query(context)[:, :, None]  # (B, D, 1)
        scores = (self.key(encoded) @ query).squeeze(-1)  # (B, L)
        scores = at_least_float32(scores) / math.sqrt(context.shape[-1])
        if self.position_bias is not None:
            scores = scores + self.position_bias[batch.position_from_end]
        return F.log_softmax(scores.masked_fill(batch.padding, -math.inf), dim=-1)


class Generator(nn.Linear):
    """A score for every location of the vocabulary (design documents, §6)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.d_model, config.n_locations)


class Gate(nn.Sequential):
    """A two-layer network: the logit of how much to trust the pointer (design documents, §7)."""

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
        """Predict every window of a batch, each of at least one visit, and write everything down.

        With ``attention``, that includes the encoder's attention weights.
        """
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
        if self.pointer is None:
            log_probs = generator
        elif self.generator is None:
            log_probs = pointer
        else:
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

    def _gate_logit(self, context: Tensor) -> Tensor:
        """(B,) logit of the gate: +inf without a generator, -inf without a pointer, 0 if fixed."""
        if self.gate is not None:
            return at_least_float32(self.gate(context)).squeeze(-1)  # (B, 1) -> (B,)
        fixed = math.inf if self.generator is None else -math.inf if self.pointer is None else 0.0
        return at_least_float32(context).new_full((len(context),), fixed)


def logits_of(generator: nn.Module, context: Tensor, first: int = 0) -> Logits:
    """The logits of (B, D) contexts from column ``first`` on, in stretches if that can be."""
    context = at_least_float32(context)
    if type(generator) is Generator:
        return LinearLogits(context, generator.weight[first:], generator.bias[first:], first)
    return DenseLogits(at_least_float32(generator(context))[:, first:], first)
