"""The command line, from a table to a prediction."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pgt.cli.parser import EXAMPLES, main
from pgt.io.tables import write

from pgt import train as training_run
from pgt.checkpoint import load_model, load_windows_config, read, save_model
from pgt.cli import predictor
from pgt.config import WindowConfig
from pgt.metrics import GROUPS, evaluate, summarize
from pgt.predict import predict
from pgt.visits import check
from pgt.windows import prepare

from ..helpers import random_visits, routine_visits, run_python


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared table and a model trained on it for two epochs."""
    folder = tmp_path_factory.mktemp("cli")
    write(routine_visits(users=3, days=50), folder / "raw.csv")
    assert main(["prepare", f"{folder}/raw.csv", f"{folder}/v.parquet", "--timezone", "UTC"]) == 0
    assert train(folder, "--epochs", "2") == 0
    return folder


def train(folder: Path, *more: str, out: str = "m.safetensors") -> int:
    options = ("--out", str(folder / out), "--device", "cpu", "--quiet")
    return main(["train", str(folder / "v.parquet"), *options, *more])


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command, example in EXAMPLES.items():
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"] if command else ["--help"])
        assert stop.value.code == 0
        assert example.splitlines()[1].strip() in capsys.readouterr().out


def test_prepare_tells_what_is_in_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits = random_visits(1, users=3, visits=100)
    alone = visits.tail(1).assign(user_id=50)
    late = visits.tail(1).assign(
        started_at=visits.finished_at.iloc[-1] - pd.Timedelta(minutes=1),
        finished_at=visits.finished_at.iloc[-1] + pd.Timedelta(minutes=1),
    )
    write(pd.concat([visits, alone, late]), tmp_path / "v.parquet")
    out = tmp_path / "out.parquet"
    assert main(["prepare", str(tmp_path / "v.parquet"), str(out)]) == 0
    said = capsys.readouterr().out
    table = pd.read_parquet(out)
    data = prepare(table, protocol="exact")  # the windows that `train` will have
    assert len(table) == 302
    assert "4 people" in said and "302 visits" in said
    assert "1 visits begin before" in said
    windows = ", ".join(f"{k} {v}" for k, v in data.counts().items())
    assert f"windows: {windows}" in said
    assert "people without any window: 1 (" in said
    # The counts depend on the history asked for, the table does not.
    other = tmp_path / "other.parquet"
    assert main(["prepare", str(tmp_path / "v.parquet"), str(other), "--days", "2"]) == 0
    assert windows not in capsys.readouterr().out
    pd.testing.assert_frame_equal(table, pd.read_parquet(other))


def test_prepare_keeps_a_given_split(tmp_path: Path) -> None:
    visits = random_visits(1, users=2, visits=90)
    visits["split"] = np.where(np.arange(180) % 90 < 70, "train", "valid")
    visits.loc[5, "split"] = None
    write(visits, tmp_path / "v.parquet")
    assert main(["prepare", str(tmp_path / "v.parquet"), str(tmp_path / "o.parquet")]) == 0
    assert (
        pd.read_parquet(tmp_path / "o.parquet").split.fillna("") == visits.split.fillna("")
    ).all()


def test_train_writes_a_model_with_notes_and_removes_its_run(folder: Path) -> None:
    assert sorted(p.name for p in folder.iterdir() if "m." in p.name) == ["m.safetensors"]
    notes = read(folder / "m.safetensors")[1]["notes"]
    counts = prepare(pd.read_parquet(folder / "v.parquet"), protocol="exact").counts()
    assert notes["windows"] == counts
    assert notes["epochs"] == 2
    assert load_windows_config(folder / "m.safetensors") == WindowConfig(protocol="exact")
    assert notes["best"]["valid_loss"] > 0


def test_options_reach_the_model(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "v.parquet", tmp_path)
    assert train(
        tmp_path, "--preset", "diy", "--target-time", "unknown", "--without", "pointer,user",
        "--protocol", "exact", "--days", "3", "--epochs", "1", "--seed", "9",
    ) == 0  # fmt: skip
    model, _ = load_model(tmp_path / "m.safetensors")
    config = model.config
    assert (config.d_feedforward, config.dropout, config.target_time) == (256, 0.2, "unknown")
    assert config.without == ("pointer", "user")
    notes = read(tmp_path / "m.safetensors")[1]["notes"]
    assert notes["seed"] == 9
    assert load_windows_config(tmp_path / "m.safetensors") == WindowConfig(3, protocol="exact")


def test_control_c_keeps_the_run_and_the_next_call_goes_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(folder / "v.parquet", tmp_path)
    calls = iter(range(10**9))
    plain = training_run.use_keys
    data = prepare(pd.read_parquet(folder / "v.parquet"))
    epoch = -(-len(data.train) // 128)  # training steps

    def interrupted(*arguments: Any) -> None:
        if next(calls) == epoch + 1:
            raise KeyboardInterrupt
        plain(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run, "use_keys", interrupted)
        assert train(tmp_path, "--epochs", "2") == 130
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    assert "m.run.safetensors is kept, the same command goes on from it" in said
    assert not (tmp_path / "m.safetensors").exists()
    assert read(tmp_path / "m.run.safetensors")[1]["epoch"] == 1
    assert train(tmp_path, "--epochs", "2") == 0
    assert "going on from" in capsys.readouterr().out
    assert not (tmp_path / "m.run.safetensors").exists()
    one, two = (read(f / "m.safetensors")[0] for f in (folder, tmp_path))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_evaluate_prints_and_writes_the_measured_rows(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "v.parquet"), str(folder / "m.safetensors")]
    out = tmp_path / "deep" / "rows.json"
    assert main(["evaluate", *files, "--baselines", "--json", str(out)]) == 0
    said = capsys.readouterr().out
    rows = json.loads(out.read_text())
    assert [row["model"] for row in rows[::5]] == [
        "pgt",
        "last",
        "most_frequent",
        "markov",
        "kernel",
        "most frequent, 100 visits",
        "kernel, 100 visits",
    ]
    assert [row["group"] for row in rows[:5]] == list(GROUPS)
    model, vocabulary = load_model(folder / "m.safetensors")
    config = load_windows_config(folder / "m.safetensors")
    data = prepare(pd.read_parquet(folder / "v.parquet"), vocabulary=vocabulary, config=config)
    expected = summarize(evaluate(model, data.test)).iloc[0]
    assert rows[0]["acc@1"] == pytest.approx(expected["acc@1"])
    assert rows[0]["n"] == len(data.test)
    assert rows[0]["acc@1_low"] <= rows[0]["acc@1"] <= rows[0]["acc@1_high"]
    assert f"{expected['acc@1']:.1f}" in said
    every = pd.DataFrame([row for row in rows if row["group"] == "all"])
    assert predictor.verdict(every) in said.splitlines()
    empty = [row for row in rows if row["n"] == 0]
    assert empty and all(row["acc@1"] is None for row in empty)  # JSON has no NaN
    assert main(["evaluate", *files, "--split", "valid"]) == 0
    assert f"valid: {len(data.valid)} windows" in capsys.readouterr().out


def test_predictions_use_the_windows_of_the_training(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trained on 14 days, asked about the last test window: the answer is that window's."""
    table = check(random_visits(3, users=2, visits=300))
    write(table, tmp_path / "all.parquet")
    main(["prepare", f"{tmp_path}/all.parquet", f"{tmp_path}/v.parquet", "--days", "14"])
    assert train(tmp_path, "--days", "14", "--epochs", "1") == 0
    path = tmp_path / "m.safetensors"
    (model, vocabulary), config = load_model(path), load_windows_config(path)
    assert config == WindowConfig(days=14, protocol="exact")
    test = prepare(table, config=config, vocabulary=vocabulary).test
    i = int(np.flatnonzero(test.users == 1)[-1])
    assert test.lengths[i] > prepare(table, vocabulary=vocabulary).test.lengths[-1]
    with torch.no_grad():
        best = model(test.batch([i])).log_probs[0].exp()
    best[0] = 0
    asked = test.target_of(i).started_at
    past = table[table.started_at < asked]
    write(past, tmp_path / "past.parquet")
    files = [f"{tmp_path}/past.parquet", str(path)]
    options = ["--user", "1", "--at", str(asked), "--out", f"{tmp_path}/p.csv"]
    assert main(["predict", *files, *options, "--days", "14"]) == 0
    by_command = pd.read_csv(tmp_path / "p.csv")
    by_python = predict(model, vocabulary, past, windows=config, user=1, at=asked)
    for answer in (by_command, by_python):
        assert answer.probability.tolist() == pytest.approx(best.topk(5).values.tolist(), abs=1e-6)
    other = predict(model, vocabulary, past, windows=WindowConfig(), user=1, at=asked)
    assert other.probability.tolist() != pytest.approx(by_python.probability.tolist(), abs=1e-6)
    for command in ("predict", "evaluate"):
        capsys.readouterr()
        assert main([command, *files, "--days", "7"]) == 2
        said = capsys.readouterr().err.strip()
        assert "\n" not in said
        assert "m.safetensors was trained on windows of 14 days, not of 7; leave --days" in said


def test_evaluate_uses_the_windows_of_the_training(folder: Path, tmp_path: Path) -> None:
    """All four fields of the configuration, for a model that was saved with them."""
    model, vocabulary = load_model(folder / "m.safetensors")
    config = WindowConfig(days=2, min_visits=5, anchor="last_visit")
    save_model(tmp_path / "m.safetensors", model, vocabulary, windows=config)
    files = [str(folder / "v.parquet"), str(tmp_path / "m.safetensors")]
    assert main(["evaluate", *files, "--json", str(tmp_path / "rows.json")]) == 0
    data = prepare(pd.read_parquet(folder / "v.parquet"), config=config, vocabulary=vocabulary)
    row = json.loads((tmp_path / "rows.json").read_text())[0]
    assert row["n"] == len(data.test)
    assert row["acc@1"] == pytest.approx(summarize(evaluate(model, data.test)).iloc[0]["acc@1"])
    assert data.counts() != prepare(pd.read_parquet(folder / "v.parquet"), days=2).counts()


def test_predict_prints_and_writes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "v.parquet"), str(folder / "m.safetensors")]
    assert main(["predict", *files, "--user", "2", "--at", "2024-04-20T12:30", "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("user 2, after the visit of 2024-04-20 11:00, gate ")
    assert len(lines) == 3 and lines[1].startswith("  1. ") and "copied)" in lines[1]
    assert main(["predict", *files, "--out", str(tmp_path / "p.csv")]) == 0
    table = pd.read_csv(tmp_path / "p.csv")
    assert len(table) == 15
    assert table.groupby("user_id").probability.sum().max() <= 1 + 1e-6


def test_city_is_written_and_prepared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from wherenext import city

    small = city.load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            city, "simulate", lambda preset, seed: small if (preset, seed) == ("small", 3) else None
        )
        assert main(["city", str(tmp_path / "town"), "--seed", "3"]) == 0
    assert f"{len(small.visits)} visits" in capsys.readouterr().out
    assert main(["prepare", str(tmp_path / "town"), str(tmp_path / "v.parquet")]) == 0
    table = pd.read_parquet(tmp_path / "v.parquet")
    assert len(table) == len(small.visits)
    assert table.split.tolist() == small.visits.split.tolist()


@pytest.mark.parametrize(
    "arguments",
    [["train", "v.parquet"], ["train", "v.parquet", "--out", "m.safetensors", "--without", "gait"],
     ["train", "v.parquet", "--out", "m.safetensors", "--epochs", "0"],
     ["train", "v.parquet", "--out", "m.safetensors", "--device", "abacus"],
     ["prepare", "a.csv", "b.parquet", "--columns", "user_id"],
     ["predict", "v.parquet", "m.safetensors", "--at", "noon"], [], ["nothing"]],
)  # fmt: skip
def test_wrong_arguments_are_explained(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_a_zone_is_heard_whatever_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits = routine_visits(users=3, days=50)
    local = visits.started_at.dt.tz_localize(None).dt.tz_localize("Asia/Tokyo")
    last = local[visits.user_id == 0].max()
    for name in ("started_at", "finished_at"):
        zoned = visits[name].dt.tz_localize(None).dt.tz_localize("Asia/Tokyo")
        visits[name] = zoned.dt.tz_convert("UTC")
    visits.to_csv(tmp_path / "utc.csv", index=False)
    visits.assign(
        started_at=visits.started_at.dt.tz_convert("Asia/Tokyo"),
        finished_at=visits.finished_at.dt.tz_convert("Asia/Tokyo"),
    ).to_parquet(tmp_path / "tokyo.parquet")
    utc, asked = f"{tmp_path}/utc.csv", ["--timezone", "Asia/Tokyo"]
    trained = ["--model", "pgt", "--epochs", "1", "--quiet", "--out"]
    model, same = f"{tmp_path}/m.safetensors", f"{tmp_path}/same.safetensors"
    assert main(["train", utc, *trained, model, *asked]) == 0
    assert main(["train", f"{tmp_path}/tokyo.parquet", *trained, same]) == 0
    ours, theirs = (read(path)[0] for path in (model, same))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    for more in ([model], []):
        capsys.readouterr()
        assert main(["predict", utc, *more, "--user", "0", *asked]) == 0
        assert f"after the visit of {last:%Y-%m-%d %H:%M}" in capsys.readouterr().out
    said = []
    for table, more in ((utc, asked), (f"{tmp_path}/tokyo.parquet", []), (utc, [])):
        capsys.readouterr()
        assert main(["evaluate", table, model, *more]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != said[2]


def test_letters_that_the_terminal_cannot_show_are_written_out(tmp_path: Path) -> None:
    visits = routine_visits(users=1, days=5)
    visits.assign(location_id="Zoë " + visits.location_id.astype(str)).to_csv(
        tmp_path / "v.csv", index=False
    )
    done = subprocess.run(
        [sys.executable, "-m", "pgt", "predict", str(tmp_path / "v.csv")],
        capture_output=True, text=True, encoding="ascii",
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0 and r"Zo\xeb " in done.stdout
    assert done.stderr == ""


def test_a_process_says_one_line_and_no_traceback(tmp_path: Path) -> None:
    done = run_python("-m", "pgt", "evaluate", "nothing.csv", "nothing.safetensors", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "pgt: There is no checkpoint nothing.safetensors; train one with python -m pgt train.\n"
    )
    assert done.stdout == ""
