"""A model meets only windows of the places and the people that it was made for."""

from __future__ import annotations

import numpy as np
import pytest

import pgt
from pgt.contextual.config import ContextualConfig
from pgt.contextual.history import with_history
from pgt.contextual.model import ContextualPointer
from pgt.refusals.sizes import other_sizes
from pgt.train import fit
from pgt.windows import PreparedDataset, Windows


@pytest.fixture(scope="module")
def data() -> PreparedDataset:
    return pgt.prepare(pgt.city.load().visits)


@pytest.fixture(scope="module")
def fewer() -> PreparedDataset:
    """The same town without some of its people, and so without some of its places."""
    visits = pgt.city.load().visits
    return pgt.prepare(visits[visits.user_id % 2 == 0])


def model_of(data: PreparedDataset, **changed: int) -> pgt.PointerGeneratorTransformer:
    words = data.vocabulary
    size = {"n_locations": words.n_locations, "n_users": words.n_users} | changed
    return pgt.PointerGeneratorTransformer(pgt.ModelConfig(**size, d_model=16, n_layers=1))


def some(windows: Windows) -> Windows:
    return windows.subset(np.arange(8))


def test_windows_of_other_places_are_not_scored(
    data: PreparedDataset, fewer: PreparedDataset
) -> None:
    model = model_of(data)
    rules = [pgt.MostFrequent().fit(data.train), pgt.Markov().fit(data.train)]
    for predictor in (model, *rules):
        assert len(pgt.evaluate(predictor, some(data.test))) == 8
        with pytest.raises(pgt.DataError, match="made for n_locations=1474, the windows have"):
            pgt.evaluate(predictor, some(fewer.test))


def test_windows_of_other_people_are_not_scored(data: PreparedDataset) -> None:
    model = model_of(data, n_users=3)
    with pytest.raises(pgt.DataError, match="made for n_users=3, the windows have n_users="):
        pgt.evaluate(model, some(data.test))


def test_a_model_is_not_trained_on_windows_of_other_places(
    data: PreparedDataset, fewer: PreparedDataset
) -> None:
    config = pgt.TrainConfig(max_epochs=1, warmup_epochs=0)
    for train, valid in ((fewer.train, data.valid), (data.train, fewer.valid)):
        with pytest.raises(pgt.DataError, match="with the model's vocabulary"):
            fit(model_of(data), some(train), some(valid), config, progress=False)


def test_a_network_without_weights_for_places_fits_any_windows(data: PreparedDataset) -> None:
    config = ContextualConfig(
        2, 1, n_trained_ids=2, without=("user", "generator", "gate"), d_model=16, n_layers=1
    )
    windows = with_history(data, 30, 0).test
    assert len(pgt.evaluate(ContextualPointer(config), some(windows))) == 8


def test_sizes_that_a_rule_does_not_have_are_equal(data: PreparedDataset) -> None:
    rule, words = pgt.Markov().fit(data.train), data.vocabulary
    assert not list(other_sizes(rule, words))
    assert list(other_sizes(model_of(data, n_users=3).config, words)) == [
        ("n_users", 3, words.n_users)
    ]
