"""The command line: every command, its words, its exit status, and one sentence for bad input."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from pgt import cli
from pgt.checkpoint import shipped
from pgt.predictor.predictor import NextLocation
from pgt.readers import tables
from pgt.visits import check

from .helpers import environment, routine_visits, run_python

Said = pytest.CaptureFixture[str]
COMMANDS = ("visits", "predict", "explain", "map", "evaluate", "train", "city")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of five people, one of one person, and one without the column that says who."""
    here = tmp_path_factory.mktemp("cli")
    table = check(routine_visits(users=5, days=40)).assign(lon=16.37, lat=48.2)
    tables.write(table, here / "visits.csv")
    tables.write(table[table.user_id == 1], here / "one.csv")
    tables.write(table[table.user_id == 1].drop(columns="user_id"), here / "mine.csv")
    return here


def run(*arguments: object) -> int:
    return cli.main([str(one) for one in arguments])


def test_there_are_seven_commands(capsys: Said) -> None:
    with pytest.raises(SystemExit) as end:
        run("--help")
    said = capsys.readouterr().out
    assert end.value.code == 0
    assert tuple(re.findall(r"^    ([a-z]+) ", said, re.MULTILINE)) == COMMANDS
    for name in COMMANDS:
        with pytest.raises(SystemExit) as end:
            run(name, "--help")
        assert end.value.code == 0 and f"usage: pgt {name}" in capsys.readouterr().out


def test_help_is_there_at_once() -> None:
    said = run_python("-c", "import sys, pgt.cli; pgt.cli.parser(); print('torch' in sys.modules)")
    assert said.stdout.strip() == "False", said.stderr


def test_no_answer_waits_for_a_compiler(folder: Path, tmp_path: Path) -> None:
    visits, code = str(folder / "visits.csv"), ["import sys", "from pgt import cli"]
    tables.write(check(routine_visits(users=4, days=75)), tmp_path / "many.parquet")
    commands = [
        ["visits", visits, "--out", str(tmp_path / "v.csv")], ["predict", visits],
        ["explain", visits, "--user", "1"], ["evaluate", visits],
        ["map", visits, "--user", "1", "--out", str(tmp_path / "m.html")],
        ["city", str(tmp_path / "c.csv")],
        ["train", str(tmp_path / "many.parquet"), "--out", str(tmp_path / "mine.safetensors")],
    ]  # fmt: skip
    code += [f"assert cli.main({words!r}) == 0" for words in commands]
    code += ["loaded = {'torch', 'torch._dynamo', 'sympy'} & {*sys.modules}", "print(*loaded)"]
    said = run_python("-c", "\n".join(code))
    assert said.stdout.splitlines()[-1:] == ["torch"], said.stderr


def test_an_answer_is_written_as_a_table(folder: Path, tmp_path: Path, capsys: Said) -> None:
    expected = NextLocation.pretrained().predict(folder / "visits.csv", user=3)
    for name in ("next.csv", "next.parquet"):
        out = tmp_path / name
        assert run("predict", folder / "visits.csv", "--user", 3, "--out", out) == 0
        assert "1 people; written to" in capsys.readouterr().out
        read = pd.read_csv(out) if name.endswith("csv") else pd.read_parquet(out)
        assert read.location_id.tolist() == expected.location_id.tolist()
        assert read.probability.tolist() == pytest.approx(expected.probability.tolist())


def test_one_person_needs_no_name(folder: Path, tmp_path: Path, capsys: Said) -> None:
    for name in ("one.csv", "mine.csv"):
        assert run("explain", folder / name, "--top", 1) == 0
        assert re.match(r"\d+: 0\.\d+, \d+ visits\n", capsys.readouterr().out)
    assert run("predict", folder / "mine.csv", "--person", "ann") == 0
    assert "user ann, after" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lead", "low", "high", "says"),
    [(2.0, 0.5, 3.5, "Use the predictor."), (-2.0, -3.5, -0.5, "Use the rule."),
     (0.0, -1.0, 1.0, "within chance"), (2.0, -0.1, 4.0, "within chance"),
     (9.0, float("nan"), float("nan"), "no advice")],
)  # fmt: skip
def test_advice_is_what_the_interval_carries(
    lead: float, low: float, high: float, says: str
) -> None:
    rows = {
        "model": ["contextual", "often", "kernel"], "acc@1": [30.0, 10.0, 30.0 - lead],
        "lead": [0, 20.0, lead], "lead_low": [0, 18.0, low], "lead_high": [0, 22.0, high],
    }  # fmt: skip
    said = cli.verdict(pd.DataFrame(rows))
    assert says in said and "30.0 %" in said and "(kernel)" in said
    advice = ("Use the predictor.", "Use the rule", "within chance", "no advice")
    assert sum(one in said for one in advice) == 1
    more = cli.advice(pd.Series({"lead": lead, "lead_low": low, "lead_high": high}))
    assert ("python -m pgt train" in more) is (low > 0)


def test_train_writes_what_predict_takes(folder: Path, tmp_path: Path, capsys: Said) -> None:
    tables.write(check(routine_visits(users=4, days=75)), tmp_path / "v.parquet")
    out = tmp_path / "mine.safetensors"
    assert run("train", tmp_path / "v.parquet", "--out", out, "--seed", 3, "--quiet") == 0
    said, noise = capsys.readouterr()
    assert noise == "" and all(name in said for name in ("pretrained", "fine_tuned", "trained"))
    model = NextLocation.load(out)
    assert model.notes["seed"] == 3
    assert f"taken: {model.notes['taken'].replace('_', ' ')}; written to {out}" in said
    assert run("predict", folder / "visits.csv", "--model", out, "--user", 1, "--top", 1) == 0
    first = model.predict(folder / "visits.csv", user=1, top=1)
    assert f"1. {first.location_id[0]}  {first.probability[0]:.3f}" in capsys.readouterr().out


def test_visits_of_any_file(folder: Path, tmp_path: Path, capsys: Said) -> None:
    theirs = pd.read_csv(folder / "visits.csv").rename(columns={"location_id": "spot"})
    theirs.to_csv(tmp_path / "theirs.csv", index=False)
    out = tmp_path / "ours.parquet"
    assert run(
        "visits", tmp_path / "theirs.csv", "--columns", "location_id=spot", "--out", out
    ) == 0  # fmt: skip
    assert "people: 5, places: 15" in capsys.readouterr().out
    assert len(pd.read_parquet(out)) == len(theirs)


BAD = {
    "no such file": (["predict", "nothing.csv"], "no file"),
    "an empty file": (["predict", "empty.csv"], "empty"),
    "text": (["predict", "text.csv"], "text.csv"),
    "no such person": (["predict", "visits.csv", "--user", "ann"], "no user 'ann'"),
    "no such time": (["predict", "visits.csv", "--at", "soon"], "at is 'soon'"),
    "too early": (["predict", "visits.csv", "--at", "1999-01-01"], "later moment"),
    "no such zone": (["predict", "visits.csv", "--timezone", "Mars"], "Mars"),
    "no such column": (["predict", "visits.csv", "--columns", "user_id=x"], "x"),
    "no such model": (["predict", "visits.csv", "--model", "none.safetensors"], "no checkpoint"),
    "a model that is none": (["predict", "visits.csv", "--model", "visits.csv"], "visits.csv"),
    "a PGT": (["predict", "visits.csv", "--model", str(shipped("city"))], "pgt.load_model"),
    "an ending": (["predict", "visits.csv", "--out", "next.xlsx"], "end in .csv or .parquet"),
    "a folder": (["predict", "visits.csv", "--out", "folder.csv"], "is a folder"),
    "what is read": (["predict", "visits.csv", "--out", "visits.csv"], "write to another name"),
    "a page": (["map", "one.csv", "--out", "map.pdf"], "end in .html"),
    "no positions": (["map", "placeless.csv", "--out", "map.html"], "lon"),
    "few visits": (["evaluate", "few.csv"], "no test windows"),
    "no positions to find stays in": (
        ["visits", "one.csv", "--eps", "30", "--out", "v.csv"], "--eps is about positions"),
    "one of many": (["explain", "visits.csv"], "name one with --user"),
    "a model's name": (["train", "visits.csv", "--out", "m.bin"], "end in .safetensors"),
    "no folder": (["city", "visits.csv/x/y.csv"], "visits.csv"),
}  # fmt: skip


@pytest.fixture(scope="module")
def broken(folder: Path) -> Path:
    (folder / "empty.csv").write_text("")
    (folder / "text.csv").write_text("Dear diary,\ntoday I went nowhere.\n")
    (folder / "folder.csv").mkdir()
    table = pd.read_csv(folder / "one.csv")
    table.drop(columns=["lon", "lat"]).to_csv(folder / "placeless.csv", index=False)
    table.head(4).to_csv(folder / "few.csv", index=False)
    return folder


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_status_2(
    broken: Path, name: str, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken)
    before = {path: path.stat().st_mtime_ns for path in broken.rglob("*")}
    arguments, says = BAD[name]
    assert run(*arguments) == 2
    said, noise = capsys.readouterr()
    lines = [line for line in noise.splitlines() if not line.startswith("pgt: note: ")]
    assert said == "" and len(lines) == 1 and lines[0].startswith("pgt: ") and says in lines[0]
    assert {path: path.stat().st_mtime_ns for path in broken.rglob("*")} == before


@pytest.mark.parametrize(("out", "refused"), [
    ("mine/visits.csv", True), ("mine/visits.parquet", True), ("mine/deep/visits.csv", True),
    ("mine/a.csv", True), ("visits.csv", False), ("tracks/visits.csv", False),
])  # fmt: skip
def test_what_is_written_is_not_read_the_next_time(
    folder: Path, tmp_path: Path, out: str, refused: bool, capsys: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in ("mine/a.csv", "tracks/a.json"):
        table = pd.read_csv(folder / "one.csv")
        Path(name).parent.mkdir()
        Path(name).write_text(
            table.to_csv(index=False) if "csv" in name else table.to_json(orient="records")
        )
    read = "mine" if refused or out == "visits.csv" else "tracks"
    assert run("visits", read, "--out", out) == (2 if refused else 0)
    assert not refused or f"{out} would be read as one of the files" in capsys.readouterr().err
    assert Path(out).is_file() == (out == "mine/a.csv" or not refused)
    assert run("visits", read, "--out", "again.csv") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["prediction"], ["predict"], ["predict", "v.csv", "--top", "0"],
        ["predict", "v.csv", "--top", "1.5"], ["predict", "v.csv", "--columns", "user_id"],
        ["train", "v.csv"], ["train", "v.csv", "--out", "m", "--seed", "one"], ["export"],
        ["map", "v.csv"], ["visits", "v.csv", "--out", "o.csv", "--eps", "wide"],
    ],
)  # fmt: skip
def test_wrong_options_are_status_2(arguments: list[str], capsys: Said) -> None:
    with pytest.raises(SystemExit) as end:
        run(*arguments)
    assert end.value.code == 2 and "usage: pgt" in capsys.readouterr().err


def test_a_note_is_said_once(folder: Path, tmp_path: Path, capsys: Said) -> None:
    table = pd.read_csv(folder / "one.csv")
    pd.concat([table, table.head(3)]).to_csv(tmp_path / "twice.csv", index=False)
    assert run("predict", tmp_path / "twice.csv") == 0
    notes = re.findall("^pgt: note: .*", capsys.readouterr().err, re.MULTILINE)
    assert any("3 visits stand twice" in note for note in notes) and len(notes) == len({*notes})


def test_names_cannot_move_the_cursor(folder: Path, tmp_path: Path, capsys: Said) -> None:
    table = pd.read_csv(folder / "one.csv")
    evil = table.assign(user_id="ann\x1b[2J", location_id="\u202ehome" + table.location_id.map(str))
    evil.to_csv(tmp_path / "evil.csv", index=False)
    assert run("predict", tmp_path / "evil.csv") == 0
    said = capsys.readouterr().out
    assert "ann\\x1b[2J" in said and "\\u202ehome" in said
    assert "\x1b" not in said and "\u202e" not in said


def test_a_reader_who_has_seen_enough(folder: Path, tmp_path: Path) -> None:
    """As `python -m pgt visits … | head -1` does, and whatever the terminal's letters."""
    command = ["visits", str(folder / "visits.csv"), "--out", str(tmp_path / "v.csv")]
    started = subprocess.Popen(
        [sys.executable, "-m", "pgt", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment() | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert started.stdout is not None and started.stderr is not None
    started.stdout.close()
    noise = started.stderr.read().decode()
    started.stderr.close()
    assert started.wait() == 1 and "Traceback" not in noise


def test_a_stop_is_status_130(folder: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NextLocation, "predict", stopped)
    assert run("predict", folder / "visits.csv") == 130
    assert capsys.readouterr().err.strip() == "pgt: stopped"
