"""The Transformer encoder: sinusoidal positions and a stack of pre-norm layers.

Shapes: B windows, L visits, D = d_model, H heads.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.config import ModelConfig


def sinusoids(n: int, d: int) -> Tensor:
    """(n, d) the positional encoding of Vaswani et al. (2017), §3.5: even sine, odd cosine."""
    position = torch.arange(n, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(10000.0) / d))
    angle = position * frequency  # (n, d / 2)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (n, d)
    return table.to(torch.get_default_dtype())


class SelfAttention(nn.Module):
    """Multi-head attention of every visit to every visit of its window.

    The same function as ``nn.MultiheadAttention`` (Vaswani et al. 2017, §3.2), written out: one
    path serves training, prediction and the maps, so the attention shown is the attention used.
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


class Dropout(nn.Module):
    """Zero each number with probability p and scale the others by 1 / (1 - p), in training only.

    The same as ``nn.Dropout``, which on a CPU spends a fifth of this model's training time on
    drawing one Bernoulli number at a time. Here 64 random bits serve four numbers: each compares
    16 of them with p, which makes p exact to 2^-17.

    Examples
    --------
    >>> Dropout(0.5).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape -> the same shape."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        n = x.numel()
        bits = torch.empty((n + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        draws = bits.view(torch.int16)[:n].view(x.shape)  # -32768 .. 32767, evenly
        keep = draws >= round(self.p * 65536) - 32768
        return x * keep.to(x.dtype).mul_(1 / (1 - self.p))
