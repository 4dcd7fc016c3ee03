"""What is noted down during a prediction is what the prediction was made of."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from wherenext import city
from wherenext.trace import Trace, trace

from pgt.checkpoint import load_model, shipped
from pgt.look import story
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows, prepare


@pytest.fixture(scope="module")
def model() -> PointerGeneratorTransformer:
    return load_model(shipped("city"))[0]


@pytest.fixture(scope="module")
def windows() -> Windows:
    _, vocabulary = load_model(shipped("city"))
    return prepare(city.load().visits, protocol="exact", vocabulary=vocabulary).test


@pytest.fixture(scope="module")
def found(model: PointerGeneratorTransformer, windows: Windows) -> Trace:
    return trace(model, windows, story(windows))


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def test_each_step_leads_to_the_next(found: Trace, model: PointerGeneratorTransformer) -> None:
    tables = model.embeddings.tables
    looked_up = [tables[name](torch.from_numpy(ids)) for name, ids in found.ids.items()]
    embedded = torch.cat(looked_up, -1).detach()
    np.testing.assert_allclose(found.embedded, embedded, atol=1e-6)
    assert sum(found.widths.values()) == found.embedded.shape[1]
    with torch.no_grad():
        projected = model.embeddings.norm(model.embeddings.project(embedded))
        placed = projected + model.encoder.positions[: len(projected)]
        encoded, _ = model.encoder(projected[None], torch.zeros(1, len(projected)) > 0)
        logit = model.gate(encoded[0, -1])  # type: ignore[misc]
    np.testing.assert_allclose(found.projected, projected, atol=1e-5)
    np.testing.assert_allclose(found.placed, placed, atol=1e-5)
    np.testing.assert_allclose(found.encoded, encoded[0], atol=1e-5)
    assert found.logit == pytest.approx(float(logit), abs=1e-5)


def test_the_numbers_are_those_of_the_models_answer(
    found: Trace, model: PointerGeneratorTransformer, windows: Windows
) -> None:
    with torch.no_grad():
        out = model(windows.batch([story(windows)]))
    np.testing.assert_allclose(
        found.look.self_attention, torch.cat(out.self_attention).numpy(), atol=1e-6
    )
    weights = found.look.visits.attention.to_numpy()
    np.testing.assert_allclose(weights, out.pointer_attention[0], atol=1e-6)
    np.testing.assert_allclose(softmax(found.scores + found.bias), weights, atol=1e-6)
    assert 1 / (1 + np.exp(-found.logit)) == pytest.approx(found.look.gate, abs=1e-6)
    encode = windows.vocabulary.encode_locations
    for part, log_probs in (
        (found.copies, out.pointer_log_probs), (found.generated, out.generator_log_probs)
    ):  # fmt: skip
        assert part.sum() == pytest.approx(1, abs=1e-5) and part.is_monotonic_decreasing
        some = part[[place for place in part.index if place in windows.vocabulary.locations]]
        ids = torch.as_tensor(np.array(encode(some.index.to_series())))
        np.testing.assert_allclose(some, log_probs[0, ids].exp(), atol=1e-6)
