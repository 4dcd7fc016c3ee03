"""Tensors in a file: whole or not at all, and what is read is what was written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from pgt import files as files
from pgt.errors import DataError
from pgt.files import checksum, read, read_info, write


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


def test_the_header_alone_is_read_without_the_tensors(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path, {"x": torch.ones(3)}, {"n": 1})
    assert read_info(path) == {"n": 1}
    with pytest.raises(DataError, match=r"There is no checkpoint .*none\.safetensors; train one"):
        read_info(tmp_path / "none.safetensors")


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
    write(path, {"x": torch.ones(3)}, {"notes": 7})
    with pytest.raises(DataError, match=r"damaged \(its header is no table of names\);"):
        read_info(path)

    def fails(*_: object, **__: object) -> None:
        raise SafetensorError("one\ntwo")

    monkeypatch.setattr(files, "safe_open", fails)
    with pytest.raises(DataError, match=r"is cut short or damaged \(one\);"):
        read_info(path)
