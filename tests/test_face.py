"""What `import pgt` offers, what it costs, and that the drawing of the package is true."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import pgt

from .helpers import ROOT, run_python

PACKAGE = ROOT / "pgt"
ROOMS = {path.stem for path in PACKAGE.glob("[!_]*.py")}
ROOMS |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}; import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_import_loads_nothing_heavy() -> None:
    loaded = loaded_after("import pgt; pgt.__version__, dir(pgt)")
    assert not {"torch", "numpy", "pandas", "matplotlib"} & loaded
    assert {name for name in loaded if name.startswith("pgt.")} == set()


def test_a_name_loads_no_more_than_its_module_needs() -> None:
    loaded = loaded_after("from pgt import ModelConfig")
    assert "pgt.config" in loaded and "torch" not in loaded


@pytest.mark.parametrize("name", pgt.__all__)
def test_a_public_name_is_the_thing_itself(name: str) -> None:
    thing = getattr(pgt, name)
    assert thing.__name__ == name and name in dir(pgt)
    assert thing is getattr(importlib.import_module(thing.__module__), name)


def test_public_names_hide_no_room() -> None:
    assert not set(pgt.__all__) & ROOMS
    for room in ROOMS:
        assert inspect.ismodule(getattr(pgt, room)) and room in dir(pgt)


def test_other_names_are_refused() -> None:
    assert not hasattr(pgt, "no_such_name") and not hasattr(pgt, "__main__")
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from pgt import no_such_name")


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(pgt.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: getattr(pgt, name).__module__ for name in pgt.__all__}


def floors() -> dict[str, int]:
    """On which line of the drawing in the package's docstring each room stands."""
    drawing = inspect.getdoc(pgt).split("::\n\n")[1]  # type: ignore[union-attr]
    lines = [re.split(r" {2,}", line.strip())[0] for line in drawing.splitlines()]
    return {room: floor for floor, line in enumerate(lines) for room in line.split(" | ")}


def uses(path: Path) -> set[str]:
    """The rooms whose names a module imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("pgt.")} & ROOMS


def test_the_drawing_shows_every_room() -> None:
    assert floors().keys() == ROOMS | {"lab"}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_knows_only_rooms_below_it(room: str) -> None:
    files = [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").is_file() else []
    files += sorted((PACKAGE / room).rglob("*.py"))
    floor = floors()
    used = set().union(*map(uses, files)) - {room}
    assert {other for other in used if floor[other] <= floor[room]} == set()
