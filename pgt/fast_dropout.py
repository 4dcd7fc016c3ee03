"""Dropout for a CPU, drawn 16 bits a number. On a GPU it is PyTorch's own."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Dropout):
    """As `torch.nn.Dropout`; on a CPU an epoch of PGT takes a fifth less."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop some numbers, and enlarge the others."""
        if not self.training or self.p == 0 or x.device.type != "cpu":
            return super().forward(x)
        # One draw of 64 bits serves four numbers.
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        number = bits.view(torch.int16)[: x.numel()].view(x.shape)  # -32768 … 32767, evenly
        keep = number >= round(self.p * 65536) - 32768
        return x * keep.to(x.dtype).mul_(1 / (1 - self.p))
