"""Preparing bucket by bucket gives the bits that preparing in memory gives."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.config import Protocol, WindowConfig
from pgt.errors import DataError
from pgt.scale import preparing
from pgt.scale.buckets import bucket, numbers_of
from pgt.scale.preparing import build_vocabulary, dataset
from pgt.scale.storage import Folder
from pgt.visits import SPLITS, check, split_by_days
from pgt.vocabulary import Vocabulary
from pgt.windows import prepare

from ..helpers import random_visits
from . import town


@pytest.mark.parametrize("protocol", ["published", "exact"])
@pytest.mark.parametrize("text", [False, True])
def test_the_vocabulary_is_that_of_all_visits(protocol: Protocol, text: bool) -> None:
    visits = split_by_days(check(random_visits(1, users=12, places=30)))
    if text:
        visits["location_id"] = visits.location_id.map("Pläce {}".format)
        visits["user_id"] = visits.user_id.map("{}".format)
    folder = f"memory://{uuid.uuid4().hex}"
    Folder(folder).write_table("v.parquet", visits)
    bucket([f"{folder}/v.parquet"], f"{folder}/b", n_buckets=3)
    vocabulary = build_vocabulary(f"{folder}/b", protocol)
    assert vocabulary == Vocabulary.build(visits, protocol)
    assert vocabulary.fingerprint() == Vocabulary.build(visits, protocol).fingerprint()
    assert vocabulary.people == Vocabulary.build(visits, protocol).people
    assert len({*vocabulary.people}) == len(vocabulary.users)


@pytest.mark.parametrize(
    "config",
    [WindowConfig(), WindowConfig(3, 2, "exact"), WindowConfig(5, 4, "exact", "last_visit")],
    ids=["published", "exact", "last_visit"],
)
def test_buckets_hold_the_windows_of_their_people(tmp_path: Path, config: WindowConfig) -> None:
    visits = town.visits()
    zone = visits.started_at.dt
    assert zone.tz.key == town.ZONE  # and both changes of the clocks are in it
    assert {int(hours) for hours in zone.strftime("%z").unique()} == {100, 200}
    folder = town.folder(tmp_path, config)
    whole = prepare(visits, config=config)
    seen = 0
    for number in numbers_of(Folder(folder)):
        part = dataset(folder, number)
        assert part.vocabulary == whole.vocabulary and part.config == config
        for split in SPLITS:
            ours, all_of = getattr(part, split), getattr(whole, split)
            people = ours.visits.user_id.unique()
            rows = all_of.visits.user_id.isin(people).to_numpy()
            keep = np.isin(all_of.users, people)
            assert ours.features.dtype == all_of.features.dtype
            assert torch.equal(
                ours.features[:, 1:], all_of.features[:, 1:][:, np.flatnonzero(rows)]
            )
            assert not ours.features[:, 0].any()
            place = np.cumsum(rows) - 1
            np.testing.assert_array_equal(ours.first, place[all_of.first[keep]])
            np.testing.assert_array_equal(ours.target, place[all_of.target[keep]])
            np.testing.assert_array_equal(ours.in_window, all_of.in_window[keep])
            seen += len(ours)
    assert seen == sum(whole.counts().values())
    assert Folder(folder).read_json(preparing.PREPARED)["counts"] == whole.counts()


def test_what_is_prepared_is_not_prepared_again_but_for_other_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = town.folder(tmp_path, WindowConfig(), n_buckets=3)
    calls: list[Any] = []
    plain = preparing.build
    monkeypatch.setattr(preparing, "build", lambda *words: calls.append(1) or plain(*words))
    counts = preparing.prepare(folder)
    assert not calls and counts == prepare(town.visits()).counts()
    (tmp_path / "buckets" / preparing.inside_name(1, "done.json")).unlink()
    assert preparing.prepare(folder) == counts and len(calls) == len(SPLITS)
    other = preparing.prepare(folder, WindowConfig(days=2))
    assert len(calls) == 4 * len(SPLITS)
    assert other == prepare(town.visits(), days=2).counts() != counts


def test_a_folder_that_is_half_prepared_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = town.folder(tmp_path, WindowConfig(), n_buckets=3)

    def fails(*_: Any) -> None:
        raise OSError("no power")

    with monkeypatch.context() as patch:
        patch.setattr(preparing, "build", fails)
        with pytest.raises(OSError, match="power"):
            preparing.prepare(folder, WindowConfig(days=2))
    with pytest.raises(DataError, match="is not prepared"):
        dataset(folder, 0)
    with pytest.raises(DataError, match="holds no buckets"):
        preparing.prepare(str(tmp_path))


def test_people_without_a_visit_in_a_split(tmp_path: Path) -> None:
    visits = random_visits(2, users=6)
    visits["split"] = np.where(visits.user_id == 3, "test", "train")
    visits.to_parquet(tmp_path / "v.parquet")
    folder = str(tmp_path / "b")
    numbers = bucket([str(tmp_path / "v.parquet")], folder, n_buckets=6)
    assert preparing.prepare(folder) == prepare(visits).counts()
    parts = [dataset(folder, number) for number in numbers]
    assert sum(len(part.train) == 0 for part in parts) == 1
    assert pd.concat([part.test.visits for part in parts]).user_id.unique().tolist() == [3]


@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_the_vocabulary_of_a_trained_model(tmp_path: Path, protocol: Protocol) -> None:
    visits = random_visits(2, users=6)
    trained = prepare(visits[visits.user_id < 3], protocol=protocol).vocabulary
    visits.to_parquet(tmp_path / "v.parquet")
    folder = str(tmp_path / "b")
    numbers = bucket([str(tmp_path / "v.parquet")], folder, n_buckets=2)
    whole = prepare(visits, vocabulary=trained)
    assert preparing.prepare(folder, vocabulary=trained) == whole.counts()
    parts = [dataset(folder, number) for number in numbers]
    assert {part.config for part in parts} == {whole.config}
    for name in (0, 1):  # locations and people: as often the same ids
        ours = torch.cat([part.test.features[name, 1:] for part in parts])
        assert torch.equal(ours.sort().values, whole.test.features[name, 1:].sort().values)
    other = Vocabulary(("nowhere",), (), 1)
    with pytest.raises(DataError, match="another vocabulary"):
        preparing.prepare(folder, vocabulary=other)
