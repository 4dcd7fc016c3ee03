"""The Pointer-Generator Transformer.

Reads top to bottom: embeddings, (`pgt.encoder`), pointer, generator, gate, and the model that
mixes a distribution copied from the window with one generated over the whole vocabulary:

    P(l) = g · P_pointer(l) + (1 - g) · P_generator(l)

Shapes: B windows, L visits, D = d_model, H heads, V locations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.config import ModelConfig
from pgt.encoder import Encoder
from pgt.mixture import log_mixture, scatter_log_probs

RECENCIES = 8  # 1 = same day .. 8 = seven days ago and more, 0 is padding


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


class PointerGeneratorTransformer(nn.Module):
    """Next location = copy one of the window's, or generate one of the vocabulary's.

    Parameters
    ----------
    config : ModelConfig

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


class HasLogProbs(Protocol):
    """What a network returns: at least (B, V) log-probabilities."""

    @property
    def log_probs(self) -> Tensor: ...


class NetworkConfig(Protocol):
    """What a network's configuration tells of itself."""

    @property
    def max_len(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...


class Network(Protocol):
    """What `pgt.train.fit` trains and a checkpoint holds: PGT, or a rival of it.

    A ``torch.nn.Module`` with a configuration, that gives log-probabilities for a batch.
    """

    @property
    def config(self) -> NetworkConfig: ...
    def __call__(self, batch: Batch, /) -> HasLogProbs: ...
    def scores(self, batch: Batch) -> Tensor: ...
    def n_parameters(self) -> int: ...
    def to(self, device: Any, /) -> Any: ...
    def train(self, mode: bool = True) -> Any: ...
    def eval(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> Any: ...
    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...
