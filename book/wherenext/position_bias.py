"""The position bias under the lens: read it with its company, or hurry it.

A pointer's log-weight of a visit is *content* (query times key) plus *bias* (by position), up to a
constant for each window. What one of them says of a position, the other can say as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows


def bias_of(model: PointerGeneratorTransformer, upto: int) -> Tensor:
    """(upto,) the bias at positions 1 … ``upto``, without padding's; zeros where there is none."""
    assert model.pointer is not None
    bias = model.pointer.position_bias
    return torch.zeros(upto) if bias is None else bias.detach()[1 : upto + 1].clone()


@torch.no_grad()
def by_position(model: PointerGeneratorTransformer, windows: Windows, upto: int) -> np.ndarray:
    """(2, upto) bias and mean content at positions 1 (the last visit) to ``upto``, with mean zero.

    Only windows with at least ``upto`` visits count: the same ones at every position.
    """
    bias = bias_of(model, upto)
    long = windows.subset(windows.lengths >= upto)
    was_training, total = model.training, torch.zeros(upto, dtype=torch.float64)
    model.eval()
    for batch in long.batches(512, max_len=model.config.max_len):
        log_weight = model(batch).pointer_attention.double().clamp(min=1e-30).log()  # (B, L)
        at = batch.length[:, None] - 1 - torch.arange(upto)  # (B, upto)
        recent = log_weight.gather(1, at)  # column 0 is the last visit
        total += (recent - recent.mean(1, keepdim=True)).sum(0)
    model.train(was_training)
    bias = bias.double() - bias.double().mean()
    return torch.stack([bias, total / len(long) - bias]).numpy()


class _Times(nn.Module):
    """A parameter in another unit: what is used is ``times`` what is stored."""

    def __init__(self, times: float) -> None:
        super().__init__()
        self.times = times

    def forward(self, stored: Tensor) -> Tensor:
        return self.times * stored

    def right_inverse(self, used: Tensor) -> Tensor:
        return used / self.times


@contextmanager
def faster_bias(model: PointerGeneratorTransformer, times: float) -> Iterator[None]:
    """While it lasts, training moves the bias ``times`` as far a step: Adam sees a larger unit."""
    assert model.pointer is not None
    parametrize.register_parametrization(model.pointer, "position_bias", _Times(times))
    try:
        yield
    finally:
        parametrize.remove_parametrizations(model.pointer, "position_bias")
