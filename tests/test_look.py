"""What is shown is what was used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from wherenext.position_bias import bias_of
from wherenext.window_features import gates

from pgt import look as looking
from pgt.baselines import ContextKernel
from pgt.config import ModelConfig
from pgt.errors import DataError
from pgt.model import PointerGeneratorTransformer
from pgt.predictor.contextual import ALONE, ContextualConfig, ContextualPointer, new_network
from pgt.predictor.memory import with_history
from pgt.windows import Dataset, prepare

from .helpers import random_visits


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(5, visits=400), protocol="exact")


@pytest.fixture(scope="module")
def model(data: Dataset) -> PointerGeneratorTransformer:
    torch.manual_seed(0)
    config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, d_model=16)
    model = PointerGeneratorTransformer(config)
    assert model.pointer is not None and model.pointer.position_bias is not None
    torch.nn.init.normal_(model.pointer.position_bias)
    return model.eval()


def adds_up(seen: looking.Look) -> None:
    """Attention and gate make the probabilities, which are all there are."""
    attention = seen.visits.groupby("location_id").attention.sum()
    for row in seen.candidates.dropna(subset="location_id").itertuples():
        assert row.copied == pytest.approx(seen.gate * attention.get(row.location_id, 0), abs=1e-6)
        assert row.probability == pytest.approx(row.copied + row.generated, abs=1e-6)
    assert seen.visits.attention.sum() == pytest.approx(1, abs=1e-5)
    assert seen.candidates.probability.sum() == pytest.approx(1, abs=1e-5)
    assert seen.candidates.probability.is_monotonic_decreasing


def test_the_attention_shown_makes_the_probability_shown(
    data: Dataset, model: PointerGeneratorTransformer
) -> None:
    model.train()  # dropout must not blur what is shown
    for i in range(0, len(data.test), 7):
        seen = looking.look(model, data.test, i, top=10_000)
        adds_up(seen)
        few = looking.look(model, data.test, i, top=3).candidates
        assert few.location_id.tolist() == seen.candidates.location_id.tolist()[:3]
        target = seen.candidates[seen.candidates.is_target]
        assert target.location_id.tolist() == [data.test.target_of(i).location_id]
        assert target.probability.tolist() == [seen.target_probability]
        n = len(data.test.visits_of(i))
        assert seen.visits.position_from_end.tolist() == list(range(n, 0, -1))
    assert not model.training


def test_the_two_sources_mixed_by_the_gate_are_the_probability(
    data: Dataset, model: PointerGeneratorTransformer
) -> None:
    table = gates(model, data.test)
    mixed = table.gate * table.pointer_probability + (1 - table.gate) * table.generator_probability
    np.testing.assert_allclose(mixed, table.target_probability, atol=1e-6)
    assert ((table.pointer_probability > 0) == table.in_window).all()


def test_a_window_longer_than_the_model_shows_its_most_recent_visits(data: Dataset) -> None:
    config = ModelConfig(data.vocabulary.n_locations, data.vocabulary.n_users, d_model=16)
    short = PointerGeneratorTransformer(replace(config, max_len=4))
    i = int(np.argmax(data.test.lengths))
    seen = looking.look(short, data.test, i)
    assert seen.visits.started_at.tolist() == data.test.visits_of(i).started_at.tolist()[-4:]
    assert seen.visits.position_from_end.tolist() == [4, 3, 2, 1]
    assert seen.self_attention.shape == (2, 4, 4, 4)


def test_erratum_1_the_bias_curve_starts_at_the_last_visit_and_never_shows_padding(
    model: PointerGeneratorTransformer,
) -> None:
    assert model.pointer is not None and model.pointer.position_bias is not None
    with torch.no_grad():
        model.pointer.position_bias[0] = 1e6
    curve = bias_of(model, 150)
    assert curve.shape == (150,) and curve.abs().max() < 100
    last, *_ = model.pointer.position_bias[1:]
    assert curve[0] == last


def test_the_contextual_pointer_shows_the_older_places_that_it_remembers() -> None:
    data = with_history(prepare(random_visits(5, visits=400), protocol="exact"), 5, 10)
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    i = int(np.argmax(data.test.lengths))
    model = ContextualPointer(ContextualConfig(*size, d_model=16))
    seen = looking.look(model, data.test, i, top=10_000)
    assert len(seen.visits) == data.test.lengths[i] > len(data.test.visits_of(i))
    assert seen.visits.started_at.is_monotonic_increasing
    assert set(seen.visits.user_id) == {seen.target.user_id}
    adds_up(seen)
    alone = ContextualPointer(ContextualConfig(*size, **ALONE))
    assert looking.look(alone, data.test, i).self_attention.shape == (0, 0, 0, 0)  # no encoder
    network = new_network(0, "unknown").eval()  # it knows no names
    seen = looking.look(network, data.test, i, top=10_000)
    mixture = network.mixture(data.test.batch([i]))
    names = data.vocabulary.decode(mixture.place[0].clamp(min=0).numpy())
    shown = seen.candidates.set_index("location_id").probability
    for name, place, value in zip(names, mixture.place[0], mixture.pointer[0].exp(), strict=True):
        if place > 1:  # of the unknown there may be several
            assert shown[name] == pytest.approx(value.item(), abs=1e-6)
    assert (seen.gate, seen.self_attention.size) == (1.0, 0)


def test_what_has_no_pointer_is_refused(data: Dataset) -> None:
    with pytest.raises(DataError, match="A ContextKernel cannot be looked into; give PGT or"):
        looking.look(ContextKernel().fit(data.train), data.test, 0)
