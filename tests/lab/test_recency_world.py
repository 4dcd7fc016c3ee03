"""The copying worlds are what they claim: the kernel that went in is the one that comes out."""

from __future__ import annotations

import numpy as np
import pytest
from lab import recency_world

from pgt.windows import Dataset, Windows, prepare


def windows_of(kernel: np.ndarray, **options: int | float) -> Dataset:
    visits = recency_world.simulate_copying(kernel, **{"people": 60, **options})  # type: ignore[arg-type]
    return prepare(visits, protocol="exact")


def estimated(windows: Windows, memory: int, rounds: int = 200) -> np.ndarray:
    """(memory,) the likeliest kernel behind copied targets, by expectation and maximisation."""
    batch = windows.subset(windows.in_window).batch(np.arange(windows.in_window.sum()))
    at = batch.length[:, None].numpy() - 1 - np.arange(memory)
    place = np.take_along_axis(batch.location.numpy(), at, axis=1)  # (W, memory), last visit first
    hit = place == batch.target[:, None].numpy()
    kernel = np.full(memory, 1 / memory)
    for _ in range(rounds):
        share = hit * kernel
        kernel = (share / share.sum(1, keepdims=True)).mean(0)
    return kernel


@pytest.mark.parametrize(
    "kernel", [recency_world.fading(), np.full(20, 1 / 20), recency_world.fading(0.5, 5)]
)
def test_the_kernel_can_be_found_in_the_visits(kernel: np.ndarray) -> None:
    found = estimated(windows_of(kernel).train, len(kernel))
    assert np.abs(found - kernel).max() < 0.02
