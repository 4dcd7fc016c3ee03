"""Neural baselines as others publish them: an LSTM, and multi-head self-attention (MHSA).

Both read a window's visits and answer with one softmax over the vocabulary: nothing is copied. The
shape is that of Hong et al. (2023), "Context-aware multi-head self-attentional neural network
model for next location prediction" (https://arxiv.org/abs/2212.01953) and of the code published
with it (https://github.com/mie-lab/location-prediction); their LSTM replaces the encoder and keeps
the rest. They know nothing of the target: every input is of a visit in the window, and of whose
window it is.

Shapes: B windows, L visits, D = width of the embeddings, E = width of the encoder's output
(D for self-attention, the hidden size for the LSTM), V locations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.batch import DURATIONS, QUARTERS, WEEKDAYS, Batch
from pgt.fast_dropout import Dropout
from pgt.model import PlaceModel, sinusoids

KINDS = ("lstm", "mhsa")
# The sizes that the authors publish for GeoLife: of self-attention in the repository above
# (config/geolife/transformer.yml), of the LSTM in that of their earlier study
# (https://github.com/mie-lab/location-mode-prediction, config/geolife/lstm.yml).
PUBLISHED: dict[str, dict[str, Any]] = {
    "mhsa": {"d_model": 32, "n_heads": 8, "n_layers": 2, "d_feedforward": 128},
    "lstm": {"d_model": 32, "n_layers": 1, "d_feedforward": 128},
}


@dataclass(frozen=True)
class NeuralConfig:
    """Everything that shapes a neural baseline."""

    kind: Literal["lstm", "mhsa"]
    n_locations: int
    n_users: int
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    d_feedforward: int = 128
    dropout: float = 0.1
    head_dropout: float = 0.2
    max_len: int = 150


@dataclass(frozen=True)
class Prediction:
    """What a model without a pointer says: (B, V) log P(location)."""

    log_probs: Tensor


class VisitEmbeddings(nn.Module):
    """The sum of five embeddings of a visit, all D wide.

    Location, hour of the day, quarter of that hour, weekday, and duration in half hours. Index 0
    is padding and embeds to zero where the batch has it.
    """

    def __init__(self, config: NeuralConfig) -> None:
        super().__init__()
        rows = {
            "location": config.n_locations,
            "hour": QUARTERS // 4 + 1,
            "quarter": 4 + 1,
            "weekday": WEEKDAYS + 1,
            "duration": DURATIONS + 1,
        }
        self.tables = nn.ModuleDict(
            {name: nn.Embedding(n, config.d_model, padding_idx=0) for name, n in rows.items()}
        )

    def forward(self, batch: Batch) -> Tensor:
        """(B, L, D) one vector per visit."""
        before = batch.time - 1  # -1 at padding
        indices = {
            "location": batch.location,
            "hour": before.div(4, rounding_mode="floor") + 1,  # 1..24, and 0 at padding
            "quarter": (before % 4 + 1).masked_fill(before < 0, 0),  # 1..4, and 0 at padding
            "weekday": batch.weekday,
            "duration": batch.duration,
        }
        parts = [table(indices[name]) for name, table in self.tables.items()]
        return torch.stack(parts).sum(0)  # 5 × (B, L, D) -> (B, L, D)


class Head(nn.Module):
    """From the last visit's vector and the person to a score for every location.

    The person's embedding is added, then comes a residual block with batch normalisation, then one
    linear layer.
    """

    def __init__(self, config: NeuralConfig, width: int) -> None:
        super().__init__()
        self.user = nn.Embedding(config.n_users, width, padding_idx=0)
        self.dropout = Dropout(config.dropout)
        self.residual = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.ReLU(),
            Dropout(config.head_dropout),
            nn.Linear(2 * width, width),
            Dropout(config.head_dropout),
        )
        self.norm = BatchNorm(width)
        self.out = nn.Linear(width, config.n_locations)

    def forward(self, context: Tensor, user: Tensor) -> Tensor:
        """(B, E), (B,) -> (B, V)."""
        x = self.dropout(context + self.user(user))  # (B, E)
        x = self.norm(x + self.residual(x))  # (B, E)
        scores: Tensor = self.out(x)  # (B, E) -> (B, V)
        return scores


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation that survives a last batch of one window, which has no variance.

    In training, such a batch is normalised by the running statistics.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(B, E) -> (B, E)."""
        if self.training and len(x) == 1:
            return F.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(x)


class Recurrent(nn.Module):
    """Dropout, then an LSTM; started as the authors' earlier study does."""

    def __init__(self, config: NeuralConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.lstm = nn.LSTM(
            config.d_model, config.d_feedforward, config.n_layers, batch_first=True,
            dropout=config.dropout if config.n_layers > 1 else 0.0,
        )  # fmt: skip
        for name, values in self.lstm.named_parameters():
            if "weight_ih" in name:
                nn.init.xavier_uniform_(values)
            elif "weight_hh" in name:
                nn.init.orthogonal_(values)
            else:
                nn.init.zeros_(values)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, E)."""
        states: Tensor = self.lstm(self.dropout(x))[0]
        return states


class CausalAttention(nn.Module):
    """Sinusoidal positions, then post-norm Transformer layers that look back only, then a norm."""

    positions: Tensor

    def __init__(self, config: NeuralConfig) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)
        layer = nn.TransformerEncoderLayer(
            config.d_model, config.n_heads, config.d_feedforward, config.dropout,
            activation="gelu", batch_first=True,
        )  # fmt: skip
        self.layers = nn.TransformerEncoder(
            layer, config.n_layers, nn.LayerNorm(config.d_model), enable_nested_tensor=False
        )
        self.register_buffer(
            "positions", sinusoids(config.max_len, config.d_model), persistent=False
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        n = x.shape[1]
        x = self.dropout(x * self.scale + self.positions[:n])
        ahead = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)  # (L, L)
        out: Tensor = self.layers(x, mask=ahead, is_causal=True)
        return out


class NeuralBaseline(PlaceModel):
    """What the two have in common: embeddings, an encoder, and the last visit's way to the head.

    An encoder must not look ahead: visit i's vector is made of visits 1 … i. With padding on the
    right the last visit then never sees any, and no mask for it is needed.
    """

    def __init__(self, config: NeuralConfig, encoder: nn.Module, width: int) -> None:
        super().__init__()
        self.config = config
        self.embeddings = VisitEmbeddings(config)
        self.encoder = encoder
        self.head = Head(config, width)

    def encode(self, batch: Batch) -> Tensor:
        """(B, L, E) one vector per visit, made of it and of those before it."""
        encoded: Tensor = self.encoder(self.embeddings(batch))
        return encoded

    def forward(self, batch: Batch) -> Prediction:
        """Predict every window of a batch; each has at least one visit."""
        batch = batch.most_recent(self.config.max_len)
        rows = torch.arange(len(batch), device=batch.length.device)
        context = self.encode(batch)[rows, batch.length - 1]  # (B, E) the last visit
        scores = self.head(context, batch.user)  # (B, V)
        return Prediction(F.log_softmax(scores, dim=-1))


class LSTMBaseline(NeuralBaseline):
    """Embeddings, LSTM, head."""

    def __init__(self, config: NeuralConfig) -> None:
        super().__init__(config, Recurrent(config), config.d_feedforward)


class MHSABaseline(NeuralBaseline):
    """Embeddings, causal self-attention, head; all matrices start as Xavier's."""

    def __init__(self, config: NeuralConfig) -> None:
        super().__init__(config, CausalAttention(config), config.d_model)
        for values in self.parameters():
            if values.dim() > 1:
                nn.init.xavier_uniform_(values)
        with torch.no_grad():
            for part in self.modules():
                if isinstance(part, nn.Embedding):
                    part.weight[0] = 0  # padding stays nothing


def neural(config: NeuralConfig) -> NeuralBaseline:
    """The model that a configuration describes."""
    return LSTMBaseline(config) if config.kind == "lstm" else MHSABaseline(config)
