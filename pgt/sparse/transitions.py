"""Counts of what followed what: only those that are not 0."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Transitions:
    """How often each place followed: only those counts that are not 0, sorted by their keys."""

    keys: Tensor  # (T,) from * size + to
    counts: Tensor  # (T,)
    size: int  # V

    @classmethod
    def count(cls, origin: Tensor, there: Tensor, size: int) -> Transitions:
        """Count the places ``there`` after each origin: a place, or a person at a place."""
        keys, counts = torch.unique(origin * size + there, return_counts=True)
        return cls(keys, counts.float(), size)

    def after(self, origin: Tensor) -> tuple[Tensor, Tensor]:
        """(B,) origins -> (B, S) the places after each, -1 = no more, and their counts."""
        low = origin * self.size
        begin = torch.searchsorted(self.keys, low)
        n = torch.searchsorted(self.keys, low + self.size) - begin  # (B,)
        step = torch.arange(int(n.max()) if len(n) else 0)
        inside = step < n[:, None]  # (B, S)
        at = (begin[:, None] + step).where(inside, 0)
        place = (self.keys[at] - low[:, None]).where(inside, -1)
        return place, self.counts[at] * inside

    def count_of(self, origin: Tensor, place: Tensor) -> Tensor:
        """(B,), (B, S) -> (B, S) how often each place followed."""
        key = origin[:, None] * self.size + place
        at = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        return self.counts[at] * ((self.keys[at] == key) & (place >= 0))
