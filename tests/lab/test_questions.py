"""Kinds of questions: every window is of one kind, shares add up, nobody can be found out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lab import grid, questions, wins
from wherenext import disagreement

from pgt.baselines import ContextKernel
from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows, prepare

from ..helpers import model_of, random_visits, tiny_config

KERNEL = ContextKernel(decay=0.9, base=0.1, same=1.0, clock=3.0, width=100.0)


@pytest.fixture(scope="module")
def data() -> tuple[Windows, PointerGeneratorTransformer]:
    made = prepare(random_visits(3, users=6, visits=150), protocol="exact")
    return made.test, model_of(tiny_config(made))


@pytest.fixture(scope="module")
def seen(data: tuple[Windows, PointerGeneratorTransformer]) -> pd.DataFrame:
    windows, model = data
    return disagreement.visit_weights(model, KERNEL, windows)[1]


def test_each_window_is_one_kind_of_question(
    data: tuple[Windows, PointerGeneratorTransformer], seen: pd.DataFrame
) -> None:
    windows, _ = data
    table = questions.window_groups(windows, seen, "UTC")
    assert len(table) == len(windows)
    assert not table.isna().any().any()
    outside = table["rank"] == "not in the window"
    assert (outside == ~windows.in_window).all()
    assert (outside == (table.match == "not in the window")).all()
    for i in range(len(windows)):
        visits, target = windows.visits_of(i), windows.target_of(i)
        assert (table.target[i] == "last place") == (
            visits.location_id.iloc[-1] == target.location_id
        )
        counts = visits.location_id.value_counts()
        if target.location_id in counts:
            rank = 1 + (counts > counts[target.location_id]).sum()
            assert table["rank"][i][0] == str(min(rank, 4))
        low = {"under 6 h": 0, "6 to 10 h": 6, "10 to 14 h": 10, "14 to 18 h": 14, "from 18 h": 18}
        hour = visits.finished_at.iloc[-1].tz_convert("UTC").hour
        assert low[table.hour[i]] == max(edge for edge in low.values() if edge <= hour)


def test_the_shares_of_a_comparison_add_up() -> None:
    rng = np.random.default_rng(0)
    users = rng.integers(0, 8, 400)
    one, others = rng.random(400), [rng.integers(0, 2, 400) for _ in range(3)]
    everything = np.ones(400, dtype=bool)
    found = questions.paired_accuracy(one, others, users, everything)
    assert found is not None
    total = found["both"] + found["only_one"] + found["only_other"] + found["neither"]
    assert total == pytest.approx(100)
    assert found["difference"] == pytest.approx(found["only_one"] - found["only_other"])
    assert found["low"] < found["difference"] < found["high"]
    assert questions.paired_accuracy(one, others, users, users < 4) is None  # four people
    few = np.zeros(400, dtype=bool)
    few[:19] = True
    assert questions.paired_accuracy(one, others, users, few) is None  # nineteen windows
    crowd = np.where(rng.random(400) < 0.6, 0, users)
    assert (
        questions.paired_accuracy(one, others, crowd, everything) is None
    )  # most are one person's


def test_nothing_can_be_had_by_subtraction(
    data: tuple[Windows, PointerGeneratorTransformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    windows, model = data
    gate, visits = disagreement.visit_weights(model, KERNEL, windows)
    hits = np.arange(len(windows)) % 2.0
    seen = wins.Opened(windows, hits, [1 - hits], gate, [visits], {})
    # Everybody's windows are in "most" but those of one person.
    who = np.where(windows.users == windows.users[0], "one", "most")
    kinds = pd.Categorical(who, ["most", "one"])
    spread = {"people": 30}
    monkeypatch.setattr(questions, "by_person", lambda lead, users: spread)

    def groupings(table: pd.DataFrame) -> set[str]:
        monkeypatch.setattr(questions, "window_groups", lambda *_: table)
        rows = wins.windows(seen, windows)
        return {row["by"] for row in rows if row["table"] == "windows"}

    assert grid.enough_people(windows.users[who == "most"])
    assert "kind" not in groupings(pd.DataFrame({"kind": kinds}))
    fair = pd.Categorical(np.where(np.arange(len(who)) % 2, "odd", "even"), ["odd", "even"])
    assert "kind" in groupings(pd.DataFrame({"kind": fair}))
