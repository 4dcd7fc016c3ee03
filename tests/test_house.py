"""The rules of the house: how large the package is, who imports whom, and what is never stored."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .helpers import ROOT

LINES, FILES = 8_875, 33
MODULES = sorted((ROOT / "pgt").rglob("*.py"))


def test_the_package_is_small_and_flat() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES)
    assert lines <= LINES and len(MODULES) <= FILES
    assert all(path.parent == ROOT / "pgt" for path in MODULES)


def test_arrows_go_downwards_and_not_in_circles() -> None:
    command = "from importlinter.cli import lint_imports_command as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "book")])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    floors = setup["importlinter"]["contracts"][0]
    assert floors["exhaustive"] and len(floors["layers"]) <= 7


def test_no_chapter_imports_the_laboratory() -> None:
    for chapter in sorted((ROOT / "book").glob("[0-9]*.py")):
        found = re.findall(r"(?m)^\s*(?:from|import)\s+lab\b", chapter.read_text(encoding="utf-8"))
        assert not found, chapter.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_nothing_is_pickled(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\bpickle\b|\btorch\.(load|save)\(|\bjoblib\b|\ballow_pickle=True", text)


def test_the_laboratory_stays_out_of_the_wheel() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    packages = setup["setuptools"]["packages"]
    assert {name.split(".")[0] for name in packages} == {"pgt", "wherenext"}
    assert "book/lab" not in setup["setuptools"]["package-dir"].values()
