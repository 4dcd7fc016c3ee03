"""Checkpoints: whole or not at all, and never a pickle."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from wherenext import city
from wherenext.results import read_results

from pgt.checkpoint import load_model, read_tensors, save_model, shipped, write_tensors
from pgt.errors import DataError, DataNote
from pgt.metrics import evaluate, gains
from pgt.predictor.predictor import NextLocation
from pgt.windows import Dataset, prepare

from .helpers import model_of, random_visits, tiny_config


@pytest.fixture(scope="module", params=["int", "str"])
def data(request: pytest.FixtureRequest) -> Dataset:
    visits = random_visits(1, users=3, visits=85)
    ids = ["user_id", "location_id"]
    return prepare(visits.astype(dict.fromkeys(ids, "int64" if request.param == "int" else "str")))


def test_a_model_comes_back_as_it_was(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "model.safetensors"
    model = model_of(tiny_config(data, without=("gate",), target_time="day")).float()
    save_model(path, model, data.vocabulary, {"days": 7})
    loaded, vocabulary = load_model(path)
    assert loaded.config == model.config and not loaded.training
    assert vocabulary == data.vocabulary and vocabulary.people == data.vocabulary.people
    batch = data.test.batch([0, 1, 2])
    assert torch.equal(loaded(batch).log_probs, model(batch).log_probs)
    assert read_tensors(path)[1]["notes"] == {"days": 7}
    assert [p.name for p in path.parent.iterdir()] == ["model.safetensors"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.ones(2)}, path)
    with pytest.raises(DataError, match="no checkpoint of pgt"):
        read_tensors(path)
    with pytest.raises(DataError, match="There is no checkpoint"):
        read_tensors(tmp_path)
    write_tensors(path, {"x": torch.ones(2)}, {"n": 1})
    with pytest.raises(DataError, match="does not fit this version"):
        load_model(path)


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("[]", "no checkpoint"),
        ("{", "damaged"),
        ('{"format": 1}', "no checkpoint"),
        ("5", "no check"),
    ],
)
def test_a_strange_note_is_refused(tmp_path: Path, note: str, why: str) -> None:
    path = tmp_path / "strange.safetensors"
    save_file({"x": torch.ones(2)}, path, metadata={"pgt": note})
    with pytest.raises(DataError, match=why):
        read_tensors(path)


def test_the_same_model_is_the_same_file(data: Dataset, tmp_path: Path) -> None:
    model = model_of(tiny_config(data)).float()
    for n in range(8):
        save_model(tmp_path / f"{n}.safetensors", model, data.vocabulary, {"days": 7, "seed": 1})
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_a_stopped_training_is_a_model_of_its_best_weights_and_no_predictor(
    data: Dataset, tmp_path: Path
) -> None:
    path, model = tmp_path / "run.safetensors", model_of(tiny_config(data)).float()
    save_model(path, model, data.vocabulary)
    best = {f"best.{key}": value for key, value in model.state_dict().items()}
    write_tensors(path, best | {"optimizer.0.step": torch.ones(1)}, read_tensors(path)[1])
    batch = data.test.batch([0, 1])
    assert torch.equal(load_model(path)[0](batch).log_probs, model(batch).log_probs)
    with pytest.raises(DataError, match=r"run\.safetensors holds .*pgt\.load_model"):
        NextLocation.load(path)


def test_sizes_that_a_header_claims_are_compared_with_its_weights(
    data: Dataset, tmp_path: Path
) -> None:
    path, without = tmp_path / "m.safetensors", ("position_bias", "position_from_end")
    save_model(path, model_of(tiny_config(data, without=without)).float(), data.vocabulary)
    tensors, info = read_tensors(path)
    for change, says in (
        ({"max_len": 10**9}, "its header claims more than its weights have room for"),
        ({"d_model": 4 * 10**8}, "its header claims more"),
        ({"n_layers": 10**6}, "its header claims more"),
        ({"n_locations": 10**9}, "m.safetensors is damaged: the model's n_locations is 1000000000"),
        ({"d_model": 4 * 10**11}, "m.safetensors does not fit .*d_model=400000000000 must be"),
        ({"d_model": 32}, "in this model; it belongs to another vocabulary or configuration"),
    ):
        write_tensors(path, tensors, info | {"model": info["model"] | change})
        with pytest.raises(DataError, match=says):
            load_model(path)


def test_the_shipped_model_scores_as_its_card_says_and_knows_its_people() -> None:
    model, vocabulary = load_model(shipped("city"))
    visits = city.load().visits
    data = prepare(visits, protocol="exact", vocabulary=vocabulary)
    own = prepare(visits, protocol="exact").vocabulary
    assert vocabulary == own and vocabulary.people == own.people
    seeds = read_results("city").select(model="pgt", variant="full", target_time="unknown")["acc@1"]
    found = 100 * gains(evaluate(model, data.test))["acc@1"].mean()
    assert abs(found - seeds.mean()) < 2.5 * seeds.std()
    users = visits.user_id.unique()
    others = visits.user_id.map(dict(zip(users, np.roll(users, 1), strict=True)))
    with pytest.warns(DataNote, match="None of the 66 people whose ids"):
        prepare(visits.assign(user_id=others), vocabulary=vocabulary)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_refused(
    data: Dataset, tmp_path: Path, value: float
) -> None:
    path = tmp_path / "m.safetensors"
    save_model(path, model_of(tiny_config(data)).float(), data.vocabulary)
    tensors, info = read_tensors(path)
    tensors[max(tensors)].view(-1)[0] = value
    write_tensors(path, tensors, info)
    with pytest.raises(DataError, match="holds weights that are no numbers"):
        load_model(path)
