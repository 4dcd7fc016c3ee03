"""A file is there whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pgt.files import ABANDONED, whole, whole_folder, write_text

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


@pytest.mark.parametrize("name", ["", ".", "here", "here/."])
def test_the_name_of_a_folder_is_no_name_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with pytest.raises(OSError, match="could not be written") as caught, whole(name):
        raise AssertionError("nothing can be written there")
    assert caught.value.errno == errno.EISDIR
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_a_folder_may_be_the_one_that_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "town").mkdir()
    monkeypatch.chdir(tmp_path / "town")
    with whole_folder(".") as half:
        (half / "a.txt").write_text("a")
    assert [path.name for path in tmp_path.rglob("*")] == ["town", "a.txt"]


def test_text_is_utf_8_whatever_the_machine_prefers(tmp_path: Path) -> None:
    assert write_text(tmp_path / "a", "Zürich").read_bytes() == "Zürich".encode()


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    assert write_text(f"{tmp_path}/one/two/a.txt", "a").read_text() == "a"
    with whole_folder(f"{tmp_path}/three/four/town") as half:
        (half / "a.csv").write_text("a")
    assert (tmp_path / "three" / "four" / "town" / "a.csv").read_text() == "a"
    assert [file.name for file in (tmp_path / "three" / "four").iterdir()] == ["town"]


def test_the_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = tmp_path / "a.txt", []
    monkeypatch.setattr(os, "fsync", lambda _: done.append(path.exists()))
    write_text(path, "a")
    assert done == [False] and path.exists()


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path: Path) -> None:
    blocked = write_text(tmp_path / "a.txt", "a") / "b.txt"
    for attempt in (whole, whole_folder):
        with pytest.raises(OSError, match=SAYS) as refused, attempt(blocked):
            pass
        assert refused.value.errno in (errno.ENOTDIR, errno.EEXIST)


def test_an_error_without_a_number_is_one_of_the_disk(tmp_path: Path) -> None:
    said = r"could not be written \(no room\)"
    with pytest.raises(OSError, match=said) as refused, whole(tmp_path / "a.txt"):
        raise OSError("no room")
    assert refused.value.errno == errno.EIO


def test_what_is_half_written_is_left_alone_for_an_hour(tmp_path: Path) -> None:
    names = (".town.0a.part", ".town.0b.part")
    old, young = (tmp_path / name for name in names)
    for folder, minutes in ((old, 61), (young, 59)):
        folder.mkdir()
        then = folder.stat().st_mtime - 60 * minutes
        os.utime(folder, (then, then))
    with whole_folder(tmp_path / "town") as half:
        (half / "a.csv").write_text("a")
    assert sorted(file.name for file in tmp_path.iterdir()) == [young.name, "town"]
