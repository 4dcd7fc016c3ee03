"""The position bias under the lens: read it with its company, hurry it, hold it, or fit it last.

A pointer's log-weight of a visit is *content* (query times key) plus *bias* (by position), up to a
constant for each window. What one of them says of a position, the other can say as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils import parametrize

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows

PENALTY = 1e-4


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


def refit(model: PointerGeneratorTransformer, windows: Windows) -> tuple[np.ndarray, float]:
    """The best change (max_len,) of the bias if all else stays, and the gain, nats a window.

    `PENALTY` times the sum of squared changes holds still what the windows do not determine.
    """
    weight, position, hit, gate, generated = _parts(model, windows)
    change = torch.zeros(model.config.max_len + 1, requires_grad=True)  # 0 is padding's

    def loss() -> Tensor:
        attention = (weight + change[position]).softmax(1)  # (W, L), 0 at padding
        return -(gate * (attention * hit).sum(1) + generated).clamp(min=1e-10).log().mean()

    optimizer = torch.optim.LBFGS([change], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimizer.zero_grad()
        value = loss() + PENALTY * change.square().sum()
        value.backward()
        return value.item()

    before = loss().item()
    optimizer.step(closure)
    return change.detach().numpy()[1:], before - loss().item()


@torch.no_grad()
def _parts(
    model: PointerGeneratorTransformer, windows: Windows
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """What the loss is made of: (W, L) log-weights, positions, hits; (W,) gate, generated."""
    model.eval()
    widest = min(int(windows.lengths.max()), model.config.max_len)
    parts = []
    for batch in windows.batches(512, max_len=model.config.max_len):
        out = model(batch)
        weight = out.pointer_attention.clamp(min=1e-30).log().masked_fill(batch.padding, -torch.inf)
        own = out.generator_log_probs.gather(1, batch.target[:, None]).squeeze(1).exp()  # (B,)
        room = (0, widest - weight.shape[1])
        hit = (batch.location == batch.target[:, None]) & ~batch.padding
        parts.append(
            (
                pad(weight, room, value=-torch.inf), pad(batch.position_from_end, room),
                pad(hit, room), out.gate, (1 - out.gate) * own,
            )
        )  # fmt: skip
    weight, position, hit, gate, generated = (torch.cat(part) for part in zip(*parts, strict=True))
    return weight, position, hit, gate, generated
