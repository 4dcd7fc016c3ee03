"""The leaderboard's questions, on three invented people: who is asked, what may be seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from lab import fastmob_markov, getnext, kernel_grid, leaderboard, prompts
from lab.leaderboard import EVERY, LLM4POI, PROMPTS, Questions

from pgt.baselines import ContextKernel
from pgt.metrics import gains

DAY = pd.Timedelta("1D")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three people who check in at eight places, some of them twice in a minute."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("getnext")
    parts = []
    for person in (7, 8, 9):
        hours = np.cumsum(rng.choice([0, 2, 5, 30], size=150, p=[0.05, 0.4, 0.35, 0.2]))
        time = pd.Timestamp("2012-04-03 14:00") + pd.to_timedelta(hours, unit="h")
        parts.append(pd.DataFrame({"Uid": person, "Pid": rng.integers(1, 9, 150), "Time": time}))
    table = pd.concat(parts).sort_values("Time", kind="stable")
    table["Time"] = table.Time.dt.strftime("%Y-%m-%d %H:%M")
    half = int(0.6 * len(table))
    table[:half].to_csv(folder / "train_data.csv", index=False)
    table[half - 40 :].to_csv(folder / "test_data.csv", index=False)  # the files overlap
    last = table.groupby("Uid").tail(5)
    asked = [
        {
            "input": f"User_{user} visited: "
            + ", ".join(f"<{p}> at {t}" for p, t in zip(own.Pid[:-1], own.Time[:-1], strict=True))
            + f". When {own.Time.iloc[-1]} user_{user} is likely to visit:",
            "output": f"<{own.Pid.iloc[-1]}>",
        }
        for user, own in last.groupby("Uid")
    ]
    (folder / "test_id.json").write_text(json.dumps(asked))
    return folder


@pytest.fixture(scope="module")
def asked(folder: Path) -> Questions:
    return leaderboard.questions(folder)


def test_a_session_is_one_persons_and_has_no_gap_of_a_day(asked: Questions) -> None:
    table = asked.table
    assert len(table) == 450  # the overlap is not counted twice
    listed = table[table.session > 0]
    for _, own in listed.groupby("session"):
        assert own.user_id.nunique() == 1 and len(own) >= 3
        assert (own.started_at.diff().dropna() <= DAY).all()
    ends = listed.groupby("session").started_at.max() + DAY
    begins = listed.groupby("session").agg({"started_at": "min", "user_id": "first"})
    before = ends.groupby(begins.user_id).shift()
    assert not (begins.started_at <= before).any()  # no session was cut in two


def test_parts_follow_each_other_in_time(asked: Questions) -> None:
    span = asked.table.groupby("split").started_at.agg(["min", "max"])
    assert span["max"].train < span["min"].valid and span["max"].valid < span["min"].test


@pytest.mark.parametrize("past", [EVERY, LLM4POI, PROMPTS])
def test_the_past_is_the_persons_own_and_never_holds_the_target(
    asked: Questions, past: str
) -> None:
    windows = asked.test[past]
    assert len(windows)
    for w in range(len(windows)):
        target = windows.target_of(w)
        seen = windows.visits.iloc[windows.rows(np.array([w]))[0].numpy()]
        assert len(seen) and (seen.user_id == target.user_id).all()
        assert (seen.started_at < target.started_at).all()


def test_llm4poi_sees_training_and_the_session_alone(asked: Questions) -> None:
    windows = asked.test[LLM4POI]
    for w in range(len(windows)):
        target, seen = windows.target_of(w), windows.visits_of(w)
        assert ((seen.split == "train") | (seen.session == target.session)).all()
        assert (seen.session > 0).all()
    assert (asked.test[EVERY].target_of(w).drop("split") == target.drop("split")).all()
    whole = asked.test[EVERY].lengths
    assert (windows.lengths <= whole).all() and (windows.lengths < whole).any()


def test_targets_are_last_of_their_session_and_known(asked: Questions) -> None:
    table, rows = asked.table, asked.test[EVERY].target
    train = table[(table.split == "train") & (table.session > 0)]
    for row in rows:
        one = table.loc[row]
        assert one.user_id in set(train.user_id) and one.location_id in set(train.location_id)
        later = table[(table.session == one.session) & (table.index > row)]
        assert not later.location_id.isin(train.location_id).any()
    assert (table.split[asked.train.target] == "train").all()
    assert not set(asked.train.target) & set(rows)


def test_only_the_told_know_the_time(asked: Questions) -> None:
    windows = asked.test[EVERY]
    plain, told = (
        one.batch([0, 1]) for one in (windows, leaderboard.view("kernel", True, windows))
    )
    assert (told.now_minute == told.target_minute).all()
    assert (plain.now_minute != told.now_minute).any()
    assert (plain.location == told.location).all() and (plain.target == told.target).all()


@pytest.mark.parametrize("told", [False, True])
def test_a_rule_answers_all_questions(
    folder: Path, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(leaderboard.FOLDER, str(folder))
    monkeypatch.setattr(leaderboard.tempfile, "gettempdir", lambda: str(tmp_path))
    found = leaderboard.ranks_of("kernel", told, None)
    assert set(found) == {EVERY, LLM4POI, PROMPTS}
    for ranks in found.values():
        # What a rule can name is what the past holds.
        assert ((ranks.better < 100) & (ranks.tied > 0) == ranks.in_past).all()


@pytest.mark.parametrize("past", [EVERY, LLM4POI, PROMPTS])
def test_pgt_sees_the_last_seven_days_of_what_may_be_seen(asked: Questions, past: str) -> None:
    windows, week = asked.test[past], leaderboard.week(asked.test[past])
    assert (week.target == windows.target).all()
    for w in range(len(week)):
        may, seen = windows.visits_of(w).started_at, week.visits_of(w).started_at
        days = (may.iloc[-1].normalize() - may.dt.normalize()).dt.days
        assert seen.tolist() == may[days <= 7].tolist()


def test_what_is_chosen_is_chosen_on_check_ins_before_the_prompts(
    asked: Questions, folder: Path
) -> None:
    table, (visits, rows) = asked.table, leaderboard.prompts(folder)
    until = table.started_at[table.split == "train"].max()
    answers = visits.iloc[[row[-1] for row in rows]].set_index("user_id").started_at
    found = prompts.before_the_prompts(asked, folder)
    assert len(found) and table.loc[found].groupby("user_id").size().max() <= prompts.BACK
    own = table.loc[found]
    assert (own.started_at > until).all()
    assert (own.started_at.dt.floor("min") < own.user_id.map(answers)).all()
    for past, windows in prompts.asked_before(asked, folder).items():
        assert (windows.targets == asked.train.vocabulary.encode_locations(own.location_id)).all()
        for w in range(len(windows)):
            seen, target = windows.visits_of(w), windows.target_of(w)
            assert (seen.user_id == target.user_id).all()
            assert (seen.started_at < target.started_at).all()
            late = seen if past == PROMPTS else seen[seen.started_at > until]
            assert len(late) <= prompts.SHOWN


def test_a_longer_past_is_training_and_the_prompt(asked: Questions, folder: Path) -> None:
    short, long = asked.test[PROMPTS], prompts.longer(asked, folder)
    train = asked.table[asked.table.split == "train"]
    assert (short.targets == long.targets).all() and (long.lengths > short.lengths).all()
    for w in range(len(long)):
        seen, prompt = long.visits_of(w), short.visits_of(w)
        assert seen.started_at.tail(len(prompt)).tolist() == prompt.started_at.tolist()
        earlier, mine = seen.iloc[: -len(prompt)], train.user_id == long.target_of(w).user_id
        assert set(earlier.started_at) <= set(train[mine].started_at)
        assert seen.started_at.is_monotonic_increasing


def test_pointers_together_say_the_mean_of_what_each_says(asked: Questions) -> None:
    batch, place = asked.test[EVERY].batch([0, 1]), torch.tensor([[4, 7], [5, -1]])
    said = [torch.tensor([[0.5, 0.5], [1.0, 0.0]]), torch.tensor([[0.1, 0.9], [1.0, 0.0]])]

    class One:
        config = None

        def __init__(self, share: torch.Tensor) -> None:
            self.share = share

        def own_scores(self, batch: object) -> prompts.Mixture:
            return prompts.Mixture(place, self.share.log())

    found = prompts.Together([One(share) for share in said]).own_scores(batch)
    assert torch.equal(found.place, place)
    assert torch.allclose(found.pointer.exp(), torch.stack(said).mean(0))


@pytest.fixture
def some_unknown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pd.DataFrame]:
    """Check-ins: training knows half of the later places, and place 77 as a session's first."""
    table = leaderboard.check_ins(folder)
    new = (table.split != "train") & (np.random.default_rng(0).random(len(table)) < 0.5)
    table["location_id"] = table.location_id.where(~new, 99)
    listed = table[table.session > 0]
    train, test = (listed[listed.split == part].groupby("session") for part in ("train", "test"))
    table.loc[[train.head(1).index[0], test.tail(1).index[-1]], "location_id"] = 77
    for module in (getnext, leaderboard):
        monkeypatch.setattr(module, "check_ins", lambda folder: table)
    cached = (getnext.data, leaderboard.questions)
    for one in cached:
        one.cache_clear()
    yield table
    for one in cached:
        one.cache_clear()


def test_each_rule_of_the_literature_asks_its_own_questions(
    folder: Path, some_unknown: pd.DataFrame
) -> None:
    rules = {name: set(rows) for name, rows in getnext.rules(folder).items()}
    assert rules["GETNext"] < rules["ours"] < rules["LLM4POI"]
    assert rules["ours"] == set(leaderboard.targets(some_unknown, "test"))
    last = some_unknown[some_unknown.session > 0].groupby("session").tail(1)
    last = last[(last.split == "test") & (last.location_id != 99)]
    assert rules["STHGCN"] == set(last[last.location_id != 77].index)
    assert set(last.index) - rules["STHGCN"] <= rules["LLM4POI"]
    four = [rules[name] for name in ("ours", "GETNext", "STHGCN", "LLM4POI")]
    assert rules["shared"] == set.intersection(*four) and rules["shared"]


def test_getnext_reads_the_known_check_ins_of_each_session(
    folder: Path, some_unknown: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions end with the leaderboard's targets; long ones are cut and nothing is lost."""
    monkeypatch.setattr(getnext, "LONGEST", 4)
    known, table = getnext.data(folder), some_unknown
    places = np.sort(table[(table.session > 0) & (table.split == "train")].location_id.unique())
    for split, at_least in (("train", 3), ("valid", 3), ("test", 2)):
        own = known.sessions[split]
        ends = own.place[range(len(own)), own.length - 1]
        asked = table.loc[known.rows[split]]
        assert places[ends].tolist() == asked.location_id.tolist()
        assert (asked.split == split).all()
        assert at_least <= own.length.min() and own.length.max() <= 4
        hour = asked.started_at.dt.hour + asked.started_at.dt.minute / 60
        assert own.time[range(len(own)), own.length - 1].numpy() * 24 == pytest.approx(
            hour, abs=0.01
        )
    assert set(known.rows["test"]) == set(leaderboard.targets(table, "test"))
    train = table[(table.session > 0) & (table.split == "train")]
    pieces = train.groupby("session").size().map(lambda n: n - (n % 4 if n % 4 < 3 else 0))
    assert int(known.sessions["train"].length.sum()) == pieces.sum()


def test_the_report_on_getnext_compares_both_wirings(
    folder: Path, some_unknown: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With tiny networks: the right one hears of no neighbour; costs are differences of means."""
    monkeypatch.setenv(leaderboard.FOLDER, str(folder))
    monkeypatch.setattr(getnext.tempfile, "gettempdir", lambda: str(tmp_path))
    small = {"d_place": 8, "d_user": 8, "d_time": 4, "d_category": 4, "d_graph": (4, 8)}
    budget = replace(getnext.BUDGET, **small, d_map=8, d_feedforward=16, batch_size=8, epochs=2)
    monkeypatch.setattr(getnext, "BUDGET", budget)
    monkeypatch.setattr(getnext, "SEEDS", (1, 2))
    rows = pd.DataFrame([*getnext.measured()])
    tables = dict(iter(rows.groupby("table")))
    changed = tables["order"].groupby("wiring")[["shuffled changed", "alone changed"]].max()
    assert (changed.loc["over time"] == 0).all() and (changed.loc["over the batch"] > 0).all()
    scores = tables["scores"]
    per_seed = scores[scores.seed.notna()].groupby(["rule", "wiring"])
    both = per_seed["acc@1"].mean().unstack()
    cost = tables["cost"].set_index("rule").value
    assert (both["over time"] - both["over the batch"]).to_numpy() == pytest.approx(
        cost[both.index].to_numpy()
    )
    back = scores["in past"] / 100
    whole = back * scores.returns + (1 - back) * scores["first"].fillna(0)
    assert whole.to_numpy() == pytest.approx(scores["acc@1"].to_numpy())
    assert len(tables["epochs"]) == 2 * 2 * 2
    frequent = leaderboard.ranks_of("most_frequent", False, None)[LLM4POI]
    simple = tables["simple"].set_index(["model", "rule"])["acc@1"]
    expected = 100 * gains(frequent)["acc@1"].mean()
    assert simple["most_frequent", "ours"] == pytest.approx(expected)
    n = tables["targets"].set_index("rule").n
    assert scores.groupby("rule").n.first().eq(n[["GETNext", "ours", "shared"]]).all()


def test_the_grid_grows_only_where_a_choice_lies_on_its_edge() -> None:
    grid = dict(ContextKernel.GRID)
    middle = ContextKernel(decay=0.98, base=0.1, clock=2.0, width=100.0)
    assert kernel_grid.grown(grid, middle) == grid
    low = kernel_grid.grown(grid, replace(middle, decay=0.9, width=30.0))
    assert low["decay"][:2] == (0.8, 0.9) and low["width"][:2] == (15.0, 30.0)
    high = kernel_grid.grown(grid, replace(middle, base=1.0, clock=5.0))
    assert high["base"][-2:] == (1.0, 3.0) and high["clock"][-2:] == (5.0, 8.0)
    natural = replace(middle, decay=1.0, clock=0.0, width=30.0)  # no clock, so no width
    assert kernel_grid.grown(grid, natural) == grid


def test_ranks_of_fastmobs_candidates() -> None:
    """Better and tied places are counted; a place that is not named is no answer."""
    said = pd.DataFrame({"uid": [0, 0, 0, 1, 2], "location_id": [5, 6, 7, 5, 6],
                         "probability": [0.5, 0.25, 0.25, 1.0, 1.0]})  # fmt: skip
    found = fastmob_markov.ranks(said, np.array([7, 5, 9]), np.array([1, 1, 2]))
    assert found.better.tolist() == [1, 0, 0] and found.tied.tolist() == [2, 1, 0]


def test_fastmobs_past_ends_before_the_target(folder: Path) -> None:
    table = leaderboard.check_ins(folder)
    for past, rows, seen in fastmob_markov.asked(table):
        assert past in (EVERY, LLM4POI) and len(rows) == len(seen)
        for row, own in zip(rows, seen, strict=True):
            assert len(own) and own.max() < row
            assert (table.user_id.iloc[own] == table.user_id.iloc[row]).all()
