"""The predictor as ONNX: the same probabilities as in torch, for any number of questions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import wherenext.city
from pgt.cli.parser import main
from pgt.predictor.asking import ask
from pgt.predictor.estimator import NextLocation
from pgt.predictor.experts import Experts
from pgt.predictor.onnx import OUTPUTS, feed, write_onnx

import pgt
from pgt.visits import check

from ..helpers import random_visits


@pytest.mark.slow
@pytest.mark.parametrize("name", ["next_place", "at_a_time"])
def test_onnx_gives_the_probabilities_of_torch(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    experts: Experts = getattr(NextLocation.pretrained().bundle_, name)
    path = tmp_path / "m.onnx"
    if name == "next_place":
        NextLocation.pretrained().save(tmp_path / "m.safetensors")
        assert (
            main(["export", "--model", str(tmp_path / "m.safetensors"), "--onnx", str(path)]) == 0
        )
    else:
        write_onnx(experts, path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    town = wherenext.city.load().visits
    data = pgt.with_history(pgt.prepare(town, protocol="exact"), 100, 100)
    few = ask(check(random_visits(1, users=3, visits=1)), memory=100, older=100).windows
    at = pd.Timestamp("2023-01-10 09:00", tz=town.started_at.dt.tz)
    timed = ask(town, memory=100, older=100, at=at).windows
    batches = [data.test.batch(np.arange(n)) for n in (1, 2, 64)]
    batches += [few.batch([0]), few.batch([0, 1, 2]), timed.batch(np.arange(len(timed)))]
    batches.append(data.train.batch(np.argsort(data.train.lengths)[-5:]))
    weights = torch.tensor([0.2, 0.8])
    for ours in (experts, Experts(experts.networks, weights).eval()):
        for batch in batches:
            with torch.no_grad():
                mixture = ours.mixture(batch)
            place, probability = session.run(list(OUTPUTS), feed(ours, batch))
            assert np.array_equal(place, mixture.place.numpy())
            assert np.abs(probability - mixture.pointer.exp().numpy()).max() < 1e-5
            assert np.allclose(probability.sum(1), 1, atol=1e-5)


def test_what_cannot_be_written_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule, networks = tmp_path / "rule.safetensors", tmp_path / "networks.safetensors"
    NextLocation("last").fit(wherenext.city.load().visits).save(rule)
    NextLocation.pretrained().save(networks)
    for model, option, message in (
        (rule, "--onnx", "no network to export"),
        (networks, "--html", "python -m pgt live"),
        (networks, "--out", "--onnx FILE.onnx only"),
    ):
        out = tmp_path / {"--onnx": "m.onnx", "--html": "m.html", "--out": "m.json"}[option]
        assert main(["export", "--model", str(model), option, str(out)]) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1
        assert not out.exists()
