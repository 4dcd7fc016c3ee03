"""Whatever happens to a prepared folder, commands use it or refuse it in one sentence."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pgt.cli.parser import main
from pgt.errors import DataError
from pgt.io.tables import write
from pgt.scale.mapped import open_prepared
from pgt.scale.preparing import dataset, prepare

from ..helpers import mutated, refusal, routine_visits

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Visits, and the folder that was prepared of them."""
    folder = tmp_path_factory.mktemp("folders")
    write(routine_visits(users=3, days=45), folder / "v.parquet")
    words = [str(folder / "v.parquet"), str(folder / "b"), "--engine", "process", "--buckets", "2"]
    assert main(["prepare", *words]) == 0
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "copy") / "b"


def array(folder: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    path = next(folder.glob(f"windows/*/train.{name}.npy"))
    np.save(path, change(np.load(path)))


def header(folder: Path, name: str, **values: Any) -> None:
    path = next(folder.rglob(name))
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def put(folder: Path, name: str, content: bytes) -> None:
    next(folder.rglob(name)).write_bytes(content)


TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a place that is none": (lambda b: array(b, "features", lambda a: a + 999), "are none"),
    "other kinds": (lambda b: array(b, "inside", lambda a: a.astype(int)), "kinds of its arrays"),
    "fewer windows": (lambda b: array(b, "first", lambda a: a[1:]), "do not belong together"),
    "fewer visits": (lambda b: array(b, "features", lambda a: a[:, 1:]), "do not belong together"),
    "windows backwards": (lambda b: array(b, "first", lambda a: a + 99), "outside of its visits"),
    "a header of numpy that does not end":
        (lambda b: put(b, "train.target.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '''   \n"),
         "cannot be read"),
    "no array": (lambda b: put(b, "train.target.npy", b""), "cannot be read"),
    "a pickle": (lambda b: array(b, "target", lambda a: a.astype(object)), "cannot be read"),
    "an array is gone":
        (lambda b: next(b.rglob("train.target.npy")).unlink(), "there is no such file"),
    "a manifest that is no JSON": (lambda b: put(b, "buckets.json", b"{"), "cannot be read"),
    "a manifest of nothing": (lambda b: put(b, "buckets.json", b"[]"), "no table of buckets"),
    "buckets by name": (lambda b: header(b, "buckets.json", visits={"x": 1}), "are no numbers"),
    "prepared somehow": (lambda b: put(b, "prepared.json", b"7"), "does not say how"),
    "windows of nothing": (lambda b: header(b, "prepared.json", windows=[]), "does not say how"),
    "a vocabulary of nothing": (lambda b: put(b, "vocabulary.json", b"null"), "vocabulary.json"),
    "people that are no table": (lambda b: put(b, "people.parquet", b"PAR1PAR1"), "people.parquet"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_folder_is_refused_in_one_sentence(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper, says = TAMPERED[name]
    tamper(folder)
    model = folder.parent / "m.safetensors"
    words = ["--out", str(model), "--model", "pgt", "--epochs", "1", "--quiet"]
    assert main(["train", str(folder), *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pgt: ") and said.count("\n") == 1 and says in said, said
    assert {path.name for path in folder.parent.iterdir()} == {"v.parquet", "b"}


@pytest.mark.parametrize("name", ["done.json", "buckets.json", "prepared.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b'{"about": 1}'])
def test_preparing_again_refuses_what_it_cannot_read(
    name: str, content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, name, content)
    source = str(folder.parent / "v.parquet")
    status = main(["prepare", source, str(folder), "--engine", "process", "--buckets", "2"])
    said = capsys.readouterr().err
    assert status == 2 and said.startswith("pgt: ") and said.count("\n") == 1, said
    assert name in said or "other visits" in said


def test_one_bucket_in_memory_is_looked_at_too(folder: Path) -> None:
    array(folder, "features", lambda a: a + 999)
    path = next(folder.glob("windows/*/train.features.npy"))
    with pytest.raises(DataError, match="are none"):
        dataset(str(folder), int(path.parent.name))


@pytest.mark.slow
def test_whatever_happens_to_a_folder_it_is_used_or_refused(whole: Path, tmp_path: Path) -> None:
    rng = random.Random("folder")
    names = sorted(path.relative_to(whole) for path in whole.glob("b/**/*.*"))
    said = []
    for _ in range(60):
        folder = shutil.copytree(whole, tmp_path / "copy") / "b"
        path = folder.parent / rng.choice(names)
        path.write_bytes(mutated(path.read_bytes(), rng, "swap"))
        said += [refusal(lambda folder=folder: open_prepared(str(folder))),
                 refusal(lambda folder=folder: prepare(str(folder)))]  # fmt: skip
        shutil.rmtree(folder.parent)
    assert any(said)
    assert not any("\n" in message for message in said)
