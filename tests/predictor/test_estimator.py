"""The predictor: any visits, probabilities that add up, and what is saved is what is loaded."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import folium
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import pgt
from pgt.errors import DataError
from pgt.metrics import evaluate
from pgt.predictor import answers, scoring
from pgt.predictor.contextual import Contextual
from pgt.predictor.estimator import NextLocation
from pgt.predictor.experts import Experts
from pgt.predictor.fitted import Question
from pgt.visits import check

from ..helpers import random_visits, routine_visits


@pytest.fixture(scope="module")
def model() -> NextLocation:
    return NextLocation.pretrained()


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return check(routine_visits(users=4, days=40))


def test_all_probability_is_accounted_for(model: NextLocation, visits: pd.DataFrame) -> None:
    answer = model.predict(visits, top=1000)
    assert set(answer.user_id) == set(visits.user_id)
    total = answer.groupby("user_id").probability.sum()
    new = answer.groupby("user_id").somewhere_new.first()
    assert np.allclose(total + new, 1, atol=1e-5)
    assert (answer.groupby("user_id").probability.diff().dropna() <= 1e-9).all()
    been = visits.groupby("user_id").location_id.agg(set)
    assert all(row.location_id in been[row.user_id] for row in answer.itertuples())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_somebody_with_few_visits_gets_an_answer(
    model: NextLocation, visits: pd.DataFrame, n: int
) -> None:
    few = visits.groupby("user_id").head(n)
    answer = model.predict(few).groupby("user_id")
    been = few.groupby("user_id").location_id.agg(set)
    assert answer.location_id.agg(set).equals(been)
    total = answer.probability.sum() + answer.somewhere_new.first()
    assert np.allclose(total, 1, atol=1e-6) and (answer.somewhere_new.first() > 0).all()


def test_other_people_and_the_names_of_places_change_nothing(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    whole = model.predict(visits)
    renamed = visits.assign(location_id="place " + visits.location_id.astype(str))
    other = model.predict(renamed)
    assert np.allclose(whole.probability, other.probability, atol=1e-6)
    assert ("place " + whole.location_id.astype(str) == other.location_id).all()
    shuffled = model.predict(visits.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(whole, shuffled)
    one = visits.user_id.iloc[0]
    mine = model.predict(visits, user=str(one))
    among = whole[whole.user_id == one].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, among)


def test_a_routine_is_found(model: NextLocation, visits: pd.DataFrame) -> None:
    before = visits.drop(visits.groupby("user_id").tail(1).index)
    truth = visits.groupby("user_id").tail(1).set_index("user_id").location_id
    first = model.predict(before, top=1).set_index("user_id").location_id
    assert (first == truth).mean() >= 0.75


def test_the_moment_is_known_when_it_is_given(model: NextLocation, visits: pd.DataFrame) -> None:
    end = visits.started_at.max()
    at = [str((end + pd.Timedelta(hours=h)).tz_localize(None)) for h in (1, 9)]
    one, other = (model.predict(visits, at=moment) for moment in at)
    assert not np.allclose(one.probability, other.probability, atol=1e-3)
    late = model.predict(visits, at=end - pd.Timedelta(days=10))
    assert (late.after <= end - pd.Timedelta(days=10)).all()


def test_what_is_saved_is_what_is_loaded(
    model: NextLocation, visits: pd.DataFrame, tmp_path: Path
) -> None:
    model.save(tmp_path / "m.safetensors")
    again = NextLocation.load(tmp_path / "m.safetensors")
    pd.testing.assert_frame_equal(model.predict(visits), again.predict(visits))
    pd.testing.assert_frame_equal(model.predict_set(visits), again.predict_set(visits))
    with pytest.raises(DataError, match="There is no checkpoint"):
        NextLocation.load(tmp_path / "none.safetensors")


def test_sets_grow_with_their_promise(model: NextLocation, visits: pd.DataFrame) -> None:
    sizes = [len(model.predict_set(visits, coverage=c)) for c in (0.3, 0.6, 0.95)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    with pytest.raises(DataError, match=r"coverage=1\.5"):
        model.predict_set(visits, coverage=1.5)


def test_reasons_are_what_the_answer_loses_without_them(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    user = visits.user_id.iloc[0]
    found = model.explain(visits, user, top=2)
    first = model.predict(visits, user=user, top=2)
    assert found.location_id.drop_duplicates().tolist() == first.location_id.tolist()
    assert found.effect.abs().max() > 1
    sizes = found.groupby("location_id", sort=False).effect.apply(lambda e: e.abs().tolist())
    assert all(each == sorted(each, reverse=True) for each in sizes)


def test_parameters_are_those_of_scikit_learn(visits: pd.DataFrame) -> None:
    model = NextLocation("kernel", seed=3)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(DataError, match="is not fitted"):
        model.predict(visits)
    with pytest.raises(DataError, match="model is 'lstm'; it must be one of contextual, pgt"):
        NextLocation("lstm").fit(visits)
    with pytest.raises(DataError, match="choose is 'best'"):
        NextLocation(choose="best").fit(visits)


def test_fit_says_what_it_took_and_never_looks_at_the_last_part() -> None:
    split = pgt.visits.split_by_days(check(routine_visits(users=4, days=90)))
    fitted = NextLocation(choose="fine_tuned").fit(split)
    assert fitted.selection_.candidate.tolist() == ["fine_tuned"]
    other = split.copy()  # the same, but for the places of the last part
    test = other.split == "test"
    other.loc[test, "location_id"] = other.location_id[test].sample(frac=1, random_state=1).values
    again = NextLocation(choose="fine_tuned").fit(other)
    past = split[~test]
    pd.testing.assert_frame_equal(fitted.predict(past), again.predict(past))


def test_with_too_few_visits_the_predictor_stays_as_it_comes() -> None:
    few = check(random_visits(1, users=1, visits=12))
    fitted = NextLocation().fit(few)
    assert fitted.selection_.candidate.tolist() == ["pretrained"]
    assert "only" in fitted.selection_.why[0]
    with pytest.raises(DataError, match="too few to be trained"):
        NextLocation(choose="trained").fit(few)


def test_the_score_has_the_rules_beside_it(model: NextLocation, visits: pd.DataFrame) -> None:
    table = model.score(visits)
    assert table.model.unique().tolist()[0] == "contextual"
    assert {"kernel, 100 visits", "most frequent, 7 days"} <= set(table.model)
    every = table[table.group == "all"]
    assert every.n.nunique() == 1
    assert ((every.low <= every["acc@1"]) & (every["acc@1"] <= every.high)).all()


def test_the_score_is_that_of_the_experts_as_the_past_weighs_them(
    visits: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = NextLocation.pretrained()
    _, poor = model.bundle_.next_place.networks
    assert poor.scorer is not None
    with torch.no_grad():
        for table in poor.scorer.tables.values():
            table.neg_()  # it thinks the opposite of what it has learned
    scored = []
    monkeypatch.setattr(
        scoring, "evaluate", lambda one, windows: scored.append(one) or evaluate(one, windows)
    )
    model.score(visits)
    assert isinstance(scored[0], Experts)
    assert scored[0].weights[0] > 0.9


def test_visit_by_visit_is_the_whole_table(model: NextLocation, visits: pd.DataFrame) -> None:
    late = visits.groupby("user_id").tail(3).index
    streaming = NextLocation.pretrained().remember(visits.drop(late))
    watching = streaming.watcher_.model
    for row in visits.loc[late].sort_values("started_at").to_dict("records"):
        answer = streaming.update(row, top=4)
    fitted = model.fitted_
    assert isinstance(fitted, Contextual)
    _, asked, new = fitted.asked(Question(visits))
    whole = answers.best(watching, asked, new, 4)
    whole = whole[whole.user_id == row["user_id"]]
    assert answer.location_id.tolist() == whole.location_id.tolist()
    assert np.allclose(answer.probability, whole.probability, atol=1e-6)


@pytest.mark.slow
def test_a_week_of_single_visits_is_the_whole_table(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    week = visits.started_at > visits.started_at.max() - pd.Timedelta(days=7)
    streaming = NextLocation.pretrained().remember(visits[~week])
    weighed = streaming.watcher_.model
    fitted = model.fitted_
    assert isinstance(fitted, Contextual)
    known = visits[~week]
    for row in visits[week].sort_values("started_at", kind="stable").to_dict("records"):
        answer = streaming.update(row, top=4)
        known = pd.concat([known, pd.DataFrame([row])], ignore_index=True)
        mine = check(known[known.user_id == row["user_id"]])
        _, asked, new = fitted.asked(Question(mine))
        whole = answers.best(weighed, asked, new, 4)
        assert answer.location_id.tolist() == whole.location_id.tolist()
        assert np.allclose(answer.probability, whole.probability, atol=1e-6)
        assert answer.somewhere_new[0] == pytest.approx(whole.somewhere_new[0])


def test_somebody_who_is_somewhere_new_every_day(model: NextLocation) -> None:
    nomad = check(routine_visits(users=1, days=40).query("location_id == 0"))
    nomad = nomad.assign(location_id=range(len(nomad)))
    answer = model.predict(nomad, top=100)
    settled = model.predict(nomad.assign(location_id=0), top=100)
    assert answer.somewhere_new[0] > 0.5 > settled.somewhere_new[0]
    assert answer.location_id.nunique() == len(nomad)
    assert answer.probability.sum() + answer.somewhere_new[0] == pytest.approx(1, abs=1e-5)
    assert model.predict_set(nomad).location_id.isna().any()


def rows(chart: folium.Map) -> list[list[str]]:
    """The table below a map: place, visits and probability."""
    found = re.findall(r"<td>(.*?)</td>", chart.get_root().render())
    return [found[i : i + 3] for i in range(0, len(found), 3)]


def test_three_visits_are_enough_to_be_asked_about(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    few = visits.head(3).assign(lon=[16.0, 16.1, 16.0], lat=48.0)
    assert len(model.predict(few)) == 2
    assert len(model.explain(few, few.user_id[0])) > 0
    assert model.plot(few, few.user_id[0]).alt
    assert len(rows(model.map(few, few.user_id[0]))) == 2
    with pytest.raises(DataError, match="no test windows"):
        model.score(few)


def test_what_is_drawn_is_what_is_said(model: NextLocation, visits: pd.DataFrame) -> None:
    user, located = visits.user_id.iloc[0], visits.assign(lon=visits.location_id / 100, lat=48.0)
    found = model.explain(visits, user, top=2)
    drawn = model.plot(visits, user, top=2)
    for place, part in found.groupby("location_id", sort=False):
        assert f"{place}: {part.probability.iloc[0]:.0%}" in drawn.alt
    guesses = model.predict(located, user=user, top=2)
    first = rows(model.map(located, user, top=2))[:2]
    assert [place for place, _, _ in first] == guesses.location_id.astype(str).tolist()
    assert [float(p) for _, _, p in first] == guesses.probability.round(3).tolist()
    early = located.started_at.min() + pd.Timedelta(days=3)
    visits_before = [int(n) for _, n, _ in rows(model.map(located, user, at=early))]
    assert sum(visits_before) < len(located) / 4


def test_a_moment_may_name_any_offset(model: NextLocation, visits: pd.DataFrame) -> None:
    table = visits.copy()
    for name in ("started_at", "finished_at"):
        table[name] = table[name].dt.tz_localize(None).dt.tz_localize("Europe/Athens")
    local = table.started_at.max().normalize() + pd.Timedelta(hours=33)
    expected = model.predict(table, at=str(local.tz_localize(None)))
    for at in (local, local.isoformat(), local.tz_convert("UTC"), local.tz_convert("Asia/Tokyo")):
        pd.testing.assert_frame_equal(model.predict(table, at=at), expected)
    assert len(model.explain(table, table.user_id.iloc[0], at=local.tz_convert("UTC")))


def test_who_has_no_visit_before_the_moment_is_named(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    early, late = visits.user_id.unique()[:2]
    table = visits[visits.user_id.isin([early, late])].copy()
    later = table.user_id == late
    for name in ("started_at", "finished_at"):
        table.loc[later, name] += pd.Timedelta(days=100)
    at = table.started_at.min() + pd.Timedelta(days=10)
    assert model.predict(table, at=at).user_id.unique().tolist() == [early]
    with pytest.raises(DataError, match=f"User {late} has no visit before"):
        model.predict(table, at=at, user=late)


def test_numbers_and_people_are_asked_for_in_one_sentence(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    user = visits.user_id.iloc[0]
    places = visits.assign(lon=1.0, lat=1.0)
    for top in (0, -1, 1.5, "3", True):
        with pytest.raises(DataError, match="top is"):
            model.predict(visits, top=top)
        with pytest.raises(DataError, match="top is"):
            model.explain(visits, user, top=top)
        with pytest.raises(DataError, match="top is"):
            model.map(places, user, top=top)
    with pytest.raises(DataError, match="reasons is 0"):
        model.plot(visits, user, reasons=0)
    with pytest.raises(DataError, match=r"coverage is '0\.9'"):
        model.predict_set(visits, coverage="0.9")
    for ask in (model.explain, model.plot, model.map):
        with pytest.raises(DataError, match="name one of the table"):
            ask(places, None)
    for seed in (-1, 1.5, "a", None):
        with pytest.raises(DataError, match="seed is"):
            NextLocation("last", seed=seed).fit(visits)


def test_a_predictor_can_go_to_another_process(model: NextLocation, visits: pd.DataFrame) -> None:
    there = pickle.loads(pickle.dumps(model))  # as multiprocessing does; no file is one
    pd.testing.assert_frame_equal(there.predict(visits), model.predict(visits))
    network = model.bundle_.next_place.networks[0]
    assert pickle.loads(pickle.dumps(network)).state_dict().keys() == network.state_dict().keys()
