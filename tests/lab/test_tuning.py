"""Tuning: every model has the same chances, and the settings in use are those that won."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from lab import tuning
from lab.data_sets import DATA, Data
from lab.hong import NeuralBaseline
from lab.search_space import CORNERS, DOCUMENTED, LEVELS, MODELS, TUNED, Settings, build, candidates
from lab.tuning import choose
from wherenext.results import read_results

from pgt.config import PRESETS
from pgt.windows import Dataset, prepare

from ..helpers import random_visits

TINY = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_feedforward": 8}


def tiny(name: str, **training: Any) -> Settings:
    """A candidate that trains in no time."""
    settings = DOCUMENTED[name]
    quick = replace(settings.training, batch_size=64, max_epochs=2, warmup_epochs=0, **training)
    return Settings(TINY, quick)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(1, users=4, visits=130))


def test_the_corners_are_balanced() -> None:
    """Any two settings meet in all four combinations, each equally often."""
    assert len(CORNERS) == 8
    for one, two in itertools.combinations(LEVELS, 2):
        met = Counter((corner[one], corner[two]) for corner in CORNERS)
        assert met == Counter(dict.fromkeys(itertools.product(LEVELS[one], LEVELS[two]), 2))


def test_every_model_has_the_same_chances(data: Dataset) -> None:
    names = [list(candidates(model)) for model in MODELS]
    assert names[0] == names[1] == names[2]
    assert len(names[0]) == 10
    for i, at in enumerate(CORNERS, 1):
        corners = [candidates(model)[f"corner_{i}"] for model in MODELS]
        assert corners[0].training == corners[1].training == corners[2].training
        for settings, model in zip(corners, MODELS, strict=True):
            network, training = build(model, settings, data.vocabulary, seed=3)
            known = {**asdict(network.config), **vars(training)}
            assert {name: known[name] for name in LEVELS} == at
            assert training.seed == 3
            assert known.get("target_time", "unknown") == "unknown"
            if isinstance(network, NeuralBaseline):
                assert network.config.kind == model
                assert network.config.head_dropout == at["dropout"]


def test_the_documented_candidates_are_as_documented() -> None:
    for model in MODELS:
        some = candidates(model)
        assert some["documented"] == DOCUMENTED[model]
        on_accuracy = replace(DOCUMENTED[model].training, monitor="acc@1")
        assert some["documented_acc"] == Settings(DOCUMENTED[model].shape, on_accuracy)
    theirs = PRESETS["geolife"]
    assert DOCUMENTED["pgt"].training == theirs.training
    # But for the target's day, which no model is told when they are compared.
    assert DOCUMENTED["pgt"].shape == theirs.model | {"target_time": "unknown"}


@pytest.mark.parametrize("model", MODELS)
def test_the_most_accurate_on_validation_is_chosen(data: Dataset, model: str) -> None:
    # A learning rate of nearly nothing stays at chance; of two equals the first is taken.
    among = {
        "lazy": tiny(model, learning_rate=1e-9),
        "good": tiny(model, learning_rate=1e-2),
        "same": tiny(model, learning_rate=1e-2),
    }
    seen: list[dict[str, Any]] = []
    name, table = choose(model, data.train, data.valid, among, after=seen.append)
    assert [row["variant"] for row in seen] == list(table.variant) == list(among)
    accuracy = table.set_index("variant")["acc@1"]
    assert accuracy["good"] == accuracy["same"]
    assert name == ("good" if accuracy["good"] > accuracy["lazy"] else "lazy")
    assert accuracy[name] == accuracy.max()
    assert set(table.split) == {"valid"}
    assert set(table.n) == {len(data.valid)}


def test_a_candidate_that_is_done_is_not_trained_again(data: Dataset) -> None:
    among = {"one": tiny("pgt"), "two": tiny("pgt")}
    done = [{"variant": "one", "acc@1": 101.0}]
    seen: list[dict[str, Any]] = []
    name, _ = choose("pgt", data.train, data.valid, among, after=seen.append, done=done)
    assert name == "one"
    assert [row["variant"] for row in seen] == ["two"]


def test_another_seed_starts_elsewhere(data: Dataset) -> None:
    def scores(seed: int) -> list[float]:
        model, _ = build("lstm", DOCUMENTED["lstm"], data.vocabulary, seed)
        return model.scores(data.valid.batch([0])).flatten().tolist()

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)


def test_an_unknown_model_is_refused(data: Dataset) -> None:
    with pytest.raises(ValueError, match="'gru'"):
        build("gru", Settings(), data.vocabulary, 0)


def test_the_file_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, seed in (("one", 1), ("two", 2)):
        made = Data(key, lambda seed=seed: random_visits(seed, visits=130), "exact")  # type: ignore[misc]
        monkeypatch.setitem(DATA, key, made)
    monkeypatch.setattr(
        tuning, "candidates", lambda model: {"a": tiny(model), "b": tiny(model, seed=1)}
    )
    path = tmp_path / "tuning.json"
    tuning.tune("one", path)
    first = tuning.read(path)
    assert len(first["rows"]) == 2 * len(MODELS)
    trained: list[str] = []

    def count(model: str, *arguments: Any) -> Any:
        trained.append(model)
        return build(model, *arguments)

    monkeypatch.setattr(tuning, "build", count)
    for key in ("one", "two"):
        tuning.tune(key, path)
    assert trained == [model for model in MODELS for _ in "ab"]  # those of "two" only
    both = tuning.read(path)
    assert [row for row in both["rows"] if row["data"] == "one"] == first["rows"]
    assert [source["name"] for source in both["data"]] == ["one", "two"]
    assert both["command"] == "python book/lab/run.py tuning"
    monkeypatch.setattr(tuning, "unchanged", lambda files: False)
    tuning.tune("one", path)
    assert len(trained) == 4 * len(MODELS)  # other code: all of "one" again


# --- the committed file


def test_the_settings_in_use_won_on_validation() -> None:
    results = read_results("tuning")
    assert list(TUNED) == list(MODELS)
    for model in MODELS:
        rows = results.select(split="valid", data="geolife", protocol="published", model=model)
        assert list(rows.variant) == list(candidates(model))
        assert TUNED[model] == rows.variant.loc[rows["acc@1"].idxmax()]
        known = [s.shape | vars(s.training) for s in candidates(model).values()]
        for name in ("learning_rate", "label_smoothing", "weight_decay", "batch_size", "monitor"):
            assert list(rows[name]) == [settings[name] for settings in known]


def test_the_table_holds_validation_windows_only() -> None:
    results = read_results("tuning")
    assert set(results.rows.split) == {"valid"}
    assert set(results.rows.target_time) == {"unknown"}
    for source in results.header["data"]:
        assert set(source["windows"]) == {"train", "valid"}
