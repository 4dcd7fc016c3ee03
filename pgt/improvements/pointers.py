"""Other pointers: what PGT's has of the summarizer's (See et al. 2017).

Shapes: B windows, L visits, D = d_model.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.batch import Batch
from pgt.config import ModelConfig
from pgt.model import Pointer
from pgt.sparse.logits import at_least_float32


class AdditivePointer(Pointer):
    """Scores visits by v · tanh(W_h h + W_s s + b), as Bahdanau et al. (2015) do.

    The position bias stays. Source: See et al. (2017), equation 1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.score = nn.Linear(config.d_model, 1, bias=False)

    def forward(self, context: Tensor, encoded: Tensor, batch: Batch) -> Tensor:
        """(B, D), (B, L, D) -> (B, L) log-weight of each visit, -inf at padding."""
        both = torch.tanh(self.key(encoded) + self.query(context)[:, None])  # (B, L, D)
        scores = at_least_float32(self.score(both)).squeeze(-1)  # (B, L)
        if self.position_bias is not None:
            scores = scores + self.position_bias[batch.position_from_end]
        return F.log_softmax(scores.masked_fill(batch.padding, -math.inf), dim=-1)


class CoveragePointer(Pointer):
    """Remembers what earlier visits would have pointed at, and weighs it into the score.

    The summarizer adds up its attention over the words it has written, so as not to repeat
    itself. Here every earlier visit of the window asks in its turn (each seeing itself and those
    before it), their attention is added up, and a learned number says what having been pointed at
    is worth. It starts at 0, the plain pointer; a summarizer's would be negative.
    Source: See et al. (2017), equations 10 and 11.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.weight = nn.Parameter(torch.zeros(()))

    def coverage(self, encoded: Tensor, batch: Batch) -> Tensor:
        """(B, L) attention that the visits before the last have given to each visit."""
        n = encoded.shape[1]
        scores = self.query(encoded) @ self.key(encoded).transpose(1, 2)  # (B, L, L)
        scores = at_least_float32(scores) / math.sqrt(encoded.shape[-1])
        steps = torch.arange(n, device=encoded.device)
        back = steps[:, None] - steps + 1  # (L, L) position from the end, seen from each visit
        if self.position_bias is not None:
            scores = scores + self.position_bias[back.clamp(min=0)]
        attention = scores.masked_fill(back < 1, -math.inf).softmax(-1)  # (B, L, L)
        asked = steps < batch.length[:, None] - 1  # (B, L) the visits before the last
        return (attention * asked[..., None]).sum(1)

    def forward(self, context: Tensor, encoded: Tensor, batch: Batch) -> Tensor:
        """(B, D), (B, L, D) -> (B, L) log-weight of each visit, -inf at padding."""
        plain = super().forward(context, encoded, batch)
        scores = plain + self.weight * self.coverage(encoded, batch)
        return F.log_softmax(scores.masked_fill(batch.padding, -math.inf), dim=-1)
