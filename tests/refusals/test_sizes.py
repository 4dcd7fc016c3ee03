"""A model meets only windows of the places and the people that it was made for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import wherenext.city

import pgt
from pgt.baselines import Last
from pgt.contextual import ContextualConfig, ContextualPointer
from pgt.history import with_history
from pgt.refusals.sizes import other_sizes, require_room, require_shared
from pgt.train import fit
from pgt.vocabulary import Vocabulary
from pgt.windows import PreparedDataset, Windows


@pytest.fixture(scope="module")
def data() -> PreparedDataset:
    return pgt.prepare(wherenext.city.load().visits)


@pytest.fixture(scope="module")
def fewer() -> PreparedDataset:
    """The same town without some of its people, and so without some of its places."""
    visits = wherenext.city.load().visits
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
    for predictor in (model, pgt.Markov().fit(data.train)):
        assert len(pgt.evaluate(predictor, some(data.test))) == 8
        with pytest.raises(pgt.DataError, match="made for n_locations=1474, the windows have"):
            pgt.evaluate(predictor, some(fewer.test))


def test_one_place_of_its_own_is_a_place(data: PreparedDataset) -> None:
    config = ContextualConfig(9, 3, n_trained_ids=3, d_model=16, n_layers=1)
    with pytest.raises(pgt.DataError, match="made for n_locations=9"):
        pgt.evaluate(ContextualPointer(config), some(with_history(data, 30, 0).test))


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


def test_places_that_share_nothing_are_refused() -> None:
    vocabulary = Vocabulary((20, 30), (1,), 2)
    require_shared(vocabulary, pd.Series([99, 20]))
    with pytest.raises(pgt.DataError, match=r"such as 98\) .*such as 20\): it is of another voc"):
        require_shared(vocabulary, pd.Series([98, 99]))
    nothing = Vocabulary((), (), 0)
    with pytest.raises(pgt.DataError, match=r"among the 0 .*such as none\)"):
        require_shared(nothing, pd.Series([98]))
    require_shared(vocabulary, pd.Series([], dtype=int))
    with pytest.raises(pgt.DataError, match="another vocabulary"):  # the text "20" is not 20
        require_shared(vocabulary, pd.Series(["20"]))


def test_a_model_of_a_file_knows_its_vocabulary(data: PreparedDataset, tmp_path: Path) -> None:
    """Places of another town are noticed, also where they are just as many."""
    pgt.save_model(tmp_path / "one.safetensors", model_of(data), data.vocabulary)
    model, vocabulary = pgt.load_model(tmp_path / "one.safetensors")
    assert len(pgt.evaluate(model, some(data.test))) == 8
    visits = wherenext.city.load().visits
    other = pgt.prepare(visits.assign(location_id=visits.location_id + 1))
    assert other.vocabulary.n_locations == vocabulary.n_locations
    with pytest.raises(pgt.DataError, match="other places or people, as many as these"):
        pgt.evaluate(model, some(other.test))


def test_a_rule_of_the_persons_own_past_fits_any_windows(
    data: PreparedDataset, fewer: PreparedDataset
) -> None:
    for rule in (pgt.MostFrequent(), pgt.ContextKernel(), Last()):
        ranks = pgt.evaluate(rule.fit(data.train), some(fewer.test))
        assert ranks.equals(pgt.evaluate(rule.fit(fewer.train), some(fewer.test)))


def test_a_rule_that_counts_must_have_counted(data: PreparedDataset) -> None:
    with pytest.raises(pgt.DataError, match=r"This Markov is not fitted; call fit\(train\) first"):
        pgt.evaluate(pgt.Markov(), some(data.test))


def test_room_is_asked_for_only_where_the_file_has_it(data: PreparedDataset) -> None:
    model, words = model_of(data), data.vocabulary
    tensors = model.state_dict()
    require_room(model.config, words, tensors, "m")
    for changed, says in (
        ({"n_users": 3}, "n_users 3, its vocabulary"),
        ({"d_model": 10**7}, "d_model is 10000000 in its header"),
        ({"d_feedforward": 10**7}, "d_feedforward is 10000000"),
        ({"n_layers": len(tensors) + 1}, "n_layers is"),
        ({"max_len": 10**6 + 1}, "max_len is 1000001"),
    ):
        with pytest.raises(pgt.DataError, match=f"m is damaged: .*{says}"):
            require_room(replace(model.config, **changed), words, tensors, "m")
    most = sum(tensor.numel() for tensor in tensors.values())
    edge = replace(model.config, d_feedforward=most, n_layers=len(tensors), max_len=10**6)
    require_room(edge, words, tensors, "m")
