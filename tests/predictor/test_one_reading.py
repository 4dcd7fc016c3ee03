"""An answer reads its file once, checks its table once, and says each doubt once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pgt import cli, visits, windows
from pgt.predictor.predictor import NextLocation
from pgt.readers import plausibility, recordings, tables

from ..helpers import routine_visits


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of these is called, whoever calls it."""
    counts: Counter[str] = Counter()

    def count(home: object, name: str, *others: object) -> None:
        function = getattr(home, name)

        def call(*arguments: object, **named: object) -> object:
            counts[name] += 1
            return function(*arguments, **named)

        for module in (home, *others):
            monkeypatch.setattr(module, name, call)

    count(visits, "check", tables)
    count(plausibility, "data_checks")
    count(windows, "encode")
    count(recordings.File, "bytes")
    return counts


def doubtful(path: Path) -> Path:
    """Visits of people whose ids read alike: a reader says so."""
    table = routine_visits(users=6, days=60)
    names = dict(enumerate(["ann", "Ann", "bob", "eve", "joe", "kim"], 1))
    tables.write(table.assign(user_id=table.user_id.map(names).fillna("zoe")), path)
    return path


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_command_reads_checks_and_doubts_once(
    command: str, ending: str, tmp_path: Path, counted: Counter[str],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = doubtful(tmp_path / f"visits.{ending}")
    assert cli.main([command, str(path)]) == 0
    assert counted["check"] == counted["data_checks"] == 1
    assert counted["bytes"] <= 2  # its kind is told by the first bytes
    notes = [
        line
        for line in capsys.readouterr().err.splitlines()
        if "differ from another only by" in line
    ]
    assert len(notes) == 1


def test_a_table_in_python_is_checked_once(counted: Counter[str]) -> None:
    model = NextLocation.pretrained()
    for ask in (model.predict, model.score, model.predict_set):
        counted.clear()
        ask(routine_visits(users=4, days=60))
        assert counted["check"] == counted["data_checks"] == 1
