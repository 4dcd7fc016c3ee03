"""The neural baselines: what they read, what they do not, and what changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from lab.lstm_mhsa import (
    KINDS,
    PUBLISHED,
    NeuralBaseline,
    NeuralConfig,
    neural,
)
from torch import Tensor

from pgt.batch import Batch
from pgt.windows import Dataset, prepare

from ..helpers import changed, random_visits

both = pytest.mark.parametrize("kind", KINDS)
VISIT = ("location", "time", "weekday", "duration")  # what they read of a visit


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130))


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    lengths = data.train.lengths
    some = [int(lengths.argmin()), int(lengths.argmax()), *range(0, len(lengths), 17)]
    return data.train.batch(some)


def config_of(kind: str, data: Dataset, **changes: Any) -> NeuralConfig:
    size = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_feedforward": 24, "max_len": 50}
    sizes = data.vocabulary.n_locations, data.vocabulary.n_users
    return NeuralConfig(kind, *sizes, **{**size, **changes})  # type: ignore[arg-type]


def model_of(kind: str, data: Dataset, seed: int = 0, **changes: Any) -> NeuralBaseline:
    """In double precision, with running statistics of the head that are not the first ones."""
    torch.manual_seed(seed)
    model = neural(config_of(kind, data, **changes)).double()
    torch.nn.init.normal_(model.head.norm.running_mean)  # type: ignore[arg-type]
    return model.eval()


def other(batch: Batch, name: str, at: Tensor) -> Batch:
    """The batch with other values of a visit's feature where `at` is true."""
    highest = {"location": 9, "time": 96, "weekday": 7, "duration": 100}[name]
    value = getattr(batch, name)
    return changed(batch, **{name: torch.where(at, value % highest + 1, value)})


@both
def test_nothing_of_the_target_and_nothing_else_is_read(
    data: Dataset, batch: Batch, kind: str
) -> None:
    model = model_of(kind, data)
    base = model(batch).log_probs
    unread = ("target", "target_time", "target_weekday", "gap_days", "days_ago", "now_minute",
              "start_minute", "index")  # fmt: skip
    for name in unread:
        after = model(changed(batch, **{name: getattr(batch, name) + 1})).log_probs
        assert torch.equal(after, base), name


@both
def test_encoders_look_back_only(data: Dataset, batch: Batch, kind: str) -> None:
    model = model_of(kind, data)
    n = batch.location.shape[1]
    base = model.encode(batch)
    for i in (0, n // 2, n - 1):
        late = torch.zeros(n, dtype=torch.bool)
        late[i] = True
        for name in VISIT:
            after = model.encode(other(batch, name, late.expand_as(batch.location)))
            torch.testing.assert_close(after[:, :i], base[:, :i], atol=1e-12, rtol=0)
            moved = (after - base).abs().amax(-1)  # (B, L)
            assert (moved[:, i:] > 1e-9).all(), name  # it and everything later does change


def linear(n: int, m: int) -> int:
    return n * m + m


@both
def test_parameters_of_the_published_size_are_these(kind: str) -> None:
    v, u, d, f = 1_187, 46, 32, 128  # the authors' GeoLife
    config = NeuralConfig(kind, v, u, **PUBLISHED[kind])  # type: ignore[arg-type]
    embeddings = (v + 25 + 5 + 8 + 101) * d
    if kind == "mhsa":
        attention = linear(d, 3 * d) + linear(d, d)
        layer = attention + linear(d, f) + linear(f, d) + 2 * 2 * d
        encoder, e = 2 * layer + 2 * d, d
    else:
        encoder, e = 4 * (d * f + f * f + 2 * f), f
    head = u * e + linear(e, 2 * e) + linear(2 * e, e) + 2 * e + linear(e, v)
    assert neural(config).n_parameters() == embeddings + encoder + head
