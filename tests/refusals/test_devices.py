"""A device that is none, or not here, is named in one sentence before anything is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import pgt
from pgt.refusals.devices import require_device
from pgt.train import fit

from ..helpers import model_of, tiny_config

NONE = ["nonsense", "", "cpu:", "cpu:x", "cuda:-1", "CPU", "meta", torch.device("meta"),
        "cuda:9999", 1.5, -1, ["cpu"]]  # fmt: skip


@pytest.mark.parametrize("device", NONE)
def test_what_is_no_device_is_refused(device: Any) -> None:
    with pytest.raises(pgt.DataError, match=r"^Nothing is computed on .+; use cpu or cuda\.$"):
        require_device(device)


@pytest.mark.parametrize("device", ["cpu", "cpu:0", torch.device("cpu"), None])
def test_what_is_one_passes(device: Any) -> None:
    require_device(device)


def test_devices_that_are_not_here_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for there in ("cuda", "cuda:1", 1, torch.device("cuda", 0)):
        require_device(there)
    for missing in ("cuda:2", 2, torch.device("cuda", 7)):
        with pytest.raises(pgt.DataError, match=r"no CUDA device .+ here; use cpu"):
            require_device(missing)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(pgt.DataError, match="no CUDA device 'cuda' here"):
        require_device("cuda")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    require_device("mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(pgt.DataError, match="no MPS device here"):
        require_device("mps")


def test_training_refuses_them_and_leaves_the_model_alone() -> None:
    data = pgt.prepare(pgt.city.load().visits)
    few = data.train.subset(np.arange(64))
    model = model_of(tiny_config(data))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(pgt.DataError, match="Nothing is computed on 'nonsense'"):
        fit(model, few, few, device="nonsense")
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
