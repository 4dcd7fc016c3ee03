"""What chapter 17 measures of both models is what it says it is."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from wherenext import city, side_by_side

from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer
from pgt.summarizer import SMALL, PointerGenerator, TextBatch
from pgt.windows import Dataset, prepare

CONFIG = ModelConfig(n_locations=50, n_users=4, d_model=16, n_heads=2, d_feedforward=32, dropout=0)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(city.load().visits, protocol="exact")


def texts(n: int, length: int, written: int) -> TextBatch:
    source = torch.randint(4, SMALL.n_words, (n, length))
    lengths, summary = torch.full((n,), length), source[:, :written]
    return TextBatch(source, source, lengths, summary, summary, tuple([] for _ in range(n)))


def test_parts_add_up_to_the_whole_of_both_models() -> None:
    for model in (PointerGenerator(SMALL), PointerGeneratorTransformer(CONFIG)):
        assert side_by_side.parameters(model).sum() == model.n_parameters()
    parts = side_by_side.parameters(PointerGeneratorTransformer(CONFIG))
    assert parts["decoder"] == parts["state reduction"] == 0 < parts["encoder"]
    with pytest.raises(ValueError, match="belongs to no part"):
        side_by_side.parameters(torch.nn.Sequential(torch.nn.Linear(2, 2)))


def test_the_trace_has_shapes_and_counts_the_steps_of_the_decoder() -> None:
    model = PointerGenerator(SMALL)
    seen = side_by_side.trace(
        model, texts(2, 7, 3), {"decoder.cell": "cell", "encoder": "encoder", "gate": "gate"}
    )
    assert list(seen.index) == ["encoder", "cell", "gate"]  # in the order of the first answer
    hidden = SMALL.hidden
    assert seen.out.tolist() == [(2, 7, 2 * hidden), (2, hidden), (2, 3, 1)]
    assert seen.calls.tolist() == [1, 3, 1]
    assert not any(module._forward_hooks for module in model.modules())


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


def test_the_recurrent_encoder_forgets_and_the_other_does_not() -> None:
    lstm, transformer = (side_by_side.reach(kind, 30, CONFIG) for kind in side_by_side.ENCODERS)
    assert lstm[-1] == transformer[-1] == 1
    assert lstm[0] < lstm[15] < lstm[28] < 1 and lstm[0] < 1e-3
    assert transformer[:-1].max() < 3 * transformer[:-1].min()
