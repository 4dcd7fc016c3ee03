"""Windows whose features are a file are the windows of `prepare`, and train the same model."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.baselines import MostFrequent
from pgt.config import TrainConfig, WindowConfig
from pgt.errors import DataError
from pgt.metrics import evaluate
from pgt.scale import joining
from pgt.scale.buckets import bucket
from pgt.scale.mapped import is_prepared, open_prepared
from pgt.scale.preparing import prepare as prepare_buckets
from pgt.scale.storage import Folder
from pgt.train import fit
from pgt.visits import SPLITS
from pgt.windows import PreparedDataset, Windows, prepare

from ..helpers import model_of, random_visits, tiny_config
from . import town

CONFIG = WindowConfig(protocol="exact")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return town.folder(tmp_path_factory.mktemp("mapped"), CONFIG)


@pytest.fixture(scope="module")
def whole() -> PreparedDataset:
    return prepare(town.visits(), config=CONFIG)


def batches(windows: Windows) -> list[list[torch.Tensor]]:
    """The fields of every batch of an epoch."""
    shuffle = np.random.default_rng(3)
    return [list(vars(one).values()) for one in windows.batches(64, shuffle=shuffle, max_len=30)]


@pytest.mark.parametrize("split", SPLITS)
def test_everything_is_as_in_memory(folder: str, whole: PreparedDataset, split: str) -> None:
    data = open_prepared(folder)
    assert data.vocabulary == whole.vocabulary and data.config == CONFIG
    ours, theirs = getattr(data, split), getattr(whole, split)
    assert isinstance(ours.first, np.memmap) and ours.features.dtype == theirs.features.dtype
    assert torch.equal(ours.features, theirs.features)
    for name in ("first", "target", "targets", "users", "in_window", "lengths"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), strict=True)
    few = np.arange(0, len(theirs), 7)
    for mine, yours in ((ours, theirs), (ours.subset(few), theirs.subset(few))):
        np.testing.assert_array_equal(mine.in_window, yours.in_window)
        pairs = zip(batches(mine), batches(yours), strict=True)
        assert all(
            torch.equal(one, other) for pair in pairs for one, other in zip(*pair, strict=True)
        )


def test_one_windows_visits_are_read_when_asked_for(folder: str, whole: PreparedDataset) -> None:
    windows = open_prepared(folder).test
    for i in (0, 17, len(windows) - 1):
        seen = whole.test.visits_of(i)
        pd.testing.assert_frame_equal(windows.visits_of(i)[seen.columns], seen)
        pd.testing.assert_series_equal(windows.target_of(i)[seen.columns], whole.test.target_of(i))


def test_training_and_baselines_do_not_notice(folder: str, whole: PreparedDataset) -> None:
    few = np.arange(0, 300, 3)
    scores = []
    for data in (open_prepared(folder), whole):
        model = model_of(tiny_config(data))
        log = fit(
            model, data.train.subset(few), data.valid.subset(few),
            TrainConfig(max_epochs=1, amp="off"), progress=False, device="cpu",
        )  # fmt: skip
        frequent = evaluate(MostFrequent().fit(data.train), data.valid.subset(few))
        scores.append(([row["valid_loss"] for row in log.rows], frequent))
    (losses, ranks), (other_losses, other_ranks) = scores
    assert losses == other_losses
    pd.testing.assert_frame_equal(ranks, other_ranks)


def test_the_files_are_made_once_and_anew_when_the_windows_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = f"memory://{uuid.uuid4().hex}"
    visits = random_visits(1, users=5).assign(lon=16.0, lat=48.0)
    Folder(folder).write_table("v.parquet", visits)
    bucket([f"{folder}/v.parquet"], f"{folder}/b", n_buckets=3)
    prepare_buckets(f"{folder}/b")
    with pytest.raises(DataError, match="give here="):
        open_prepared(f"{folder}/b")
    monkeypatch.setattr(joining, "ROWS", 70)  # one or two people at a time
    for days in (7, 7, 2):
        prepare_buckets(f"{folder}/b", WindowConfig(days=days))
        data = open_prepared(f"{folder}/b", here=tmp_path)
        whole = prepare(visits, days=days)
        assert data.counts() == whole.counts()
        assert torch.equal(data.train.features, whole.train.features)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_is_prepared_or_not(folder: str, tmp_path: Path) -> None:
    assert is_prepared(folder)
    assert not is_prepared(tmp_path)


def test_writing_into_a_batch_or_the_features_leaves_the_file(folder: str) -> None:
    windows = open_prepared(folder).valid
    windows.features[:] = -1
    assert int(open_prepared(folder).valid.features.min()) == 0
