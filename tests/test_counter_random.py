"""Counted random numbers look random, and know nothing of batch mates."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from pgt.counter_random import (
    Dropout,
    forget_keys,
    use_keys,
    window_keys,
)


def test_the_numbers_are_those_of_the_published_results() -> None:
    # Any other numbers would be as good, but no trained model could be made again with them.
    keys = window_keys(42, 3, torch.tensor([0, 5, 1000]), 2)
    assert keys.tolist() == [
        [-4877319935475074980, 8935418753928975238, 3638167433362724871],
        [-3547041690311002114, -7796410196787209909, 107189815074550098],
    ]
    drop = Dropout(0.5).train()
    drop.key = keys[0, :2]
    bits = drop._bits(torch.empty(2, 2, 3, 5)).flatten().tolist()
    assert bits[:5] == [-8519, 9113, -14706, -27823, 18459]
    assert bits[-5:] == [16620, -25127, -23877, 29907, -27145] and sum(bits) == -8483


@pytest.mark.parametrize("shape", [(64, 20, 32), (64, 2, 20, 21), (64, 30)])
def test_each_number_is_dropped_with_its_probability(shape: tuple[int, ...]) -> None:
    drop = Dropout(0.25).train()
    dropped = []
    for epoch in range(40):
        use_keys(drop, 3, epoch, torch.arange(64))
        dropped.append(drop(torch.ones(shape)) == 0)
    lost = torch.stack(dropped).double()
    n = lost[:, 0].numel() * 64
    assert abs(float(lost.mean()) - 0.25) < 5 * (0.25 * 0.75 / n) ** 0.5
    # No column of the last dimension is favoured, and neighbours do not know of each other.
    by_column = lost.flatten(0, -2).mean(0)
    assert float((by_column - 0.25).abs().max()) < 5 * (0.25 * 0.75 / (n / shape[-1])) ** 0.5
    one, other = lost[..., 1:].flatten().numpy(), lost[..., :-1].flatten().numpy()
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / n**0.5


def test_what_is_kept_is_scaled() -> None:
    drop = Dropout(0.2).train()
    use_keys(drop, 0, 0, torch.arange(3))
    out = drop(torch.full((3, 40), 2.0))
    assert set(out.unique().tolist()) <= {0.0, 2.5}


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_exactly_the_share_p_of_all_bit_patterns_is_dropped(
    monkeypatch: pytest.MonkeyPatch, p: float
) -> None:
    every = torch.arange(-32768, 32768)
    monkeypatch.setattr(Dropout, "_bits", lambda self, x: every)
    out = Dropout(p).train()(torch.ones(65536))
    assert int((out == 0).sum()) == round(p * 65536)
    assert out[out > 0].unique().tolist() == pytest.approx([1 / (1 - p)])


def test_a_windows_numbers_do_not_depend_on_its_batch() -> None:
    drop = Dropout(0.5).train()
    x = torch.ones(4, 3, 10, 12)
    use_keys(drop, 0, 0, torch.tensor([5, 6, 7, 8]))
    whole = drop(x)
    use_keys(drop, 0, 0, torch.tensor([7, 5]))
    some = drop(torch.ones(2, 3, 14, 15))  # padded wider
    assert torch.equal(some[1, :, :10, :12], whole[0])
    assert torch.equal(some[0, :, :10, :12], whole[2])


def test_the_same_epoch_draws_the_same_and_another_does_not() -> None:
    model = nn.Sequential(Dropout(0.5), nn.Linear(8, 8), Dropout(0.5)).train()
    x, index = torch.ones(5, 8), torch.arange(5)

    def at(seed: int, epoch: int) -> torch.Tensor:
        use_keys(model, seed, epoch, index)
        return model(x)

    assert torch.equal(at(1, 2), at(1, 2))
    assert not torch.equal(at(1, 2), at(1, 3)) and not torch.equal(at(1, 2), at(2, 2))
    first, second = model[0].key, model[2].key
    assert first is not None and second is not None and not torch.equal(first, second)
    forget_keys(model)
    torch.manual_seed(0)
    one = model(x)
    assert not torch.equal(one, model(x))


@pytest.mark.parametrize("p", [0.15, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dropout_is_pytorchs_but_for_the_draw(p: float, dtype: torch.dtype) -> None:
    x = torch.full((501, 1001), 2.0, dtype=dtype)
    torch.manual_seed(0)
    out = Dropout(p)(x)
    assert out.dtype == dtype
    kept = out != 0
    torch.testing.assert_close(out[kept], torch.full_like(out[kept], 2 / (1 - p)))
    error = math.sqrt(p * (1 - p) / x.numel())
    assert abs((~kept).double().mean().item() - p) < 5 * error
    both = (kept[:, 1:] & kept[:, :-1]).double().mean().item()  # neighbours are drawn apart
    assert abs(both - (1 - p) ** 2) < 10 * error
    torch.manual_seed(0)
    assert torch.equal(Dropout(p)(x), out)
    assert Dropout(p).eval()(x) is x
    assert Dropout(0.0)(x) is x
