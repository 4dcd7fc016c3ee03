"""The predictor's networks as ONNX, for any program that runs such files."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from pgt.history import HistoryBatch
from pgt.io.onnx import write_module
from pgt.predictor.experts import Experts

# What the networks read of a question: (B, L) of each visit, (B,) of now, and of the target's time.
VISITS = (
    "location", "age", "days_ago", "start_minute", "weekday", "stay", "before", "two_before",
    "end_before", "stay_before", "gap_before", "stands_for",
)  # fmt: skip
NOW = ("length", "now_minute", "last_stay")
THEN = ("target_minute", "target_weekday", "wait")
OTHERS = ("time", "duration", "user", "index", "target", "target_time", "gap_days")
MOST = 10_000  # visits with a question
OUTPUTS = ("place", "probability")


class _Plain(nn.Module):
    """The networks between tensors; ONNX knows no classes."""

    def __init__(self, experts: Experts, names: tuple[str, ...]) -> None:
        super().__init__()
        networks = deepcopy(experts.networks)
        for network in networks:
            # Nothing is encoded here, so no visits are cut off, and one graph serves all lengths.
            network.config = replace(network.config, recent=MOST)
        self.experts, self.names = nn.ModuleList(networks), names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        *known, weights = tensors
        given = dict(zip(self.names, known, strict=True))
        none, nowhere = torch.zeros_like(given["length"]), torch.zeros_like(given["location"])
        rest = dict.fromkeys((*THEN, *OTHERS), none) | {"time": nowhere, "duration": nowhere}
        batch = HistoryBatch(**(rest | given))
        each = [expert.mixture(batch) for expert in self.experts]  # type: ignore[operator]
        share = torch.stack([mixture.pointer.exp() for mixture in each])  # (K, B, S)
        return each[0].place, (share * weights[:, None, None]).sum(0)


def inputs(experts: Experts) -> tuple[str, ...]:
    """The names of the file's inputs before ``weights``, (K,) those of the experts."""
    return (*VISITS, *NOW, *(THEN if experts.config.knows_time else ()))


def feed(experts: Experts, batch: HistoryBatch) -> dict[str, np.ndarray]:
    """A batch as onnxruntime takes it, with the weights that the experts have."""
    fields = {name: getattr(batch, name).cpu().numpy() for name in inputs(experts)}
    return fields | {"weights": experts.weights.numpy()}


def write_onnx(experts: Experts, path: str | Path) -> Path:
    """Write the networks of one question; questions and visits may be any number.

    The outputs are ``place`` (B, S), numbers as in ``location``, -1 = none, and ``probability``
    (B, S) of each, adding up to 1; what "somewhere new" gets is left to the caller.

    Parameters
    ----------
    experts : Experts
        ``bundle_.next_place`` or ``bundle_.at_a_time`` of a `pgt.NextLocation`.
    path : str or Path
        The name appears only once the file is complete.

    Raises
    ------
    DataError
        The packages for it are not installed.
    """
    names = inputs(experts)
    length = torch.tensor([5, 3])  # a size of one would be taken for a constant
    inside = (torch.arange(5) < length[:, None]).long()
    example = dict.fromkeys(VISITS, inside) | {"location": 2 * inside, "length": length}
    tensors = [example.get(name, torch.zeros(2, dtype=torch.long)) for name in names]
    batch, time = torch.export.Dim("windows"), torch.export.Dim("visits", min=3, max=MOST)
    shapes = [{0: batch, 1: time} if name in VISITS else {0: batch} for name in names]
    return write_module(
        _Plain(experts, names).eval(), path, (*tensors, experts.weights), [*shapes, {}],
        (*names, "weights"), OUTPUTS,
    )  # fmt: skip
