"""The command line on tables that do not fit into memory."""

from __future__ import annotations

import logging
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import torch
from pgt.cli.parser import main
from pgt.io.tables import write
from pgt.scale.mapped import open_prepared
from pgt.scale.storage import require

from pgt.checkpoint import read
from pgt.windows import prepare

from ..helpers import ROOT, routine_visits, run_python
from ..reproducible.test_parallel import WITHOUT_EFFECT


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "v.parquet"
    write(routine_visits(users=5, days=50), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("words", [["process"], ["pool", "--workers", "2", "--memory", "200MB"]])
def test_prepare_says_what_is_in_the_buckets(
    table: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "buckets")
    assert main(["prepare", str(table), folder, "--buckets", "3", "--engine", *words]) == 0
    data = prepare(pd.read_parquet(table), protocol="exact")
    counts = ", ".join(f"{name} {n}" for name, n in data.counts().items())
    said = capsys.readouterr().out
    assert "1000 rows in 3 buckets, 5 people and 15 places in training" in said
    assert f"windows: {counts}" in said
    assert torch.equal(open_prepared(folder).train.features, data.train.features)


def test_train_and_evaluate_give_what_they_give_with_a_table(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "buckets"
    assert main(["prepare", str(table), str(folder), "--engine", "process"]) == 0
    models = [tmp_path / "table.safetensors", tmp_path / "folder.safetensors"]
    for source, model in zip((table, folder), models, strict=True):
        options = ["--epochs", "1", "--device", "cpu", "--quiet", "--out", str(model)]
        assert main(["train", str(source), *options]) == 0
    weights, other_weights = (read(model)[0] for model in models)
    assert all(torch.equal(weights[name], other_weights[name]) for name in weights)
    capsys.readouterr()
    tables = []
    for source in (table, folder):
        assert main(["evaluate", str(source), str(models[0])]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]


@pytest.fixture(scope="module")
def folder_and_model(table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("prepared") / "buckets"
    assert main(["prepare", str(table), str(folder), "--engine", "process", "--buckets", "3"]) == 0
    model = str(folder.with_name("m.safetensors"))
    train = ["train", str(table), "--epochs", "1", "--device", "cpu", "--quiet", "--out", model]
    assert main(train) == 0
    return str(folder), model


@pytest.mark.slow
@pytest.mark.parametrize("command", [["evaluate"], ["predict", "--top", "2"]])
def test_an_engine_answers_as_one_process_does(
    table: Path, folder_and_model: tuple[str, str], command: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, model = folder_and_model
    name, *options = command
    capsys.readouterr()
    answers = []
    for source, engine in ((str(table), []), (folder, []), (folder, ["--engine", "process"]),
                           (folder, ["--engine", "pool", "--workers", "2"])):  # fmt: skip
        assert main([name, source, model, *options, *engine]) == 0
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1 and answers[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "evaluate --engine pool --workers 2",
        "predict --engine pool --workers 2",
        "predict --user 2 --engine process",
    ],
)
def test_an_address_of_buckets_is_answered_as_their_folder_is(
    folder_and_model: tuple[str, str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = folder_and_model
    name, *options = command.split()
    capsys.readouterr()
    answers = []
    for source in (folder, f"file://{folder}"):
        assert main([name, source, model, *options]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] and answers[0]


@pytest.fixture(scope="module")
def store(table: Path) -> str:
    """Buckets where nothing can be mapped."""
    address = f"memory://{uuid.uuid4().hex}/buckets"
    words = ["--engine", "process", "--buckets", "3"]
    assert main(["prepare", str(table), address, *words]) == 0
    return address


@pytest.mark.parametrize("command", [["evaluate", "--baselines"], ["predict"]])
def test_buckets_in_an_object_store_are_answered_as_a_folder_is(
    store: str, folder_and_model: tuple[str, str], tmp_path: Path, command: list[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, model = folder_and_model
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    name, *options = command
    capsys.readouterr()
    answers = []
    for source in (folder, store):
        assert main([name, source, model, *options, "--engine", "process"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] and answers[0]
    assert not list(tmp_path.iterdir())  # what had to be copied to be mapped is gone


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("evaluate {address} {model}", "which only --engine reads; add --engine process if"),
        ("predict {address} {model}", "which only --engine reads; add --engine process if"),
        ("evaluate {address}-none {model} --engine process", "holds no buckets"),
        ("predict {address}-none {model} --engine process", "or check the address."),
        ("evaluate {address} {model} --engine process --timezone UTC", "leave --timezone out"),
        ("predict {address} {model} --engine process --timezone UTC", "leave --timezone out"),
        ("evaluate {address}", "which only --engine reads; add --engine process if"),
        ("predict {address}", "which only --engine reads; add --engine process if"),
        ("predict {address}-none --engine process", "or check the address."),
        ("predict {address} --engine process --timezone UTC", "leave --timezone out"),
        ("evaluate {address} --engine process --person me", "leave it out"),
        ("train {address} --out m.safetensors", "only local files are read; download it first"),
        ("train {address} --out m.safetensors --model pgt", "only local files are read"),
        ("visits {address} --out v.csv", "only local files are read; download it first"),
        ("explain {address} --user 1", "only local files are read; download it first"),
        ("live {address} --out live.html", "only local files are read; download it first"),
    ],
)
def test_what_an_address_cannot_be_is_said_with_the_address_as_it_was_given(
    folder_and_model: tuple[str, str], tmp_path: Path, words: str, says: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, model = folder_and_model
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    line = words.format(address=f"file://{folder}", model=model).split()
    assert main(line) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and says in said and f"file://{folder}" in said
    assert not list(tmp_path.iterdir())


def test_buckets_of_an_object_store_are_not_trained_on(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "m.safetensors")
    assert main(["train", store, "--out", out, "--model", "pgt"]) == 2
    assert f"{store} is an address, and only local files" in capsys.readouterr().err


def test_an_engine_ranks_baselines_as_one_process_does(
    table: Path, folder_and_model: tuple[str, str], tmp_path: Path
) -> None:
    folder, model = folder_and_model
    rows = []
    for source, engine in ((str(table), []), (folder, ["--engine", "process"])):
        path = tmp_path / "rows.json"
        assert main(["evaluate", source, model, "--baselines", "--json", str(path), *engine]) == 0
        # Of places that share the top score the first is drawn; F1 is that of the drawn ones.
        found = pd.read_json(path).drop(columns=["f1", "data"])
        # The rules that look back further than the windows are not for buckets.
        rows.append(found[~found.model.str.endswith("100 visits")].reset_index(drop=True))
    pd.testing.assert_frame_equal(*rows)


def test_one_person_is_predicted_from_the_own_bucket(
    table: Path, folder_and_model: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = folder_and_model
    user = str(pd.read_parquet(table).user_id.iloc[-1])
    at = ["--at", "2024-05-10T12:00"]
    capsys.readouterr()
    answers = []
    for source in (str(table), folder):
        assert main(["predict", source, model, "--user", user, *at]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert main(["predict", folder, model, "--user", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["evaluate", "predict", "predict --user 2 --at 2024-05-10T12:00"]
)
def test_the_predictor_answers_a_folder_as_the_table(
    table: Path, folder_and_model: tuple[str, str], command: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, _ = folder_and_model
    name, *options = command.split()
    capsys.readouterr()
    answers = []
    pool = ["--engine", "pool", "--workers", "2"]
    for source, engine in ((str(table), []), (folder, []), (f"file://{folder}", pool)):
        assert main([name, source, *options, *engine]) == 0
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1 and answers[0]


def test_a_table_of_the_predictors_answers_is_written_from_a_folder(
    table: Path, folder_and_model: tuple[str, str], tmp_path: Path
) -> None:
    folder, _ = folder_and_model
    found = []
    for source in (str(table), folder):
        assert main(["predict", source, "--out", str(tmp_path / "next.csv")]) == 0
        found.append(pd.read_csv(tmp_path / "next.csv"))
    pd.testing.assert_frame_equal(*found, check_exact=False, rtol=1e-5)


@pytest.mark.parametrize("command", ["explain", "map --out m.html", "live --out m.html"])
def test_one_person_of_a_folder_is_explained_and_drawn(
    tmp_path: Path, command: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    visits = routine_visits(users=5, days=50)
    write(visits.assign(lon=16 + visits.location_id / 100, lat=48.2), Path("v.parquet"))
    assert main(["prepare", "v.parquet", "b", "--engine", "process", "--buckets", "3"]) == 0
    name, *options = command.split()
    capsys.readouterr()
    answers = []
    for source in ("v.parquet", "b"):
        assert main([name, source, "--user", "2", *options]) == 0
        page = Path("m.html").read_text("utf-8") if options else ""
        answers.append((capsys.readouterr().out, page))
    assert answers[0] == answers[1] and answers[0][0]
    assert main([name, "b", "--user", "nobody", *options]) == 2
    assert "There is no user 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("train {folder} --out m.safetensors --model kernel", "give the table that the folder was"),
        ("live {folder} --out live.html", "or one person (--user)"),
        ("predict {folder} --timezone UTC", "leave --timezone out"),
        ("predict {folder} --person me", "--person is for GPX"),
        ("predict {folder} --workers 2", "--workers goes with --engine"),
        ("predict {folder} --engine process --at 1999-01-01", "Nobody in the table has a visit"),
    ],
)
def test_what_the_predictor_cannot_do_with_a_folder_is_said(
    folder_and_model: tuple[str, str], tmp_path: Path, words: str, says: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, _ = folder_and_model
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(words.format(folder=folder).split()) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and says in said
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A Dask cluster on this machine, and where it listens."""
    distributed = require("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("who", ["PGT", "predictor"])
@pytest.mark.parametrize("command", [["evaluate"], ["predict", "--top", "2"]])
def test_a_dask_cluster_answers_as_one_process_does(
    scheduler: str, folder_and_model: tuple[str, str], command: list[str], who: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder, model = folder_and_model
    name, *options = command
    words = [name, folder, *([model] if who == "PGT" else []), *options]
    capsys.readouterr()
    assert main(words) == 0
    here = capsys.readouterr().out
    assert main([*words, "--engine", "dask", "--address", scheduler]) == 0
    there = capsys.readouterr().out.splitlines(keepends=True)
    assert there[0].startswith("dashboard: http://") and "".join(there[1:]) == here


@pytest.mark.slow
def test_a_team_of_torchrun_trains_the_weights_of_one_process(table: Path, tmp_path: Path) -> None:
    words = ["-m", "pgt", "train", str(table), "--model", "pgt", "--epochs", "1", "--device", "cpu"]
    team = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for name, before in (("one", []), ("two", team)):
        out = ["--out", str(tmp_path / f"{name}.safetensors")]
        done = run_python(*before, *words, "--quiet", *out, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("written to") == 1  # by one of the two
    (one, about), (two, too) = (read(tmp_path / f"{name}.safetensors") for name in ("one", "two"))
    assert about["notes"]["windows"] == too["notes"]["windows"] and one.keys() == two.keys()
    for name in one:
        if not name.endswith(WITHOUT_EFFECT):
            torch.testing.assert_close(two[name], one[name], atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_an_engine_wants_buckets(
    table: Path, folder_and_model: tuple[str, str], command: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    _, model = folder_and_model
    assert main([command, str(table), model, "--engine", "process"]) == 2
    assert "holds no buckets for an engine" in capsys.readouterr().err
    assert main([command, str(table), model, "--workers", "2"]) == 2
    assert "--workers goes with --engine" in capsys.readouterr().err


def test_other_windows_than_the_folders_are_refused(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = str(tmp_path / "buckets"), str(tmp_path / "m.safetensors")
    engine = ["--engine", "process", "--days", "3", "--protocol", "exact"]
    assert main(["prepare", str(table), folder, *engine]) == 0
    assert (
        open_prepared(folder).counts()
        == prepare(pd.read_parquet(table), days=3, protocol="exact").counts()
    )
    train = ["train", folder, "--out", model, "--epochs", "1", "--device", "cpu", "--quiet"]
    assert main(train) == 2
    assert "was prepared with days 3, not 7" in capsys.readouterr().err
    assert main([*train, "--days", "3", "--protocol", "exact"]) == 0
    write(routine_visits(users=3, days=50), tmp_path / "v.parquet")
    assert main(["prepare", str(tmp_path / "v.parquet"), f"{folder}2", *engine]) == 0
    assert main(["evaluate", f"{folder}2", model]) == 2
    assert "another vocabulary" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["out.parquet", "--workers", "2"], "--workers goes with --engine"),
        (["memory://out"], "memory://out is an address"),
        (["taken", "--engine", "process"], "it is a file"),
        (["out", "--engine", "process", "--memory", "much"], "with much of memory"),
        (["out", "--engine", "pool", "--address", "tcp://here:1"], "no address"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    table: Path, tmp_path: Path, words: list[str], says: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("taken").touch()
    assert main(["prepare", str(table), *words]) == 2
    said = capsys.readouterr().err
    assert says in said and len(said.strip().splitlines()) == 1


@pytest.mark.slow
def test_people_who_only_share_their_ids_are_refused_or_named(
    table: Path, folder_and_model: tuple[str, str], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    _, model = folder_and_model
    others = pd.read_parquet(table)
    for name in ("started_at", "finished_at"):
        others[name] += pd.Timedelta(minutes=30)
    write(others, tmp_path / "others.parquet")
    folder = str(tmp_path / "others")
    assert main(["prepare", f"{folder}.parquet", folder, "--engine", "process"]) == 0
    assert main(["evaluate", str(table), model]) == 0
    assert "note" not in capsys.readouterr().err
    for command in ("evaluate", "predict"):
        assert main([command, f"{folder}.parquet", model]) == 0
        said = capsys.readouterr().err
        assert said.startswith("pgt: note: None of the 5 people whose ids are also in the training")
    assert main(["evaluate", folder, model]) == 2
    assert "have the ids of those that the model was trained on" in capsys.readouterr().err
