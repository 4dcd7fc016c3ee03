"""The wheel carries the package, the simulated city, the models, the results; nothing else."""

from __future__ import annotations

import zipfile

import pytest
from colab import build_wheel

from ..helpers import ROOT


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files inside a freshly built wheel."""
    wheel = build_wheel(tmp_path_factory.mktemp("source"))
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_every_module_is_in_the_wheel(names: set[str]) -> None:
    package = {f"pgt/{path.name}" for path in (ROOT / "pgt").glob("*.py")}
    stage = {
        path.relative_to(ROOT / "book").as_posix()
        for path in (ROOT / "book" / "wherenext").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    missing = sorted((package | stage) - names)
    assert not missing, f"Add their folders to [tool.setuptools] in pyproject.toml: {missing}"


@pytest.mark.parametrize(
    ("folder", "inside"),
    [
        ("data/city", "pgt/_city"),
        ("data/checkpoints", "pgt/_checkpoints"),
        ("book/results", "pgt/_results"),
    ],
)
def test_the_data_are_in_the_wheel(names: set[str], folder: str, inside: str) -> None:
    files = [p for p in (ROOT / folder).iterdir() if p.is_file() and not p.name.startswith(".")]
    assert files, f"{folder} is empty."
    assert {f"{inside}/{path.name}" for path in files} <= names


def test_nothing_else_is_in_the_wheel(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names} == {"pgt", "wherenext"}
