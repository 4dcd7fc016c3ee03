"""A trained model as text that a web page can hold.

Every weight becomes a whole number of 24 bits times its tensor's unit, about a float32's accuracy;
the bytes stand in the JSON as base64. `live.js` reads them back, and so does `unpack`.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgt.config import PARTS
from pgt.errors import DataError
from pgt.model import PlaceModel, PointerGeneratorTransformer

LARGEST = 2**23 - 1  # of a signed number of 24 bits
ONE_LAYER = "one_layer"  # not a part of the configuration, but a row of the ablations
SWITCHES = (*PARTS, ONE_LAYER)
# Their padding has index 0, and so has nothing to switch off.
TABLES = PARTS[:6]


def pack(
    model: PlaceModel, *, rows: Mapping[str, Sequence[int]] | None = None,
    leave_out: Collection[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """A model as plain values, ready for JSON: ``config``, ``tensors`` and ``data`` (base64).

    Of the tensors in ``rows`` only these rows are kept, and parts in ``leave_out`` not at all.
    """
    tensors: dict[str, dict[str, Any]] = {}
    parts: list[np.ndarray] = []
    at = 0
    for name, tensor in model.state_dict().items():
        if name.split(".")[0] in leave_out:
            continue
        values = tensor.detach().cpu().double().numpy()
        if not np.isfinite(values).all():
            raise DataError(f"The weights '{name}' hold values that are no numbers; train anew.")
        about: dict[str, Any] = {"shape": list(values.shape), "at": at}
        if rows and name in rows:
            values = values[list(rows[name])]
            about["rows"] = [int(row) for row in rows[name]]
        unit = float(np.abs(values).max(initial=0.0)) / LARGEST or 1.0
        whole = np.rint(values / unit).astype("<i4").ravel()
        parts.append(whole.view(np.uint8).reshape(-1, 4)[:, :3].ravel())
        tensors[name] = about | {"unit": unit}
        at += values.size
    data = base64.b64encode(np.concatenate(parts).tobytes()).decode()
    config = asdict(model.config) | {"without": list(model.config.without)}
    return {"config": config, "tensors": tensors, "data": data}


def unpack(packed: Mapping[str, Any]) -> dict[str, Tensor]:
    """Read the weights that `pack` wrote, as `live.js` does; rows that were left out are 0."""
    raw = np.frombuffer(base64.b64decode(packed["data"]), dtype=np.uint8).reshape(-1, 3)
    wide = np.zeros((len(raw), 4), dtype=np.uint8)
    wide[:, 1:] = raw  # as the upper three bytes, so that the sign comes out right
    numbers = wide.view("<i4").ravel() >> 8
    tensors = {}
    for name, about in packed["tensors"].items():
        shape = about["shape"]
        rows = about.get("rows", range(shape[0]))
        values = np.zeros(shape)
        size = len(rows) * int(np.prod(shape[1:]))
        part = numbers[about["at"] : about["at"] + size] * about["unit"]
        values[list(rows)] = part.reshape(len(rows), *shape[1:])
        tensors[name] = torch.from_numpy(values)
    return tensors


def switch_off(
    model: PointerGeneratorTransformer, parts: Collection[str]
) -> PointerGeneratorTransformer:
    """A copy of a trained model with parts of `SWITCHES` silenced, as the live model does it.

    The other weights stay: this asks how much the model leans on the part.
    """
    unknown = set(parts) - set(SWITCHES)
    if unknown:
        raise DataError(f"There is no part {min(unknown)!r}; choose of {', '.join(SWITCHES)}.")
    if {"pointer", "generator"} <= set(parts):
        raise DataError("Without pointer and generator nothing is left to predict with.")
    silent = copy.deepcopy(model).eval()
    with torch.no_grad():
        for part in set(parts) & set(TABLES) & set(silent.embeddings.tables):
            silent.embeddings.tables[part].weight.zero_()  # type: ignore[operator]
        if "sinusoid" in parts:
            silent.encoder.positions.zero_()
        if "position_bias" in parts and silent.pointer is not None:
            silent.pointer.position_bias = None
    if ONE_LAYER in parts:
        del silent.encoder.layers[1:]
    for part in {"pointer", "generator"} & set(parts):
        setattr(silent, part, None)
    if {"pointer", "generator", "gate"} & set(parts):
        silent.gate = None
    return silent
