"""The rules of the house: a core that knows no room, readers without torch, nothing pickled."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

from .helpers import ROOT, run_python

# Lines at the top of the package: what the book teaches, 200 of what `prepare` says of a table that
# would spoil a score without an error, 20 that ask less of a table that is in order, 10 that spare
# a training the compiler of PyTorch, and 10 that keep ids of 64 bits whole beside a gap and name a
# time too far off before zones are changed.
CORE = 3_800 + 200 + 20 + 10 + 10
MODULES = sorted((ROOT / "pgt").rglob("*.py"))
# What stands above the rooms, and old names that go away.
ABOVE = {"__init__", "__main__", "cli", "_moved"}


def imported(path: Path) -> set[str]:
    """What a module imports from the package, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
    return found


def test_the_core_is_small_enough_to_be_read() -> None:
    core = [
        path
        for path in MODULES
        if path.parent == ROOT / "pgt" and path.stem not in ABOVE - {"__init__"}
    ]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in core) <= CORE


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_the_core_knows_no_room(path: Path) -> None:
    if path.parent == ROOT / "pgt" and path.stem not in ABOVE:
        rooms = [name for name in imported(path) if name.startswith(("pgt.readers", "pgt.predic"))]
        assert rooms == []


def test_reading_files_loads_no_torch() -> None:
    code = (
        "import sys; from pgt.readers import tables, columns, clocks, recordings, plausibility; "
        "from pgt.readers import gps; "
        "sys.exit('torch' in sys.modules)"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr


def test_a_name_means_one_thing() -> None:
    """No name at the top of a module stands in another module of the package as well."""
    homes = defaultdict(set)
    for path in MODULES:
        if path.stem.startswith("__"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names = [name.id for target in targets for name in ast.walk(target or ast.Pass())
                     if isinstance(name, ast.Name)]  # fmt: skip
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            for name in names:
                homes[name].add(str(path.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_no_chapter_imports_the_laboratory() -> None:
    for chapter in sorted((ROOT / "book").glob("[0-9]*.py")):
        found = re.findall(r"(?m)^\s*(?:from|import)\s+lab\b", chapter.read_text(encoding="utf-8"))
        assert not found, chapter.name


def test_only_what_grows_can_be_changed() -> None:
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in MODULES]
    modules = [import_module(name) for name in names if "__" not in name]
    made = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    loose = {c.__name__ for c in filter(is_dataclass, made) if not c.__dataclass_params__.frozen}
    assert loose == {"NextLocation", "TrainingLog"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_nothing_is_pickled(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\bpickle\b|\btorch\.(load|save)\(|\bjoblib\b|\ballow_pickle=True", text)
