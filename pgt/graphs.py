"""Training steps as CUDA graphs: one command to the GPU a step, in place of several hundred.

A small model's step is hundreds of short kernels, and to launch one takes longer than to run it. A
graph is recorded once for every padded length and then replayed as a whole. What it reads and
writes must stay where it was: windows, learning rate, step and sums are all on the device.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pgt.errors import DataError
from pgt.windows import Windows

BUCKETS = (8, 16, 24, 32, 48, 64, 96)  # visits; with the longest, at most eight padded lengths
MOST_BYTES = 2**32  # bytes that the padded windows may have on the GPU
# They look at sizes on the CPU, or at who else is in the batch.
NOT_THESE = (nn.RNNBase, nn.modules.batchnorm._BatchNorm)


def pick_device(device: torch.device | str | None = None) -> torch.device:
    """This device, if it is here; without one, CUDA when it is there, else the CPU."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise DataError(f"Nothing can be computed on {str(device)!r} here; use cpu.") from error


def possible(model: Any, train: Windows, device: torch.device) -> bool:
    """Whether the steps of a training may be recorded."""
    fields = 4 * 2 * len(train.batch([0]).__dict__)  # bytes a visit
    longest = min(int(train.lengths.max()), model.config.max_len)
    fits = len(train) * longest * fields < MOST_BYTES
    known = not any(isinstance(part, NOT_THESE) for part in model.modules())
    return device.type == "cuda" and known and fits


class Graphs:
    """The steps of a `pgt.train.TrainingRun`, by the padded length of a batch.

    On a CPU, or without ``capture``, the same code takes the steps one command after the other.
    """

    def __init__(self, run: Any, batch_size: int, capture: bool = True) -> None:
        self.training, device = run, run.device
        max_len = run.model.config.max_len
        lengths = np.minimum(run.train.lengths, max_len)
        shortest, longest = int(lengths.min()), int(lengths.max())
        self.buckets = [*(bucket for bucket in BUCKETS if shortest <= bucket < longest), longest]
        self.padded = np.array(self.buckets)[np.searchsorted(self.buckets, lengths)]  # (W,)
        self.kind = type(run.train.batch([0]))
        self.table = padded_table(run.train, max_len, longest, device)
        # A step reads its windows' numbers and their shares of the loss here.
        self.index = torch.zeros(batch_size, dtype=torch.long, device=device)
        self.share = torch.zeros(batch_size, device=device)
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        if capture and device.type == "cuda":
            # A window longer than the padding would be cut: the shortest fits into all.
            self.index.fill_(int(lengths.argmin()))
            self.share.fill_(1 / batch_size)
            self.capture()

    def step(self, length: int) -> None:
        """A step, padded to so many visits, of the windows that `index` names."""
        batch = {
            name: (row if row.ndim == 1 else row[:, :length]).index_select(0, self.index).long()
            for name, row in self.table.items()
        }
        self.training.step(self.kind(**batch), self.share)

    def capture(self) -> None:
        """Record a step of each padded length; what the first steps did is put back."""
        model, memory = self.training.model, self.training.optimizer.state.values()
        changing = [*model.state_dict().values(), self.training.at, self.training.sums]
        changing += [tensor for each in memory for tensor in each.values()]
        kept = [tensor.clone() for tensor in changing]
        model.train()
        pool = None
        if self.never_waits():
            for length in reversed(self.buckets):
                self.graphs[length] = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graphs[length], pool=pool):
                    self.step(length)
                pool = self.graphs[length].pool()
        with torch.no_grad():
            for tensor, value in zip(changing, kept, strict=True):
                tensor.copy_(value)

    def never_waits(self) -> bool:
        """Take a step of each length; whether none asks the GPU for a value, which no graph can."""
        # Libraries set themselves up in their first steps, which no graph may hold either.
        side, mode = torch.cuda.Stream(), torch.cuda.get_sync_debug_mode()
        side.wait_stream(torch.cuda.current_stream())
        with warnings.catch_warnings(action="ignore"):  # that this mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        try:
            with torch.cuda.stream(side):
                for length in [*self.buckets, self.buckets[-1]]:
                    self.training.at.zero_()  # an epoch may have fewer steps than these
                    self.step(length)
        except RuntimeError as error:
            if "synchronizing" not in str(error):
                raise
            return False
        finally:
            torch.cuda.set_sync_debug_mode(mode)
            torch.cuda.current_stream().wait_stream(side)
        return True

    def run(self, batches: Iterable[np.ndarray]) -> None:
        """Take a step for each batch of windows; nothing waits for the GPU."""
        listed, size = list(batches), len(self.index)
        # A short batch is filled with its last window, whose copies have no share.
        filled = np.stack([np.pad(index, (0, size - len(index)), mode="edge") for index in listed])
        shares = np.stack([np.pad(np.full(len(index), 1 / len(index)), (0, size - len(index)))
                           for index in listed])  # fmt: skip
        index = torch.from_numpy(filled).to(self.index.device)
        share = torch.from_numpy(shares).float().to(self.index.device)
        for at, batch in enumerate(listed):
            self.index.copy_(index[at])
            self.share.copy_(share[at])
            length = int(self.padded[batch].max())
            if length in self.graphs:
                self.graphs[length].replay()
            else:
                self.step(length)


def padded_table(
    train: Windows, max_len: int, longest: int, device: torch.device
) -> dict[str, Tensor]:
    """(W, ``longest``) and (W,) int32, the fields of all windows' batches."""
    parts: dict[str, list[Tensor]] = {}
    for start in range(0, len(train), 4096):
        batch = train.batch(np.arange(start, min(start + 4096, len(train))), max_len)
        for name, value in vars(batch).items():
            wide = F.pad(value, (0, longest - value.shape[1])) if value.ndim == 2 else value
            parts.setdefault(name, []).append(wide.int().to(device))
    return {name: torch.cat(some) for name, some in parts.items()}
