"""A file is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgt.files import whole, write_text


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
