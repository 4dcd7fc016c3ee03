"""Bounds on accuracy: right where the truth is known, and biased where they are said to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import entropy as p
from lab.context_matching import ContextMatch, repeat_rate
from scipy import stats
from wherenext import city
from wherenext.results import read_results

from pgt.predictor.memory import HistoryWindows, with_history
from pgt.windows import ENCODED_FIELDS, prepare
from tests.helpers import routine_visits

RNG = np.random.default_rng(5)


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


# -- Fano ----------------------------------------------------------------------
@pytest.mark.parametrize("states", [2, 5, 300])
def test_the_bound_solves_fanos_equation_and_is_reached_by_even_errors(states: int) -> None:
    for best in (0.5, 0.7, 0.95):
        row = np.full(states, (1 - best) / (states - 1))
        row[0] = best
        assert p.max_predictability(stats.entropy(row, base=2), states) == pytest.approx(
            best, abs=1e-9
        )


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
    columns = dict(zip(ENCODED_FIELDS, windows.features.numpy()[:, 1:], strict=True))
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


def test_nothing_measured_beats_the_citys_truth() -> None:
    rows = read_results("predictability").rows
    town = rows[rows.data == "city"]
    truth = town[town.table == "truth"].set_index("group").value
    assert read_results("city").select()["acc@1"].max() < truth["time unknown"]
    # The entropy of the order alone allows far more than anybody could reach.
    entropy = town[(town.table == "entropy") & (town.group == "visits")].value.item()
    assert entropy > truth["time known"] + 5 > truth["time unknown"]
