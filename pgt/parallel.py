"""Several processes that train one model: who takes which windows, and how their sums meet.

``torchrun --nproc-per-node 2 -m pgt train …`` starts the processes and tells each its rank; every
process has the whole data and takes each ``world``-th window of every batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous


@dataclass(frozen=True)
class Team:
    """The processes that train together.

    Attributes
    ----------
    rank : int
        This one's number, from 0.
    world : int
        How many there are; 1 = this process alone.

    Examples
    --------
    >>> Team(rank=1, world=2).share(np.arange(5)).tolist()
    [1, 3]
    """

    rank: int = 0
    world: int = 1

    @classmethod
    def now(cls) -> Team:
        """The team that this process has joined, or itself alone."""
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def leads(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.rank == 0

    def share(self, index: np.ndarray) -> np.ndarray:
        """This process's part of a batch; it can be empty when the batch is small."""
        return index[self.rank :: self.world]

    def total(self, *values: float) -> list[float]:
        """Each value summed over all processes."""
        if self.world == 1:
            return list(values)
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        sums = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(sums)
        return sums.tolist()

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world > 1:
            dist.barrier()

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        """A module whose gradients are the mean over all processes."""
        if self.world == 1:
            return module
        ids = [device] if device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(module, device_ids=ids)

    def weight(self, losses: Tensor, n: int, empty: bool) -> Tensor:
        """The share of this process in the mean loss of a batch of ``n`` windows in all.

        Gradients are averaged over processes, so each sum is multiplied by their number and
        divided by the windows of *all*: a mean per process would give a window more weight the
        fewer others its process has. A process without a window lends one that counts nothing.
        """
        return losses.sum() * (0.0 if empty else self.world / n)


def restarted() -> bool:
    """Whether ``torchrun`` has started the team again, after one of it died."""
    return _attempt() > 0


def _attempt() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


@contextmanager
def joined() -> Iterator[torch.device | None]:
    """Join the team that ``torchrun`` has started, if it has; gives the device to train on."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1 or dist.is_initialized():
        yield None
        return
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    store, rank, world = next(rendezvous("env://"))
    # A team that is started again shares the store with the one that died, addresses included.
    store = PrefixStore(f"attempt {_attempt()}", store)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world)
    try:
        yield device
    finally:
        dist.destroy_process_group()
