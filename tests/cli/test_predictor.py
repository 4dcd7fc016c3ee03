"""The commands of the predictor: from a table to an answer without any training."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from pgt.cli.parser import main
from pgt.cli.predictor import verdict
from pgt.io.tables import write
from pgt.predictor.answers import IN_WORDS
from pgt.predictor.estimator import NextLocation

from pgt.checkpoint import save_model
from pgt.contextual import HISTORY_FEATURES, TARGET_FEATURES
from pgt.files import folder
from pgt.visits import check
from pgt.windows import prepare

from ..helpers import model_of, routine_visits, tiny_config

PGT = folder("checkpoints") / "city.safetensors"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predictor") / "v.parquet"
    write(check(routine_visits(users=3, days=60)), path)
    return path


def test_predict_needs_no_model(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(table), "--top", "2"]) == 0
    said = capsys.readouterr().out
    assert said.count("user ") == 3 and said.count("somewhere new") == 3
    out = tmp_path / "next.csv"
    assert main(["predict", str(table), "--top", "2", "--out", str(out)]) == 0
    expected = NextLocation.pretrained().predict(table, top=2)
    found = pd.read_csv(out)
    assert found.location_id.astype(str).tolist() == expected.location_id.astype(str).tolist()


def test_live_writes_a_page_with_the_visits_in_it_or_without(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "live.html"
    assert main(["live", "--out", str(out)]) == 0
    assert "The person it begins with is simulated" in capsys.readouterr().out
    empty = out.read_text(encoding="utf-8")
    visits = pd.read_parquet(table)
    user, place = visits.user_id.iloc[0], visits.location_id.iloc[0]
    assert main(["live", str(table), "--user", str(user), "--out", str(out)]) == 0
    assert "think before you share" in capsys.readouterr().out
    own = out.read_text(encoding="utf-8")
    row = f"\\n{user},{place},{visits.started_at.iloc[0].isoformat()}"
    assert row in own and row not in empty and "Larkmere" not in own


def test_verdict_names_the_better_one_whoever_measured() -> None:
    every = pd.DataFrame({"model": ["pgt", "last", "kernel"], "acc@1": [30.0, 10.0, 20.0]})
    assert verdict(every).startswith("Use pgt: its first guess is right in 30.0 %")
    assert "(kernel) in 20.0 %" in verdict(every)
    every.loc[2, "acc@1"] = 40.0
    assert verdict(every).startswith("Use the rule (kernel): its first guess is right in 40.0 %")
    contextual = every.replace({"model": {"pgt": "contextual"}})
    assert "that of the predictor in 30.0 %" in verdict(contextual)


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "{}", str(PGT)],
        ["evaluate", "{}", str(PGT)],
        ["train", "{}", "--out", "{}/new.safetensors", "--model", "pgt"],
    ],
    ids=lambda words: words[0],
)
def test_a_pgt_refuses_a_recording(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.gpx").touch()
    assert main([word.format(tmp_path) for word in words]) == 2
    assert "make visits of it first with python -m pgt visits" in capsys.readouterr().err


def test_explain_gives_the_reasons(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user = str(pd.read_parquet(table).user_id.iloc[0])
    assert main(["explain", str(table), "--user", user, "--top", "1", "--reasons", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4 and all("points" in line for line in said[1:])


def test_every_feature_has_words_of_its_own() -> None:
    assert IN_WORDS.keys() == HISTORY_FEATURES.keys() | TARGET_FEATURES.keys()
    assert len(set(IN_WORDS.values())) == len(IN_WORDS)


def test_evaluate_says_which_to_use(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(table)]) == 0
    said = capsys.readouterr().out
    assert "kernel, 100 visits" in said and said.splitlines()[-1].startswith("Use the ")


def test_train_writes_a_predictor_that_predict_takes(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "mine.safetensors")
    assert main(["train", str(table), "--out", out]) == 0
    assert "written to" in capsys.readouterr().out
    assert main(["predict", str(table), out, "--top", "1"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "{}", "--out", "m.safetensors", "--model", "contextual", "--epochs", "3"],
         "--epochs is an option of PGT"),
        (["predict", "{}", "--days", "3"], "--days is for models of 'train --model pgt'"),
        (["predict", "{}", "none.safetensors"], "There is no checkpoint none.safetensors"),
        (["explain", "{}", "--user", "nobody"], "There is no user 'nobody'"),
        (["predict", "{}", "--person", "me"], "--person is for GPX"),
        (["live", "--user", "7", "--out", "x.html"], "--user needs VISITS"),
        (["live", "{}", "--out", "x.txt"], "x.txt"),
    ],
)  # fmt: skip
def test_what_does_not_fit_ends_in_one_sentence(
    table: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(table) for word in words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    ["predict {v}", "predict {v} {m}", "explain {v} --user {u}", "map {v} --user {u} --out {o}",
     "live {v} --user {u} --out {o}", "predict {v} --user nobody", "prepare {v} {o}.parquet"],
)  # fmt: skip
def test_names_cannot_steer_a_terminal(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    escape = "\x1b]0;owned\x07\x1b[2J\u202e\r"
    visits = routine_visits(users=2, days=40)
    visits["lon"], visits["lat"] = 16.3 + visits.location_id * 0.01, 48.2
    visits["location_id"] = visits.location_id.map(lambda place: f"{escape}place {place}")
    user = f"{escape}ann"
    visits["user_id"] = visits.user_id.map({0: user, 1: f"{user} "})
    write(visits, tmp_path / "v.parquet")
    if "{m}" in line:
        NextLocation("markov").fit(visits).save(tmp_path / "m.safetensors")
    names = {"v": tmp_path / "v.parquet", "m": tmp_path / "m.safetensors", "o": tmp_path / "o.html"}
    words = [user if word == "{u}" else word.format(**names) for word in line.split()]
    main(words)
    said = capsys.readouterr()
    assert "place" in said.out + said.err or "ann" in said.out + said.err
    strange = {one for one in said.out + said.err if not (one.isprintable() or one == "\n")}
    assert strange == set()


def test_names_of_a_pgt_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visits = routine_visits(users=2, days=40)
    visits["location_id"] = visits.location_id.map(lambda place: f"\x1b[2Jplace {place}")
    visits["user_id"] = "\x1b[2J" + visits.user_id.astype(str)
    data = prepare(visits)
    model = model_of(tiny_config(data)).float()
    save_model(tmp_path / "m.safetensors", model, data.vocabulary, windows=data.config)
    write(visits, tmp_path / "v.parquet")
    assert main(["predict", f"{tmp_path}/v.parquet", f"{tmp_path}/m.safetensors"]) == 0
    said = capsys.readouterr().out
    assert said.count("user \\x1b[2J") == 2 and "\x1b" not in said
    assert ". \\x1b[2Jplace " in said
