"""Baselines equal plain loops over the visits."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pgt.baselines import ContextKernel, Last, Markov, MostFrequent, fit_baseline
from pgt.metrics import evaluate, gains, rank, ranked
from pgt.windows import Dataset, Windows, prepare

from .helpers import minutes, random_visits, routine_visits


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(random_visits(4, users=4, visits=130, places=8))


def places_of(windows: Windows, i: int) -> list[int]:
    """Vocabulary ids of a window's visits."""
    return windows.vocabulary.encode_locations(windows.visits_of(i).location_id).tolist()


def scored(scores: Tensor) -> dict[int, float]:
    """The locations that are answers."""
    return {v: float(s) for v, s in enumerate(scores) if s > -math.inf}


def test_last_goes_back_visit_by_visit_and_most_frequent_counts_the_window(data: Dataset) -> None:
    batch = data.test.batch(np.arange(len(data.test)))
    last, frequent = (rule.fit(data.train).scores(batch) for rule in (Last(), MostFrequent()))
    for i in range(len(data.test)):
        places = places_of(data.test, i)
        assert scored(last[i]) == {p: at - len(places) for at, p in enumerate(places)}
        assert scored(frequent[i]) == dict(Counter(places))


def test_markov_equals_counting(data: Dataset) -> None:
    train, vocabulary = data.train.visits, data.vocabulary
    place = vocabulary.encode_locations(train.location_id).tolist()
    user = vocabulary.encode_users(train.user_id).tolist()
    own, everybody = Counter(), Counter()  # type: ignore[var-annotated]
    for i in range(len(train) - 1):
        if user[i] == user[i + 1]:
            own[user[i], place[i], place[i + 1]] += 1
            everybody[place[i], place[i + 1]] += 1
    visits = Counter(place)
    markov = Markov().fit(data.train)
    batch = data.test.batch(np.arange(len(data.test)))
    batch.user[0] = 0  # somebody whom training has not seen
    scores = markov.scores(batch)
    for i in range(len(batch)):
        here, who = int(batch.location[i, batch.length[i] - 1]), int(batch.user[i])
        counts = {there: (own[who, here, there], everybody[here, there], n)
                  for there, n in visits.items()}  # fmt: skip
        found = scored(scores[i])
        assert found.keys() == counts.keys()
        for one, other in product(found, repeat=2):
            assert (found[one] > found[other]) == (counts[one] > counts[other])


def test_the_kernel_equals_its_printed_sum(data: Dataset) -> None:
    kernel = ContextKernel(decay=0.9, base=0.2, same=1.5, clock=2.0, width=100).fit(data.train)
    scores = kernel.scores(data.test.batch(np.arange(len(data.test))))
    for i in range(len(data.test)):
        seen, places = data.test.visits_of(i), places_of(data.test, i)
        now = int(minutes(seen, "finished_at").iloc[-1])
        start = minutes(seen, "started_at").tolist()
        expected: dict[int, float] = {}
        for at, place in enumerate(places):
            apart = abs(start[at] - now)
            apart = min(apart, 1440 - apart)
            same = at > 0 and places[at - 1] == places[-1]
            vote = 0.2 + 1.5 * same + 2.0 * math.exp(-apart / 100)
            age = len(places) - 1 - at
            expected[place] = expected.get(place, 0) + 0.9**age * vote
        assert scored(scores[i]) == pytest.approx(expected, rel=1e-5)


def test_choose_takes_the_first_of_the_best_where_options_differ_widely() -> None:
    """Also one that seldom decides: its ties count their fair share, and no more."""
    visits = routine_visits(days=90)
    visits["location_id"] = 10 * visits.user_id + np.arange(len(visits)) % 4  # each once a day
    data = prepare(visits, days=3)
    kernel = ContextKernel().fit(data.train)
    grid = {"decay": (1.0,), "base": (0.1,), "same": (0.0, 1.0), "clock": (0.0, 3.0, 4.0),
            "width": (60.0,)}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContextKernel, "GRID", grid)
        chosen = kernel.choose(data.valid)
    options = [replace(kernel, **dict(zip(grid, option, strict=True)))
               for option in product(*grid.values())]  # fmt: skip
    ranks = [evaluate(option, data.valid) for option in options]
    scores = [gains(one)["acc@1"].mean() for one in ranks]
    assert max(scores) > min(scores) + 0.3 and scores.index(min(scores)) == 0
    assert (ranks[0].tied > 1).mean() > 0.2
    assert chosen == options[[score > max(scores) - 1e-9 for score in scores].index(True)]


def test_the_options_are_in_order_make_sense_and_hold_the_numbers_before_choosing() -> None:
    for name, options in ContextKernel.GRID.items():
        assert list(options) == sorted({*options}) and getattr(ContextKernel(), name) in options
    decay, base, _, clock, width = ContextKernel.GRID.values()
    assert min(decay) > 0 and max(decay) == 1  # nothing is forgotten
    assert clock[0] == 0 and min(*base, *width) > 0  # the hour does not count


@pytest.mark.parametrize("name", ["last", "most_frequent", "kernel"])
@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_ranks_without_all_scores_are_those_by_all_scores(name: str, protocol: Any) -> None:
    data = prepare(random_visits(4, users=6, visits=90, places=20), protocol=protocol)
    rule = fit_baseline(name, data.train, data.valid.subset([]))
    batch = data.test.batch(np.arange(len(data.test)))
    place, own = rule.own_scores(batch)
    assert (place < 0).any() and (own[place < 0] == -math.inf).all()
    assert (own[place >= 0] > -math.inf).all()
    found, scores = ranked(rule, batch), rule.scores(batch)
    better, tied = rank(scores, batch.target)
    assert torch.equal(found.better, better) and torch.equal(found.tied, tied)
    assert torch.equal(scores.gather(1, found.predicted[:, None])[:, 0], scores.amax(1))
