"""The Pointer-Generator Transformer.

Reads top to bottom: embeddings, encoder, pointer, generator, gate, and the model that mixes a
distribution copied from the window with one generated over the whole vocabulary:

    P(l) = g · P_pointer(l) + (1 - g) · P_generator(l)

Shapes: B windows, L visits, D = d_model, H heads, V locations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.fast_dropout import Dropout

RECENCIES = 8  # 1 = same day .. 8 = seven days ago and more, 0 is padding
IMPOSSIBLE = math.log(1e-10)  # of the constant that the design documents add


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
        self.target_time = config.target_time
        # Where and who get D numbers each, the small facts a quarter of that.
        wide, narrow = config.d_model, config.d_model // 4
        sizes = {  # rows, columns
            "location": (config.n_locations, wide),
            "user": (config.n_users, wide),
            "time": (QUARTERS + 1, narrow),
            "weekday": (WEEKDAYS + 1, narrow),
            "recency": (RECENCIES + 1, narrow),
            "duration": (DURATIONS + 1, narrow),
            "position_from_end": (config.max_len + 1, narrow),
        }
        # An ablation leaves a table out.
        sizes = {name: size for name, size in sizes.items() if config.has(name)}
        self.tables = nn.ModuleDict(
            {name: nn.Embedding(*size, padding_idx=0) for name, size in sizes.items()}
        )
        self.project = nn.Linear(sum(width for _, width in sizes.values()), config.d_model)
        self.norm = nn.LayerNorm(config.d_model)

    def indices(self, batch: Batch) -> dict[str, Tensor]:
        """(B, L) the row of each visit in each table."""
        rows = {
            "location": batch.location,
            "user": batch.user[:, None].expand_as(batch.location),  # (B,) -> (B, L)
            "time": batch.time,
            "weekday": batch.weekday,
            "recency": recency(batch, self.target_time),
            "duration": batch.duration,
            "position_from_end": batch.position_from_end,
        }
        return {name: rows[name] for name in self.tables}

    def forward(self, batch: Batch) -> Tensor:
        """(B, L, D) one vector per visit."""
        # Look every fact up in its table, and lay the vectors of a visit side by side.
        vectors = [self.tables[name](index) for name, index in self.indices(batch).items()]
        joined = torch.cat(vectors, dim=-1)  # (B, L, 2 D + 5 D / 4)
        # Mix them into D numbers, of mean 0 and variance 1.
        return self.norm(self.project(joined))  # (B, L, D)


def recency(batch: Batch, target_time: str) -> Tensor:
    """(B, L) 1 = the same day … 8 = seven days before and more; 0 at padding."""
    days = batch.days_ago
    # The design documents count back from the target's day, and so tell the model when that is.
    if target_time == "day":
        days = days + batch.gap_days[:, None]
    return (days.clamp(0, RECENCIES - 1) + 1).masked_fill(batch.padding, 0)  # (B, L)


def sinusoids(n: int, d: int) -> Tensor:
    """(n, d) the positional encoding of Vaswani et al. (2017), §3.5: even sine, odd cosine."""
    position = torch.arange(n, dtype=torch.float64)[:, None]  # (n, 1)
    # Each pair of columns is a hand of a clock; the first turns fast, the last hardly at all.
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
        # One product makes what each visit asks, offers and says, for all heads.
        heads = self.project(x).view(b, n, 3, self.n_heads, d // self.n_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (B, H, L, D / H)
        # Compare every question with every offer; nobody may listen to padding.
        scores = self.scores(query, key, padding)  # (B, H, L, L)
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        # Each visit hears the weighted mean of what the others say.
        heard = self.dropout(weights) @ value  # (B, H, L, D / H)
        # Put the heads side by side again, and mix them.
        return self.out(heard.transpose(1, 2).reshape(b, n, d)), weights

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
        # Look at the other visits, and add what is found to what was there.
        attended, weights = self.attention(self.norm_attention(x), padding)
        x = x + self.dropout(attended)
        # Then think about it, each visit for itself.
        return x + self.feedforward(self.norm_feedforward(x)), weights


class Encoder(nn.Module):
    """Sinusoidal positions, then a stack of pre-norm layers."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList([EncoderLayer(config) for _ in range(config.n_layers)])
        positions = sinusoids(config.max_len, config.d_model) * config.has("sinusoid")
        self.register_buffer("positions", positions, persistent=False)

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(B, L, D) -> (B, L, D), and each layer's attention."""
        # Attention does not know the order of what it compares: write it into the vectors.
        x = x + self.positions[: x.shape[1]]
        attention = []
        for layer in self.layers:
            x, weights = layer(x, padding)
            attention.append(weights)
        return x, tuple(attention)


class Pointer(nn.Module):
    """Attention from the last visit to all visits, plus a learned bias for each position.

    The bias has an entry for each position from the end; entry 0 is padding's and stays 0.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.position_bias: nn.Parameter | None = None
        if config.has("position_bias"):
            self.position_bias = nn.Parameter(torch.zeros(config.max_len + 1))

    def forward(self, context: Tensor, encoded: Tensor, batch: Batch) -> Tensor:
        """(B, D), (B, L, D) -> (B, L) log-weight of each visit, -inf at padding."""
        scores = self.scores(context, encoded)  # (B, L)
        # Recent visits may count more, whatever they are.
        if self.position_bias is not None:
            scores = scores + self.position_bias[batch.position_from_end]
        return scores.masked_fill(batch.padding, -math.inf).log_softmax(-1)

    def scores(self, context: Tensor, encoded: Tensor) -> Tensor:
        """(B, D), (B, L, D) -> (B, L): how well each visit's key fits the query."""
        # The last visit asks, all visits offer an answer.
        query = self.query(context)[:, :, None]  # (B, D, 1)
        return (self.key(encoded) @ query).squeeze(-1) / math.sqrt(context.shape[-1])


class Generator(nn.Linear):
    """A score for every location of the vocabulary."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.d_model, config.n_locations)


class Gate(nn.Sequential):
    """A two-layer network: the logit of how much to trust the pointer."""

    def __init__(self, config: ModelConfig) -> None:
        d = config.d_model
        super().__init__(nn.Linear(d, d // 2), nn.GELU(), nn.Linear(d // 2, 1))


class PlaceModel(nn.Module):
    """What all networks share that score places: ``forward(batch)`` gives their ``log_probs``."""

    config: Any

    def losses(self, batch: Any, label_smoothing: float = 0.0) -> Tensor:
        """(B,) what training makes small, see `cross_entropy`."""
        return cross_entropy(self(batch).log_probs, batch.target, label_smoothing)

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """(B, V) log-probabilities, in evaluation mode; the interface that baselines share."""
        with evaluating(self):
            scores: Tensor = self(batch).log_probs
        return scores

    def n_parameters(self: nn.Module) -> int:
        """Count the trained numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


class PointerGeneratorTransformer(PlaceModel):
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

    def forward(self, batch: Batch) -> Output:
        """Predict every window of a batch, and write everything down. ::

            batch            (B, L)     L visits of each of B windows
              embeddings     (B, L, D)  a vector a visit
              encoder        (B, L, D)  each visit among the others
              last visit     (B, D)     where the person is now
            pointer          (B, L)     a weight a visit     -> (B, V) summed for each place
            generator        (B, V)     a score a place      -> (B, V) softmax
            gate             (B,)       how much to copy
            log_probs        (B, V)     log(gate · pointer + (1 - gate) · generator)

        Where one of pointer and generator is left out, the other one is the answer.
        """
        batch = batch.most_recent(self.config.max_len)
        # What was visited, each visit among the others, and what the pointer makes of it.
        context, log_weights, attention = self.encode(batch)
        # How much to copy.
        logit = self.gate_logit(context)  # (B,)
        shape = len(batch), self.config.n_locations  # (B, V)
        copied = generated = context.new_full(shape, -math.inf)
        weights = context.new_zeros(batch.location.shape)  # (B, L)
        # Copy: a place gets the weights of all its visits.
        if log_weights is not None:
            weights = log_weights.exp()
            copied = scatter_log_probs(log_weights, batch.location, shape[1])  # (B, V)
        log_probs = copied
        # Generate: every place of the vocabulary gets a score. Then mix the two by the gate.
        if self.generator is not None:
            generated = self.generator(context).log_softmax(-1)  # (B, V)
            log_probs = log_mixture(logit, copied, generated)  # (B, V)
        return Output(log_probs, logit.sigmoid(), weights, copied, generated, attention)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor | None, tuple[Tensor, ...]]:
        """(B, D) the last visit in its context, (B, L) the pointer's log-weights, attention."""
        encoded, attention = self.encoder(self.embeddings(batch), batch.padding)  # (B, L, D)
        # Windows are padded on the right: the last visit is at length - 1.
        rows = torch.arange(len(encoded), device=encoded.device)
        context = encoded[rows, batch.length - 1]  # (B, D)
        log_weights = self.pointer(context, encoded, batch) if self.pointer is not None else None
        return context, log_weights, attention

    def gate_logit(self, context: Tensor) -> Tensor:
        """(B,) +inf without a generator, -inf without a pointer, 0 where the gate is left out."""
        if self.gate is not None:
            return self.gate(context).squeeze(-1)  # (B, 1) -> (B,)
        fixed = math.inf if self.generator is None else -math.inf if self.pointer is None else 0.0
        return context.new_full((len(context),), fixed)


def scatter_log_probs(log_weights: Tensor, location: Tensor, n_locations: int) -> Tensor:
    """(B, L) log-weights of visits -> (B, V) log Σ of each location's, -inf for those not seen."""
    shape = (len(location), n_locations)
    # As in log-sum-exp, the largest of each location is taken out first: a weight of e^-200 keeps
    # its logarithm and its gradient.
    peak = log_weights.new_full(shape, -math.inf)
    peak = peak.scatter_reduce(1, location, log_weights.detach(), "amax")  # (B, V)
    seen = peak > -math.inf
    peak = peak.masked_fill(~seen, 0.0)
    relative = (log_weights - peak.gather(1, location)).exp()  # (B, L) in 0..1, 0 at padding
    total = torch.zeros_like(peak).scatter_add(1, location, relative)  # (B, V) at least 1 if seen
    return (total.masked_fill(~seen, 1.0).log() + peak).masked_fill(~seen, -math.inf)


def log_mixture(gate_logit: Tensor, pointer: Tensor, generator: Tensor) -> Tensor:
    """(B, V) log(g · exp(pointer) + (1 - g) · exp(generator)) with g = sigmoid(gate_logit)."""
    copied = F.logsigmoid(gate_logit)[:, None] + pointer  # (B, V)
    generated = F.logsigmoid(-gate_logit)[:, None] + generator
    return torch.logaddexp(copied, generated)


# (B, V) log-probabilities, (B,) targets, label smoothing -> (B,) losses.
Loss = Callable[[Tensor, Tensor, float], Tensor]


def cross_entropy(log_probs: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """(B, V), (B,) -> (B,) cross-entropy in nats with label smoothing (Szegedy et al. 2016).

    Smoothing is over the places that the model can name: those that are not -inf.
    """
    named = log_probs > -math.inf
    log_probs = log_probs.masked_fill(~named, IMPOSSIBLE)
    own = log_probs.gather(1, target[:, None]).squeeze(1)  # (B,)
    if label_smoothing == 0:
        return -own
    every = log_probs.where(named, 0.0).sum(1) / named.sum(1)
    return -(1 - label_smoothing) * own - label_smoothing * every


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout off, and leave the model as it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
