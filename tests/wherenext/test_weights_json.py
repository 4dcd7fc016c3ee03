"""A model taken out of PyTorch, as numbers of three bytes; and its parts, switched off."""

from __future__ import annotations

from typing import Any

import torch
from wherenext.weights_json import pack, unpack

from pgt.checkpoint import load_model, shipped
from pgt.config import ModelConfig
from pgt.model import PointerGeneratorTransformer

SIZE = {"n_locations": 60, "n_users": 5, "d_model": 16, "n_heads": 2, "d_feedforward": 24}


def small(**more: Any) -> PointerGeneratorTransformer:
    torch.manual_seed(3)
    model = PointerGeneratorTransformer(ModelConfig(**{**SIZE, "max_len": 20, **more})).eval()
    if model.pointer is not None and model.pointer.position_bias is not None:
        torch.nn.init.normal_(model.pointer.position_bias)
    return model


def test_a_weight_comes_back_to_24_bits() -> None:
    model, _ = load_model(shipped("city"))
    back = unpack(pack(model))
    own = model.state_dict()
    assert list(back) == list(own)
    for name, weight in own.items():
        step = float(weight.abs().max()) / (2**23 - 1)
        gap = (back[name] - weight.double()).abs().max()
        assert gap <= 0.51 * step, name
    assert (back["embeddings.tables.location.weight"][0] == 0).all(), "padding is no longer zero"


def test_rows_that_were_left_out_come_back_as_zeros() -> None:
    model = small()
    name = "embeddings.tables.location.weight"
    packed = pack(model, rows={name: [0, 7, 3]}, leave_out=("generator", "gate"))
    back = unpack(packed)
    assert not [key for key in back if key.startswith(("generator", "gate"))]
    table = model.state_dict()[name].double()
    assert torch.allclose(back[name][[7, 3]], table[[7, 3]], atol=1e-6)
    rest = [row for row in range(len(table)) if row not in (7, 3)]
    assert (back[name][rest] == 0).all()
    assert len(packed["data"]) < 0.9 * len(pack(model)["data"])
