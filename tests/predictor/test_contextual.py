"""The contextual pointer: its facts equal loops; PGT and the kernel are special cases of it."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from pgt import metrics
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, save_model
from pgt.errors import DataError
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.predictor import contextual
from pgt.predictor.contextual import ALONE, ContextualPointer
from pgt.predictor.features import FEATURES, HISTORY_FEATURES, NOW, THEN, present
from pgt.predictor.memory import HistoryBatch, HistoryWindows, with_history
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset, prepare

from ..helpers import random_visits, tiny_config

MEMORY, OLDER = 15, 10
WEEK = 7 * 1440
ABOUT_TARGET = ("target", "target_time", "target_weekday", "gap_days", "target_minute", "wait")


def visits() -> pd.DataFrame:
    """Four people, more places than are known from training."""
    return random_visits(4, visits=90, places=25)


@pytest.fixture(scope="module", params=["published", "exact"])
def seen(request: pytest.FixtureRequest) -> Dataset:
    """Windows with summaries; published, so that some places are unknown, and exact."""
    return with_history(prepare(visits(), protocol=request.param), MEMORY, OLDER)


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Windows with a memory of twenty visits, open vocabulary."""
    return with_history(prepare(visits(), protocol="exact"), 20, 10)


def some(data: Dataset, n: int = 40) -> HistoryBatch:
    """A batch of test windows of different lengths."""
    test = cast(HistoryWindows, data.test)
    return test.batch(np.arange(min(n, len(test))))


def related(batch: HistoryBatch) -> dict[str, Tensor]:
    """The facts of all features."""
    return contextual.relations(batch, present(batch)["weekday"], True)


def ratio(one: float, other: float) -> float:
    """How many octaves two durations are apart."""
    return abs(np.log2((one + 15) / (other + 15)))


def minute(when: pd.Timestamp) -> int:
    """Of the day."""
    return int(when.hour * 60 + when.minute)


def kind(one: pd.Timestamp, other: pd.Timestamp) -> int:
    """0 = a working day and a weekend, 1 = alike, 2 = the same weekday."""
    weekend = (one.day_of_week >= 5) == (other.day_of_week >= 5)
    return 2 if one.day_of_week == other.day_of_week else int(weekend)


def facts(seen: Dataset, i: int, row: int, rows: list[int]) -> dict[str, float]:
    """All facts about one visit of window ``i``, straight from the table."""
    test = cast(HistoryWindows, seen.test)
    table, target = test.visits, int(test.target[i])
    place = seen.vocabulary.encode_locations(table.location_id)
    own = np.flatnonzero(table.user_id == table.user_id[target])

    def stay(k: int) -> int:
        return int((table.finished_at[k] - table.started_at[k]).total_seconds() // 60)

    def earlier(k: int, back: int) -> int | None:
        return k - back if k - back >= own[0] else None

    visit, last, then = table.loc[row], table.loc[target - 1], table.loc[target]
    now = minute(last.finished_at)
    start = minute(visit.started_at)
    one, two = earlier(row, 1), earlier(row, 2)
    mine, mine_before = place[target - 1], earlier(target - 1, 1)
    same_one = one is not None and place[one] == mine
    same_two = two is not None and mine_before is not None and place[two] == place[mine_before]
    days = (visit.started_at.tz_localize(None).normalize(),
            last.started_at.tz_localize(None).normalize())  # fmt: skip
    gap = None if one is None else max(
        (visit.started_at - table.finished_at[one]).total_seconds() // 60, 0
    )  # fmt: skip
    listed = [place[k] for k in rows]
    so_far = sum(place[k] == place[row] for k in own if k <= row)
    walls = [t.tz_localize(None) for t in (then.started_at, last.finished_at)]
    wait = ((walls[0].floor("min") - walls[1].floor("min")).total_seconds() // 60) % WEEK
    return {
        "age": target - 1 - row,
        "days": (days[1] - days[0]).days,
        "clock": abs((start - now + 720) % 1440 - 720),
        "ahead": (start - now) % 1440,
        "weekday": kind(visit.started_at, last.finished_at),
        "stay": np.log2(stay(row) + 15),
        "before": 2 if same_one and same_two else 1 if same_one else 3 if same_two else 0,
        "left": -1 if one is None
        else abs((minute(table.finished_at[one]) - now + 720) % 1440 - 720),
        "stayed": -1 if one is None else ratio(stay(one), stay(target - 1)),
        "gap": -1 if gap is None else np.log2(gap + 5),
        "here": 1 if place[row] == mine
        else 2 * (mine_before is not None and place[row] == place[mine_before]),
        "count": np.log2(listed.count(place[row])),
        "unknown": (place[row] == UNKNOWN) + 2 * (mine == UNKNOWN),
        "older": np.log2(1 + so_far) if row < target - MEMORY else 0,
        "then_clock": abs((start - minute(then.started_at) + 720) % 1440 - 720),
        "then_weekday": kind(visit.started_at, then.started_at),
        "then_gap": -1 if gap is None else ratio(min(gap, WEEK), wait),
    }  # fmt: skip


def test_every_fact_equals_a_loop(seen: Dataset) -> None:
    test, batch = cast(HistoryWindows, seen.test), some(seen, 1000)
    found = related(batch)
    kinds: dict[str, set[float]] = {name: set() for name in FEATURES}
    for i in range(0, len(batch), 3):
        n = int(batch.length[i])
        rows = [int(test.target[i]) - 1 - int(age) for age in batch.age[i, :n]]
        for k, row in enumerate(rows):
            expected = facts(seen, i, row, rows)
            assert expected.keys() == FEATURES.keys() == found.keys()
            for name, value in expected.items():
                assert float(found[name][i, k]) == pytest.approx(value, abs=1e-4), (name, i, k)
                kinds[name].add(round(float(value), 3))
    # The table is varied enough for every kind of fact to occur.
    for name in ("weekday", "before", "here", "then_weekday", "older"):
        assert len(kinds[name]) >= 3, name


def test_facts_about_now_and_then_are_those_of_the_table(seen: Dataset) -> None:
    test, batch = cast(HistoryWindows, seen.test), some(seen, 1000)
    last, then = test.visits.loc[test.target - 1], test.visits.loc[test.target]
    stay = (last.finished_at - last.started_at).dt.total_seconds() // 60

    def half_octaves(value: Any, most: int) -> Any:
        return np.minimum((2 * np.log2(np.asarray(value) + 1) + 1e-5).astype(int), most)

    expected = {
        "hour": last.finished_at.dt.hour, "weekday": last.finished_at.dt.day_of_week + 1,
        "stay": half_octaves(stay, 23), "visits": half_octaves(batch.length, 15),
        "then_hour": then.started_at.dt.hour, "then_weekday": then.started_at.dt.day_of_week + 1,
        "wait": half_octaves(batch.wait, 27),
    }  # fmt: skip
    found = present(batch)
    for name, size in (NOW | THEN).items():
        assert found[name].tolist() == list(expected[name]) and max(expected[name]) < size, name


def test_to_the_hour_keeps_the_hour_and_nothing_finer(seen: Dataset) -> None:
    batch, hour = some(seen), 9
    for now, days in ((8 * 60, 0), (9 * 60 + 20, 6), (9 * 60 + 20, 0)):
        told = set()
        for then in range(max(60 * hour, now if days == 0 else 0), 60 * hour + 60):
            filled = {"now_minute": now, "target_minute": then,
                      "wait": (1440 * days + then - now) % WEEK}  # fmt: skip
            one: Any = {k: torch.full_like(batch.now_minute, v) for k, v in filled.items()}
            hourly = contextual.to_the_hour(replace(batch, **one))
            told.add((int(hourly.target_minute[0]), int(hourly.wait[0])))
        middle = 60 * hour + 30
        assert told == {(middle, (1440 * days + middle - now) % WEEK)}


def config(data: Dataset, **changes: Any) -> contextual.ContextualConfig:
    """A small configuration."""
    known = data.vocabulary.n_known + 2
    base = asdict(tiny_config(data))
    return contextual.ContextualConfig(
        **{**base, "n_trained_ids": known, "recent": 12, "interaction": 8, **changes}
    )


def built(data: Dataset, **changes: Any) -> tuple[ContextualPointer, contextual.AdditiveScorer]:
    """A small model with its first weights, and its scorer."""
    model = ContextualPointer(config(data, **changes))
    assert model.scorer is not None
    return model, model.scorer


def scrambled(model: ContextualPointer, seed: int = 0) -> ContextualPointer:
    """The model with random weights everywhere, as if it had learned something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for values in model.parameters():
            values.copy_(0.5 * torch.randn(values.shape, generator=generator))
        if model.gate is not None:  # else it would be shut, and one half of the model unseen
            for values in list(model.gate.parameters())[-2:]:
                values.mul_(0.1)
    return model.eval()


def test_without_terms_it_is_pgt() -> None:
    plain = prepare(visits(), protocol="exact")
    torch.manual_seed(0)
    pgt = PointerGeneratorTransformer(tiny_config(plain, max_len=150)).double().eval()
    with torch.no_grad():
        for values in pgt.parameters():
            values.add_(0.3 * torch.randn_like(values))
    same = config(plain, features=(), interaction=0, scaled=False, n_trained_ids=0, recent=150)
    model = ContextualPointer(same).double().eval()
    model.load_state_dict(pgt.state_dict())
    index = np.arange(len(plain.test))
    one = pgt(plain.test.batch(index))
    two = model(with_history(plain).test.batch(index))  # type: ignore[arg-type]
    for name in ("log_probs", "gate", "pointer_attention", "generator_log_probs"):
        assert torch.allclose(getattr(one, name), getattr(two, name), atol=1e-12), name
    for first, second in zip(one.self_attention, two.self_attention, strict=True):
        assert torch.allclose(first, second, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [ContextKernel(0.9, 0.3, 1.0, 0.5, 60.0), ContextKernel(clock=0.0)]
)
def test_with_the_kernels_terms_it_is_the_kernel(kernel: ContextKernel) -> None:
    plain = prepare(random_visits(5, visits=90), protocol="exact")
    seen, terms = with_history(plain), ("age", "before", "clock")
    alone = ALONE | {"features": terms, "scaled": False, "n_trained_ids": 0}
    model, scorer = built(seen, **alone)
    contextual.like_kernel(scorer, kernel)
    index = np.arange(len(plain.test))
    votes = kernel.fit(plain.train).scores(plain.test.batch(index)).clamp(min=0)
    found = model.eval()(cast(HistoryWindows, seen.test).batch(index)).log_probs.exp()
    assert torch.allclose(found, votes / votes.sum(1, keepdim=True), atol=1e-5)


def test_a_weight_is_what_the_equation_says(data: Dataset) -> None:
    """The sum over reasons of the products of scaled terms, by a plain loop."""
    model, scorer = built(data, **ALONE)
    batch = some(data)
    scrambled(model)
    assert scorer.scale is not None
    now = torch.cat([table(present(batch)[name]) for name, table in scorer.now.items()], dim=-1)
    scales = 1 + scorer.scale(now).reshape(len(batch), len(HISTORY_FEATURES), 3).detach().numpy()
    found = model(batch).pointer_attention.detach().numpy()
    facts = {name: value.numpy() for name, value in related(batch).items()}
    for i in range(0, len(batch), 8):
        weights = np.zeros(int(batch.length[i]))
        for k in range(len(weights)):
            for r in range(3):
                total = 0.0
                for t, (name, term) in enumerate(HISTORY_FEATURES.items()):
                    curve = scorer.tables[name][:, r].detach().numpy()
                    total += scales[i, t, r] * np.interp(facts[name][i, k], term.knots, curve)
                weights[k] += np.exp(total)
        assert found[i, : len(weights)] == pytest.approx(weights / weights.sum(), abs=1e-4)
        assert (found[i, len(weights) :] == 0).all()


def test_beyond_the_recent_visits_only_terms_speak(data: Dataset) -> None:
    model = scrambled(ContextualPointer(config(data, features=(), recent=6)))
    batch = some(data)
    out = model(batch)
    far = (batch.position_from_end > 6) & ~batch.padding
    assert far.any() and (~far & ~batch.padding).any()
    for attention, beyond in zip(out.pointer_attention, far, strict=True):
        assert torch.allclose(attention[beyond], attention[beyond].mean())
    # What they are like changes nothing, not even the gate; where they lead to is still copied.
    other = replace(batch, time=batch.time.masked_fill(far, 5),
                    duration=batch.duration.masked_fill(far, 7))  # fmt: skip
    assert torch.equal(model(other).log_probs, out.log_probs)
    # A pointer that finds all recent visits alike finds the others no better and no worse.
    assert model.pointer is not None
    for values in model.pointer.parameters():
        nn.init.zeros_(values)
    alike = model(batch).pointer_attention
    assert torch.allclose(alike, ~batch.padding / batch.length[:, None], atol=1e-5)


def test_a_saved_model_is_the_same_again(data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    model = scrambled(ContextualPointer(config(data, target_time="hour", without=("gate",))))
    save_model(path, model, data.vocabulary, {"days": 7})
    loaded, vocabulary = contextual.load_contextual(path)
    assert loaded.config == model.config and vocabulary == data.vocabulary and not loaded.training
    assert torch.equal(loaded(some(data)).log_probs, model(some(data)).log_probs)
    with pytest.raises(DataError, match=r"m\.safetensors .* open it with load_contextual"):
        load_model(path)
    save_model(path, PointerGeneratorTransformer(tiny_config(data)), data.vocabulary)
    with pytest.raises(DataError, match="open it with load_model"):
        contextual.load_contextual(path)


@pytest.mark.parametrize("target_time", ["unknown", "day", "hour", "time"])
def test_it_reads_of_the_target_only_what_it_may_know(data: Dataset, target_time: Any) -> None:
    reads = {"unknown": (), "day": ("gap_days",)}
    model = scrambled(ContextualPointer(config(data, target_time=target_time)))
    batch = some(data)
    before = model(batch).log_probs
    for name in ABOUT_TARGET:
        values = getattr(batch, name)
        other: Any = (values + 1).clamp(max=values.max().clamp(min=2))
        if name in ("target_minute", "wait"):
            other = (values + 240) % 1440
        may = name in reads.get(target_time, ("target_minute", "target_weekday", "wait"))
        found = model(replace(batch, **{name: other})).log_probs
        assert torch.equal(found, before) != may, name


def test_padding_and_batch_mates_change_nothing(data: Dataset) -> None:
    model, test = scrambled(ContextualPointer(config(data))), cast(HistoryWindows, data.test)
    together = model(some(data)).log_probs
    for i in range(0, len(together), 5):
        alone = model(test.batch([i])).log_probs
        assert torch.allclose(alone[0], together[i], atol=1e-4)
    batch = some(data)
    hidden = {
        f.name: getattr(batch, f.name).masked_fill(batch.padding, 3)
        for f in fields(batch)
        if getattr(batch, f.name).ndim == 2 and f.name != "location"
    }
    assert torch.allclose(model(replace(batch, **hidden)).log_probs, together, atol=1e-5)


def test_probabilities_sum_to_one_and_open_places_can_be_named(data: Dataset) -> None:
    known = data.vocabulary.n_known + 2
    batch = some(data, 1000)
    out = scrambled(ContextualPointer(config(data)))(batch)
    assert ((out.gate > 0.02) & (out.gate < 0.98)).all()
    probs = out.log_probs.exp()
    assert torch.allclose(probs.sum(1), torch.ones(len(batch)), atol=1e-5)
    assert (probs[:, :2] == 0).all()  # padding and "unknown" are no answers
    new = (batch.location >= known).any(1)
    assert new.any() and (probs[new][:, known:].sum(1) > 0).all()
    assert (probs[~new][:, known:] == 0).all()


def test_new_places_are_alike_but_for_their_name(data: Dataset) -> None:
    known, size = data.vocabulary.n_known + 2, data.vocabulary.n_locations
    model, batch = scrambled(ContextualPointer(config(data))), some(data)
    order = torch.cat([torch.arange(known), known + torch.randperm(size - known)])
    renamed = {name: getattr(batch, name).clone() for name in ("location", "before", "two_before")}
    for values in renamed.values():
        values[values >= known] = order[values[values >= known]]
    before, after = model(batch).log_probs, model(replace(batch, **renamed)).log_probs
    assert torch.allclose(after[:, order], before, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_without_all_places_is_that_of_all(data: Dataset, smoothing: float) -> None:
    batch, known = some(data), data.vocabulary.n_known + 2
    alone = ALONE | {"n_trained_ids": known}
    model = scrambled(ContextualPointer(config(data, **alone))).double()
    expected = cross_entropy(model(batch).log_probs, batch.target, smoothing)
    torch.testing.assert_close(model.losses(batch, smoothing), expected)
    few = ContextualPointer(config(data, **alone | {"n_trained_ids": 2, "n_locations": 2}))
    few.double().eval().load_state_dict(model.state_dict())
    torch.testing.assert_close(few.losses(batch, smoothing), expected)
    own, dense = few.own_scores(batch), model(batch).log_probs
    assert own is not None
    listed = dense.gather(1, own[0].clamp(min=0)).masked_fill(own[0] < 0, -torch.inf)
    torch.testing.assert_close(own[1], listed)
    ranks = [metrics.ranked(one, batch) for one in (few, model)]
    assert torch.equal(ranks[0].better, metrics.rank(dense, batch.target)[0])
    assert torch.equal(ranks[0].tied, ranks[1].tied)


def test_a_plain_batch_is_refused(data: Dataset) -> None:
    plain = prepare(visits(), protocol="exact").test.batch([0])
    with pytest.raises(DataError, match=r"pgt\.with_history"):
        ContextualPointer(config(data))(plain)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": ("hour",)}, "names 'hour'"),
        ({"target_time": "when"}, "choose 'unknown' or 'day' or 'hour' or 'time'"),
        ({"features": (), "content": False}, "needs its pointer, and features or content"),
        ({"n_components": 0}, "must be a whole number"),
        ({"n_trained_ids": 10_000}, "must lie between 3"),
        ({"n_trained_ids": 1, "without": ("generator", "gate")}, "between 2"),
        ({"features": (), "target_time": "time"}, "target_time='time' needs features"),
    ],
)
def test_a_wrong_configuration_is_named(data: Dataset, changes: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        config(data, **changes)
