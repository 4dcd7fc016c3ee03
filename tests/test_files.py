"""Files are whole or as before; no text becomes a formula; tensors are read as written."""

from __future__ import annotations

import csv
import errno
import io
import os
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from wherenext import city

from pgt import files
from pgt.errors import DataError
from pgt.files import checksum, read, whole, write, write_text

from .helpers import ROOT

# --- a file is there whole or not at all


SAYS = r"b\.txt could not be written \((Not a directory|File exists)\); .* as it was"


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = write_text(tmp_path / "deep" / "a.json", "old")

    def fails() -> None:
        with whole(path) as half:
            half.write_text("new")
            raise RuntimeError("no power")

    with pytest.raises(RuntimeError, match="power"):
        fails()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_the_name_appears_only_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with whole(path) as half:
        half.write_text("half")
        assert not path.exists() and half.parent == path.parent
    assert path.read_text() == "half" and list(tmp_path.iterdir()) == [path]


def test_two_writers_at_once_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with whole(path) as one, whole(path) as other:
        assert one != other
        one.write_text("first")
        other.write_text("second")
    assert path.read_text() == "first"  # it came last to its end
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_utf_8_whatever_the_machine_prefers(tmp_path: Path) -> None:
    assert write_text(tmp_path / "a", "Zürich").read_bytes() == "Zürich".encode()


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    assert write_text(f"{tmp_path}/one/two/a.txt", "a").read_text() == "a"


def test_the_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = tmp_path / "a.txt", []
    monkeypatch.setattr(os, "fsync", lambda _: done.append(path.exists()))
    write_text(path, "a")
    assert done == [False] and path.exists()


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path: Path) -> None:
    blocked = write_text(tmp_path / "a.txt", "a") / "b.txt"
    with pytest.raises(OSError, match=SAYS) as refused, whole(blocked):
        pass
    assert refused.value.errno in (errno.ENOTDIR, errno.EEXIST)


def test_an_error_without_a_number_is_one_of_the_disk(tmp_path: Path) -> None:
    said = r"could not be written \(no room\)"
    with pytest.raises(OSError, match=said) as refused, whole(tmp_path / "a.txt"):
        raise OSError("no room")
    assert refused.value.errno == errno.EIO


# --- no text of data becomes a formula in a CSV, and each comes back as it was


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


def written(table: pd.DataFrame) -> list[list[str]]:
    """The cells of a table as CSV, names of columns first."""
    return list(csv.reader(io.StringIO(files.write_csv(table), newline="")))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["str", "category", object])
def test_a_formula_is_not_run_and_comes_back(text: str, kind: Any) -> None:
    table = pd.DataFrame({"id": pd.Series([text, "ann", "home"], dtype=kind), text: [1, -2, -3]})
    names, *rows = written(table)
    assert not any(map(runs, [*names, *(row[0] for row in rows)]))
    assert [row[1] for row in rows] == ["1", "-2", "-3"]
    found = files.plain(pd.DataFrame(rows, columns=names))
    assert [*found.columns] == ["id", text] and found.id.tolist() == [text, "ann", "home"]


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_are_left_alone(text: str) -> None:
    table = pd.DataFrame({"id": [text, "ann"], "n": [-1.5, 2.0]})
    assert written(table)[1:] == [[text, "-1.5"], ["ann", "2.0"]]
    assert files.plain(table).values.tolist() == table.values.tolist()


def test_only_a_carriage_return_makes_quotes() -> None:
    table = pd.DataFrame({"id": ["ann", "bob"], "n": [1, 2]})
    assert files.write_csv(table) == "id,n\nann,1\nbob,2\n"
    assert files.write_csv(table.replace("bob", "b\rb")) == '"id","n"\n"ann",1\n"b\rb",2\n'


def test_a_city_of_formulas_is_the_same_city_again(tmp_path: Path) -> None:
    town = city.load()
    hostile = replace(town, places=town.places.assign(name="=1+1", district="@home"))
    city.save(hostile, tmp_path / "town")
    with (tmp_path / "town" / "places.csv").open(encoding="utf-8") as file:
        row = next(iter(csv.DictReader(file)))
    assert (row["name"], row["district"]) == ("'=1+1", "'@home")
    again = city.load(tmp_path / "town")
    assert again.places[["name", "district"]].iloc[0].tolist() == ["=1+1", "@home"]


def test_every_writer_of_csv_goes_through_one_place() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pgt").rglob("*.py")
        if re.search(r"\.to_csv\(|csv\.writer|DictWriter", path.read_text(encoding="utf-8"))
    }
    assert found == {"pgt/files.py"}


# --- tensors in a file: whole or not at all, and what is read is what was written


def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.safetensors"
    write(path, {"x": torch.ones(3)}, {"n": 1})
    before = path.read_bytes()

    def half(tensors: object, name: Path, metadata: object) -> None:
        Path(name).write_bytes(before[: len(before) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "save_file", half)
    with pytest.raises(OSError, match="No space"):
        write(path, {"x": torch.zeros(3)}, {"n": 2})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_crash_before_the_name_is_given_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.safetensors"
    write(path, {"x": torch.ones(3)}, {"n": 1})
    monkeypatch.setattr("os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(path, {"x": torch.zeros(3)}, {"n": 2})
    assert read(path)[1] == {"n": 1}


def test_every_cut_of_a_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path, {"x": torch.arange(50.0)}, {"n": 1})
    content = path.read_bytes()
    for n in (0, 4, 8, 20, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:n])
        with pytest.raises(DataError, match=r"model\.safetensors is cut short or damaged"):
            read(path)


def test_no_flipped_bit_changes_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tensors, info = {"x": torch.arange(50.0), "n": torch.tensor([3])}, {"notes": {"n": 1}}
    write(path, tensors, info)
    whole = path.read_bytes()
    rng, refused = random.Random(1), 0
    for _ in range(200):
        content = bytearray(whole)
        content[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        try:
            found, about = read(path)
        except DataError:
            refused += 1
            continue
        assert about == info and found.keys() == tensors.keys()
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert refused > 150


def test_a_file_of_an_earlier_version_has_no_checksum(tmp_path: Path) -> None:
    path = tmp_path / "old.safetensors"
    save_file({"x": torch.ones(2)}, path, metadata={"format": "pgt-1", "info": "{}"})
    assert torch.equal(read(path)[0]["x"], torch.ones(2))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no checkpoint .*none\.safetensors; train one"):
        read(tmp_path / "none.safetensors")


def test_everybody_may_read_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path, {"x": torch.ones(3)}, {})
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_checksum_sees_names_types_and_shapes_too() -> None:
    zeros = (torch.zeros(2), torch.zeros(1, 2), torch.zeros(2, dtype=torch.int32))
    sums = {checksum({name: value}, "{}") for name in "ab" for value in zeros}
    assert len(sums) == 6


def test_what_safetensors_cannot_write_is_an_error_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise SafetensorError("no room")

    monkeypatch.setattr(files, "save_file", fails)
    with pytest.raises(OSError, match=r"m\.safetensors could not be written \(no room\)"):
        write(tmp_path / "m.safetensors", {"x": torch.ones(3)}, {})
    assert list(tmp_path.iterdir()) == []


def test_the_first_line_of_a_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.safetensors"
    write(path, {"x": torch.ones(3)}, [7])  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"damaged \(its header is no table of names\);"):
        read(path)

    def fails(*_: object, **__: object) -> None:
        raise SafetensorError("one\ntwo")

    monkeypatch.setattr(files, "safe_open", fails)
    with pytest.raises(DataError, match=r"is cut short or damaged \(one\);"):
        read(path)


# --- what comes with the package lies where it is looked for, in the repository and in a wheel


@pytest.mark.parametrize("name", files.FOLDERS)
def test_the_folder_is_the_repositorys_unless_the_package_holds_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(files.folder(name).iterdir())
    in_repository, in_wheel = files.FOLDERS[name]
    monkeypatch.setattr(files, "PACKAGE", tmp_path / "pgt")
    assert files.folder(name) == tmp_path / in_repository
    (tmp_path / "pgt" / in_wheel).mkdir(parents=True)
    assert files.folder(name) == tmp_path / "pgt" / in_wheel
