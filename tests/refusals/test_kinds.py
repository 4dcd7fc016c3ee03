"""What is given instead of windows, a configuration or a vocabulary is named for what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import wherenext.city

import pgt
from pgt.refusals.kinds import require_device
from pgt.train import fit

from ..helpers import model_of, tiny_config


@pytest.mark.parametrize("windows", [None, "test", 3, wherenext.city.load().visits])
def test_windows_are_windows(windows: Any) -> None:
    with pytest.raises(pgt.DataError, match=r"windows is a .*; give windows, such as data\.test"):
        pgt.evaluate(pgt.MostFrequent(), windows)


def test_training_names_what_it_wants() -> None:
    data = pgt.prepare(wherenext.city.load().visits)
    rule: Any = pgt.MostFrequent()
    for arguments, says in (
        ((data, data.valid), "train is a PreparedDataset; give windows, such as data.train"),
        ((data.train, None), "valid is a NoneType; give windows, such as data.valid"),
        ((data.train, data.valid, {"seed": 1}), "config is a dict; give a pgt.TrainConfig"),
    ):
        with pytest.raises(pgt.DataError, match=says):
            fit(rule, *arguments)


def test_preparing_names_what_it_wants() -> None:
    visits: Any = wherenext.city.load().visits
    wrong: Any = {"days": 3}
    with pytest.raises(pgt.DataError, match="config is a dict; give a WindowConfig"):
        pgt.prepare(visits, config=wrong)
    with pytest.raises(pgt.DataError, match="vocabulary is a str; give a Vocabulary"):
        pgt.prepare(visits, vocabulary="city")  # type: ignore[arg-type]


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
    data = pgt.prepare(wherenext.city.load().visits)
    few = data.train.subset(np.arange(64))
    model = model_of(tiny_config(data))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(pgt.DataError, match="Nothing is computed on 'nonsense'"):
        fit(model, few, few, device="nonsense")
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
