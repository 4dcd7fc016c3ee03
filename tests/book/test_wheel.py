"""The wheel carries the package, the simulated city, the models, the results; nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files inside a freshly built wheel."""
    source = tmp_path_factory.mktemp("source")  # setuptools leaves its leavings here
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("pgt", "data", "book/results"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"]
    result = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    (wheel,) = (source / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_every_module_is_in_the_wheel(names: set[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pgt").rglob("*.py")}
    missing = sorted(modules - names)
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
    assert {name.split("/")[0] for name in names} == {"pgt"}
