"""Folders: files are whole or not there, here and in an object store."""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from pgt.errors import DataError
from pgt.scale.storage import Folder, require

from ..helpers import ROOT


@pytest.fixture(params=["path", "file", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    names = {"path": f"{tmp_path}/a b", "file": f"file://{tmp_path}/a",
             "memory": f"memory://{uuid.uuid4().hex}"}  # fmt: skip
    return Folder(names[request.param])


def breaks_off(folder: Folder, name: str) -> None:
    with folder.whole(name) as handle:
        handle.write(b"[2")
        raise RuntimeError("no power")


def test_what_fails_leaves_what_was_there(folder: Folder) -> None:
    folder.write_json("deep/a.json", [1])
    for name in ("deep/a.json", "deep/new"):
        with pytest.raises(RuntimeError, match="power"):
            breaks_off(folder, name)
    assert folder.read_json("deep/a.json") == [1] and not folder.has("deep/new")
    folder.remove("deep")
    assert not folder.has("deep/a.json")
    folder.remove("deep")  # nothing there, nothing to do


def test_arrays_come_back_and_hold_no_code(folder: Folder) -> None:
    array = np.arange(12).reshape(3, 4)
    folder.write_array("a.npy", array)
    np.testing.assert_array_equal(folder.read_array("a.npy"), array)
    with pytest.raises(ValueError, match="allow_pickle"):
        folder.write_array("b.npy", np.array([{}], dtype=object))
    assert not folder.has("b.npy")


def test_only_folders_of_this_machine_can_be_mapped(tmp_path: Path) -> None:
    assert Folder(str(tmp_path)).is_local and Folder(f"file://{tmp_path}").is_local
    assert not Folder("memory://x").is_local
    assert Folder("memory://x").address("a").startswith("memory://")


def test_what_is_missing_is_said_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    # Where the chapters get it: on the package index the name is a stranger's.
    chapter = json.loads((ROOT / "book/25_scale.ipynb").read_text(encoding="utf-8"))
    first = next(cell for cell in chapter["cells"] if cell["cell_type"] == "code")
    cell = "".join("".join(first["source"]).replace('"\n', "").split('        "'))
    (remedy,) = re.findall(r"'pgt\[scale\] @ \S+'", cell)
    with pytest.raises(DataError, match=rf"needs duckdb.*pip install {re.escape(remedy)}\.$"):
        require("duckdb")
    with pytest.raises(DataError, match="nowhere://a"):
        Folder("nowhere://a").has("b")
