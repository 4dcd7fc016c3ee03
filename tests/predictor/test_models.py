"""One face for all: every model fits, predicts, promises, scores, and is saved and loaded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import wherenext.city
from pgt.predictor.asking import ask
from pgt.predictor.closed import Closed
from pgt.predictor.estimator import MODELS, NextLocation
from pgt.predictor.fitted import Question
from pgt.predictor.rules import Latest, OwnPast
from wherenext import city

import pgt
from pgt import checkpoint
from pgt.baselines import baselines, fit_baseline
from pgt.errors import DataError
from pgt.metrics import evaluate
from pgt.predictor import closed
from pgt.visits import check

from ..helpers import random_visits, routine_visits

OTHERS = MODELS[1:]
CLOSED = ("pgt", "markov")


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    table = check(routine_visits(users=4, days=60))
    return table.assign(lon=table.location_id / 1000, lat=1.5)


@pytest.fixture(scope="module")
def fitted(visits: pd.DataFrame) -> dict[str, NextLocation]:
    default = closed.PRESETS["default"]
    short = replace(default.training, max_epochs=2, warmup_epochs=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(closed.PRESETS, "default", replace(default, training=short))
        return {name: NextLocation(name).fit(visits) for name in OTHERS}


@pytest.mark.parametrize("name", OTHERS)
def test_one_word_changes_the_model(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str
) -> None:
    answer = fitted[name].predict(visits, top=3)
    expected = NextLocation.pretrained().predict(visits, top=3)
    assert answer.columns.tolist() == expected.columns.tolist()
    assert set(answer.user_id) == set(visits.user_id)
    assert answer.location_id.dtype == visits.location_id.dtype
    assert (answer.lon == answer.location_id / 1000).all()
    one = fitted[name].predict(visits, top=3, user="2")
    pd.testing.assert_frame_equal(
        one, answer[answer.user_id == 2].reset_index(drop=True), check_exact=False, atol=1e-6
    )


@pytest.mark.parametrize("name", OTHERS)
def test_all_probability_is_accounted_for_by_all(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str
) -> None:
    answer = fitted[name].predict(visits, top=1000)
    total = answer.groupby("user_id").probability.sum()
    new = answer.groupby("user_id").somewhere_new.first()
    assert np.allclose(total + new, 1, atol=1e-5)
    assert (answer.groupby("user_id").probability.diff().dropna() <= 1e-9).all()
    assert (answer.groupby("user_id")["rank"].diff().dropna() == 1).all()


@pytest.mark.parametrize("name", OTHERS)
def test_every_file_brings_the_model_back(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.safetensors"
    fitted[name].save(path)
    again = NextLocation.load(path)
    assert again.model == name
    pd.testing.assert_frame_equal(fitted[name].predict(visits), again.predict(visits))
    sets = [one.predict_set(visits, coverage=0.8) for one in (fitted[name], again)]
    assert sets[0].location_id.tolist() == sets[1].location_id.tolist()


def test_a_file_of_pgt_is_one_of_the_command_line(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, tmp_path: Path
) -> None:
    fitted["pgt"].save(tmp_path / "m.safetensors")
    model, vocabulary = pgt.load_model(tmp_path / "m.safetensors")
    windows = checkpoint.load_windows_config(tmp_path / "m.safetensors")
    expected = pgt.predict.predict(model, vocabulary, visits, windows=windows, top=3)
    found = fitted["pgt"].predict(visits, top=3)
    assert found.location_id.tolist() == expected.location_id.tolist()
    town = wherenext.city.load().visits
    model = NextLocation.load(checkpoint.shipped("city"))
    assert model.predict(town, top=1).user_id.nunique() == town.user_id.nunique()
    with pytest.raises(DataError, match="no validation windows to promise"):
        model.predict_set(town)
    with pytest.raises(DataError, match="of another vocabulary"):
        model.predict(visits.assign(location_id="p" + visits.location_id.astype(str)))


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "pgt"])
def test_sets_hold_the_truth_as_often_as_they_promise(name: str) -> None:
    # Windows to calibrate on and windows to check on are alike: visits without any structure.
    table = check(random_visits(3, users=30, visits=120, places=5))
    model = NextLocation(name).fit(table)
    hits = []
    for back in range(0, 24, 3):
        cut = table.groupby("user_id").head(119 - back)
        truth = table.groupby("user_id").nth(119 - back).set_index("user_id").location_id
        sets = model.predict_set(cut, coverage=0.7)
        in_set = sets.groupby("user_id").location_id.agg(set)
        hits += [truth[user] in in_set.get(user, set()) for user in truth.index]
    assert 0.6 < np.mean(hits) < 0.9


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_model_cannot_do_is_one_sentence(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str
) -> None:
    with pytest.raises(DataError, match="knows nothing of the time"):
        fitted[name].predict(visits, at="2024-05-01 09:00")
    if name in CLOSED:
        with pytest.raises(DataError, match=r"tells no reasons; take NextLocation\.pretrained"):
            fitted[name].explain(visits, 0)
        with pytest.raises(DataError, match="keeps no diaries"):
            fitted[name].remember(visits)
    with pytest.raises(DataError, match=r"coverage=2"):
        fitted[name].predict_set(visits, coverage=2)


@pytest.mark.parametrize("name", ["last", "most_frequent", "kernel"])
def test_the_reasons_of_a_rule_add_up_to_the_probability(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str
) -> None:
    found = fitted[name].explain(visits, 2, top=3)
    first = fitted[name].predict(visits, user=2, top=3)
    assert found.location_id.drop_duplicates().tolist() == first.location_id.tolist()
    effects = found.groupby("location_id", sort=False).effect
    assert np.allclose(effects.sum(), 100 * first.probability, atol=1e-4)
    assert all(one.tolist() == sorted(one, reverse=True) for _, one in effects)
    been = visits[visits.user_id == 2].location_id.value_counts()
    assert all(row.visits == been[row.location_id] for row in found.itertuples())
    assert found.columns.tolist() == NextLocation.pretrained().explain(visits, 2).columns.tolist()
    assert "adds to the probability" in fitted[name].plot(visits, 2).caption


def test_a_reason_of_the_kernel_is_the_share_of_its_votes(
    fitted: dict[str, NextLocation], visits: pd.DataFrame
) -> None:
    model = fitted["kernel"].fitted_
    assert isinstance(model, OwnPast)
    asked = ask(visits[visits.user_id == 2], memory=100, older=100)
    batch, new = asked.windows.batch([0]), model.novelty(asked.new)[0]
    kernel = replace(model.predictor, base=1.0, same=2.0, clock=0.5, decay=0.9)
    shown = replace(model, predictor=kernel)
    found = shown.reasons(Question(visits, user=2), 1).set_index("feature").effect
    votes = [
        replace(kernel, **{**dict.fromkeys(("base", "same", "clock"), 0.0), name: weight})
        for name, weight in (("base", 1.0), ("same", 2.0), ("clock", 0.5))
    ]
    place = shown.best(Question(visits, user=2), 1).location_id[0]
    number = int(asked.visits[asked.visits.location_id == place]._place.iloc[0]) + 2
    there = batch.location[0] == number
    for name, one in zip(("age", "before", "clock"), votes, strict=True):
        share = one.weights(batch)[0][there].sum() / kernel.weights(batch).sum()
        assert found[name] == pytest.approx(100 * float(share) * (1 - new), rel=1e-4)


@pytest.mark.parametrize("name", ["last", "most_frequent", "kernel"])
def test_a_rule_takes_one_visit_at_a_time_as_the_whole_table(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str
) -> None:
    late = visits.groupby("user_id").tail(3).index
    model = fitted[name].remember(visits.drop(late))
    for row in visits.loc[late].sort_values("started_at", kind="stable").to_dict("records"):
        answer = model.update(row, top=4)
    whole = model.predict(visits, top=4, user=row["user_id"])
    assert answer.location_id.tolist() == whole.location_id.tolist()
    assert np.allclose(answer.probability, whole.probability, atol=1e-6)
    assert answer.somewhere_new[0] == pytest.approx(whole.somewhere_new[0])


def test_a_pgt_that_knows_the_day_can_be_asked_for_one(visits: pd.DataFrame) -> None:
    data = pgt.prepare(visits, protocol="exact")
    size = data.vocabulary.n_locations, data.vocabulary.n_users
    torch.manual_seed(0)
    network = pgt.PointerGeneratorTransformer(pgt.ModelConfig(*size, target_time="day")).eval()
    day = Closed("pgt", network, np.empty(0), data.vocabulary, data.config)
    end = visits.finished_at.max()
    soon, late = (day.best(Question(visits, end + pd.Timedelta(days=days)), 3) for days in (0, 5))
    assert not np.allclose(soon.probability, late.probability, atol=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_the_score_is_that_of_the_rule_alone(
    fitted: dict[str, NextLocation], visits: pd.DataFrame, name: str
) -> None:
    table = fitted[name].score(visits)
    assert table.model.iloc[0] == name and (table.groupby("model").n.max() > 50).all()
    every = table[table.group == "all"].set_index("model")
    if name in ("kernel", "most_frequent"):
        same = {"kernel": "kernel, 100 visits", "most_frequent": "most frequent, 100 visits"}[name]
        assert every.mrr[name] == pytest.approx(every.mrr[same])
    if name == "markov":
        data = pgt.prepare(visits, protocol="exact")
        ranks = evaluate(fit_baseline("markov", data.train, data.valid), data.test)
        assert every.mrr[name] == pytest.approx(100 * pgt.metrics.gains(ranks).mrr.mean())


def test_shares_of_the_last_place_keep_its_order(visits: pd.DataFrame) -> None:
    data = pgt.prepare(visits, protocol="exact")
    batch = data.test.batch(np.arange(40))
    ours, theirs = (rule.fit(data.train).rank(batch) for rule in (Latest(), baselines()["last"]))
    assert torch.equal(ours.better, theirs.better) and torch.equal(ours.tied, theirs.tied)


def test_with_too_few_visits_nothing_is_promised() -> None:
    few = check(routine_visits(users=1, days=25))
    model = NextLocation("most_frequent").fit(few)
    assert len(model.predict(few)) > 0
    with pytest.raises(DataError, match="validation windows to promise a coverage on"):
        model.predict_set(few)


@pytest.mark.parametrize("name", ["kernel", "markov"])
def test_a_changed_header_is_refused(
    fitted: dict[str, NextLocation], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "m.safetensors"
    fitted[name].save(path)
    tensors, info = checkpoint.read(path)
    for damage in (
        {"rule": "lstm"}, {"numbers": {"decay": "x"}}, {"numbers": {"speed": 1.0}},
        {"novelty": [1]}, {"vocabulary": {"locations": [1], "users": [], "n_known": 1}},
        {"windows": {"days": -1}},
    ):  # fmt: skip
        if not info.keys() >= damage.keys():
            continue
        checkpoint.write(path, tensors, json.loads(json.dumps(info | damage)))
        with pytest.raises(DataError):
            NextLocation.load(path)


@pytest.mark.parametrize("name", ["last", "most_frequent", "markov"])
def test_a_rule_of_a_small_table_can_be_saved(name: str, tmp_path: Path) -> None:
    few = check(routine_visits(users=1, days=25))
    model = NextLocation(name).fit(few)
    model.save(tmp_path / "few.safetensors")
    again = NextLocation.load(tmp_path / "few.safetensors")
    pd.testing.assert_frame_equal(again.predict(few), model.predict(few))


@pytest.mark.parametrize("name", ["markov", "last"])
def test_without_windows_to_train_on_a_rule_is_refused(name: str, visits: pd.DataFrame) -> None:
    for table in (visits.assign(split="test"), visits.head(1)):
        with pytest.raises(DataError, match="no windows to"):
            NextLocation(name).fit(table)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["contextual", "most_frequent", "last"])
def test_an_answer_is_the_same_alone_and_among_others(name: str) -> None:
    visits = check(city.load().visits.query("user_id <= 25"))
    model = NextLocation.pretrained() if name == "contextual" else NextLocation(name).fit(visits)
    everybody = model.predict(visits, top=50)
    for user in visits.user_id.unique():
        alone = model.predict(visits, top=50, user=user)
        among = everybody[everybody.user_id == user].reset_index(drop=True)
        assert alone.location_id.tolist() == among.location_id.tolist()
        assert np.allclose(alone.probability, among.probability, atol=1e-6)
        assert alone[["lon", "lat"]].equals(among[["lon", "lat"]])
