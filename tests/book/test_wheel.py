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


def files(folder: str) -> set[str]:
    """The files of a folder of the repository, but for what Python and the system leave there."""
    found = (p for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix != ".pyc")
    return {p.relative_to(ROOT / folder).as_posix() for p in found if p.name[0] != "."}


@pytest.mark.parametrize(
    ("folder", "inside"),
    [("pgt", "pgt"), ("book/wherenext", "wherenext"), ("data/city", "pgt/_city"),
     ("data/checkpoints", "pgt/_checkpoints"), ("book/results", "pgt/_results")],
)  # fmt: skip
def test_what_chapters_need_is_in_the_wheel(names: set[str], folder: str, inside: str) -> None:
    missing = {f"{inside}/{name}" for name in files(folder)} - names
    assert files(folder) and not missing, "Add their folders to [tool.setuptools]."


def test_nothing_else_is_in_the_wheel(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names} == {"pgt", "wherenext"}
