"""Loss, gradients and ranks in chunks of V are those of all places at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pgt import large_vocabulary, metrics, train
from pgt.batch import Batch
from pgt.config import TrainConfig
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Dataset, prepare

from .helpers import model_of, random_visits, tiny_config


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=100, places=9))


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    return data.train.batch(np.arange(0, len(data.train), 5))


@pytest.mark.parametrize("chunk", [7 * 23, 1])
@pytest.mark.parametrize("without", [(), ("pointer",), ("gate",)])
def test_loss_gradients_and_ranks_are_those_of_the_dense_model(
    data: Dataset, batch: Batch, without: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_vocabulary, "CHUNK", chunk)
    smoothing = 0.1 if without else 0.0
    model = model_of(tiny_config(data, without=without, max_len=12))  # in float64
    weights = torch.linspace(1, 2, len(batch), dtype=torch.float64)
    found = []
    for losses in (large_vocabulary.losses(model, batch, smoothing),
                   model.losses(batch, smoothing)):  # fmt: skip
        found.append([losses, *torch.autograd.grad((losses * weights).sum(), model.parameters())])
    torch.testing.assert_close(*found, atol=1e-12, rtol=1e-12)
    if without:  # outside the window all places are alike
        for values in model.generator.parameters():
            torch.nn.init.zeros_(values)
    scores = model.scores(batch)
    better, tied, predicted, own = large_vocabulary.rank_in_chunks(model, batch)
    for one, other in zip((better, tied), metrics.rank(scores, batch.target), strict=True):
        assert torch.equal(one, other)
    torch.testing.assert_close(own, scores.gather(1, batch.target[:, None])[:, 0])
    torch.testing.assert_close(scores.gather(1, predicted[:, None])[:, 0], scores.amax(1))


def test_training_and_evaluation_take_it_by_themselves(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TrainConfig(max_epochs=1, warmup_epochs=0, label_smoothing=0.1)
    assert not large_vocabulary.wanted(model_of(tiny_config(data)))
    larger = replace(tiny_config(data), n_locations=10_001)
    assert large_vocabulary.wanted(model_of(larger))
    assert not large_vocabulary.wanted(model_of(replace(larger, without=("generator",))))
    rows, ranks = [], []
    for places in (10_000, 3):
        monkeypatch.setattr(large_vocabulary, "PLACES", places)
        torch.manual_seed(0)
        model = PointerGeneratorTransformer(tiny_config(data)).double()
        log = train.fit(model, data.train, data.valid, config, progress=False, device="cpu")
        rows.append([{k: v for k, v in row.items() if k != "seconds"} for row in log.rows])
        if places == 3:
            forbid: Any = None
            monkeypatch.setattr(model, "forward", forbid)
        ranks.append(metrics.evaluate(model, data.test)[["better", "tied"]])
    for one, other in zip(*rows, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    assert ranks[0].equals(ranks[1])
