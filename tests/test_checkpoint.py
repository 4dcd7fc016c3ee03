"""Checkpoints: whole or not at all, and never a pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from wherenext import city
from wherenext.results import read_results

from pgt import checkpoint
from pgt.checkpoint import load_model, read, save_model, write
from pgt.config import TrainConfig
from pgt.errors import DataError, DataNote
from pgt.files import built, load_weights
from pgt.metrics import evaluate, gains
from pgt.model import PointerGeneratorTransformer
from pgt.predictor import NextLocation
from pgt.train import fit
from pgt.windows import Dataset, prepare

from .helpers import model_of, random_visits, tiny_config


@pytest.fixture(scope="module", params=["int", "str"])
def data(request: pytest.FixtureRequest) -> Dataset:
    visits = random_visits(1, users=3, visits=100)
    ids = ["user_id", "location_id"]
    return prepare(visits.astype(dict.fromkeys(ids, "int64" if request.param == "int" else "str")))


def test_a_model_comes_back_as_it_was(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "model.safetensors"
    model = model_of(tiny_config(data, without=("gate",), target_time="day")).float()
    save_model(path, model, data.vocabulary, {"days": 7})
    loaded, vocabulary = load_model(path)
    assert loaded.config == model.config
    assert vocabulary == data.vocabulary
    assert vocabulary.people == data.vocabulary.people
    assert not loaded.training
    batch = data.test.batch([0, 1, 2])
    assert torch.equal(loaded(batch).log_probs, model(batch).log_probs)
    assert read(path)[1]["notes"] == {"days": 7}
    assert [p.name for p in path.parent.iterdir()] == ["model.safetensors"]


def test_a_training_that_may_go_on_does_not_pass_for_a_predictor(
    data: Dataset, tmp_path: Path
) -> None:
    path, model = tmp_path / "run.safetensors", model_of(tiny_config(data)).float()
    fit(model, data.train, data.valid, TrainConfig(max_epochs=1), checkpoint=path, progress=False)
    load_model(path)
    with pytest.raises(DataError, match=r"run\.safetensors holds .*pgt\.load_model"):
        NextLocation.load(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.ones(2)}, path)
    with pytest.raises(DataError, match="no checkpoint of pgt"):
        read(path)
    with pytest.raises(DataError, match="There is no checkpoint"):
        read(tmp_path)
    write(path, {"x": torch.ones(2)}, {"n": 1})
    with pytest.raises(DataError, match="does not fit this version"):
        load_model(path)


def test_a_stopped_training_gives_its_best_weights(data: Dataset, tmp_path: Path) -> None:
    path, model = tmp_path / "run.safetensors", model_of(tiny_config(data)).float()
    save_model(path, model, data.vocabulary)
    best = {f"best.{key}": value for key, value in model.state_dict().items()}
    write(path, best | {"optimizer.0.step": torch.ones(1)}, read(path)[1])
    batch = data.test.batch([0, 1])
    assert torch.equal(load_model(path)[0](batch).log_probs, model(batch).log_probs)


def test_sizes_that_a_header_claims_are_compared_with_its_weights(
    data: Dataset, tmp_path: Path
) -> None:
    path, without = tmp_path / "m.safetensors", ("position_bias", "position_from_end")
    save_model(path, model_of(tiny_config(data, without=without)).float(), data.vocabulary)
    tensors, info = read(path)
    for change, says in (
        ({"max_len": 10**9}, "its header claims more than its weights have room for"),
        ({"d_model": 4 * 10**8}, "its header claims more"),
        ({"d_feedforward": 10**9}, "its header claims more"),
        ({"n_layers": 10**6}, "its header claims more"),
        ({"n_locations": 10**9}, "m.safetensors is damaged: the model's n_locations is 1000000000"),
        ({"d_model": 4 * 10**11}, "m.safetensors does not fit .*d_model=400000000000 must be"),
        ({"d_model": 32}, "in this model; it belongs to another vocabulary or configuration"),
    ):
        write(path, tensors, info | {"model": info["model"] | change})
        with pytest.raises(DataError, match=says):
            load_model(path)


def test_a_model_is_made_only_once_its_weights_are_known_to_fit(data: Dataset) -> None:
    config, devices = tiny_config(data), []

    def make() -> PointerGeneratorTransformer:
        model = PointerGeneratorTransformer(config)
        devices.append(next(model.parameters()).device.type)
        return model

    own = model_of(config).float().state_dict()
    with pytest.raises(DataError, match="is not there in"):
        built(make, dict(list(own.items())[1:]), "f")
    assert devices == ["meta"]  # no memory was asked for
    built(make, own, "f")
    assert devices == ["meta", "meta", "cpu"]


def test_weights_that_do_not_fit_are_named(data: Dataset) -> None:
    model = model_of(tiny_config(data))
    own = model.state_dict()
    name = "pointer.query.weight"
    for tensors, says in (
        ({k: v for k, v in own.items() if k != name}, f"'{name}' is not there in"),
        (own | {"more": torch.ones(1)}, "but not there in this model"),
        (own | {name: torch.ones(2, 3)}, rf"'{name}' is \(2, 3\) in f but \(16, 16\)"),
    ):
        with pytest.raises(DataError, match=says):
            load_weights(model, tensors, "f")


def test_the_shipped_model_scores_what_its_card_says() -> None:
    model, vocabulary = checkpoint.load_model(checkpoint.shipped("city"))
    data = prepare(city.load().visits, protocol="exact", vocabulary=vocabulary)
    assert vocabulary == prepare(city.load().visits, protocol="exact").vocabulary
    ranks = evaluate(model, data.test)
    promised = read_results("city").mean(
        model="pgt", variant="full", target_time="unknown", seed=42
    )
    assert 100 * gains(ranks)["acc@1"].mean() == pytest.approx(promised, abs=0.5)


def test_the_shipped_model_knows_its_people() -> None:
    _, vocabulary = checkpoint.load_model(checkpoint.shipped("city"))
    visits = city.load().visits
    assert vocabulary.people == prepare(visits, protocol="exact").vocabulary.people
    users = visits.user_id.unique()
    others = visits.assign(
        user_id=visits.user_id.map(dict(zip(users, np.roll(users, 1), strict=True)))
    )
    with pytest.warns(DataNote, match="None of the 66 people whose ids"):
        prepare(others, vocabulary=vocabulary)
