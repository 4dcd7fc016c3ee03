"""Which integer stands for what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.baselines import Last, Markov
from pgt.checkpoint import load_model, save_model
from pgt.errors import DataError
from pgt.metrics import evaluate
from pgt.model import PointerGeneratorTransformer
from pgt.train import fit
from pgt.visits import split_by_days
from pgt.vocabulary import PADDING, UNKNOWN, Vocabulary
from pgt.windows import prepare

from .helpers import random_visits, tiny_config


def table(kind: type) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "user_id": [kind(u) for u in (3, 3, 1, 9)],
            "location_id": [kind(p) for p in (30, 20, 20, 40)],
            "split": ["train", "train", "valid", "test"],
        }
    )


@pytest.mark.parametrize("kind", [int, str])
def test_erratum_17_known_places_come_first_and_others_only_when_exact(kind: type) -> None:
    published = Vocabulary.build(table(kind))
    exact = Vocabulary.build(table(kind), "exact")
    assert published.locations == (kind(20), kind(30))
    assert exact.locations == (kind(20), kind(30), kind(40))
    assert published.users == exact.users == (kind(3),)
    assert published.n_known == exact.n_known == 2
    places = table(kind).location_id
    assert published.encode_locations(places).tolist() == [3, 2, 2, UNKNOWN]
    assert exact.encode_locations(places).tolist() == [3, 2, 2, 4]
    assert published.encode_users(table(kind).user_id).tolist() == [1, 1, 0, 0]
    assert (published.n_locations, exact.n_locations, exact.n_users) == (4, 5, 2)
    names = [None, None, kind(20), kind(30), kind(40)]  # of padding, of unknown places, of others
    assert exact.decode(np.arange(5)).tolist() == names and (PADDING, UNKNOWN) == (0, 1)
    assert exact.is_known(np.arange(5)).tolist() == [False, False, True, True, False]


def test_json_keeps_types_and_the_fingerprint_tells_vocabularies_apart() -> None:
    made = [Vocabulary.build(table(int)), Vocabulary.build(table(str)),
            Vocabulary.build(table(int), "exact")]  # fmt: skip
    for vocabulary in made:
        again = Vocabulary.from_json(vocabulary.to_json())
        assert again == vocabulary and again.fingerprint() == vocabulary.fingerprint()
    assert len({vocabulary.fingerprint() for vocabulary in made}) == 3
    # Models of before are known by it.
    assert Vocabulary((7, "a"), (1,), 1).fingerprint() == "3ba89927578d"


def test_ids_that_no_training_can_have_are_refused() -> None:
    raw = json.loads(Vocabulary.build(table(int)).to_json())
    for n_known in range(3):
        assert Vocabulary.from_json(json.dumps(raw | {"n_known": n_known})).n_known == n_known
    for change, says in (
        ({"n_known": -1}, "knows -1 of 2 places"), ({"n_known": 3}, "knows 3 of 2 places"),
        ({"locations": [7, True]}, "numbers or texts"), ({"users": [1, 1]}, "each there once"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=says):
            Vocabulary.from_json(json.dumps(raw | change))


@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_windows_of_a_vocabulary_are_exact_where_it_knows_other_places(protocol: Any) -> None:
    visits = random_visits(places=40)
    own = prepare(visits, protocol=protocol)
    again = prepare(visits, vocabulary=own.vocabulary)
    others = own.vocabulary.n_locations > own.vocabulary.n_known + 2
    assert others == (protocol == "exact")
    assert again.config.protocol == protocol and again.counts() == own.counts()


def test_windows_of_other_places_are_neither_scored_nor_trained_on(tmp_path: Path) -> None:
    data, other = (prepare(random_visits(users=users)) for users in (3, 2))
    torch.manual_seed(0)
    model = PointerGeneratorTransformer(tiny_config(data))
    for predictor in (model, Markov().fit(data.train)):
        assert len(evaluate(predictor, data.test)) == len(data.test)
        with pytest.raises(DataError, match=r"made for other windows .the model's n_locations is"):
            evaluate(predictor, other.test)
    with pytest.raises(DataError, match="make them with the model's vocabulary"):
        fit(model, data.train, other.train, progress=False)
    ranks = [evaluate(Last().fit(one.train), other.test) for one in (data, other)]
    assert ranks[0].equals(ranks[1])  # it looks at the person's own past alone
    # Places of another town are noticed where they are as many, if the model is from a file.
    save_model(tmp_path / "m.safetensors", model, data.vocabulary)
    loaded, _ = load_model(tmp_path / "m.safetensors")
    moved = random_visits(users=3)
    moved = prepare(moved.assign(location_id=moved.location_id + 100))
    assert moved.vocabulary.n_locations == data.vocabulary.n_locations
    with pytest.raises(DataError, match="other places or people, as many as these"):
        evaluate(loaded, moved.test)


def other_city() -> pd.DataFrame:
    """Visits whose people and places have the same numbers, and nothing else in common."""
    return random_visits(seed=1)


@pytest.mark.filterwarnings("error")
def test_the_people_of_the_training_are_recognized_and_so_are_more_visits_of_them() -> None:
    visits = random_visits(visits=90)
    vocabulary = prepare(visits.groupby("user_id").head(60)).vocabulary
    assert len({*vocabulary.people}) == len(vocabulary.users) == 4
    for table in (
        visits[visits.user_id == 2],
        visits.assign(started_at=visits.started_at.dt.tz_convert("Asia/Tokyo"),
                      finished_at=visits.finished_at.dt.tz_convert("Asia/Tokyo")),
        pd.concat([visits[visits.user_id > 1], other_city()[lambda t: t.user_id <= 1]]),
        split_by_days(visits, (0.3, 0.5)),
    ):  # fmt: skip
        vocabulary.check_visits(table.reset_index(drop=True))


def test_marks_of_people_survive_the_file_and_do_not_change_the_fingerprint() -> None:
    vocabulary = prepare(random_visits()).vocabulary
    again = Vocabulary.from_json(vocabulary.to_json(people=True))
    assert again.people == vocabulary.people
    cut = json.loads(vocabulary.to_json(people=True))
    cut["people"] = cut["people"][1:]
    with pytest.raises(ValueError, match="marks of 3"):
        Vocabulary.from_json(json.dumps(cut))
    unmarked = Vocabulary.from_json(vocabulary.to_json())
    assert unmarked.people == () and unmarked == vocabulary
    assert unmarked.fingerprint() == vocabulary.fingerprint()
    unmarked.check_visits(other_city())  # a file of before models knew their people
