"""What chapter 17 measures of both models is what it says it is."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from wherenext import side_by_side

from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer
from pgt.summarizer import SMALL, PointerGenerator

CONFIG = ModelConfig(n_locations=50, n_users=4, d_model=16, n_heads=2, d_feedforward=32, dropout=0)


def test_parts_add_up_to_the_whole_of_both_models() -> None:
    for model in (PointerGenerator(SMALL), PointerGeneratorTransformer(CONFIG)):
        assert side_by_side.parameters(model).sum() == model.n_parameters()
    parts = side_by_side.parameters(PointerGeneratorTransformer(CONFIG))
    assert parts["decoder"] == parts["state reduction"] == 0 < parts["encoder"]
    with pytest.raises(ValueError, match="belongs to no part"):
        side_by_side.parameters(torch.nn.Sequential(torch.nn.Linear(2, 2)))


@pytest.mark.parametrize("length", [3, 18])
def test_work_is_what_a_counter_counts(length: int) -> None:
    x, none = torch.randn(1, length, 16), torch.zeros(1, length, dtype=torch.bool)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        side_by_side.encoder_of("transformer", CONFIG)(x, none)
    assert counter.get_total_flops() == 2 * side_by_side.work("transformer", length, CONFIG)
    # The LSTM as cells, since the counter does not look into the fused one.
    cell, state = torch.nn.LSTMCell(16, 8), (torch.zeros(1, 8), torch.zeros(1, 8))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        for k in range(length):
            state = cell(x[:, k], state)
    one_way = counter.get_total_flops() / 2
    assert 2 * one_way == side_by_side.work("bilstm", length, CONFIG)
