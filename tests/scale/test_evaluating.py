"""Ranks and predictions bucket by bucket are those of all."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from pgt.baselines import ContextKernel
from pgt.checkpoint import load_windows_config, save_model
from pgt.config import WindowConfig
from pgt.contextual import ContextualConfig, ContextualPointer
from pgt.errors import DataError
from pgt.history import with_history
from pgt.metrics import evaluate
from pgt.predict import predict
from pgt.scale import evaluating
from pgt.scale.engines import engine
from pgt.vocabulary import Vocabulary
from pgt.windows import PreparedDataset, prepare

from ..helpers import model_of, tiny_config
from . import town


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return town.folder(tmp_path_factory.mktemp("evaluating"), WindowConfig(), n_buckets=3)


@pytest.fixture(scope="module")
def whole() -> PreparedDataset:
    return prepare(town.visits())


@pytest.fixture(scope="module")
def model_file(whole: PreparedDataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    model = model_of(tiny_config(whole), seed=4)
    save_model(path, model, whole.vocabulary, windows=whole.config)
    return path


def test_ranks_are_those_of_all(folder: str, whole: PreparedDataset) -> None:
    # Double precision: padding differs between buckets, and rounding with it.
    model = model_of(tiny_config(whole), seed=4)
    ranks = evaluating.evaluate(folder, model)
    pd.testing.assert_frame_equal(ranks, evaluate(model, whole.test))
    kernel = ContextKernel().fit(whole.train)
    ours = evaluating.evaluate(folder, kernel, split="valid").drop(columns="predicted")
    # Where several places share the top score, "predicted" is a random one of them.
    pd.testing.assert_frame_equal(ours, evaluate(kernel, whole.valid).drop(columns="predicted"))


def test_a_model_in_a_file_is_read_by_the_workers(
    folder: str, whole: PreparedDataset, model_file: Path
) -> None:
    here = evaluating.evaluate(folder, model_file, split="valid")
    model, _ = evaluating.load(model_file)
    assert len(here) == len(whole.valid)
    assert (here.target.to_numpy() == evaluate(model, whole.valid).target.to_numpy()).all()
    with engine("pool") as pool:
        pd.testing.assert_frame_equal(
            evaluating.evaluate(folder, model_file, split="valid", engine=pool), here
        )


def test_predictors_that_remember(folder: str, whole: PreparedDataset) -> None:
    torch.manual_seed(0)
    size = whole.vocabulary.n_locations, whole.vocabulary.n_users
    model = ContextualPointer(ContextualConfig(*size, dropout=0.0)).double().eval()
    ranks = evaluating.evaluate(folder, model, memory=30, older=10)
    pd.testing.assert_frame_equal(
        ranks.drop(columns="predicted"),
        evaluate(model, with_history(whole, 30, 10).test).drop(columns="predicted"),
    )


def test_predictions_are_those_of_all(folder: str, model_file: Path) -> None:
    model, vocabulary = evaluating.load(model_file)
    windows = load_windows_config(model_file)
    visits = town.visits()
    # Long before half of the people have a visit.
    for at in (None, pd.Timestamp("2024-05-01", tz=town.ZONE)):
        ours = evaluating.predict(folder, model_file, at=at, top=3)
        theirs = predict(model, vocabulary, visits, windows=windows, at=at, top=3)
        pd.testing.assert_frame_equal(ours, theirs, check_exact=False, rtol=1e-4)
    early = pd.Timestamp("1999-01-01", tz="UTC")
    with pytest.raises(DataError, match="Nobody"):
        evaluating.predict(folder, model_file, at=early)


def test_a_model_of_another_vocabulary_is_refused(
    folder: str, whole: PreparedDataset, model_file: Path, tmp_path: Path
) -> None:
    model, vocabulary = evaluating.load(model_file)
    other = Vocabulary(vocabulary.locations[::-1], vocabulary.users, vocabulary.n_known)
    save_model(tmp_path / "other.safetensors", model, other)
    with pytest.raises(DataError, match="another vocabulary"):
        evaluating.evaluate(folder, tmp_path / "other.safetensors")
    with pytest.raises(DataError, match="no model"):
        evaluating.evaluate(folder, tmp_path / "none.safetensors")
