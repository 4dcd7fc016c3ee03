"""Damaged models: read as they were written, or refused in one sentence."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from safetensors.torch import save_file

from pgt.checkpoint import load_model, save_model
from pgt.errors import DataError
from pgt.files import read
from pgt.windows import prepare

from .helpers import model_of, refusal, routine_visits, tiny_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model."""
    folder = tmp_path_factory.mktemp("models")
    data = prepare(routine_visits(users=2, days=40))
    model = model_of(tiny_config(data)).float()
    save_model(folder / "m.safetensors", model, data.vocabulary, {"seed": 1})
    return folder


def test_whatever_happens_to_a_model_it_is_read_or_refused(folder: Path) -> None:
    whole = (folder / "m.safetensors").read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    rng = random.Random(0)
    path = folder / "mutant.safetensors"
    said = []
    for _ in range(150):
        content = bytearray(whole)
        for at in rng.choices(range(header), k=rng.choice((1, 1, 3))):
            content[at] = rng.choice((content[at] ^ 1 << rng.randrange(8), rng.randrange(32, 127)))
        if rng.random() < 0.1:
            del content[max(rng.randrange(len(content)), 1) :]
        path.write_bytes(content)
        said.append(refusal(lambda: load_model(path)))
    assert any(said)
    assert not any("\n" in message for message in said)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(folder: Path, value: float) -> None:
    tensors, info = read(folder / "m.safetensors")
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    kept[max(kept)].view(-1)[0] = value
    path = folder / "nan.safetensors"
    save_file(kept, path, metadata={"format": "pgt-1", "info": json.dumps(info)})
    with pytest.raises(DataError, match="holds weights that are no numbers"):
        load_model(path)
