"""The modules beside the book know each other in one direction."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from ..helpers import ROOT

MODULES = {path.stem: path for path in (ROOT / "book" / "_ext").glob("*.py")}


def imported(path: Path) -> set[str]:
    """The modules beside it that a module imports, within its functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found & MODULES.keys()


def test_no_extension_is_imported_by_what_it_imports() -> None:
    arrows = {name: imported(path) for name, path in MODULES.items()}
    assert sum(map(len, arrows.values())) > 10
    order = [*TopologicalSorter(arrows).static_order()]  # raises CycleError, which names the circle
    assert set(order) == arrows.keys()
