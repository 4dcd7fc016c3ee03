"""Predictions are what the model says of the latest windows, in full and in order."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import torch

from pgt.batch import Batch
from pgt.config import Anchor, WindowConfig
from pgt.errors import DataError
from pgt.model import Output, PointerGeneratorTransformer
from pgt.predictor.trained import latest_windows, predict
from pgt.visits import check, local_day
from pgt.vocabulary import PADDING, Vocabulary
from pgt.windows import ENCODED_FIELDS, Dataset, prepare

from ..helpers import model_of, random_visits, tiny_config

WINDOWS = WindowConfig()


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return check(random_visits(2, users=5, visits=90))


@pytest.fixture(scope="module")
def data(visits: pd.DataFrame) -> Dataset:
    return prepare(visits)


@pytest.fixture(scope="module")
def model(data: Dataset) -> PointerGeneratorTransformer:
    return model_of(tiny_config(data))


@pytest.mark.parametrize(("top", "batch_size"), [(4, 2), (10_000, 256)])
def test_the_table_holds_the_best_places_of_everybody(
    data: Dataset, visits: pd.DataFrame, model: PointerGeneratorTransformer, top: int,
    batch_size: int,
) -> None:  # fmt: skip
    found = predict(model, data.vocabulary, visits, windows=WINDOWS, top=top, batch_size=batch_size)
    questions = latest_windows(visits, data.vocabulary, WINDOWS)
    out = model(questions.batch(np.arange(len(questions))))
    assert " ".join(found) == "user_id rank location_id probability copied gate known_user after"
    assert found.index.equals(pd.RangeIndex(len(found)))
    assert found.user_id.unique().tolist() == questions.users.tolist() == list(range(5))
    for i, (_, own) in enumerate(found.groupby("user_id")):
        probability = out.log_probs[i].exp().detach()
        probability[0] = 0  # padding is no answer
        order = probability.argsort(descending=True)[:top]
        order = order[probability[order] > 0]
        assert own["rank"].tolist() == list(range(1, len(order) + 1))
        assert own.location_id.tolist() == data.vocabulary.decode(order.numpy()).tolist()
        assert own.probability.tolist() == pytest.approx(probability[order].tolist())
        pointer = (out.gate[i] * out.pointer_log_probs[i].exp() / out.log_probs[i].exp())[order]
        assert own.copied.tolist() == pytest.approx(pointer.tolist(), abs=1e-6)
        assert own.gate.tolist() == pytest.approx([out.gate[i].item()] * len(order))
        last = visits[visits.user_id == own.user_id.iloc[0]].iloc[-1]
        assert (own.after == last.started_at).all() and own.known_user.all()
    model.train()
    alone = predict(model, data.vocabulary, visits, windows=WINDOWS, top=top, user="3")
    assert model.training  # as it was
    model.eval()
    pd.testing.assert_frame_equal(alone, found[found.user_id == 3].reset_index(drop=True))


def test_what_cannot_be_answered_is_refused_and_people_of_elsewhere_are_noted(
    data: Dataset, visits: pd.DataFrame, model: PointerGeneratorTransformer
) -> None:
    moved = visits.assign(location_id=visits.location_id + 1000)
    with pytest.raises(DataError, match="another vocabulary"):
        predict(model, data.vocabulary, moved, windows=WINDOWS)
    others = visits.assign(user_id=visits.user_id + 50)
    with pytest.warns(UserWarning, match="trained on none of these people"):
        predict(model, data.vocabulary, others, windows=WINDOWS)
    early = visits.started_at.min() - pd.Timedelta(days=1)
    for user, says in ((None, "Nobody in the table has a"), (2, "2 has no")):
        with pytest.raises(DataError, match=says):
            predict(model, data.vocabulary, visits, windows=WINDOWS, user=user, at=early)


def test_a_moment_is_the_same_in_every_zone_and_the_last_visits_clock_counts(
    data: Dataset, visits: pd.DataFrame
) -> None:
    day = ENCODED_FIELDS.index("start_day")
    for anchor in get_args(Anchor):
        asked = latest_windows(visits, data.vocabulary, WindowConfig(anchor=anchor))
        last = local_day(visits.groupby("user_id").finished_at.max())
        assert asked.features[day][asked.target + 1].tolist() == last.tolist()
    now = visits.started_at.median()
    here, there = (latest_windows(visits, data.vocabulary, WINDOWS, at=moment)
                   for moment in (now, now.tz_convert("Pacific/Apia")))  # fmt: skip
    assert torch.equal(here.features, there.features)
    assert (here.features[day][here.target + 1] == local_day(pd.Series([now]))[0]).all()


@pytest.mark.parametrize("anchor", get_args(Anchor))
def test_latest_is_the_window_that_the_next_visit_would_have_had(anchor: Anchor) -> None:
    visits = check(random_visits(5, users=3, visits=50)).assign(split="train")
    config = WindowConfig(days=5, min_visits=1, anchor=anchor)
    data = prepare(visits, config=config)
    assert data.counts()["test"] == 0  # a split that is there is taken
    exact = [f.name for f in fields(Batch) if f.name not in ("index", "target")]
    checked = 0
    for i in range(0, len(data.train), 7):
        target = data.train.target_of(i)
        last = data.train.visits_of(i).iloc[-1]
        if (
            last.finished_at > target.started_at
            or (visits.started_at == target.started_at).sum() > 1
        ):
            continue
        # Everything up to just before the target; asked at the moment the target begins.
        past = visits[visits.started_at < target.started_at]
        windows = latest_windows(past, data.vocabulary, config, at=target.started_at)
        batch = windows.batch(np.flatnonzero(windows.users == target.user_id))
        expected = data.train.batch([i])
        for name in exact:
            assert torch.equal(getattr(batch, name), getattr(expected, name)), name
        assert batch.target.tolist() == [PADDING]
        checked += 1
    assert checked > 5


def test_latest_never_sees_what_comes_after_the_question() -> None:
    visits = check(random_visits(6, users=4, visits=50))
    moment = visits.started_at.sort_values().iloc[100]
    vocabulary = prepare(visits).vocabulary
    cut = visits[visits.started_at <= moment]
    cut = cut.assign(finished_at=cut.finished_at.where(cut.finished_at <= moment, moment))
    one = latest_windows(visits, vocabulary, at=moment).batch([0, 1, 2, 3])
    two = latest_windows(cut, vocabulary, at=moment).batch([0, 1, 2, 3])
    for f in fields(Batch):
        assert torch.equal(getattr(one, f.name), getattr(two, f.name)), f.name


def test_latest_gives_everybody_a_window_with_the_last_visit() -> None:
    visits = random_visits(7, users=3, visits=30)
    alone = visits[visits.user_id == 0].head(1).assign(user_id=77)
    visits = check(pd.concat([visits, alone]))
    long_ago = visits.started_at.max() + pd.Timedelta(days=400)
    for moment in (None, long_ago):
        windows = latest_windows(visits, Vocabulary((1,), (0,), 1), at=moment)
        assert windows.users.tolist() == [0, 1, 2, 77]
        assert (windows.lengths == 1).tolist() == [moment is not None] * 3 + [True]
        assert not windows.in_window.any()
        last = [windows.visits_of(i).started_at.iloc[-1] for i in range(4)]
        assert last == visits.groupby("user_id").started_at.max().tolist()


@pytest.mark.parametrize("n_places", [30, 319, 320])
def test_of_equal_places_the_first_are_named(
    n_places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = random_visits(users=2, visits=170)
    visits = check(table.assign(location_id=np.arange(len(table)) % n_places))
    data = prepare(visits, protocol="exact")
    model = model_of(tiny_config(data))
    truly = model.forward

    def level(batch: Batch) -> Output:
        out = truly(batch)
        return replace(out, log_probs=torch.full_like(out.log_probs, -5.0))

    monkeypatch.setattr(model, "forward", level)
    found = predict(model, data.vocabulary, visits, windows=WINDOWS, top=3)
    first = data.vocabulary.decode(np.arange(1, 4)).tolist()
    assert found.groupby("user_id").location_id.apply(list).tolist() == [first, first]
