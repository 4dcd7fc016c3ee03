"""Batches: padding is where the lengths end, and cutting is the same before and after gathering."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from pgt.batch import Batch
from pgt.windows import Windows, prepare

from .helpers import pad_to, random_visits

NAMES = [field.name for field in fields(Batch)]


@pytest.fixture(scope="module")
def windows() -> Windows:
    return prepare(random_visits(2, users=3, visits=110)).train


@pytest.fixture(scope="module")
def batch(windows: Windows) -> Batch:
    """Windows of many lengths, the shortest and the longest among them."""
    lengths = windows.lengths
    return windows.batch(np.array([lengths.argmin(), lengths.argmax(), *range(0, len(windows), 9)]))


def equal(one: Batch, two: Batch) -> bool:
    return all(torch.equal(getattr(one, name), getattr(two, name)) for name in NAMES)


def test_padding_and_positions_are_those_of_the_lengths(batch: Batch) -> None:
    width = batch.location.shape[1]
    assert len(batch) == len(batch.length) and width > 17 and batch.length.min() < 13
    for row, n in enumerate(batch.length.tolist()):
        assert batch.padding[row].tolist() == [False] * n + [True] * (width - n)
        assert batch.position_from_end[row].tolist() == [*range(n, 0, -1)] + [0] * (width - n)
    for name in NAMES[:6]:
        assert (getattr(batch, name)[batch.padding] == 0).all(), name
    assert (batch.location[~batch.padding] > 0).all()


@pytest.mark.parametrize("n", [1, 13, 10**6])
def test_the_most_recent_visits_are_those_that_a_short_batch_gathers(
    windows: Windows, batch: Batch, n: int
) -> None:
    short = batch.most_recent(n)
    assert equal(short, windows.batch(batch.index.numpy(), max_len=n))
    assert short.length.tolist() == [min(length, n) for length in batch.length.tolist()]
    for row, length in enumerate(batch.length.tolist()):
        kept = min(n, length)
        for name in NAMES[:6]:
            last = getattr(batch, name)[row, length - kept : length]
            assert torch.equal(getattr(short, name)[row, :kept], last), name
    assert equal(pad_to(batch, batch.location.shape[1] + 3).most_recent(n), short) or n > 17
