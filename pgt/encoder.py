"""The Transformer encoder: sinusoidal positions and a stack of pre-norm layers.

Shapes: B windows, L visits, D = d_model, H heads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from pgt.config import ModelConfig
from pgt.counter_random import Dropout


def sinusoids(n: int, d: int) -> Tensor:
    """(n, d) the positional encoding of Vaswani et al. (2017), §3.5: even sine, odd cosine."""
    position = torch.arange(n, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(10000.0) / d))
    angle = position * frequency  # (n, d / 2)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (n, d)
    return table.to(torch.get_default_dtype())


class SelfAttention(nn.Module):
    """Multi-head attention, as ``nn.MultiheadAttention`` (Vaswani et al. 2017, §3.2).

    Written out: one path serves training, prediction and maps, so what is shown is what is used.
    """

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
        scores = (query / math.sqrt(d // self.n_heads)) @ key.transpose(-2, -1)  # (B, H, L, L)
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        mixed = self.dropout(weights) @ value  # (B, H, L, D / H)
        return self.out(mixed.transpose(1, 2).reshape(b, n, d)), weights


class EncoderLayer(nn.Module):
    """Pre-norm Transformer layer: x + attention(norm(x)), then x + feedforward(norm(x)).

    The same function as ``nn.TransformerEncoderLayer(norm_first=True, activation="gelu")``.
    """

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
            x, attention = layer(x, padding)
            if weights:
                seen.append(attention)
        return x, tuple(seen)
