"""The Pointer-Generator Transformer.

Reads top to bottom: configuration, embeddings, encoder, pointer, generator, gate, and the model
that mixes a distribution copied from the window with one generated over the whole vocabulary:

    P(l) = g · P_pointer(l) + (1 - g) · P_generator(l)

Shapes: B windows, L visits, D = d_model, H heads, V locations.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.mixture import log_mixture, scatter_log_probs
from pgt.windows import DURATIONS, QUARTERS, WEEKDAYS, Batch

RECENCIES = 8  # 1 = same day .. 8 = seven days ago and more, 0 is padding

PARTS = (
    "user", "time", "weekday", "recency", "duration", "position_from_end",  # embeddings
    "sinusoid", "position_bias", "pointer", "generator", "gate",
)  # fmt: skip


@dataclass(frozen=True)
class ModelConfig:
    """Everything that shapes the model.

    Parameters
    ----------
    n_locations, n_users : int
        Vocabulary sizes with their special ids (`Vocabulary.n_locations`, ``n_users``).
    d_model, n_heads, n_layers, d_feedforward, dropout
        As in PyTorch's ``TransformerEncoderLayer``.
    max_len : int
        The most visits the model looks at; of longer windows it keeps the most recent ones.
    when : {"unknown", "day"}
        What the model is told of the target's time: nothing (recency counts back from the last
        visit), or its day (recency counts back from the target's day, as the design documents
        have it).
    without : tuple of str
        Parts to remove, of `PARTS`. Without an embedding its columns are gone; without the gate
        the mixture is half and half; without the pointer or the generator the other one is the
        model.

    Examples
    --------
    >>> ModelConfig(n_locations=100, n_users=10, without=("gate",)).without
    ('gate',)
    """

    n_locations: int
    n_users: int
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    d_feedforward: int = 128
    dropout: float = 0.15
    max_len: int = 150
    when: Literal["unknown", "day"] = "unknown"
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.without) - set(PARTS)
        if unknown:
            raise ValueError(f"without names {min(unknown)!r}; it can name {', '.join(PARTS)}.")
        if {"pointer", "generator"} <= set(self.without):
            raise ValueError("Without pointer and generator nothing is left to predict with.")
        if self.d_model % self.n_heads or self.d_model % 4:
            raise ValueError(
                f"d_model={self.d_model} must be divisible by n_heads={self.n_heads} and by 4."
            )
        if self.when not in ("unknown", "day"):
            raise ValueError(f"when is {self.when!r}; it must be 'unknown' or 'day'.")
        for name in ("n_locations", "n_users", "d_model", "n_heads", "n_layers", "max_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")

    def has(self, part: str) -> bool:
        """Whether a part is there."""
        return part not in self.without

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> ModelConfig:
        """Read what `to_dict` wrote."""
        return cls(**{**raw, "without": tuple(raw["without"])})


# The two configurations of the design documents; sizes of the vocabulary are the data's.
DIY: dict[str, Any] = {
    "d_model": 64, "n_heads": 4, "n_layers": 2, "d_feedforward": 256, "dropout": 0.2, "when": "day",
}  # fmt: skip
GEOLIFE: dict[str, Any] = {
    "d_model": 96, "n_heads": 2, "n_layers": 2, "d_feedforward": 192, "dropout": 0.25,
    "when": "day",
}  # fmt: skip

# The twelve rows of the documents' ablation table, each one field of the configuration.
ABLATIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "no_user": {"without": ("user",)},
    "no_time": {"without": ("time",)},
    "no_weekday": {"without": ("weekday",)},
    "no_recency": {"without": ("recency",)},
    "no_duration": {"without": ("duration",)},
    "no_position_from_end": {"without": ("position_from_end",)},
    "no_sinusoid": {"without": ("sinusoid",)},
    "one_layer": {"n_layers": 1},
    "no_pointer": {"without": ("pointer",)},
    "no_generator": {"without": ("generator",)},
    "no_gate": {"without": ("gate",)},
}


@dataclass(frozen=True)
class Output:
    """One forward pass: the prediction and everything it was made of.

    Attributes
    ----------
    log_probs : Tensor
        (B, V) log P(location); -inf where only a pointer is left and the place is not in sight.
    gate : Tensor
        (B,) weight of the pointer, 0 to 1.
    pointer_attention : Tensor
        (B, L) the pointer's weight on each visit; sums to one, 0 at padding.
    pointer_log_probs, generator_log_probs : Tensor
        (B, V) the two distributions that are mixed; log 0 = -inf.
    self_attention : tuple of Tensor
        Per layer (B, H, L, L), rows attend to columns; empty unless asked for.
    """

    log_probs: Tensor
    gate: Tensor
    pointer_attention: Tensor
    pointer_log_probs: Tensor
    generator_log_probs: Tensor
    self_attention: tuple[Tensor, ...] = ()


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
            "recency": recency(batch, self.config.when),
            "duration": batch.duration,
            "position_from_end": batch.position_from_end,
        }
        parts = [table(indices[name]) for name, table in self.tables.items()]
        return self.norm(self.project(torch.cat(parts, dim=-1)))  # (B, L, sum) -> (B, L, D)


def recency(batch: Batch, when: str) -> Tensor:
    """(B, L) 1 = the same day … 8 = seven days before and more; 0 at padding."""
    days = batch.days_ago
    if when == "day":
        days = days + batch.gap_days[:, None]
    return (days.clamp(0, RECENCIES - 1) + 1).masked_fill(batch.padding, 0)  # (B, L)


def sinusoids(n: int, d: int) -> Tensor:
    """(n, d) the positional encoding of Vaswani et al. (2017), §3.5: even sine, odd cosine."""
    position = torch.arange(n, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(10000.0) / d))
    angle = position * frequency  # (n, d / 2)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (n, d)
    return table.to(torch.get_default_dtype())


class EncoderLayer(nn.Module):
    """Pre-norm Transformer layer: x + attention(norm(x)), then x + feedforward(norm(x)).

    The same function as ``nn.TransformerEncoderLayer(norm_first=True, activation="gelu")``, and
    it gives the attention weights of the very same pass when asked.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.d_model
        self.norm_attention = nn.LayerNorm(d)
        self.attention = nn.MultiheadAttention(d, config.n_heads, config.dropout, batch_first=True)
        self.norm_feedforward = nn.LayerNorm(d)
        self.feedforward = nn.Sequential(
            nn.Linear(d, config.d_feedforward),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.d_feedforward, d),
            nn.Dropout(config.dropout),
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, padding: Tensor, weights: bool) -> tuple[Tensor, Tensor | None]:
        """(B, L, D) -> (B, L, D), and (B, H, L, L) attention when ``weights``."""
        h = self.norm_attention(x)
        h, attention = self.attention(
            h, h, h, key_padding_mask=padding, need_weights=weights, average_attn_weights=False
        )
        x = x + self.dropout(h)
        return x + self.feedforward(self.norm_feedforward(x)), attention


class Encoder(nn.Module):
    """Sinusoidal positions, then a stack of pre-norm layers."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList([EncoderLayer(config) for _ in range(config.n_layers)])
        self.register_buffer(
            "positions", sinusoids(config.max_len, config.d_model), persistent=False
        )

    def forward(
        self, x: Tensor, padding: Tensor, weights: bool = False
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(B, L, D) -> (B, L, D), and the attention per layer when ``weights``."""
        if self.config.has("sinusoid"):
            x = x + self.positions[: x.shape[1]]
        seen = []
        for layer in self.layers:
            x, attention = layer(x, padding, weights)
            if attention is not None:
                seen.append(attention)
        return x, tuple(seen)


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


class PointerGeneratorTransformer(nn.Module):
    """Next location = copy one of the window's, or generate one of the vocabulary's.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> data = pgt.windows.prepare(pgt.city.load().visits)
    >>> size = {"n_locations": data.vocabulary.n_locations, "n_users": data.vocabulary.n_users}
    >>> model = PointerGeneratorTransformer(ModelConfig(**size)).eval()
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
        """Predict every window of a batch.

        Parameters
        ----------
        batch : Batch
            Every window has at least one visit.
        attention : bool
            Also return the encoder's attention weights.
        """
        batch = batch.most_recent(self.config.max_len)
        x = self.embeddings(batch)  # (B, L, D)
        x, self_attention = self.encoder(x, batch.padding, attention)  # (B, L, D)
        rows = torch.arange(len(batch), device=x.device)
        context = x[rows, batch.length - 1]  # (B, D) the last visit

        # Half precision is for the encoder; probabilities are float32 at least.
        shape = (len(batch), self.config.n_locations)
        pointer = generator = at_least_float32(context).new_full(shape, -math.inf)
        weights = pointer.new_zeros(batch.location.shape)
        if self.pointer is not None:
            log_weights = self.pointer(context, x, batch)  # (B, L)
            weights = log_weights.exp()
            pointer = scatter_log_probs(log_weights, batch.location, shape[1])  # (B, V)
        if self.generator is not None:
            generator = F.log_softmax(at_least_float32(self.generator(context)), dim=-1)  # (B, V)

        logit = self._gate_logit(context)  # (B,)
        gate = torch.sigmoid(logit)
        if self.pointer is None:
            log_probs = generator
        elif self.generator is None:
            log_probs = pointer
        else:
            log_probs = log_mixture(logit, pointer, generator)  # (B, V)
        return Output(log_probs, gate, weights, pointer, generator, self_attention)

    def _gate_logit(self, context: Tensor) -> Tensor:
        """(B,) logit of the gate: +inf without a generator, -inf without a pointer, 0 if fixed."""
        if self.gate is not None:
            return at_least_float32(self.gate(context)).squeeze(-1)  # (B, 1) -> (B,)
        fixed = math.inf if self.generator is None else -math.inf if self.pointer is None else 0.0
        return at_least_float32(context).new_full((len(context),), fixed)

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """(B, V) log-probabilities, in evaluation mode; the interface that baselines share."""
        was_training = self.training
        self.eval()
        try:
            return self(batch).log_probs
        finally:
            self.train(was_training)

    def n_parameters(self) -> int:
        """Count the trained numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


def at_least_float32(x: Tensor) -> Tensor:
    """Widen half precision, leave the rest."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def ablate(config: ModelConfig, name: str) -> ModelConfig:
    """The configuration with one row of `ABLATIONS` applied."""
    if name not in ABLATIONS:
        raise ValueError(f"There is no ablation {name!r}; choose of {', '.join(ABLATIONS)}.")
    return replace(config, **ABLATIONS[name])
