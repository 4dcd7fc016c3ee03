"""Other ways for visits to look at each other, in place of plain self-attention.

Each takes the place of `pgt.encoder.SelfAttention` and starts with its weights, so that a model
with the part and one without begin alike. Shapes: B windows, L visits, D = d_model, H heads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from pgt.config import ModelConfig
from pgt.encoder import SelfAttention

DISTANCES = 32  # visits; further away counts as this far
RECENT = 5  # visits that have a bias of their own, counted from the last


class BiasedSelfAttention(SelfAttention):
    """Self-attention whose scores get something added before the softmax."""

    def bias(self, padding: Tensor) -> Tensor:
        """What is added to the scores, of a shape that broadcasts to (B, H, L, L)."""
        raise NotImplementedError

    def turn(self, heads: Tensor) -> Tensor:
        """Change queries or keys, (B, H, L, D / H), before they meet."""
        return heads

    def forward(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L, D) -> (B, L, D), and the weights (B, H, L, L) before dropout."""
        b, n, d = x.shape
        heads = self.project(x).view(b, n, 3, self.n_heads, d // self.n_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # each (B, H, L, D / H)
        query, key = self.turn(query), self.turn(key)
        scores = (query / math.sqrt(d // self.n_heads)) @ key.transpose(-2, -1)  # (B, H, L, L)
        scores = scores + self.bias(padding)
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        mixed = self.dropout(weights) @ value  # (B, H, L, D / H)
        return self.out(mixed.transpose(1, 2).reshape(b, n, d)), weights


class RelativeSelfAttention(BiasedSelfAttention):
    """A learned bias per head and signed distance, as in T5 (Raffel et al. 2020, §2.1).

    T5 puts far distances into shared buckets; windows are short, so every distance up to
    `DISTANCES` has its own entry and only those beyond share the last. It starts at 0.
    Source: improvements document, proposal 1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.table = nn.Parameter(torch.zeros(2 * DISTANCES + 1, config.n_heads))

    def bias(self, padding: Tensor) -> Tensor:
        """(1, H, L, L), entry (i, j) for visit i looking at visit j."""
        steps = torch.arange(padding.shape[1], device=padding.device)
        apart = (steps - steps[:, None]).clamp(-DISTANCES, DISTANCES) + DISTANCES  # (L, L)
        return self.table[apart].permute(2, 0, 1)[None]  # (L, L, H) -> (1, H, L, L)


class RecentFirstSelfAttention(BiasedSelfAttention):
    """A learned bias per head for the last five visits and for the first one.

    It starts at +1 for those and is 0 for all others. Source: improvements document, proposal 8.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.table = nn.Parameter(torch.ones(RECENT + 1, config.n_heads))  # 0 = the first visit

    def bias(self, padding: Tensor) -> Tensor:
        """(B, H, 1, L): it depends on the visit that is looked at."""
        steps = torch.arange(padding.shape[1], device=padding.device)
        length = (~padding).sum(1, keepdim=True)  # (B, 1)
        from_end = length - steps  # (B, L) 1 = the last visit
        recent = (from_end >= 1) & (from_end <= RECENT)
        bias = self.table[from_end.clamp(1, RECENT)] * recent[..., None]  # (B, L, H)
        first = (steps == 0)[None, :, None]
        bias = bias + self.table[0] * first
        return bias.permute(0, 2, 1)[:, :, None]  # (B, H, 1, L)


class CausalSelfAttention(BiasedSelfAttention):
    """Every visit sees only itself and those before it, as in the temporal-sets notebook."""

    def bias(self, padding: Tensor) -> Tensor:
        """(L, L): 0 where visit j is not after visit i, -inf where it is."""
        n = padding.shape[1]
        return torch.full((n, n), -math.inf, device=padding.device).triu(1)


class RotarySelfAttention(BiasedSelfAttention):
    """Queries and keys are turned by an angle that grows with the position (Su et al. 2021).

    Their product then depends on the distance of two visits only. On the improvements document's
    list of things to avoid.
    """

    def bias(self, padding: Tensor) -> Tensor:
        """Nothing is added."""
        return torch.zeros((), device=padding.device)

    def turn(self, heads: Tensor) -> Tensor:
        """(B, H, L, D / H), each pair of dimensions turned by its own speed."""
        n, width = heads.shape[-2:]
        half = torch.arange(0, width, 2, device=heads.device, dtype=heads.dtype)
        speed = torch.exp(half * (-math.log(10000.0) / width))  # (D / 2H,)
        steps = torch.arange(n, device=heads.device, dtype=heads.dtype)
        angle = steps[:, None] * speed  # (L, D / 2H)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        turned = [even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()]
        return torch.stack(turned, dim=-1).flatten(-2)  # (B, H, L, D / H)
