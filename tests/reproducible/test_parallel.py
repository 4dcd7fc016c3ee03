"""Two processes train the model that one trains."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from wherenext import city

from pgt import windows
from pgt.config import ModelConfig, TrainConfig
from pgt.model import PointerGeneratorTransformer
from pgt.parallel import Team, joined, restarted
from pgt.train import fit

# The last of each epoch's batches has one window: a share of it is empty.
N_WINDOWS, BATCH = 121, 40
# Adding a number to all keys changes no attention; Adam still turns its rounding into drift.
WITHOUT_EFFECT = ("key.bias", "attention.project.bias")


def train(out: Path, dtype: torch.dtype, dropout: float, epochs: int = 1, **more: Any) -> None:
    """Train the town's model on few windows, and write its weights."""
    torch.set_num_threads(1)
    data = windows.prepare(city.load().visits, protocol="exact")
    torch.manual_seed(0)
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    model = PointerGeneratorTransformer(ModelConfig(*size, d_model=16, dropout=dropout)).to(dtype)
    few, fewer = data.train.subset(np.arange(N_WINDOWS)), data.valid.subset(np.arange(31))
    config = TrainConfig(max_epochs=epochs, batch_size=BATCH, label_smoothing=0.03)
    log = fit(model, few, fewer, config, progress=False, **more)
    if Team.now().leads:
        row = {name: torch.tensor(log.rows[0][name]) for name in ("train_loss", "valid_loss")}
        save_file(dict(model.state_dict()) | row, out)


def die_once(row: dict[str, float]) -> None:
    """Kill the second process in the first try's second epoch, without a word."""
    if row["epoch"] == 2 and Team.now().rank == 1 and not restarted():
        os._exit(9)


def member(rank: int, port: int, out: Path, *args: Any) -> None:
    """One process of two."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=2)
    train(out, *args)
    dist.destroy_process_group()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "dropout", "most"),
    [(torch.float64, 0.0, 1e-9), (torch.float64, 0.2, 1e-9), (torch.float32, 0.2, 1e-5)],
)
def test_two_processes_train_as_one(
    tmp_path: Path, dtype: torch.dtype, dropout: float, most: float
) -> None:
    train(tmp_path / "one", dtype, dropout)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn = multiprocessing.get_context("spawn")
    team = [
        spawn.Process(target=member, args=(rank, port, tmp_path / "two", dtype, dropout))
        for rank in range(2)
    ]
    for process in team:
        process.start()
    for process in team:
        process.join()
    assert [process.exitcode for process in team] == [0, 0]
    one, two = load_file(tmp_path / "one"), load_file(tmp_path / "two")
    for name in one:
        if not name.endswith(WITHOUT_EFFECT):
            torch.testing.assert_close(two[name], one[name], atol=most, rtol=most, msg=name)


def test_every_window_is_somebodys() -> None:
    index = np.arange(11)
    shares = [Team(rank, 3).share(index) for rank in range(3)]
    assert sorted(np.concatenate(shares)) == index.tolist()
    assert len(Team(1, 2).share(index[:1])) == 0


def test_the_loss_is_the_mean_over_all_windows_not_over_processes() -> None:
    weight = torch.ones((), requires_grad=True)
    losses = [torch.arange(3.0) * weight, torch.tensor([9.0]) * weight]
    gradients = []
    for rank, some in enumerate(losses):
        one = Team(rank, 2).weight(some, 4, empty=False)
        gradients.append(torch.autograd.grad(one, weight, retain_graph=True)[0])
    mean = torch.cat(losses).mean()
    torch.testing.assert_close(torch.stack(gradients).mean(), torch.autograd.grad(mean, weight)[0])


@pytest.mark.slow
def test_a_killed_process_costs_time_only(tmp_path: Path) -> None:
    train(tmp_path / "one", torch.float64, 0.2, epochs=3)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", "--max-restarts=1", __file__, str(tmp_path)]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert b"exitcode: 9" in done.stderr or b"exitcode  : 9" in done.stderr, done.stderr.decode()
    one, two = load_file(tmp_path / "one"), load_file(tmp_path / "two")
    for name in one:
        if not name.endswith(WITHOUT_EFFECT):
            torch.testing.assert_close(two[name], one[name], atol=1e-9, rtol=1e-9, msg=name)


if __name__ == "__main__":  # as torchrun starts it
    folder = Path(sys.argv[1])
    with joined():
        train(folder / "two", torch.float64, 0.2, 3, after_epoch=die_once,
              checkpoint=folder / "run.safetensors")  # fmt: skip
