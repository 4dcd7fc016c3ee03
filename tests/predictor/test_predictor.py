"""The predictor: any visits, probabilities that add up, and what is saved is what is loaded."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pgt import checkpoint, files
from pgt.batch import Slots, add_up
from pgt.checkpoint import shipped
from pgt.errors import DataError
from pgt.metrics import FEW
from pgt.predictor import contextual, pool, questions
from pgt.predictor.calibration import conformal_quantile
from pgt.predictor.features import FEATURES
from pgt.predictor.memory import sample, with_history
from pgt.predictor.pool import Experts, pooled
from pgt.predictor.predictor import (
    NETWORKS,
    OTHERS,
    NextLocation,
    conformal_quantiles,
    nonconformity,
)
from pgt.predictor.questions import ask, likeliest, share_of_new
from pgt.readers.tables import load_city
from pgt.visits import check
from pgt.windows import prepare

from ..helpers import random_visits, routine_visits

MEMORY = contextual.MEMORY, contextual.OLDER
SHIPPED = files.folder("checkpoints") / "nobody.safetensors"


@pytest.fixture(scope="module")
def model() -> NextLocation:
    return NextLocation.pretrained()


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return check(routine_visits(users=5, days=40))


def adds_up(answer: pd.DataFrame) -> bool:
    """Whether each person's probabilities and that of somewhere new are all there is."""
    people = answer.groupby("user_id")
    return np.allclose(people.probability.sum() + people.somewhere_new.first(), 1, atol=1e-5)


@pytest.mark.parametrize("at", [None, "2024-05-01 12:00"])
@pytest.mark.parametrize("n", [1, 3, 60])
def test_all_probability_is_accounted_for(model: NextLocation, n: int, at: str | None) -> None:
    visits = check(random_visits().groupby("user_id").head(n))
    answer = model.predict(visits, top=1000, at=at)
    groups = answer.groupby("user_id")
    assert adds_up(answer) and (answer.somewhere_new > 0).all()
    assert (groups.probability.diff().dropna() <= 1e-9).all()
    assert groups["rank"].agg(list).map(lambda rank: rank == [*range(1, len(rank) + 1)]).all()
    assert groups.location_id.agg(set).equals(visits.groupby("user_id").location_id.agg(set))
    assert not answer.duplicated(["user_id", "location_id"]).any()
    few = model.predict(visits, top=2, at=at)
    pd.testing.assert_frame_equal(few, answer[answer["rank"] <= 2].reset_index(drop=True))


def test_names_order_and_columns_change_nothing(model: NextLocation, visits: pd.DataFrame) -> None:
    whole = model.predict(visits)
    text = visits.assign(location_id="place " + visits.location_id.astype(str))
    other = model.predict(text)
    assert np.array_equal(whole.probability, other.probability)
    assert ("place " + whole.location_id.astype(str) == other.location_id).all()
    shuffled = model.predict(visits.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(whole, shuffled)
    theirs = visits.rename(columns={"user_id": "uid", "location_id": "venue"})
    pd.testing.assert_frame_equal(whole, model.predict(theirs))


@pytest.mark.parametrize("at", [None, "2024-04-20 12:00"])
def test_who_else_is_asked_changes_nothing(
    model: NextLocation, visits: pd.DataFrame, at: str | None
) -> None:
    """Everybody's past weighs the networks, whoever is asked about; batch mates have no say."""
    whole, sets = model.predict(visits, at=at), model.predict_set(visits, at=at)
    for user in (1, 3):
        mine = model.predict(visits, at=at, user=str(user))
        among = whole[whole.user_id == user].reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, among, atol=1e-6)
        mine = model.predict_set(visits, at=at, user=user)
        among = sets[sets.user_id == user].reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, among, atol=1e-6, check_dtype=False)


def test_a_moment_is_by_the_tables_clock(model: NextLocation, visits: pd.DataFrame) -> None:
    end = visits.started_at.max()
    one, other = (model.predict(visits, at=end + pd.Timedelta(hours=h)) for h in (1, 9))
    assert not np.allclose(one.probability, other.probability, atol=1e-3)
    local = str((end + pd.Timedelta(hours=9)).tz_localize(None))
    utc = (end + pd.Timedelta(hours=9)).tz_convert("UTC").isoformat()
    for same in (local, utc):
        pd.testing.assert_frame_equal(model.predict(visits, at=same), other)
    before = end - pd.Timedelta(days=10)
    late = model.predict(visits, at=before)
    assert (late.after <= before).all()
    known = visits[visits.started_at <= before]
    pd.testing.assert_frame_equal(model.predict(known, at=before), late)


def test_coordinates_are_those_of_the_latest_visit(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    moved = visits.assign(lon=16.3, lat=48.2).groupby("user_id").tail(12).reset_index(drop=True)
    mine = moved.index[(moved.user_id == 1) & (moved.location_id == 11)]
    moved.loc[mine[-1], ["lon", "lat"]] = 16.4, 48.3
    answer = model.predict_set(moved, coverage=0.99, user=1).set_index("location_id")
    assert (answer.lon[11], answer.lat[11]) == (16.4, 48.3)
    assert answer[answer.index.isna()][["lon", "lat"]].isna().all(axis=None)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_groups_of_people_give_the_same_answers(
    model: NextLocation, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = check(random_visits(0, users=5, visits=120))
    whole = model.predict(visits), model.predict_set(visits)
    monkeypatch.setattr(questions, "PEOPLE_AT_ONCE", size)
    for one, other in zip(whole, (model.predict(visits), model.predict_set(visits)), strict=True):
        pd.testing.assert_frame_equal(one, other)
    alone = model.predict(visits, user=3)
    expected = whole[0][whole[0].user_id == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, expected)


def test_who_asks_again_gets_the_same_and_who_asks_of_another_past_does_not(
    model: NextLocation,
) -> None:
    visits = check(random_visits(0, users=5, visits=120))
    first = model.predict(visits)
    other = model.predict(visits.iloc[:-30])
    pd.testing.assert_frame_equal(model.predict(visits), first)
    fresh = replace(model, _weighed=(None, None, None))
    pd.testing.assert_frame_equal(fresh.predict(visits.iloc[:-30]), other)
    # Other networks are weighed anew, for the very same past.
    changed = replace(fresh, experts=deepcopy(model.experts))
    for network in changed.experts["next_place"].experts:
        torch.nn.init.zeros_(network.scorer.tables["clock"])
    assert not changed.predict(visits.iloc[:-30]).equals(other)


def test_sets_are_the_likeliest_answer_and_all_above_one_probability(model: NextLocation) -> None:
    visits = check(random_visits(0, visits=200))
    every = model.predict(visits, top=1000)
    new = every.drop_duplicates("user_id").assign(location_id=None)
    new["probability"] = new.somewhere_new
    answers = pd.concat([every, new])
    first = answers.groupby("user_id").probability.max()
    experts, (asked,) = model._asked(visits, None, None)
    late = asked.late
    assert 0.4 < len(late) / len(asked.past) < 0.6
    scores = nonconformity(experts, late, model.novelty)
    users = asked.windows.users
    sizes = []
    for coverage in (0.3, 0.6, 0.9, 0.95):
        found = model.predict_set(visits, coverage=coverage)
        least = pd.Series(
            1 - conformal_quantiles(scores, late.users, users, 1 - coverage), index=users
        )
        both = np.minimum(answers.user_id.map(least), answers.user_id.map(first))
        few = answers[answers.probability >= both]
        assert len(found) == len(few) and set(found.user_id) == set(visits.user_id)
        assert (found.groupby("user_id").probability.diff().dropna() <= 0).all()
        sizes.append(len(found))
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_a_threshold_is_ones_own_where_there_is_enough_of_ones_own() -> None:
    rng = np.random.default_rng(0)
    scores, users = rng.random(5000), np.repeat(["easy", "hard", "rare"], [2000, 2980, 20])
    scores[users == "hard"] += 1
    asked = ["hard", "easy", "rare", "new", "hard"]
    found = dict(zip(asked, conformal_quantiles(scores, users, asked, 0.1), strict=True))
    assert found["easy"] == pytest.approx(0.9, abs=0.05)
    assert found["hard"] == pytest.approx(1.9, abs=0.05)
    assert found["new"] == conformal_quantile(scores, 0.1, np.full(5000, OTHERS / 5000)) > 1.5
    assert 1 < found["rare"] < found["new"]  # mostly the others


def test_sets_hold_the_truth_as_often_as_asked(model: NextLocation) -> None:
    """Calibrated on a third of the town's training days, asked of its validation days."""
    data = with_history(prepare(load_city(), protocol="exact"), *MEMORY)
    past = data.train.subset(sample(len(data.train), 500))
    experts = model.experts["next_place"].fit_weights(past)
    scores = nonconformity(experts, past, model.novelty)
    later = nonconformity(experts, data.valid.subset(sample(len(data.valid), 500)), model.novelty)
    for coverage in (0.5, 0.8, 0.9, 0.95):
        held = (later <= conformal_quantile(scores, 1 - coverage)).mean()
        assert held == pytest.approx(coverage, abs=0.06)


def test_sets_say_what_their_promise_rests_on(model: NextLocation, visits: pd.DataFrame) -> None:
    def rests_on(one: NextLocation, table: pd.DataFrame) -> str:
        return str(one.predict_set(table).attrs["calibrated_on"])

    few = visits.groupby("user_id").head(5)
    assert rests_on(model, visits) == "this table"
    assert rests_on(model, few) == "simulated worlds"
    # What a network was trained on is no test of it.
    alone = {part: Experts(list(model.experts[part].experts)[:1]) for part in NETWORKS}
    fitted = replace(model, experts=torch.nn.ModuleDict(alone).eval(), notes={"selection": []})
    assert rests_on(fitted, visits) == "fit"


@pytest.mark.parametrize("at", [None, "2024-04-20 12:00"])
def test_effects_are_what_the_answer_loses(
    model: NextLocation, visits: pd.DataFrame, at: str | None
) -> None:
    """Probability = effect + probability without the feature, for every feature and place."""
    found = model.explain(visits, 1, at=at, top=2)
    first = model.predict(visits, user=1, at=at, top=2)
    assert found.location_id.unique().tolist() == first.location_id.tolist()
    assert found.groupby("location_id").effect.agg(lambda e: e.is_monotonic_decreasing).all()
    part = "next_place" if at is None else "at_a_time"
    used = model.experts[part].config.used_features
    assert set(found.feature) == set(used) <= set(FEATURES)
    assert found.effect.abs().max() > 0.5
    silent = {"age": {"decay": 1.0}, "clock": {"clock": 0.0} if at is None else {}, "days": {}}
    for feature, change in silent.items():
        # Everybody is weighed with the feature: only the answer goes without it.
        experts, (asked,) = model._asked(visits, at, 1)
        blind = deepcopy(experts)
        blind.kernels = tuple(replace(one, **change) for one in blind.kernels)
        for network in blind.experts:
            torch.nn.init.zeros_(network.scorer.tables[feature])
        less = asked.named(likeliest(blind, asked)).set_index("location_id").probability
        for row in found[found.feature == feature].itertuples():
            assert row.effect / 100 + less[row.location_id] == pytest.approx(row.probability)
            times = (visits.user_id == 1) & (visits.location_id == row.location_id)
            assert at is not None or row.visits == times.sum()


@pytest.mark.parametrize("part", NETWORKS)
def test_weights_make_the_past_likeliest(
    model: NextLocation, visits: pd.DataFrame, part: str
) -> None:
    past = ask(visits, None, model.novelty).past
    experts = model.experts[part]
    said = experts.returns(past)
    start, found = (one.weights.double() for one in (Experts(list(experts.experts)),
                                                     experts.fit_weights(past)))  # fmt: skip

    def score(weights: torch.Tensor) -> float:
        likely = sum(float(pooled(all_, used, weights)[hit].sum()) for all_, used, hit in said)
        return likely - pool.RIDGE * float((weights - start).square().sum())

    assert score(found) > score(start)
    for step in 0.05 * torch.cat([torch.eye(len(found)), -torch.eye(len(found))]):
        assert score(found) >= score(found + step) - 1e-6
    one = Experts(list(experts.experts)[:1])
    assert one.fit_weights(past) is one


def test_the_pool_is_of_its_networks_and_kernels(model: NextLocation, visits: pd.DataFrame) -> None:
    """With all weight on one, it is that one; the kernels are those of `pgt.baselines`."""
    networks = model.experts["next_place"].experts
    batch, n = ask(visits, None, model.novelty).windows.batch([0, 1]), len(networks)
    start = Experts(list(networks)).weights  # before anything is known networks count alike
    size = len(start)
    assert start[:2].tolist() == [0.5, 0.5] and not start[2:].any()
    slots, before = Slots.of(batch.location, batch.padding), batch.length - 2
    for k in range(size):
        pooled = Experts(list(networks)).eval()
        pooled.weights = torch.eye(size)[k]
        found = pooled.mixture(batch).pointer.exp()
        if k < n:
            expected = networks[k].mixture(batch).pointer.exp()
        elif k < size - 2:
            votes = add_up(slots, pool.KERNELS[k - n].weights(batch)).clamp(min=0)
            expected = votes / votes.sum(1, keepdim=True)
        else:
            at = (batch.length - 1, before)[k - (size - 2)]
            expected = (slots.place == batch.location[[0, 1], at][:, None]).float().exp()
        floor = 0 if k >= size - 2 else pool.LEAST
        expected = (expected + floor).masked_fill(slots.place < 0, 0)
        torch.testing.assert_close(found, expected / expected.sum(1, keepdim=True))


def test_novelty_is_a_share_drawn_towards_a_mean(model: NextLocation) -> None:
    at = pd.date_range("2024-01-01", periods=100, freq="h", tz="UTC")
    home = pd.DataFrame({"user_id": 1, "location_id": 0, "started_at": at, "finished_at": at})
    away = home.assign(user_id=2, location_id=range(100))
    asked = ask(check(pd.concat([home, away])), None, model.novelty)
    assert share_of_new(asked.windows, 0.2, 10).round(6).tolist() == [
        round(2 / 60, 6), round(52 / 60, 6)
    ]  # fmt: skip


def test_a_question_looks_like_the_window_of_the_next_visit(visits: pd.DataFrame) -> None:
    """What a network sees of a question is what it sees of the same window with its target."""
    mine = visits[visits.user_id == 1]
    asked = ask(mine.iloc[:-1], None, (0.2, 10))
    data = with_history(
        prepare(mine.assign(split="test"), protocol="exact"), contextual.MEMORY, contextual.OLDER
    )
    one, other = asked.windows.batch([0]), data.test.batch([len(data.test) - 1])
    for name in ("time", "weekday", "start_minute", "days_ago", "age", "stay", "gap_before",
                 "now_minute", "last_stay", "length"):  # fmt: skip
        assert torch.equal(getattr(one, name), getattr(other, name)), name


def test_fitting_takes_what_foretells_best_and_keeps_no_visit(tmp_path: Path) -> None:
    visits = check(routine_visits(users=5, days=60))
    visits["location_id"] = "secret place " + visits.location_id.astype(str)
    model = NextLocation.pretrained()
    assert model.fit(visits, seed=1) is model
    selection = pd.DataFrame(model.notes["selection"]).set_index("candidate")
    assert selection.index.tolist() == ["pretrained", "fine_tuned", "trained"]
    assert model.notes["taken"] == selection.mrr.idxmax()
    assert (np.diff(model.calibration) >= 0).all() and 0 < model.novelty[0] < 1
    answer = model.predict(visits, top=100)
    assert adds_up(answer)
    again = NextLocation.pretrained().fit(visits.sample(frac=1, random_state=0), seed=1)
    pd.testing.assert_frame_equal(again.predict(visits, top=100), answer)
    model.save(tmp_path / "m.safetensors")
    assert b"secret place" not in (tmp_path / "m.safetensors").read_bytes()


def test_with_too_few_visits_it_stays_as_it_comes(
    model: NextLocation, visits: pd.DataFrame
) -> None:
    fitted = NextLocation.pretrained().fit(check(routine_visits(users=1, days=12)))
    assert fitted.notes["taken"] == "pretrained" and fitted.novelty == model.novelty
    pd.testing.assert_frame_equal(fitted.predict(visits), model.predict(visits))


def test_the_score_has_the_rules_beside_it(model: NextLocation, visits: pd.DataFrame) -> None:
    table = model.score(visits)
    assert table.model.unique().tolist() == [
        "contextual", "most frequent, 100 visits", "most frequent, 7 days", "kernel, 100 visits"
    ]  # fmt: skip
    every = table[table.group == "all"]
    assert every.people.tolist() == [5] * 4 and every.n.nunique() == 1
    assert (every.low <= every["acc@1"]).all() and (every["acc@1"] <= every.high).all()
    assert np.allclose(every.lead, every["acc@1"].iloc[0] - every["acc@1"])
    assert every.lead.iloc[0] == every.lead_low.iloc[0] == every.lead_high.iloc[0] == 0
    few = model.score(visits[visits.user_id < FEW - 1])
    assert few[["low", "high", "lead_low", "lead_high"]].isna().all(axis=None)
    assert few["acc@1"].notna().any()
    with pytest.raises(DataError, match="no test windows"):
        model.score(visits.groupby("user_id").head(4))


def test_tuning_is_tried_on_validation_windows(model: NextLocation) -> None:
    visits = check(routine_visits(users=5, days=60))
    table = model.tuning(visits)
    every = table[table.group == "all"].set_index("model")
    assert every.index.tolist() == ["fine_tuned", "pretrained"]
    assert (every.n == len(prepare(visits, protocol="exact").valid)).all()
    assert every.lead["pretrained"] == pytest.approx(every["acc@1"]["fine_tuned"]
                                                     - every["acc@1"]["pretrained"])  # fmt: skip
    assert model.tuning(visits.groupby("user_id").head(30)) is None
    assert replace(model, notes={"selection": []}).tuning(visits) is None


def test_what_is_saved_is_what_is_loaded(
    model: NextLocation, visits: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "m.safetensors"
    replace(model, notes={"made": "here"}).save(path)
    again = NextLocation.load(path)
    pd.testing.assert_frame_equal(model.predict(visits), again.predict(visits))
    pd.testing.assert_frame_equal(model.predict_set(visits), again.predict_set(visits))
    assert (again.novelty, again.notes) == (model.novelty, {"made": "here"})
    again.save(tmp_path / "again.safetensors")
    (one, about), (other, same) = (
        checkpoint.read_tensors(path),
        checkpoint.read_tensors(tmp_path / "again.safetensors"),
    )
    assert about == same and one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("name", "says"),
    [("nan", "weights that are no numbers"), ("wide", "claims more than"),
     ("networks", "does not fit this version"), ("calibration", "does not fit this version")],
)  # fmt: skip
def test_what_cannot_be_a_predictor_is_refused(name: str, says: str, tmp_path: Path) -> None:
    tensors, info = checkpoint.read_tensors(SHIPPED)
    if name == "nan":
        tensors = {key: torch.full_like(value, torch.nan) for key, value in tensors.items()}
    elif name == "wide":  # sizes that no memory holds
        info["models"]["next_place"][0]["n_components"] = 10**9
    elif name == "networks":
        info["models"] = {}
    else:
        del tensors["calibration"]
    checkpoint.write_tensors(tmp_path / "p.safetensors", tensors, info)
    with pytest.raises(DataError, match=says):
        NextLocation.load(tmp_path / "p.safetensors")


def test_other_files_are_refused_with_what_opens_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"city\.safetensors holds .*pgt\.load_model"):
        NextLocation.load(shipped("city"))
    (tmp_path / "text.safetensors").write_text("nothing")
    with pytest.raises(DataError, match=r"text\.safetensors is cut short or damaged"):
        NextLocation.load(tmp_path / "text.safetensors")


def test_threads_are_left_as_they_were(model: NextLocation, visits: pd.DataFrame) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        model.predict(visits)
        with pytest.raises(DataError):
            model.predict(visits, top=0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def clocks(visits: pd.DataFrame) -> pd.DataFrame:
    """The visits in UTC, every second on another clock."""
    names = ["started_at", "finished_at"]
    utc = visits.assign(**{name: visits[name].dt.tz_convert("UTC") for name in names})
    return utc.assign(utc_offset=60 + 60 * (np.arange(len(visits)) % 2))


BAD: dict[str, tuple[Callable[[NextLocation, pd.DataFrame], Any], str]] = {
    "no place": (lambda m, v: m.predict(v, top=0), "top is 0; it must be a whole number"),
    "no coverage": (lambda m, v: m.predict_set(v, coverage=1.5), r"coverage is 1\.5"),
    "a coverage in words": (lambda m, v: m.predict_set(v, coverage="0.9"), "coverage is '0.9'"),
    "nobody": (lambda m, v: m.predict(v, user="ann"), "no user 'ann'"),
    "before everything": (lambda m, v: m.predict(v, at="1999-01-01"), "Nobody .* has a visit"),
    "before somebody": (lambda m, v: m.predict(v, user=1, at="1999-01-01"), "User 1 has no visit"),
    "no moment": (lambda m, v: m.predict(v, at="soon"), "at is 'soon'; write a moment"),
    "several clocks": (lambda m, v: m.predict(clocks(v), at="2024-04-20 12:00"), "several zones"),
    "no column": (lambda m, v: m.predict(v.drop(columns="location_id")), "location_id|lon"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(model: NextLocation, visits: pd.DataFrame, name: str) -> None:
    ask_it, says = BAD[name]
    with pytest.raises(DataError, match=says) as refusal:
        ask_it(model, visits)
    assert "\n" not in str(refusal.value)
