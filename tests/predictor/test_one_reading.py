"""An answer reads its file once, checks its table once, and says each doubt once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
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
    """Visits of which a third are pieces of one stay: a reader says so."""
    table = routine_visits(users=6, days=60)
    later = table.finished_at - pd.Timedelta(minutes=1)
    pieces = table.assign(started_at=later)
    tables.write(pd.concat([table.assign(finished_at=later), pieces]), path)
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
    notes = [line for line in capsys.readouterr().err.splitlines() if "cut into pieces" in line]
    assert len(notes) == 1


def test_a_table_in_python_is_checked_once(counted: Counter[str]) -> None:
    model = NextLocation.pretrained()
    for ask in (model.predict, model.score, model.predict_set):
        counted.clear()
        ask(routine_visits(users=4, days=60))
        assert counted["check"] == counted["data_checks"] == 1
