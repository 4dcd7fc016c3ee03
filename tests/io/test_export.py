"""A model taken out of PyTorch: as numbers of three bytes, as JSON, as ONNX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pgt.cli.parser import main
from pgt.io import onnx
from pgt.io.onnx import OUTPUTS, feed, write_onnx
from wherenext.weights_json import SWITCHES, as_json, pack, switch_off, unpack

from pgt.batch import Batch
from pgt.checkpoint import load_model, save_model, shipped
from pgt.config import PARTS, ModelConfig, WindowConfig
from pgt.errors import DataError
from pgt.model import PointerGeneratorTransformer
from pgt.vocabulary import Vocabulary

SIZE = {"n_locations": 30, "n_users": 5, "d_model": 16, "n_heads": 2, "d_feedforward": 24}


def small(**more: Any) -> PointerGeneratorTransformer:
    torch.manual_seed(3)
    model = PointerGeneratorTransformer(ModelConfig(**{**SIZE, "max_len": 20, **more})).eval()
    if model.pointer is not None and model.pointer.position_bias is not None:
        torch.nn.init.normal_(model.pointer.position_bias)
    return model


def random_batch(
    *, n_locations: int = 30, n_users: int = 5, windows: int = 12, visits: int = 9, seed: int = 0
) -> Batch:
    """Windows of random lengths, one of them with all ``visits``."""
    rng = np.random.default_rng(seed)
    length = rng.integers(1, visits + 1, windows)
    length[0] = visits
    inside = np.arange(visits) < length[:, None]

    def each(low: int, high: int) -> Any:
        return torch.from_numpy(rng.integers(low, high, (windows, visits)) * inside)

    def one(high: int) -> Any:
        return torch.from_numpy(rng.integers(0, high, windows))

    return Batch(
        location=each(1, n_locations), time=each(1, 97), weekday=each(1, 8),
        duration=each(1, 101), days_ago=each(0, 10), start_minute=each(0, 1440),
        user=one(n_users), length=torch.from_numpy(length), now_minute=one(1440),
        index=torch.arange(windows), target=one(n_locations), target_time=one(97),
        target_weekday=one(8), gap_days=one(3),
    )  # fmt: skip


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


def test_a_model_of_zeros_can_be_packed() -> None:
    model = small()
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    assert all((value == 0).all() for value in unpack(pack(model)).values())


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


def test_weights_that_are_no_numbers_are_refused() -> None:
    model = small()
    with torch.no_grad():
        model.generator.bias[2] = float("nan")
    with pytest.raises(DataError, match=r"generator\.bias"):
        pack(model)


def test_json_holds_the_vocabulary_in_order() -> None:
    words = Vocabulary(tuple("abcdefghijklmnopqrstuvwxyzäö"), (4, 5, 6, 7), 20)
    text = as_json(small(), words)
    assert text["format"] == "pgt-live-1"
    assert text["vocabulary"]["locations"] == list(words.locations)
    assert json.loads(json.dumps(text)) == text
    with pytest.raises(DataError, match="different sizes"):
        as_json(small(), replace(words, users=(4,)))


# ---- Parts switched off ----------------------------------------------------------------------


def test_every_switch_changes_the_prediction_and_not_the_model() -> None:
    model, batch = small(), random_batch()
    with torch.no_grad():
        before = model(batch).log_probs
        for part in SWITCHES:
            after = switch_off(model, [part])(batch).log_probs.exp()
            assert torch.allclose(after.sum(1), torch.ones(len(batch)), atol=1e-5), part
            assert (after - before.exp()).abs().max() > 1e-6, part
        assert torch.equal(model(batch).log_probs, before)


def test_a_silent_gate_is_one_half_and_a_lone_half_is_the_model() -> None:
    model, batch = small(), random_batch()
    with torch.no_grad():
        whole = model(batch)
        assert (switch_off(model, ["gate"])(batch).gate == 0.5).all()
        alone = switch_off(model, ["generator"])(batch)
        assert torch.allclose(alone.log_probs.exp(), whole.pointer_log_probs.exp(), atol=1e-6)
        alone = switch_off(model, ["pointer"])(batch)
        assert torch.allclose(alone.log_probs, whole.generator_log_probs, atol=1e-5)


def test_a_silent_embedding_is_one_that_says_nothing() -> None:
    model = switch_off(small(), PARTS[:6])
    batch = random_batch()
    moved = replace(batch, time=batch.time.flip(0), user=batch.user.flip(0))
    with torch.no_grad():
        assert torch.equal(model(batch).log_probs, model(moved).log_probs)


def test_wrong_switches_are_refused() -> None:
    with pytest.raises(DataError, match="no part 'wheel'"):
        switch_off(small(), ["wheel"])
    with pytest.raises(DataError, match="nothing is left"):
        switch_off(small(), ["pointer", "generator"])


# ---- ONNX ------------------------------------------------------------------------------------


def differences(
    model: PointerGeneratorTransformer, path: Path, shapes: Sequence[tuple[int, int]]
) -> float:
    """The largest difference of any output, as a probability, over batches of many shapes."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    most = 0.0
    for windows, visits in shapes:
        batch = random_batch(
            n_locations=model.config.n_locations, n_users=model.config.n_users,
            windows=windows, visits=visits, seed=visits,
        )  # fmt: skip
        with torch.no_grad():
            own = model(batch)
        theirs = dict(zip(OUTPUTS, session.run(list(OUTPUTS), feed(model, batch)), strict=True))
        for name in OUTPUTS:
            one, other = getattr(own, name).numpy(), theirs[name]
            assert one.shape == other.shape
            if name.endswith("log_probs"):
                one, other = np.exp(one), np.exp(other)
            most = max(most, float(np.abs(one - other).max()))
    return most


@pytest.mark.slow
def test_onnx_gives_the_shipped_models_probabilities(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    model, _ = load_model(shipped("city"))
    path = write_onnx(model, tmp_path / "city.onnx")
    shapes = [(1, 1), (1, 17), (2, 3), (3, 5), (64, 47), (5, model.config.max_len)]
    assert differences(model, path, shapes) < 1e-5
    assert [one.name for one in tmp_path.iterdir()] == ["city.onnx"], "weights lie beside it"


@pytest.mark.slow
def test_onnx_of_another_configuration(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    model = small(target_time="day", without=("generator", "user"))
    path = write_onnx(model, tmp_path / "m.onnx")
    assert differences(model, path, [(1, 1), (4, 9), (2, 20)]) < 1e-5


def test_missing_onnx_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(onnx, "find_spec", lambda name: None)
    assert main(["export", "--onnx", str(tmp_path / "m.onnx")]) == 2
    said = capsys.readouterr().err
    assert "pip install onnx onnxscript onnxruntime" in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


# ---- The command -----------------------------------------------------------------------------


def test_the_command_writes_json_that_holds_the_model(tmp_path: Path) -> None:
    out = tmp_path / "city.json"
    assert main(["export", "--out", str(out)]) == 0
    text = json.loads(out.read_text(encoding="utf-8"))
    model, words = load_model(shipped("city"))
    assert tuple(text["vocabulary"]["locations"]) == words.locations
    gap = unpack(text)["generator.bias"] - model.generator.bias.double()
    assert gap.abs().max() < 1e-6
    assert [one.name for one in tmp_path.iterdir()] == ["city.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Nothing to write"),
        (["--out", "m.txt"], "must end in .json"),
        (["--html", "m.json"], "must end in .html"),
        (["--onnx", "m.pt"], "must end in .onnx"),
        (["--model", "missing.safetensors", "--out", "m.json"], "no checkpoint"),
        (["--visits", "v.parquet", "--out", "m.json"], "--visits is for the page"),
        (["--visits", "v.parquet", "--html", "m.html"], "--visits needs --model"),
    ],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", *options]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir()), "something was written all the same"


def test_a_model_of_another_town_needs_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = Vocabulary(tuple(f"place {i}" for i in range(28)), tuple("abcd"), 20)
    save_model(tmp_path / "m.safetensors", small(), words, windows=WindowConfig())
    command = ["export", "--model", str(tmp_path / "m.safetensors"), "--html"]
    assert main([*command, str(tmp_path / "m.html")]) == 2
    assert "--html needs --visits" in capsys.readouterr().err
