"""Other inner workings of an encoder layer, and another encoder.

Shapes: B windows, L visits, D = d_model.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pgt.config import ModelConfig
from pgt.encoder import EncoderLayer
from pgt.reproducible.counter_random import Dropout


class GeGLU(nn.Module):
    """Feed-forward network whose hidden units are gated: GELU(x W) · (x V), then back to D.

    Two thirds of the hidden units keep the number of parameters, as Shazeer (2020, §2) does.
    Source: improvements document, proposal 2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden = round(config.d_feedforward * 2 / 3)
        self.wide = nn.Linear(config.d_model, 2 * hidden)
        self.narrow = nn.Linear(hidden, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.dropout_out = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        value, gate = self.wide(x).chunk(2, dim=-1)  # each (B, L, hidden)
        return self.dropout_out(self.narrow(self.dropout(value * F.gelu(gate))))


class PostNormLayer(EncoderLayer):
    """Normalises after each addition, as Vaswani et al. (2017) did: norm(x + f(x)).

    The same function as ``nn.TransformerEncoderLayer(norm_first=False, activation="gelu")``.
    Source: improvements document, proposal 3, which takes the base model for one of these.
    """

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L, D) -> (B, L, D), and the attention (B, H, L, L)."""
        attended, weights = self.attention(x, padding)
        x = self.norm_attention(x + self.dropout(attended))
        return self.norm_feedforward(x + self.feedforward(x)), weights


class Experts(nn.Module):
    """Four feed-forward networks, mixed by a router's softmax at every visit.

    All four are computed: it is a soft mixture, as the improvements document's proposal 7 has it,
    not the sparse one of Shazeer et al. (2017).
    """

    def __init__(self, config: ModelConfig, n_experts: int = 4) -> None:
        super().__init__()
        d, hidden = config.d_model, config.d_feedforward
        self.router = nn.Linear(d, n_experts)
        self.experts = nn.ModuleList(
            nn.Sequential(
                nn.Linear(d, hidden), nn.GELU(), Dropout(config.dropout), nn.Linear(hidden, d),
                Dropout(config.dropout),
            )
            for _ in range(n_experts)
        )  # fmt: skip

    def shares(self, x: Tensor) -> Tensor:
        """(B, L, experts) how much each expert has to say; sums to one."""
        return self.router(x).softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        answers = torch.stack([expert(x) for expert in self.experts], dim=-1)  # (B, L, D, experts)
        return (answers @ self.shares(x)[..., None]).squeeze(-1)


class RecurrentEncoder(nn.Module):
    """The summarizer's encoder in PGT: one bidirectional LSTM, D / 2 units in each direction.

    It reads the order by itself, so it has no positional encoding; it has no attention to show.
    Source: See et al. (2017), §2.1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.lstm = nn.LSTM(
            config.d_model, config.d_model // 2, batch_first=True, bidirectional=True
        )
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, padding: Tensor, weights: bool = False
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(B, L, D) -> (B, L, D), and no attention."""
        lengths = (~padding).sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        read, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(read, batch_first=True, total_length=x.shape[1])
        return self.dropout(out), ()
