"""What chapter 17 measures of both pointer-generators; B windows or texts, L visits or words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from pgt.config import ModelConfig
from pgt.model import Encoder
from wherenext.relatives.improvements import RecurrentEncoder

Kind = Literal["bilstm", "transformer"]


def work(kind: Kind, length: int, config: ModelConfig) -> int:
    """Multiplications of an encoder for one window of L visits, biases and softmaxes left out."""
    d = config.d_model
    if kind == "bilstm":
        return 6 * length * d**2  # two directions, four gates, D / 2 units that see 3 D / 2 numbers
    layer = 4 * length * d**2 + 2 * length**2 * d + 2 * length * d * config.d_feedforward
    return config.n_layers * layer


def encoder_of(kind: Kind, config: ModelConfig, length: int = 0) -> nn.Module:
    """An untrained encoder of PGT, of either kind, for windows of so many visits."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        make = RecurrentEncoder if kind == "bilstm" else Encoder
        return make(replace(config, max_len=max(config.max_len, length)))


def seconds(function: Callable[[], Any], repeats: int = 3, at_least: float = 0.0) -> float:
    """The fastest of some calls in processor time, after one that does not count."""
    function()
    found: list[float] = []
    while len(found) < repeats or sum(found) < at_least:
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def encoder_step(kind: Kind, length: int, batch: int, config: ModelConfig) -> Callable[[], Tensor]:
    """A step of training through an encoder alone: forward and backward, on random visits."""
    encoder = encoder_of(kind, config, length).train()
    x = torch.randn(batch, length, config.d_model, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()
    padding = torch.zeros(batch, length, dtype=torch.bool)

    def step() -> Tensor:
        encoder.zero_grad()
        out, _ = encoder(x, padding)
        loss = out.square().mean()
        loss.backward()
        return loss

    return step
