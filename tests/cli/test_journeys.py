"""The journey of a practitioner: a table of one's own, and the commands that chapter 23 prints.

The other readers' journeys: a newcomer on a phone and a teacher are in
``browser/test_journeys.py``, a student who opens every chapter in Colab is in
``colab/test_wheel_alone.py``.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pandas as pd
import pytest

from pgt import city
from pgt.city.checkins import as_checkins, sampled
from pgt.cli.parser import main

from ..helpers import ROOT

CHAPTER = ROOT / "book" / "23_real_cities.py"


def commands() -> list[str]:
    """What chapter 23 tells the reader to type after ``python -m pgt``, in order."""
    tree = ast.parse(CHAPTER.read_text(encoding="utf-8"))
    return [
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "run"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]


def test_own_table_to_score_with_the_commands_of_the_chapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own = sampled(city.load().visits.drop(columns="split"), people=6)
    as_checkins(own).to_csv("checkins.csv", index=False)
    first = {line.split()[0]: line for line in reversed(commands())}
    assert {"prepare", "train", "evaluate"} <= first.keys(), "chapter 23 lost a command"

    assert main(first["prepare"].split()) == 0
    assert "6 people" in capsys.readouterr().out
    table = pd.read_parquet("visits.parquet")
    assert {"user_id", "location_id", "started_at", "finished_at", "split"} <= set(table.columns)

    assert main(first["train"].replace("--epochs 2", "--epochs 1").split()) == 0
    capsys.readouterr()
    assert main(first["evaluate"].split()) == 0
    told = capsys.readouterr().out
    for word in ("kernel", "most_frequent", "last", "acc@1"):
        assert word in told, f"the table of scores lacks {word}"

    # And where next, for somebody of the table?
    person = str(as_checkins(own)["User ID"].value_counts().index[0])
    words = ["predict", "visits.parquet", "model.safetensors", "--user", person, "--top", "3"]
    assert main(words) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) >= 3


def test_a_table_that_is_not_understood_is_answered_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"who": [1], "venue": ["a"], "date": ["2024-01-01"]}).to_csv(
        "own.csv", index=False
    )
    assert main(["prepare", "own.csv", "visits.parquet"]) != 0
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1 and "user_id" in said and "--columns" in said
    assert "Traceback" not in said and not Path("visits.parquet").exists()
