"""The contextual pointer: its facts equal loops over the table, and it reads only what it may.

PGT and the context kernel are special cases of it.
"""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from pgt import metrics
from pgt.baselines import ContextKernel
from pgt.checkpoint import load_model, save_model
from pgt.config import TrainConfig
from pgt.contextual import (
    ALONE,
    FEATURES,
    HISTORY_FEATURES,
    NOW,
    TARGET_FEATURES,
    THEN,
    AdditiveScorer,
    ContextualConfig,
    ContextualPointer,
    Experts,
    knots_of,
    like_kernel,
    load_contextual,
    new_network,
    present,
    relations,
    to_the_hour,
)
from pgt.errors import DataError
from pgt.history import HistoryBatch, HistoryWindows, with_history
from pgt.model import PointerGeneratorTransformer, cross_entropy
from pgt.train import fit
from pgt.vocabulary import UNKNOWN
from pgt.windows import Dataset, prepare

from .helpers import random_visits, routine_visits, tiny_config

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


def related(batch: HistoryBatch) -> dict[str, Tensor]:
    """The facts of all features."""
    return relations(batch, present(batch)["weekday"], True)


def everything(data: Dataset) -> HistoryBatch:
    """The test windows as one batch, with lengths that differ."""
    test = cast(HistoryWindows, data.test)
    return test.batch(np.arange(len(test)))


def apart(one: float, other: float) -> float:
    """Minutes around the clock."""
    return min((one - other) % 1440, (other - one) % 1440)


def ratio(one: float, other: float) -> float:
    """How many octaves two durations are apart."""
    return abs(np.log2((one + 15) / (other + 15)))


def minute(when: pd.Timestamp) -> int:
    """Of the day."""
    return int(when.hour * 60 + when.minute)


def kind(one: pd.Timestamp, other: pd.Timestamp) -> int:
    """0 = a working day and a weekend, 1 = alike, 2 = the same weekday."""
    if one.day_of_week == other.day_of_week:
        return 2
    return int((one.day_of_week >= 5) == (other.day_of_week >= 5))


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
        "clock": apart(start, now),
        "ahead": (start - now) % 1440,
        "weekday": kind(visit.started_at, last.finished_at),
        "stay": np.log2(stay(row) + 15),
        "before": 2 if same_one and same_two else 1 if same_one else 3 if same_two else 0,
        "left": -1 if one is None else apart(minute(table.finished_at[one]), now),
        "stayed": -1 if one is None else ratio(stay(one), stay(target - 1)),
        "gap": -1 if gap is None else np.log2(gap + 5),
        "here": 1 if place[row] == mine
        else 2 * (mine_before is not None and place[row] == place[mine_before]),
        "count": np.log2(listed.count(place[row])),
        "unknown": (place[row] == UNKNOWN) + 2 * (mine == UNKNOWN),
        "older": np.log2(1 + so_far) if row < target - MEMORY else 0,
        "then_clock": apart(start, minute(then.started_at)),
        "then_weekday": kind(visit.started_at, then.started_at),
        "then_gap": -1 if gap is None else ratio(min(gap, WEEK), wait),
    }  # fmt: skip


def test_every_fact_equals_a_loop(seen: Dataset) -> None:
    test, batch = cast(HistoryWindows, seen.test), everything(seen)
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
    for name in ("weekday", "before", "here", "then_weekday"):
        assert len(kinds[name]) >= len(HISTORY_FEATURES["weekday"].knots), name
    if seen.vocabulary.n_known + 2 == seen.vocabulary.n_locations:
        assert kinds["unknown"] == {0, 1, 2, 3}
    assert len(kinds["older"]) > 2


def test_facts_about_now_and_then_equal_a_loop(seen: Dataset) -> None:
    test, batch = cast(HistoryWindows, seen.test), everything(seen)
    found = present(batch)
    for name, size in (NOW | THEN).items():
        assert (found[name] >= 0).all() and (found[name] < size).all(), name
    for i, target in enumerate(test.target):
        last, then = test.visits.loc[target - 1], test.visits.loc[target]
        stay = (last.finished_at - last.started_at).total_seconds() // 60
        wait = int(batch.wait[i])
        assert found["hour"][i] == last.finished_at.hour
        assert found["weekday"][i] == last.finished_at.day_of_week + 1
        assert found["stay"][i] == min(int(2 * np.log2(stay + 1) + 1e-5), 23)
        assert found["visits"][i] == min(int(2 * np.log2(int(batch.length[i]) + 1) + 1e-5), 15)
        assert found["then_hour"][i] == then.started_at.hour
        assert found["then_weekday"][i] == then.started_at.day_of_week + 1
        assert found["wait"][i] == min(int(2 * np.log2(wait + 1) + 1e-5), 27)


def test_what_is_not_known_is_not_read(seen: Dataset) -> None:
    batch = everything(seen)
    assert {f.name for f in fields(batch) if "target" in f.name} <= set(ABOUT_TARGET)
    none: dict[str, Any] = {name: torch.full_like(batch.target, 3) for name in ABOUT_TARGET}
    silent = replace(batch, **none)
    before, after = (related(one) | {f"now {k}": v for k, v in present(one).items()}
                     for one in (batch, silent))  # fmt: skip
    told = {*TARGET_FEATURES, *(f"now {name}" for name in THEN)}
    assert {name for name in before if not torch.equal(before[name], after[name])} == told
    untold = relations(batch, present(batch)["weekday"], False)
    assert untold.keys() == HISTORY_FEATURES.keys()


def test_to_the_hour_keeps_the_hour_and_nothing_finer(seen: Dataset) -> None:
    batch, hour = everything(seen), 9
    for now, days in ((8 * 60, 0), (9 * 60 + 20, 6), (9 * 60 + 20, 0)):
        told = set()
        for then in range(max(60 * hour, now if days == 0 else 0), 60 * hour + 60):
            filled = {"now_minute": now, "target_minute": then,
                      "wait": (1440 * days + then - now) % WEEK}  # fmt: skip
            one: Any = {k: torch.full_like(batch.now_minute, v) for k, v in filled.items()}
            hourly = to_the_hour(replace(batch, **one))
            told.add((int(hourly.target_minute[0]), int(hourly.wait[0])))
        middle = 60 * hour + 30
        assert told == {(middle, (1440 * days + middle - now) % WEEK)}


def test_tables_have_a_row_for_every_kind_of_fact_and_words(seen: Dataset) -> None:
    batch = everything(seen)
    found = related(batch)
    for name, term in FEATURES.items():
        assert list(term.knots) == sorted(set(term.knots)) and len(term.knots) > 1, name
        # Above, tables go on as they end; below, they begin with the least there is.
        assert float(found[name][~batch.padding].float().min()) >= term.knots[0], name
    assert len({term.about for term in FEATURES.values()}) == len(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_between_knots_a_table_draws_straight_lines(name: str, data: Dataset) -> None:
    knots, batch = FEATURES[name].knots, some(data)
    span = knots[-1] - knots[0]
    size = batch.location.numel()
    value = torch.linspace(knots[0] - 0.2 * span, knots[-1] + 0.2 * span, size)
    value[: len(knots)] = torch.tensor(knots)  # exact at the knots
    _, scorer = built(data)
    for key, row in knots_of([FEATURES[name]]).items():
        setattr(scorer, key, row)
    table = torch.randn(len(knots), generator=torch.Generator().manual_seed(0))
    drawn = torch.einsum("bkl,k->bl", scorer.hats(value.view(1, *batch.location.shape)), table)
    drawn = drawn.flatten()
    assert np.allclose(drawn, np.interp(value, knots, table), atol=1e-4)
    assert torch.allclose(drawn[: len(knots)], table, atol=1e-6)


# ---- The model ---------------------------------------------------------------------------------


def config(data: Dataset, **changes: Any) -> ContextualConfig:
    """A small configuration."""
    known = data.vocabulary.n_known + 2
    base = asdict(tiny_config(data))
    return ContextualConfig(
        **{**base, "n_trained_ids": known, "recent": 12, "interaction": 8, **changes}
    )


def built(data: Dataset, **changes: Any) -> tuple[ContextualPointer, AdditiveScorer]:
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


def some(data: Dataset, n: int = 40) -> HistoryBatch:
    """A batch of windows of different lengths."""
    test = cast(HistoryWindows, data.test)
    return test.batch(np.arange(min(n, len(test))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_terms_it_is_pgt(dtype: torch.dtype) -> None:
    plain = prepare(visits(), protocol="exact")
    torch.manual_seed(0)
    pgt = PointerGeneratorTransformer(tiny_config(plain, max_len=150)).to(dtype).eval()
    with torch.no_grad():
        for values in pgt.parameters():
            values.add_(0.3 * torch.randn_like(values))
    same = config(plain, features=(), interaction=0, scaled=False, n_trained_ids=0, recent=150)
    model = ContextualPointer(same).to(dtype).eval()
    model.load_state_dict(pgt.state_dict())
    index = np.arange(len(plain.test))
    batch = plain.test.batch(index)
    assert batch.padding.any()
    one = pgt(batch)
    two = model(with_history(plain).test.batch(index))  # type: ignore[arg-type]
    tight = 1e-5 if dtype == torch.float32 else 1e-12
    for name in ("log_probs", "gate", "pointer_attention", "generator_log_probs"):
        assert getattr(two, name).dtype == dtype
        assert torch.allclose(getattr(one, name), getattr(two, name), atol=tight), name
    for first, second in zip(one.self_attention, two.self_attention, strict=True):
        assert torch.allclose(first, second, atol=tight)


@pytest.mark.parametrize(
    "kernel", [ContextKernel(), ContextKernel(0.9, 0.3, 1.0, 0.5, 60.0), ContextKernel(clock=0.0)]
)
def test_with_the_kernels_terms_it_is_the_kernel(kernel: ContextKernel) -> None:
    plain = prepare(random_visits(5, visits=90), protocol="exact")
    seen, terms = with_history(plain), ("age", "before", "clock")
    alone = ALONE | {"features": terms, "scaled": False, "n_trained_ids": 0}
    model, scorer = built(seen, **alone)
    like_kernel(scorer, kernel)
    index = np.arange(len(plain.test))
    votes = kernel.fit(plain.train).scores(plain.test.batch(index)).clamp(min=0)
    found = model.eval()(cast(HistoryWindows, seen.test).batch(index)).log_probs.exp()
    assert torch.allclose(found, votes / votes.sum(1, keepdim=True), atol=1e-5)
    ranks = [metrics.evaluate(m, d.test) for m, d in ((model, seen), (kernel, plain))]
    gains = [metrics.gains(one).mean().to_list() for one in ranks]
    assert gains[0] == pytest.approx(gains[1], abs=0.02)


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
    for i in range(len(batch)):
        weights = out.pointer_attention[i][far[i]]
        assert torch.allclose(weights, weights[:1].expand_as(weights))
    # What they are like changes nothing, not even the gate; where they lead to is still copied.
    other = replace(batch, time=batch.time.masked_fill(far, 5),
                    duration=batch.duration.masked_fill(far, 7))  # fmt: skip
    assert torch.equal(model(other).log_probs, out.log_probs)
    near = replace(batch, time=batch.time.masked_fill(~far & ~batch.padding, 5))
    assert not torch.equal(model(near).gate, out.gate)
    # A pointer that finds all recent visits alike finds the others no better and no worse.
    assert model.pointer is not None and model.pointer.position_bias is not None
    with torch.no_grad():
        model.pointer.query.weight.zero_()
        model.pointer.query.bias.zero_()
        model.pointer.position_bias.zero_()
    alike = model(batch).pointer_attention
    assert torch.allclose(alike, ~batch.padding / batch.length[:, None], atol=1e-5)


@pytest.mark.parametrize("without", [(), ("generator", "gate"), ("gate",)])
def test_a_saved_model_is_the_same_again(
    data: Dataset, tmp_path: Path, without: tuple[str, ...]
) -> None:
    path = tmp_path / "m.safetensors"
    model = scrambled(ContextualPointer(config(data, target_time="hour", without=without)))
    save_model(path, model, data.vocabulary, {"days": 7})
    loaded, vocabulary = load_contextual(path)
    assert loaded.config == model.config and vocabulary == data.vocabulary and not loaded.training
    assert torch.equal(loaded(some(data)).log_probs, model(some(data)).log_probs)
    with pytest.raises(DataError, match=r"m\.safetensors .* open it with load_contextual"):
        load_model(path)
    save_model(path, PointerGeneratorTransformer(tiny_config(data)), data.vocabulary)
    with pytest.raises(DataError, match="open it with load_model"):
        load_contextual(path)


@pytest.mark.parametrize("target_time", ["unknown", "day", "hour", "time"])
def test_it_reads_of_the_target_only_what_it_may_know(data: Dataset, target_time: Any) -> None:
    reads = {"unknown": (), "day": ("gap_days",)}
    model = scrambled(ContextualPointer(config(data, target_time=target_time)))
    batch = some(data)
    before = model(batch).log_probs
    for name in ABOUT_TARGET:
        values = getattr(batch, name)
        other = replace(batch, **{name: (values + 1).clamp(max=values.max().clamp(min=2))})
        if name == "target_minute":
            other = replace(batch, target_minute=(values + 240) % 1440)
        if name == "wait":
            other = replace(batch, wait=(values + 600) % (7 * 1440))
        may = name in reads.get(target_time, ("target_minute", "target_weekday", "wait"))
        assert torch.equal(model(other).log_probs, before) != may, name


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
    larger = ContextualPointer(config(data, n_locations=size + 7)).eval()
    larger.load_state_dict(model.state_dict())
    assert larger.n_parameters() == model.n_parameters()
    assert torch.equal(larger(batch).log_probs[:, :size], before)
    assert (larger(batch).log_probs[:, size:] == -torch.inf).all()


@pytest.mark.parametrize("without", [(), ("generator", "gate"), ("gate",)])
def test_gradients_are_finite_where_nobody_can_name_a_place(
    data: Dataset, without: tuple[str, ...]
) -> None:
    model = ContextualPointer(config(data, without=without))
    batch = some(data)
    log_probs = model(batch).log_probs
    unnamed = log_probs == -torch.inf
    assert unnamed.any()
    for loss in (log_probs[~unnamed].mean(), log_probs.clamp(min=-20).mean(),
                 cross_entropy(log_probs, unnamed.int().argmax(1), 0.03).mean()):  # fmt: skip
        model.zero_grad()
        loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
        found = [p.grad for p in model.parameters() if p.grad is not None]
        assert found and all(torch.isfinite(gradient).all() for gradient in found)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_without_all_places_is_that_of_all(data: Dataset, smoothing: float) -> None:
    """Whatever the number of places in the configuration: an open vocabulary has none."""
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
        ({"without": ("pointer",)}, "needs its pointer"),
        ({"n_components": 0}, "must be a whole number"),
        ({"n_trained_ids": 10_000}, "must lie between"),
        ({"n_trained_ids": 2}, "between 3"),
        ({"n_trained_ids": 1, "without": ("generator", "gate")}, "between 2"),
        ({"features": (), "target_time": "time"}, "target_time='time' needs features"),
    ],
)
def test_a_wrong_configuration_is_named(data: Dataset, changes: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        config(data, **changes)


def test_reasons_can_be_learned() -> None:
    """Everybody goes where they went at this hour: the terms find out, and beat chance by far."""
    seen = with_history(prepare(routine_visits(days=40), protocol="exact"), 100, 100)
    torch.manual_seed(0)
    size = seen.vocabulary.n_locations, seen.vocabulary.n_users
    model = ContextualPointer(ContextualConfig(*size, **ALONE))
    training = TrainConfig(learning_rate=2e-2, batch_size=32, warmup_epochs=1, max_epochs=6,
                           patience=6, monitor="acc@1")  # fmt: skip
    fit(model, seen.train, seen.valid, training, progress=False)  # type: ignore[arg-type]
    score = metrics.gains(metrics.evaluate(model, seen.test))["acc@1"].mean()
    assert score > 0.95


# --- networks that know no place by name -------------------------------------------------------


def test_smoothing_is_spread_over_the_places_in_sight(seen: Dataset) -> None:
    """The loss is that of a target with 1 - s + s/n for the truth and s/n for the others."""
    network, batch = new_network(0, "unknown").eval(), seen.train.batch(np.arange(40))
    mixture, smoothing = network.mixture(batch), 0.3
    pointer = mixture.pointer.detach().requires_grad_()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "mixture", lambda _: mixture._replace(pointer=pointer))
        network.losses(batch, smoothing).sum().backward()
    assert pointer.grad is not None
    hit, used = mixture.place == batch.target[:, None], mixture.place >= 0
    each = smoothing / used.sum(1, keepdim=True)
    expected = (each + (1 - smoothing) * hit).masked_fill(~used, 0)
    torch.testing.assert_close(-pointer.grad, expected)
    back = hit.any(1)
    assert back.any() and torch.allclose(expected[back].sum(1), torch.ones(int(back.sum())))


@pytest.mark.parametrize("target_time", ["unknown", "time"])
def test_no_number_of_places_stands_in_for_an_open_vocabulary(
    seen: Dataset, target_time: Any
) -> None:
    """Whatever numbers the places have, all that is computed is the same."""
    network, shift = new_network(0, target_time).eval(), 10**6
    here = seen.train.batch(np.arange(40))

    def moved(place: Tensor) -> Tensor:
        return torch.where(place >= 2, place + shift, place)

    names = ("location", "before", "two_before", "target")
    there = replace(here, **{name: moved(getattr(here, name)) for name in names})
    both = Experts([network, new_network(1, target_time)]).eval()
    for model in (network, both):
        one, other = model.mixture(here), model.mixture(there)
        for smoothing in (0.0, 0.1):
            loss = model.losses(here, smoothing)
            torch.testing.assert_close(model.losses(there, smoothing), loss)
        torch.testing.assert_close(other.pointer, one.pointer)
        assert torch.equal(moved(one.place), other.place)
