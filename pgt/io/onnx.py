"""Take a trained model out of PyTorch: as ONNX, for any program that runs such files."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pgt.batch import Batch
from pgt.errors import DataError
from pgt.files import whole
from pgt.model import PointerGeneratorTransformer

# What a prediction needs of a window; (B, L) the first five, (B,) the others.
VISITS = ("location", "time", "weekday", "duration", "days_ago")
WINDOW = ("user", "length", "gap_days")
OUTPUTS = (
    "log_probs", "gate", "pointer_attention", "pointer_log_probs", "generator_log_probs",
)  # fmt: skip


class _Plain(nn.Module):
    """The model between tensors; ONNX knows no classes."""

    def __init__(self, model: PointerGeneratorTransformer, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.names, tensors, strict=True))
        none = torch.zeros_like(given["length"])
        nowhere = torch.zeros_like(given["location"])
        batch = Batch(
            **{name: given[name] for name in (*VISITS, "user", "length")},
            gap_days=given.get("gap_days", none), start_minute=nowhere, now_minute=none,
            index=none, target=none, target_time=none, target_weekday=none,
        )  # fmt: skip
        out = self.model(batch)
        # Without a generator two of them are one tensor, which can have one name only.
        return tuple(getattr(out, name).clone() for name in OUTPUTS)


def inputs(model: PointerGeneratorTransformer) -> tuple[str, ...]:
    """The names of the ONNX file's inputs; only a model that knows the day reads ``gap_days``."""
    return (*VISITS, *(WINDOW if model.config.target_time == "day" else WINDOW[:2]))


def feed(model: PointerGeneratorTransformer, batch: Batch) -> dict[str, np.ndarray]:
    """A batch as onnxruntime takes it: the fields by name, int64.

    Windows longer than the model's ``max_len`` must have been cut before
    (``windows.batch(index, max_len)``).
    """
    return {name: getattr(batch, name).cpu().numpy() for name in inputs(model)}


def write_onnx(model: PointerGeneratorTransformer, path: str | Path) -> Path:
    """Write a model as ONNX; windows in a batch and visits in a window may be any number.

    Parameters
    ----------
    model : PointerGeneratorTransformer
    path : str or Path
        The name appears only once the file is complete.

    Raises
    ------
    DataError
        When the packages for it are not installed.

    Notes
    -----
    A window must not have more visits than the model's ``max_len``: cutting is left to whoever
    builds the windows.
    """
    names = inputs(model)
    was_training = model.training
    batch, time = torch.export.Dim("windows"), torch.export.Dim("visits", max=model.config.max_len)
    shapes: list[dict[int, Any]] = [
        {0: batch, 1: time} if name in VISITS else {0: batch} for name in names
    ]
    try:
        return write_module(
            _Plain(model, names).eval(), path, _example(model, names), shapes, names, OUTPUTS
        )
    finally:
        model.train(was_training)


def write_module(
    module: nn.Module, path: str | Path, example: tuple[Tensor, ...],
    shapes: Sequence[dict[int, Any]], inputs: Sequence[str], outputs: Sequence[str],
) -> Path:  # fmt: skip
    """Write a module between tensors as ONNX.

    Parameters
    ----------
    module : nn.Module
    path : str or Path
        The name appears only once the file is complete.
    example : tuple of Tensor
        What it is traced with. No size may be 1, which would be taken for a constant.
    shapes : sequence of dict
        For each tensor, which dimensions may be of any size.
    inputs, outputs : sequence of str
        Names.

    Raises
    ------
    DataError
        When the packages for it are not installed.
    """
    missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
    if missing:
        raise DataError(
            f"Writing ONNX needs the package {missing[0]}, which is not installed; run: "
            "python -m pip install onnx onnxscript onnxruntime."
        )
    path = Path(path)
    # A tensor that stands for two inputs would make them one input of the graph.
    example = tuple(tensor.clone() for tensor in example)
    talk = logging.getLogger("torch.onnx")
    level = talk.level
    # Both speak of the exporter's own machinery; the tests check what comes out.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        talk.setLevel(logging.ERROR)
        # Strict, because only so is len(batch) traced and not taken for the number 2.
        traced = torch.export.export(module, example, dynamic_shapes=(tuple(shapes),), strict=True)
        traced = traced.run_decompositions(
            torch.export.default_decompositions() | {torch.ops.aten.searchsorted.Tensor: _steps}
        )
        program = torch.onnx.export(
            traced,
            dynamo=True,
            verbose=False,
            optimize=False,
            input_names=list(inputs),
            output_names=list(outputs),
        )
    talk.setLevel(level)
    if program is None:
        raise DataError("torch could not write this model as ONNX; update torch and onnxscript.")
    _shrink(program.model)
    with whole(path) as half:
        program.save(str(half), external_data=False)
    return path


def _shrink(model: Any) -> None:
    """Compute what is constant, and forget from which line of Python each node came.

    The exporter's own optimizer also merges a lower and an upper bound into one node, and in a
    graph of two networks loses a value that the second one needs.
    """
    from onnxscript import optimizer

    optimizer.fold_constants(model)
    optimizer.remove_unused_nodes(model)
    for node in model.graph:
        node.metadata_props.clear()


def _steps(sorted_sequence: Tensor, values: Tensor, *, right: bool = False, **_: Any) -> Tensor:
    """``torch.searchsorted``, which ONNX does not have, for few steps."""
    beyond = values[..., None] >= sorted_sequence if right else values[..., None] > sorted_sequence
    return beyond.sum(-1)


def _example(model: PointerGeneratorTransformer, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    """Two windows of five visits and of three: a size of one would be taken for a constant."""
    length = torch.tensor([5, 3])
    inside = torch.arange(5) < length[:, None]
    place = min(2, model.config.n_locations - 1)
    given = {name: torch.ones_like(inside, dtype=torch.long) * inside for name in VISITS}
    given |= {"location": place * inside.long(), "length": length}
    return tuple(given.get(name, torch.zeros(2, dtype=torch.long)) for name in names)
