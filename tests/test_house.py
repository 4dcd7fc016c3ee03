"""The rules of the house: who imports whom, how long a module may be, where a test stands."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from .helpers import ROOT

LINES = 300  # of a module of the package, the laboratory or the book's tools
CORE = 2_700  # lines of the flat core, docstrings included
MODULES = sorted([*(ROOT / "pgt").rglob("*.py"), *(ROOT / "book" / "lab").rglob("*.py")])
ROOMS = {path.name for path in (ROOT / "pgt").iterdir() if (path / "__init__.py").is_file()}
# Tests of rooms that no single module answers for, and why.
ACROSS = {
    "cli/test_cli.py": "each command, from its line to its files",
    "cli/test_journeys.py": "commands one after the other",
    "exercises/test_answers.py": "the answers of every part",
    "improvements/test_losses_and_generators.py": "two modules that share their fixtures",
    "io/test_bad_input.py": "bad input, whichever module reads it",
    "io/test_hostile_fixes.py": "hostile recordings, whichever module reads them",
    "io/test_hostile_models.py": "damaged model files, whichever module opens them",
    "io/test_hostile_tables.py": "hostile tables, whichever module reads them",
    "io/test_properties.py": "every reader, whichever module it is of",
    "io/test_export.py": "ONNX and JSON must answer alike",
    "predictor/test_journeys.py": "from a table to an answer, whichever module reads it",
    "scale/test_hostile_folders.py": "damaged folders of windows, whichever module reads them",
    "relatives/test_diaries.py": "pgt/relatives/summarizer/diaries.py",
    "scale/test_hostile_engine.py": "hostile tables, as in io",
    "viz/test_map_text.py": "text in every map",
}


def module_of(path: Path) -> str:
    """As ``pgt.model`` for ``pgt/model.py``, ``lab.run`` for ``book/lab/run.py``."""
    inside = path.relative_to(ROOT / "book" if "lab" in path.parts else ROOT).with_suffix("")
    return ".".join(part for part in inside.parts if part != "__init__")


def borrowed(source: str) -> Iterator[str]:
    """The private names of other modules of ours that a source takes."""
    tree = ast.parse(source)
    ours: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and re.match(r"(pgt|lab)\b", node.module or ""):
            ours |= {alias.asname or alias.name for alias in node.names}
            yield from (alias.name for alias in node.names if is_private(alias.name))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            if isinstance(root, ast.Name) and root.id in ours and root.id.islower():
                yield node.attr


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages of a checkout."""
    command = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(folder / "book")])},
    )  # fmt: skip


def test_arrows_between_rooms_go_downwards() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("pgt/windows.py", "from pgt.train import fit"),
        ("pgt/analysis/results.py", "from pgt.io import tables"),
        ("pgt/visits.py", "def later():\n    from lab import runs"),
        ("pgt/attic.py", "'''A module without a floor.'''"),
    ],
)
def test_an_arrow_upwards_is_noticed(tmp_path: Path, path: str, line: str) -> None:
    for one in MODULES:
        copy = tmp_path / one.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(one.read_text(encoding="utf-8"), encoding="utf-8")
    with (tmp_path / path).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    assert lint_imports(tmp_path).returncode == 1


def test_no_chapter_imports_the_laboratory() -> None:
    for chapter in sorted((ROOT / "book").glob("[0-9]*.py")):
        found = re.findall(r"(?m)^\s*(?:from|import)\s+lab\b", chapter.read_text(encoding="utf-8"))
        assert not found, chapter.name


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_no_module_takes_a_private_name_of_another(path: Path) -> None:
    found = {(module_of(path), name) for name in borrowed(path.read_text(encoding="utf-8"))}
    assert not found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from pgt.datasets import _table, load", ["_table"]),
        ("from pgt import city\ncity._wobble(1)", ["_wobble"]),
        ("from torch import _C", []),
        ("from pgt.model import Pointer\nself._own = Pointer.__name__", []),
    ],
)
def test_a_borrowed_private_name_is_noticed(source: str, found: list[str]) -> None:
    assert list(borrowed(source)) == found


def test_modules_are_short() -> None:
    long = {
        path.relative_to(ROOT).as_posix()
        for path in (*MODULES, *(ROOT / "book" / "_ext").rglob("*.py"))
        if len(path.read_text(encoding="utf-8").splitlines()) > LINES
    }
    assert not long


def test_the_core_is_small() -> None:
    core = (path.read_text(encoding="utf-8") for path in (ROOT / "pgt").glob("*.py"))
    assert sum(len(text.splitlines()) for text in core) <= CORE


def test_the_tests_mirror_the_rooms() -> None:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        room, name = path.parent.name, path.stem.removeprefix("test_")
        inside = path.relative_to(ROOT / "tests").as_posix()
        if room not in ROOMS or inside in ACROSS:
            continue
        home = ROOT / "pgt" / room / name
        assert home.with_suffix(".py").is_file() or home.is_dir(), f"{inside} tests no module"
    gone = [name for name in ACROSS if not (ROOT / "tests" / name).is_file()]
    assert not gone, "These are on the list without need."


def test_the_laboratory_stays_out_of_the_wheel() -> None:
    # tests/book/test_wheel.py opens a built wheel; this reads what it is built from.
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    packages = setup["setuptools"]["packages"]
    assert packages and not [name for name in packages if name.split(".")[0] != "pgt"]
    assert "book/lab" not in setup["setuptools"]["package-dir"].values()
