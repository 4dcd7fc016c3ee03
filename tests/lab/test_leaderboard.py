"""The leaderboard's questions, on three invented people: who is asked, what may be seen."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from lab import leaderboard, prompts
from lab.leaderboard import EVERY, LLM4POI, PROMPTS, Questions

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
