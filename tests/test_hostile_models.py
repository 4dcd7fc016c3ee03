"""Damaged models: read as they were written, or refused in one sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

from pgt.checkpoint import load_model, load_windows_config, save_model
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
    save_model(folder / "m.safetensors", model, data.vocabulary, {"seed": 1}, data.config)
    return folder


def rewritten(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """The model with another header."""
    tensors, info = read(folder / "m.safetensors")
    kept = {name: value.clone() for name, value in tensors.items()}
    text = change(info)
    path = folder / "changed.safetensors"
    header = {"format": "pgt-1", "info": text if isinstance(text, str) else json.dumps(text)}
    save_file(kept, path, metadata=header)
    return path


def sized(info: dict[str, Any], **sizes: int) -> dict[str, Any]:
    """A header that claims other sizes."""
    return info | {"model": info["model"] | sizes}


def loaded(path: Path) -> None:
    """Load all that is loaded of a model."""
    load_model(path)
    load_windows_config(path)


ROOM = "its header claims more than its weights have room for"
HEADERS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no JSON": (lambda info: "{", "cut short or damaged"),
    "deep JSON": (lambda info: "[" * 100_000, "cut short or damaged"),
    "a list": (lambda info: [], "its header is no table of names"),
    "a number": (lambda info: 7, "its header is no table of names"),
    "no model": (lambda info: {"notes": {}}, "does not fit this version of pgt"),
    "no vocabulary": (lambda info: info | {"vocabulary": {}}, "does not fit this version"),
    "a width that no memory holds": (lambda info: sized(info, d_model=4 * 10**8), ROOM),
    "a middle that no memory holds": (lambda info: sized(info, d_feedforward=10**9), ROOM),
    "more layers than weights": (lambda info: sized(info, n_layers=10**9), ROOM),
    "a window of a billion": (lambda info: sized(info, max_len=10**9), ROOM),
    "a width beyond all bounds": (lambda info: sized(info, d_model=4 * 10**11), "d_model=4"),
    "more places than the vocabulary":
        (lambda info: sized(info, n_locations=10**9), "n_locations is 1000000000, the voc"),
    "fewer people than the vocabulary": (lambda info: sized(info, n_users=1), "n_users is 1, the"),
    "another width": (lambda info: sized(info, d_model=32), "but .* in this model; it belongs to"),
    "windows of 0 days":
        (lambda info: info | {"windows": info["windows"] | {"days": 0}}, "days=0 must be a whole"),
    "no windows": (lambda info: info | {"windows": {}}, "does not say on which windows"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_tampered_header_is_refused_in_one_sentence(name: str, folder: Path) -> None:
    change, says = HEADERS[name]
    path = rewritten(folder, change)
    with pytest.raises(DataError, match=says) as refusal:
        loaded(path)
    assert "\n" not in str(refusal.value)


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
        said.append(refusal(lambda: loaded(path)))
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
