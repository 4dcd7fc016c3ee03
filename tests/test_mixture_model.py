"""What all networks share: scores and ranks without dropout, and the mode left as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pgt.batch import Batch
from pgt.mixture import MixtureModel, evaluating
from pgt.model import PointerGeneratorTransformer
from pgt.windows import prepare

from .helpers import random_visits, tiny_config


@pytest.fixture(scope="module")
def asked() -> tuple[PointerGeneratorTransformer, Batch]:
    data = prepare(random_visits(1, users=3, visits=100))
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(tiny_config(data, dropout=0.5))
    return model, data.train.batch(np.arange(12))


@pytest.mark.parametrize("training", [True, False])
def test_scores_and_ranks_are_of_evaluation_and_leave_the_mode_as_it_was(
    asked: tuple[PointerGeneratorTransformer, Batch], training: bool
) -> None:
    model, batch = asked
    expected = model.eval()(batch).log_probs.detach()
    model.train(training)
    scores = model.scores(batch)
    assert torch.equal(scores, expected) and not scores.requires_grad
    found = model.rank(batch)
    own = scores.gather(1, batch.target[:, None])
    assert torch.equal(found.better, (scores > own).sum(1))
    assert torch.equal(found.predicted, scores.argmax(1))
    # All places of the window, and of the others one, unless more are wanted.
    width = batch.location.shape[1]
    assert found.place.shape == (12, width + 1) and model.rank(batch, 4).place.shape[1] == width + 4
    assert model.training == training and all(part.training == training for part in model.modules())


def test_the_mode_comes_back_after_an_error(
    asked: tuple[PointerGeneratorTransformer, Batch],
) -> None:
    model, _ = asked
    model.train()
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError(model.training)
    assert model.training


def test_only_what_is_trained_is_counted(asked: tuple[PointerGeneratorTransformer, Batch]) -> None:
    model, _ = asked
    before = model.n_parameters()
    weight = model.embeddings.tables["location"].weight
    assert before == sum(parameter.numel() for parameter in model.parameters())
    weight.requires_grad_(False)
    assert before - model.n_parameters() == weight.numel() > 0
    weight.requires_grad_(True)


def test_a_network_without_a_mixture_says_so() -> None:
    with pytest.raises(NotImplementedError):
        MixtureModel().mixture(None)
