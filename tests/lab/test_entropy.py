"""Bounds on accuracy: right where the truth is known, and biased where they are said to be."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lab import ceilings
from lab import entropy as p
from lab import predictability as report_of
from lab.city_chances import _Witnessed, choice_probabilities
from lab.context_matching import ContextMatch, repeat_rate
from wherenext import city
from wherenext.people import Behaviour, Life, Town
from wherenext.results import read_results

from pgt.errors import DataError
from pgt.history import HistoryWindows, with_history
from pgt.windows import FEATURES, prepare
from tests.helpers import routine_visits

RNG = np.random.default_rng(5)
UNEVEN = np.array([[0.95, 0.05, 0.0], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]])  # mostly in one state


# -- entropy -----------------------------------------------------------------
def slow_matches(sequence: list[int]) -> list[int]:
    """The definition, word for word."""
    n, out = len(sequence), []
    for i in range(n):
        past = sequence[:i]
        length = 1
        while i + length <= n and any(
            past[j : j + length] == sequence[i : i + length] for j in range(i - length + 1)
        ):
            length += 1
        out.append(length)
    return out


@pytest.mark.parametrize("states", [1, 2, 3, 10])
def test_stretches_are_those_of_the_definition(states: int) -> None:
    for n in (1, 2, 7, 60):
        sequence = RNG.integers(0, states, n).tolist()
        assert p.match_lengths(sequence).tolist() == slow_matches(sequence)


def test_an_earlier_occurrence_lies_wholly_in_the_past() -> None:
    # "aaa" would match itself one step later if it were allowed to reach into the present.
    assert p.match_lengths(list("aaaaa")).tolist() == [1, 2, 3, 3, 2]


@pytest.mark.parametrize("name", ["fair coin", "unfair coin", "habits"])
def test_entropy_of_a_long_sample_comes_near_the_truth(name: str) -> None:
    transitions = ceilings.chains()[name]
    truth, _ = p.chain_truth(transitions)
    sample = p.sample_chain(transitions, 3000, seed=1)
    assert p.entropy_rate(sample) == pytest.approx(truth, rel=0.12)


def test_order_is_what_the_entropy_rate_sees_and_shannons_does_not() -> None:
    week = np.tile([0, 1, 2, 1, 0, 3, 3], 150)
    mixed = RNG.permutation(week)
    assert p.entropy_rate(week) < 0.1 < p.shannon_entropy(week)
    assert p.shannon_entropy(mixed) == pytest.approx(p.shannon_entropy(week))
    assert p.entropy_rate(mixed) > 1.5
    assert p.shannon_entropy(week) < 2.0  # of four places, as likely


def test_names_of_places_do_not_matter() -> None:
    sequence = RNG.integers(0, 9, 200)
    names = np.array([f"place {i}" for i in range(9)], dtype=object)
    assert p.entropy_rate(names[sequence]) == p.entropy_rate(sequence)


def test_the_bias_goes_both_ways() -> None:
    rows = pd.DataFrame(ceilings.biases(repeats=3)).set_index(["group", "length"])
    unfair, habits = rows.loc["unfair coin"], rows.loc["habits"]
    # Few symbols: short samples look more surprising than they are, and the bound is too low.
    assert unfair.loc[50, "value"] < unfair.loc[50, "true_bound"] - 5
    assert unfair.loc[3000, "value"] == pytest.approx(80, abs=3)
    # Many symbols: less surprising, and the bound is too high even at a few hundred.
    assert habits.loc[400, "entropy"] < habits.loc[400, "true_entropy"] - 0.2
    assert habits.loc[400, "value"] > habits.loc[400, "true_bound"] + 3
    # Even the true bound is no accuracy that anybody reaches; the wrong logarithm is far off.
    assert (habits.true_bound > habits.best + 5).all()
    assert (rows.nats > rows.value).all()


# -- Fano ----------------------------------------------------------------------
@pytest.mark.parametrize("states", [2, 5, 300])
def test_the_bound_solves_fanos_equation_and_is_reached_by_even_errors(states: int) -> None:
    for best in (0.5, 0.7, 0.95):
        row = np.full(states, (1 - best) / (states - 1))
        row[0] = best
        assert p.max_predictability(p.entropy_of(row), states) == pytest.approx(best, abs=1e-9)


def test_no_distribution_beats_the_bound() -> None:
    for _ in range(200):
        q = RNG.dirichlet(np.full(8, RNG.choice([0.05, 0.3, 2.0])))
        assert q.max() <= p.max_predictability(p.entropy_of(q), 8) + 1e-9


def test_the_bound_rises_with_states_and_falls_with_entropy() -> None:
    by_states = [p.max_predictability(2.0, n) for n in (5, 10, 100, 1000)]
    by_entropy = [p.max_predictability(e, 50) for e in (0.0, 0.5, 2.0, 5.0, 6.0)]
    assert by_states == sorted(by_states)
    assert by_entropy == sorted(by_entropy, reverse=True)
    assert by_entropy[0] == 1.0 and by_entropy[-1] == 1 / 50


@pytest.mark.parametrize("transitions", [ceilings.chains()["habits"], UNEVEN])
def test_a_chains_truth_is_what_a_long_sample_shows(transitions: np.ndarray) -> None:
    entropy, best = p.chain_truth(transitions)
    assert p.stationary(transitions) @ transitions == pytest.approx(p.stationary(transitions))
    sample = p.sample_chain(transitions, 40_000, seed=2)
    here, then = sample[:-1], sample[1:]
    assert (transitions.argmax(1)[here] == then).mean() == pytest.approx(best, abs=0.01)
    assert -np.log2(transitions[here, then]).mean() == pytest.approx(entropy, abs=0.03)


# -- agreement -------------------------------------------------------------------
def test_agreement_encloses_the_best_accuracy() -> None:
    situations = [RNG.dirichlet(np.full(12, a)) for a in RNG.choice([0.05, 0.5, 3.0], 100)]
    low, high = p.accuracy_between(float(np.mean([(q**2).sum() for q in situations])))
    assert low <= np.mean([q.max() for q in situations]) <= high == math.sqrt(low)


def windows_of(visits: pd.DataFrame) -> HistoryWindows:
    test = with_history(prepare(visits, protocol="exact"), memory=1).test
    assert isinstance(test, HistoryWindows)
    return test


@pytest.fixture(scope="module")
def larkmere() -> HistoryWindows:
    return windows_of(city.load().visits)


@pytest.mark.parametrize("where", ["larkmere", "shared"])
def test_agreement_counts_the_past_of_the_same_person_only(
    where: str, larkmere: HistoryWindows
) -> None:
    # In the other table everybody goes to the same places: whose visit it is must count.
    shared = routine_visits(users=3)
    shared["location_id"] %= 10
    windows = larkmere if where == "larkmere" else windows_of(shared)
    columns = dict(zip(FEATURES, windows.features.numpy()[:, 1:], strict=True))
    place, minute, weekday = columns["location"], columns["end_minute"], columns["weekday"]
    users = windows.visits.user_id.to_numpy()
    like = ContextMatch(place=True, minutes=90, day=True, before=True)
    table = repeat_rate(windows, like)
    for at in range(0, len(windows), 97 if where == "larkmere" else 7):
        target = int(windows.target[at])
        here, next_places = target - 1, []
        for i in range(1, here):
            apart = abs(int(minute[i]) - int(minute[here]))
            if (
                users[i - 1] == users[target]
                and place[i] == place[here]
                and place[i - 1] == place[here - 1]
                and min(apart, 1440 - apart) <= 90
                and (weekday[i] > 5) == (weekday[here] > 5)
            ):
                next_places.append(place[i + 1])
        n = len(next_places)
        assert table.n[at] == n
        pairs = [next_places[a] == next_places[b] for a in range(n) for b in range(a)]
        assert table.pairs[at] == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)
        now = np.mean(np.array(next_places) == place[target]) if n else np.nan
        assert table.now[at] == pytest.approx(now, nan_ok=True)


def test_a_memory_leaves_out_what_is_further_back(larkmere: HistoryWindows) -> None:
    table = repeat_rate(larkmere, ContextMatch(memory=30))
    assert table.n.max() == 30
    assert (table.n <= repeat_rate(larkmere, ContextMatch()).n).all()


def test_routine_agrees_with_itself_and_the_clock_tells_what_the_place_does_not() -> None:
    windows = windows_of(routine_visits(users=5))
    place = repeat_rate(windows, ContextMatch(place=True))  # from work to lunch or home
    clock = repeat_rate(windows, ContextMatch(place=True, minutes=60))
    assert clock.pairs.mean() == clock.now.mean() == 1.0
    assert place.pairs.mean() < 0.8


# -- the city's truth ------------------------------------------------------------
@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    return choice_probabilities(city.load())


@pytest.mark.slow
def test_the_citys_chances_come_true(truth: pd.DataFrame) -> None:
    assert len(truth) == len(city.load().visits)
    assert truth.hit.mean() == pytest.approx(truth.best.mean(), abs=0.01)
    assert truth.chosen.mean() == pytest.approx(truth.agreement.mean(), abs=0.01)
    surprise = -np.log2(truth.chosen[truth.chosen > 0]).mean()
    assert surprise == pytest.approx(truth.entropy.mean(), abs=0.1)
    for _, part in truth.groupby(pd.qcut(truth.best, 8)):
        assert part.hit.mean() == pytest.approx(part.best.mean(), abs=0.04)
    low, high = truth.agreement, np.sqrt(truth.agreement)
    assert ((low <= truth.best + 1e-9) & (truth.best <= high + 1e-9)).all()


def test_chances_of_new_places_are_those_that_the_simulator_recorded(truth: pd.DataFrame) -> None:
    visits = city.load().visits
    same_day = (
        visits.started_at.dt.floor("D")
        == visits.started_at.dt.floor("D").groupby(visits.user_id).shift()
    )
    chosen = same_day & visits.why.isin(["routine", "return", "explore"])
    # The first choice of a day is a mixture with staying at home, which the record leaves out.
    assert (truth.new - visits.p_explore)[chosen].abs().max() < 1e-3
    assert chosen.sum() > 5000


@pytest.mark.parametrize(("hour", "weekend"), [(9, False), (14, True), (20, False)])
def test_chances_are_how_often_the_simulator_chooses(hour: int, weekend: bool) -> None:
    town = city.load()
    person = town.people.iloc[20].to_dict()
    behaviour = Behaviour(**{name: town.truth[name] for name in Behaviour.__dataclass_fields__})
    life = _Witnessed(person, [], Town(town.places), behaviour, np.random.default_rng(0))
    life.run()
    n, now = 20_000, hour * 60 + 20
    life.u = iter(np.random.default_rng(1).random(6 * n).tolist())
    life.h_weight[: life.n // 2] = 0.02  # as after a change of life
    for here in {int(life.rows[-1][0]), life.home}:
        odds = life._odds(here, now, hour, weekend, False)
        drawn = [Life._choose(life, here, now, hour, weekend, False)[0] for _ in range(n)]
        shares = np.bincount(drawn, minlength=len(odds)) / n
        assert odds.sum() == pytest.approx(1)
        assert np.abs(shares - odds).max() < 0.012


def test_who_is_told_less_hits_less(truth: pd.DataFrame) -> None:
    told = truth.hit_unaware.notna()
    assert 0.01 < (truth.best[told].mean() - truth.hit_unaware.mean()) < 0.04


def test_another_citys_visits_are_refused() -> None:
    town = city.load()
    one = town.people.user_id.iloc[0]
    few = replace(town, people=town.people[:1], visits=town.visits[town.visits.user_id == one])
    assert len(choice_probabilities(few)) == len(few.visits)
    changed = few.visits.assign(location_id=few.visits.location_id.iloc[::-1].to_numpy())
    with pytest.raises(DataError, match="live otherwise"):
        choice_probabilities(replace(few, visits=changed))


# -- oracles ---------------------------------------------------------------------
def guesses(seed: int, n: int = 4000) -> pd.DataFrame:
    """Ranks of somebody who shuffles ten places anew in each window."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"better": rng.integers(0, 10, n), "tied": 1})


def test_an_oracle_over_guessers_is_right_by_chance_as_often_as_one_with_more_guesses() -> None:
    tables = [guesses(seed) for seed in range(4)]
    alone = p.hits_at(tables[0], 1).mean()
    together = p.oracle(tables).mean()
    assert together == pytest.approx(1 - 0.9**4, abs=0.03) and together > 3 * alone
    assert p.hits_at(tables[0], 4).mean() >= together


def test_hits_count_ties_and_misses_as_metrics_do() -> None:
    from pgt.metrics import gains

    ranks = pd.DataFrame({"better": [0, 0, 4, 0], "tied": [1, 3, 2, 0]})
    for k in (1, 5, 10):
        assert p.hits_at(ranks, k) == pytest.approx(gains(ranks)[f"acc@{k}"].to_numpy())
    with pytest.raises(DataError, match="same windows"):
        p.oracle([ranks, ranks.iloc[:2]])
    with pytest.raises(DataError, match="at least one"):
        p.oracle([])


def test_what_has_no_bound_is_refused() -> None:
    for call in (
        lambda: p.entropy_rate([3]),
        lambda: p.max_predictability(-0.1, 4),
        lambda: p.max_predictability(1.0, 0),
        lambda: p.accuracy_between(1.2),
    ):
        with pytest.raises(DataError):
            call()


# -- rows and file ---------------------------------------------------------------
def test_novelty_is_what_the_past_does_not_show(larkmere: HistoryWindows) -> None:
    rows = {row["group"]: row["value"] for row in ceilings.novelty(larkmere)}
    explored = larkmere.visits.explored.to_numpy()[larkmere.target]
    assert rows["whole past"] == pytest.approx(100 * explored.mean())
    assert rows["7 days"] == pytest.approx(100 * (1 - larkmere.in_window.mean()))
    assert rows["7 days"] > rows["100 visits"] > rows["whole past"]


def test_intervals_draw_people() -> None:
    users = np.repeat(np.arange(20), 100)
    value = np.repeat(RNG.normal(size=20), 100)
    row = ceilings.interval(np.where(users == 0, np.nan, value), users)
    assert row["n"] == 1900 and row["people"] == 19
    assert row["low"] < row["value"] < row["high"] and row["high"] - row["low"] > 0.5


def test_hours_repeat_visits_and_moves_do_not(larkmere: HistoryWindows) -> None:
    for _, own in list(ceilings.sequences(larkmere))[:5]:
        assert len(own["moves"]) < len(own["visits"]) < len(own["hours"])
        assert (own["moves"][1:] != own["moves"][:-1]).all()
        assert sorted(own["visits in random order"]) == sorted(own["visits"])
        # Visits follow one another in the hours as they do one by one.
        kept = np.r_[True, own["hours"][1:] != own["hours"][:-1]]
        assert own["hours"][kept].tolist() == own["moves"].tolist()


def test_a_file_of_results_that_is_not_made_yet_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_of, "results_folder", lambda: tmp_path)
    assert report_of.names_of_results("city") == []
    (tmp_path / "beyond.json").write_text("{}")
    assert report_of.names_of_results("city") == ["beyond"]


def test_the_results_file_is_whole_and_tells_of_nobody() -> None:
    report = read_results("predictability")
    rows = report.rows
    assert report.header["command"] == "python book/lab/run.py predictability"
    assert set(rows.table) == {
        "score", "entropy", "length", "bias", "agreement", "oracle", "novelty", "truth", "gap",
    }  # fmt: skip
    assert set(rows.data) == {"chain", "city", "geolife"}
    assert not {"user_id", "location_id", "started_at"} & set(rows.columns)
    assert rows.people.dropna().min() >= ceilings.FEWEST
    measured = rows[rows.low.notna() & (rows.table != "bias")]
    assert (measured.low <= measured.value).all() and (measured.value <= measured.high).all()
    # The same windows as everywhere else, and the same scores.
    for name in ("geolife_exact", "geolife_published", "city"):
        other = read_results(name)
        about = other.rows.iloc[0]
        own = rows[(rows.data == about.data) & (rows.protocol == about.protocol)]
        score = own[(own.table == "score") & (own.model == "kernel")].value.item()
        assert score == pytest.approx(other.mean(model="kernel"), abs=0.01)
        gap = own[(own.table == "gap") & (own.model == "kernel") & (own.group == "whole past")]
        never = own[(own.table == "novelty") & (own.group == "whole past")].value.item()
        assert gap.value.item() == pytest.approx(100 - never - score, abs=0.01)
        oracles = own[(own.table == "oracle") & own.group.str.contains(r"\+", na=False)]
        assert oracles.value.is_monotonic_increasing


def test_nothing_measured_beats_the_citys_truth() -> None:
    rows = read_results("predictability").rows
    town = rows[rows.data == "city"]
    truth = town[town.table == "truth"].set_index("group").value
    assert town[town.table == "score"].value.max() < truth["time unknown"] < truth["time known"]
    # The entropy of the order alone allows far more than anybody could reach.
    entropy = town[(town.table == "entropy") & (town.group == "visits")].value.item()
    assert entropy > truth["time known"] + 5
