"""The steps of a GPU, as far as a CPU can take them; and their graphs, where there is CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from wherenext.relatives.improvements import improved

from pgt import checkpoint, graphs
from pgt.config import TrainConfig
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.contextual import ALONE, ContextualConfig, ContextualPointer
from pgt.predictor.memory import with_history
from pgt.train import TrainingRun
from pgt.windows import prepare

from .helpers import random_visits, tiny_config

CPU = torch.device("cpu")
CONFIG = TrainConfig(
    learning_rate=3e-3, batch_size=16, warmup_epochs=1, max_epochs=3, patience=3,
    label_smoothing=0.1,
)  # fmt: skip


def new_run(kind: str, device: torch.device = CPU) -> TrainingRun:
    """A training run without dropout, of PGT or of the contextual pointer."""
    data: Any = prepare(random_visits(1, users=4, visits=130, places=9), protocol="exact")
    torch.manual_seed(0)
    if kind == "pgt":
        model: Any = PointerGeneratorTransformer(tiny_config(data, dropout=0.0, max_len=20))
    else:
        data = with_history(data, 15, 10)
        size = data.vocabulary.n_locations, data.vocabulary.n_users
        model = ContextualPointer(ContextualConfig(*size, **ALONE | {"dropout": 0.0}))
    # In float64: weights that change nothing would follow the last bits of their gradients.
    return TrainingRun(model.double(), data.train, data.valid, CONFIG, device)


def trained(run: TrainingRun, how: graphs.Graphs | None) -> tuple[list[Any], dict[str, Any]]:
    """Three epochs: the rows, and the weights."""
    run.graphs = how
    with torch.random.fork_rng(devices=[]):
        rows = [run.one_epoch() | {"seconds": 0} for _ in range(3)]
    return rows, {name: one.cpu() for name, one in run.model.state_dict().items()}


def alike(one: Any, other: Any) -> None:
    for first, second in zip(one[0], other[0], strict=True):
        assert first == pytest.approx(second, rel=1e-6)
    for name, value in one[1].items():
        torch.testing.assert_close(value, other[1][name], atol=1e-6, rtol=1e-6)


def same(one: TrainingRun, other: TrainingRun) -> bool:
    """Weights and all that the optimizer remembers."""
    states = checkpoint.state(one), checkpoint.state(other)
    return all(torch.equal(value, states[1][name]) for name, value in states[0].items())


@pytest.mark.parametrize("kind", ["pgt", "contextual"])
def test_padded_steps_on_the_whole_table_are_the_usual_ones(kind: str) -> None:
    usual, padded = new_run(kind), new_run(kind)
    how = graphs.Graphs(padded, CONFIG.batch_size)
    assert len(padded.train) % CONFIG.batch_size and len(how.buckets) <= 8  # a short batch
    assert len(set(how.padded)) > 1
    alike(trained(usual, None), trained(padded, how))


def test_the_table_holds_the_batches_of_all_windows() -> None:
    run = new_run("contextual")
    batch = run.train.batch(np.arange(len(run.train)), 12)
    table = graphs.padded_table(run.train, 12, 14, CPU)
    for name, value in vars(batch).items():
        assert torch.equal(table[name][:, :12] if value.ndim == 2 else table[name], value.int())
        assert value.ndim == 1 or (table[name][:, 12:] == 0).all()


def test_what_cannot_be_recorded_takes_its_steps_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, cuda = new_run("pgt"), torch.device("cuda")
    assert graphs.possible(run.model, run.train, cuda)
    assert not graphs.possible(run.model, run.train, CPU)
    recurrent = improved(run.model.config, run.train, "bilstm")
    assert not graphs.possible(recurrent, run.train, cuda)
    monkeypatch.setattr(graphs, "MOST_BYTES", 1000)
    assert not graphs.possible(run.model, run.train, cuda)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("kind", ["pgt", "contextual"])
def test_graphs_give_the_weights_of_single_steps(kind: str) -> None:
    device = torch.device("cuda")
    first, second = new_run(kind, device), new_run(kind, device)
    single = graphs.Graphs(first, CONFIG.batch_size, capture=False)
    captured = graphs.Graphs(second, CONFIG.batch_size)
    assert len(captured.graphs) == len(captured.buckets) and not single.graphs
    for one, other in zip(
        checkpoint.state(first).values(), checkpoint.state(second).values(), strict=True
    ):
        assert torch.equal(one, other)  # what recording did is put back
    alike(trained(first, single), trained(second, captured))
    alike(trained(new_run(kind), None), trained(new_run(kind, device), None))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_run_on_a_gpu_that_was_cut_off_goes_on_to_the_same_weights(tmp_path: Any) -> None:
    device, path = torch.device("cuda"), tmp_path / "run.safetensors"
    whole, begun, resumed = (new_run("pgt", device) for _ in range(3))
    for run in (whole, begun, resumed):
        for part in run.model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.3
    whole.one_epoch()
    whole.one_epoch()
    begun.one_epoch()
    checkpoint.store(path, begun)
    checkpoint.resume(path, resumed)
    resumed.one_epoch()
    # A GPU adds up in no fixed order, so the last bits differ.
    for one, other in zip(
        checkpoint.state(whole).values(), checkpoint.state(resumed).values(), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)
