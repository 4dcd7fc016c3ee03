"""What is said of people in buckets is what is said of the whole table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pgt.predictor.asking import past
from pgt.predictor.contextual import Contextual
from pgt.predictor.estimator import NextLocation
from pgt.predictor.experts import PAST, Experts
from pgt.predictor.fitted import Question
from pgt.scale.buckets import bucket
from pgt.scale.engines import engine
from pgt.scale.preparing import prepare

from pgt.config import WindowConfig
from pgt.errors import DataError
from pgt.predictor import buckets, experts, scoring
from pgt.visits import check

from ..helpers import random_visits
from ..scale import town

AT = pd.Timestamp("2024-05-01 09:00", tz=town.ZONE)  # not everybody has been anywhere by then
# Rounding depends on the batch that a question comes in.
LIKE: dict[str, Any] = {"check_exact": False, "rtol": 1e-5, "atol": 1e-7}


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    table = town.visits().query("user_id <= 10")
    # Names of places in text, and somewhere to be.
    place = table.location_id.astype(str).str.zfill(4)
    return check(table.assign(location_id="p" + place, lon=16.0 + table.user_id / 100, lat=48.2))


@pytest.fixture(scope="module")
def folder(visits: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    at = tmp_path_factory.mktemp("buckets")
    visits.to_parquet(at / "town.parquet", index=False)
    bucket([str(at / "town.parquet")], str(at / "buckets"), n_buckets=3)
    prepare(str(at / "buckets"), WindowConfig(protocol="exact"))
    return str(at / "buckets")


@pytest.fixture(scope="module")
def fitted(visits: pd.DataFrame) -> dict[str, NextLocation]:
    rules = {name: NextLocation(name).fit(visits) for name in ("kernel", "markov")}
    return {"contextual": NextLocation.pretrained()} | rules


@pytest.mark.parametrize("at", [None, AT], ids=["", "at"])
def test_predictions_are_those_of_the_whole_table(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation], at: pd.Timestamp | None
) -> None:
    model = fitted["contextual"]
    whole = model.predict(visits, at=at, top=4)
    found = buckets.predict(model, folder, at=at, top=4)
    assert (found.user_id.nunique() == visits.user_id.nunique()) == (at is None)
    pd.testing.assert_frame_equal(found, whole, **LIKE)


@pytest.mark.parametrize("name", ["kernel", "markov"])
def test_rules_say_what_they_say_of_the_whole_table(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation], name: str
) -> None:
    whole = fitted[name].predict(visits)
    pd.testing.assert_frame_equal(buckets.predict(fitted[name], folder), whole, **LIKE)


@pytest.mark.parametrize("at", [None, AT], ids=["", "at"])
@pytest.mark.parametrize("n", [PAST, 7], ids=["all", "some"])
def test_networks_are_weighed_as_by_the_whole_table_bit_for_bit(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation], at: pd.Timestamp | None,
    n: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(buckets, "PAST", n)
    model = fitted["contextual"].fitted_
    assert isinstance(model, Contextual)
    part = "next_place" if at is None else "at_a_time"
    _, asked, _ = model.asked(Question(visits, at))
    whole = getattr(model.bundle, part).weighed(past(asked, n, **model.sees))
    there = buckets.weighed(fitted["contextual"], folder, at=at)
    found = getattr(there.bundle_, part)
    assert torch.equal(found.weights, whole.weights) and not torch.equal(
        found.weights, getattr(model.bundle, part).weights
    )
    assert fitted["contextual"].fitted_ is model  # and it is left as it was


def test_one_bucket_is_enough_for_a_persons_answers(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation]
) -> None:
    model, user = fitted["contextual"], int(visits.user_id.iloc[-1])
    mine = visits[visits.user_id == user].reset_index(drop=True)
    there = buckets.weighed(model, folder)
    whole = model.predict(visits, user=user)
    pd.testing.assert_frame_equal(there.predict(mine, user=user), whole, **LIKE)
    assert not np.allclose(model.predict(mine).probability, whole.probability, rtol=1e-4)
    # What was weighed for one kind of question is no answer to the other.
    later = {"at": AT if user % 2 == 0 else AT + pd.Timedelta(days=180), "user": user}
    pd.testing.assert_frame_equal(there.predict(mine, **later), model.predict(mine, **later))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["contextual", "kernel", "markov"])
def test_the_score_is_that_of_the_whole_table(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation], name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for module in (buckets, scoring):  # fewer validation windows than there are
        monkeypatch.setattr(module, "KERNEL", 100)
    whole = fitted[name].score(visits)
    pd.testing.assert_frame_equal(buckets.evaluate(fitted[name], folder), whole)


def test_the_training_windows_that_weigh_are_those_of_the_whole_table(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seen: list[Experts] = []

    def taken(ranked: Any) -> pd.DataFrame:
        return pd.DataFrame()

    for module in (buckets, scoring):
        monkeypatch.setattr(module, "scores", taken)
    for module in (buckets, experts):  # fewer training windows than there are
        monkeypatch.setattr(module, "PAST", 50)
    weigh = Experts.weighed
    monkeypatch.setattr(Experts, "weighed", lambda *words: seen.append(weigh(*words)) or seen[-1])
    fitted["contextual"].score(visits)
    buckets.evaluate(fitted["contextual"], folder)
    one, other = seen
    assert torch.equal(one.weights, other.weights)


@pytest.mark.slow
def test_an_engine_changes_nothing(folder: str, fitted: dict[str, NextLocation]) -> None:
    model = fitted["contextual"]
    with engine("pool", workers=1) as pool:
        for ask in (buckets.predict, buckets.evaluate):
            pd.testing.assert_frame_equal(ask(model, folder, engine=pool), ask(model, folder))


def test_people_with_a_visit_or_two_are_answered(tmp_path: Path) -> None:
    few = check(random_visits(2, users=6, visits=2))
    few.to_parquet(tmp_path / "few.parquet", index=False)
    bucket([str(tmp_path / "few.parquet")], str(tmp_path / "few"), n_buckets=3)
    model = NextLocation.pretrained()
    found = buckets.predict(model, str(tmp_path / "few"))
    pd.testing.assert_frame_equal(found, model.predict(few), **LIKE)


def test_what_cannot_be_is_one_sentence(
    visits: pd.DataFrame, folder: str, fitted: dict[str, NextLocation], tmp_path: Path
) -> None:
    model = fitted["contextual"]
    with pytest.raises(DataError, match="Nobody in the table has a visit before 1999"):
        buckets.predict(model, folder, at="1999-01-01")
    with pytest.raises(DataError, match="Nobody in the table has a visit before 1999"):
        buckets.predict(fitted["kernel"], folder, at="1999-01-01")
    with pytest.raises(DataError, match="holds no buckets"):
        buckets.predict(model, str(tmp_path))
    with pytest.raises(DataError, match=r"ask pgt\.predictor\.buckets\.predict"):
        model.predict(folder)
    with pytest.raises(DataError, match="top is 0"):
        buckets.predict(model, folder, top=0)
    with pytest.raises(DataError, match="is not fitted"):
        buckets.predict(NextLocation("kernel"), folder)
    with pytest.raises(DataError, match="knows nothing of the time"):
        buckets.predict(fitted["kernel"], folder, at=AT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = NextLocation("markov").fit(visits[visits.user_id != visits.user_id.iloc[0]])
    with pytest.raises(DataError, match="fitted to another vocabulary"):
        buckets.evaluate(other, folder)


def test_other_windows_than_those_of_a_score_are_refused(
    visits: pd.DataFrame, tmp_path: Path
) -> None:
    visits.to_parquet(tmp_path / "v.parquet", index=False)
    bucket([str(tmp_path / "v.parquet")], str(tmp_path / "b"), n_buckets=1)
    prepare(str(tmp_path / "b"), WindowConfig())
    with pytest.raises(DataError, match="prepared with protocol published, not exact"):
        buckets.evaluate(NextLocation.pretrained(), str(tmp_path / "b"))
