"""Tuning: every model has the same chances, and the settings in use are those that won."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from lab.hong import NeuralBaseline
from lab.search_space import CORNERS, LEVELS, MODELS, TUNED, build, candidates
from wherenext.results import read_results

from pgt.windows import Dataset, prepare

from ..helpers import random_visits


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
