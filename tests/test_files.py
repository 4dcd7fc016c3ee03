"""A file is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pgt.files import ABANDONED, whole, whole_folder, write_text


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


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    town = tmp_path / "town"

    def fails() -> None:
        with whole_folder(town) as half:
            (half / "a.csv").write_text("new")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"town could not be written \(No space left on device\)"):
        fails()
    assert list(tmp_path.iterdir()) == []
    town.mkdir()
    write_text(town / "a.csv", "old")
    write_text(town / "mine.txt", "mine")
    with pytest.raises(OSError, match="as it was"):
        fails()
    assert (town / "a.csv").read_text() == "old"
    with whole_folder(town) as half:
        (half / "a.csv").write_text("new")
    assert {file.name: file.read_text() for file in town.iterdir()} == {
        "a.csv": "new", "mine.txt": "mine"
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == [town]


def test_what_killed_writers_left_goes_away_and_what_is_being_written_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a[1].json"
    names = (".a[1].json.0a.part", ".a[1].json.0b.part", ".a1.json.0c.part")
    left, busy, other = (tmp_path / name for name in names)
    for file in (left, busy, other):
        file.write_text("half")
    folder = tmp_path / ".a[1].json.0d.part.part"
    folder.mkdir()
    (folder / "half").write_text("half")
    now = busy.stat().st_mtime
    for old in (left, other, folder):
        os.utime(old, (now - 2 * ABANDONED, now - 2 * ABANDONED))
    write_text(path, "whole")
    assert sorted(tmp_path.iterdir()) == sorted([busy, other, path])


def test_text_is_utf_8_whatever_the_machine_prefers(tmp_path: Path) -> None:
    assert write_text(tmp_path / "a", "Zürich").read_bytes() == "Zürich".encode()
