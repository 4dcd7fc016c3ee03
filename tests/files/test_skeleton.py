"""Skeletons have the shapes of the modules, and nothing else is loaded for them."""

from __future__ import annotations

from torch import nn

from pgt.files import shapes_only

from ..helpers import ROOT, run_python


def made() -> nn.Module:
    module = nn.Sequential(nn.Linear(3, 4), nn.Embedding(5, 6), nn.LayerNorm(2))
    nn.init.normal_(tensor=module[1].weight[:, :2], std=0.1)
    return module


def test_only_the_shapes_are_there() -> None:
    with shapes_only():
        skeleton = made()
    own = made().state_dict()
    assert {name: one.shape for name, one in skeleton.state_dict().items()} == {
        name: one.shape for name, one in own.items()
    }
    assert {one.device.type for one in skeleton.state_dict().values()} == {"meta"}
    assert nn.Embedding(5, 6).weight.std() > 0.1  # afterwards, numbers are drawn again


def test_the_predictor_answers_without_the_compiler() -> None:
    said = run_python(
        "-c",
        "import sys, pandas, pgt\n"
        "at = pandas.Timestamp('2024-05-01 08:00+02:00')\n"
        "visits = {'user_id': [1], 'location_id': ['home'], 'started_at': [at]}\n"
        "print(len(pgt.NextLocation.pretrained().predict(pandas.DataFrame(visits))))\n"
        "print('torch._dynamo' in sys.modules)",
        cwd=ROOT,
    )
    assert said.stdout.split() == ["1", "False"], said.stderr
