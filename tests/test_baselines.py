"""Baselines equal plain loops over the visits."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from pgt import city
from pgt.baselines import ContextKernel, Last, Markov, MostFrequent, baselines, fit_baseline
from pgt.metrics import evaluate, gains
from pgt.ranking import rank_all
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


def test_last_goes_back_visit_by_visit(data: Dataset) -> None:
    scores = Last().fit(data.train).scores(data.test.batch(np.arange(len(data.test))))
    for i in range(len(data.test)):
        places = places_of(data.test, i)
        expected = {p: -(len(places) - at) for at, p in enumerate(places)}
        assert scored(scores[i]) == expected
        assert scores[i].argmax() == places[-1]


def test_most_frequent_counts_the_window(data: Dataset) -> None:
    scores = MostFrequent().fit(data.train).scores(data.test.batch(np.arange(len(data.test))))
    for i in range(len(data.test)):
        assert scored(scores[i]) == dict(Counter(places_of(data.test, i)))


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
        left = sum(n for (a, _), n in everybody.items() if a == here)
        for there in range(vocabulary.n_locations):
            expected = (
                own[who, here, there]
                + 1e-3 * everybody[here, there] / max(left, 1)
                + 1e-6 * visits[there] / len(place)
            )
            if expected == 0:
                assert scores[i, there] == -math.inf
            else:
                assert scores[i, there].item() == pytest.approx(expected, rel=1e-4)


def test_markov_keeps_only_what_happened(data: Dataset) -> None:
    markov = Markov().fit(data.train)
    place, user = data.train.features[:2, 1:].tolist()
    steps = [
        (user[i], place[i], place[i + 1]) for i in range(len(user) - 1) if user[i] == user[i + 1]
    ]
    assert len(markov.own.counts) == len(set(steps))
    assert len(markov.everybody.counts) == len({step[1:] for step in steps})
    assert markov.own.counts.sum() == markov.everybody.counts.sum() == len(steps)
    size = data.vocabulary.n_locations
    dense = torch.zeros(size, size)
    for _, here, there in steps:
        dense[here, there] += 1
    place, count = markov.everybody.after(torch.arange(size))
    found = torch.zeros(size, 1 + size).scatter(1, 1 + place, count)[:, 1:]
    assert torch.equal(found, dense)


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


def test_the_kernel_only_looks_at_the_window(data: Dataset) -> None:
    batch = data.test.batch(np.arange(len(data.test)))
    kernel = ContextKernel().fit(data.train)
    base = kernel.scores(batch)
    for name in ("target", "target_time", "target_weekday", "gap_days", "user"):
        getattr(batch, name).zero_()
    assert torch.equal(kernel.scores(batch), base)


def test_choose_finds_the_best_of_the_grid(data: Dataset) -> None:
    kernel = ContextKernel().fit(data.train)
    valid = data.valid.subset(np.arange(0, len(data.valid), 8))
    small = {"decay": (0.9,), "base": (0.1, 1.0), "same": (1.0,), "clock": (1.0, 5.0),
             "width": (60.0,)}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContextKernel, "GRID", small)
        chosen = kernel.choose(valid)
        options = [
            ContextKernel(0.9, base, 1.0, clock, 60.0, kernel.n_locations)
            for base in small["base"]
            for clock in small["clock"]
        ]
    scores = [gains(evaluate(option, valid))["acc@1"].mean() for option in options]
    assert gains(evaluate(chosen, valid))["acc@1"].mean() == pytest.approx(max(scores))
    assert chosen.n_locations == kernel.n_locations


def test_choosing_looks_at_one_batch_at_a_time(data: Dataset) -> None:
    """The first of the best, as if each kernel had gone through all batches alone."""
    alive, most = [], []

    class Watched(Windows):
        def batches(self, *given, **named):  # type: ignore[no-untyped-def]
            for batch in super().batches(16):
                alive.append(weakref.ref(batch))
                most.append(sum(one() is not None for one in alive))
                yield batch
                del batch

    valid = data.valid.subset(np.arange(0, len(data.valid), 4))
    kernel = ContextKernel().fit(data.train)
    small = {"decay": (0.9, 1.0), "base": (0.1, 1.0), "same": (1.0,), "clock": (0.0, 2.0),
             "width": (60.0,)}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContextKernel, "GRID", small)
        chosen = kernel.choose(Watched(**{f.name: getattr(valid, f.name) for f in fields(valid)}))
    options = [
        ContextKernel(decay, base, 1.0, clock, 60.0, kernel.n_locations)
        for decay in small["decay"] for base in small["base"] for clock in small["clock"]
    ]  # fmt: skip
    score = [gains(evaluate(option, valid))["acc@1"].sum() for option in options]
    assert score[options.index(chosen)] == pytest.approx(max(score))
    assert max(most) <= 2  # the next one is made before the last one is let go


@pytest.mark.parametrize("name", baselines())
def test_batch_mates_change_nothing(data: Dataset, name: str) -> None:
    predictor = baselines()[name].fit(data.train)
    whole = predictor.scores(data.test.batch(np.arange(10)))
    for i in range(10):
        torch.testing.assert_close(predictor.scores(data.test.batch([i]))[0], whole[i])


def test_a_clockwork_life_is_predicted() -> None:
    data = prepare(routine_visits())
    accuracy = {
        name: 100 * gains(evaluate(base.fit(data.train), data.test))["acc@1"].mean()
        for name, base in baselines().items()
    }
    assert accuracy["kernel"] == 100  # the hour says which of the two visits to work it was
    assert accuracy["last"] == 0
    # After work comes lunch or home: the counts are nearly even, one of the two is always missed.
    assert accuracy["markov"] == pytest.approx(75, abs=2)
    assert pd.Series(accuracy).idxmax() == "kernel"


@pytest.mark.parametrize("name", ["last", "most_frequent", "markov", "kernel"])
@pytest.mark.parametrize("protocol", ["published", "exact"])
def test_ranks_without_all_scores_are_those_by_all_scores(name: str, protocol: Any) -> None:
    data = prepare(city.load().visits, protocol=protocol)
    rule = fit_baseline(name, data.train, data.valid.subset([]))
    for batch in islice(data.test.batches(200), 4):
        found, dense = rule.rank(batch), rank_all(rule.scores(batch), batch.target, batch.index)
        assert torch.equal(found.better, dense.better) and torch.equal(found.tied, dense.tied)
        best = rule.scores(batch).amax(1)
        assert torch.equal(rule.scores(batch).gather(1, found.predicted[:, None])[:, 0], best)
