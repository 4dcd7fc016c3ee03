"""Tuning: every model has the same chances, and the settings in use are those that won."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
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
