"""A Delta table is refused wherever it is read, in the same words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pgt.cli.parser import main
from pgt.io.delta import require_no_delta
from pgt.io.fixes import people_in, read_fixes
from pgt.io.sources import read_visits
from pgt.predictor.frames import as_visits
from pgt.scale.buckets import bucket
from pgt.scale.duck import files_of
from pgt.scale.storage import Folder

from pgt.errors import DataError

from ..gps_helpers import commuter
from ..helpers import routine_visits

READERS: dict[str, Callable[[str], Any]] = {
    "read_visits": read_visits,
    "as_visits": as_visits,
    "read_fixes": read_fixes,
    "people_in": people_in,
    "files_of": lambda path: files_of([path]),
    "files_of, a pattern": lambda path: files_of([f"{path}/*.parquet"]),
    "files_of, within": lambda path: files_of([f"{path}/day=1"]),
    "files_of, around": lambda path: files_of([str(Path(path).parent)]),
}


def lake(folder: Path) -> Path:
    """A Delta table, one of whose two files was removed from it."""
    table = folder / "lake"
    for part in ("a.parquet", "day=1/b.parquet"):
        (table / part).parent.mkdir(parents=True, exist_ok=True)
        routine_visits(users=1, days=9).to_parquet(table / part)
    (table / "_delta_log").mkdir()
    (table / "_delta_log/0.json").write_text('{"remove": {"path": "a.parquet"}}')
    return table


@pytest.mark.parametrize("name", READERS)
def test_a_delta_table_is_refused_by_every_reader(name: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    table = lake(tmp_path)
    with pytest.raises(DataError) as refusal:
        READERS[name](str(table))
    with pytest.raises(DataError) as same:
        require_no_delta(table)
    assert str(refusal.value) == str(same.value)
    assert str(same.value).startswith(f"{table.as_posix()} is a Delta table, whose files also")


@pytest.mark.parametrize(
    "line", ["prepare {t} {o}.parquet", "prepare {t} {o} --engine process",
             "visits {t} --out {o}.csv", "visits {t} --out {o}.csv --engine process",
             "predict {t}"],
)  # fmt: skip
def test_commands_refuse_it(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    table = lake(tmp_path)
    commuter(1, days=3).to_parquet(table / "fixes.parquet")
    assert main(line.format(t=table, o=tmp_path / "out").split()) == 2
    err = capsys.readouterr().err
    assert "is a Delta table" in err and err.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_an_object_store_is_looked_at_too() -> None:
    pytest.importorskip("fsspec")
    store = Folder("memory://lakes")
    store.write_table("one/a.parquet", routine_visits(users=1, days=9))
    store.write_json("one/_delta_log/0.json", {})
    for name in ("memory://lakes", "memory://lakes/one", "memory://lakes/one/*.parquet"):
        with pytest.raises(DataError, match="/lakes/one is a Delta table"):
            files_of([name])


def test_plain_folders_are_read(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    routine_visits(users=1, days=9).to_parquet(tmp_path / "a.parquet")
    assert len(files_of([str(tmp_path)])) == len(files_of([f"{tmp_path}/*.parquet"])) == 1
    assert bucket([str(tmp_path)], str(tmp_path / "out"), n_buckets=1)
    require_no_delta(tmp_path)
