"""Sphinx extension: how many hostile cases the tests hold;
a typed count goes stale, and pytest counts runs, not cases.

A page names a count, as in ``{tried}`tables```, and the build puts the number there. Nothing is
imported: the tables of cases are read in the sources of the tests. A count that is not known, or
whose table is gone, is a warning, and warnings fail the build.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from facts import Number
from sphinx.application import Sphinx

# name -> files of the tests, and the tables in them whose cases are added up
TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "tables": {
        "io/test_hostile_tables.py": ("UNDERSTOOD", "REFUSED"),
        "io/test_bad_input.py": ("REFUSED",),
    },
    "fixes": {
        "io/test_hostile_fixes.py": ("UNDERSTOOD", "REFUSED"),
        "io/test_fixes.py": ("REFUSED",),
    },
    "commands": {"io/test_bad_input.py": ("COMMANDS",)},
    "models": {"io/test_hostile_models.py": ("HEADERS",)},
    "folders": {"scale/test_hostile_folders.py": ("TAMPERED",)},
    "texts": {"hostile.py": ("HOSTILE",)},
    "cells": {"files/test_cells.py": ("HOSTILE",)},
    "readers": {"io/test_properties.py": ("READERS",)},
    "memory": {"test_bounded.py": ("CASES",)},
    "kills": {"killed.py": ("KILLS",)},
}
NO_CASES = ("kills", "readers")  # what is counted, and is no hostile case
# Files of tests that change a good file at random, again and again.
MUTANTS = (
    "io/test_hostile_tables.py", "io/test_hostile_fixes.py", "io/test_hostile_models.py",
    "scale/test_hostile_folders.py",
)  # fmt: skip


def tried(name: str, tests: Path) -> int:
    """How many cases there are of a name.

    Raises
    ------
    KeyError
        There is no such name, or no such table.
    """
    if name == "mutants":
        return sum(mutants(_tree(tests / file)) for file in MUTANTS)
    if name == "cases":
        return sum(tried(part, tests) for part in TABLES if part not in NO_CASES)
    return sum(
        _sizes(_tree(tests / file))[table]
        for file, names in TABLES[name].items() for table in names
    )  # fmt: skip


def mutants(tree: ast.Module) -> int:
    """The files that ``test_whatever_happens_…`` makes: turns of its loop, times its parameters.

    Examples
    --------
    >>> mutants(ast.parse(
    ...     "@mark.parametrize('n', ['a', 'b'])\\ndef test_whatever_happens(n):\\n"
    ...     "    for _ in range(50): pass"
    ... ))
    100
    """
    sizes, total = _sizes(tree), 0
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_whatever_happens"):
            files = 1
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize"):
                    values = mark.args[1]
                    files *= sizes[values.id] if isinstance(values, ast.Name) else _size(values)
            (loop,) = (part for part in node.body if isinstance(part, ast.For))
            total += files * ast.literal_eval(ast.unparse(loop.iter).removeprefix("range"))
    return total


def _sizes(tree: ast.Module) -> dict[str, int]:
    return dict(_tables(tree))


def _tables(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            (name,), value = node.targets[:1], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            name, value = node.target, node.value
        else:
            continue
        if isinstance(name, ast.Name):
            yield name.id, _size(value)


def _size(value: ast.expr) -> int:
    """The cases in a table that is written out, or a number itself; else 0."""
    if isinstance(value, ast.Dict):
        return len(value.keys)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return len(value.elts)
    number = value.value if isinstance(value, ast.Constant) else 0
    return number if isinstance(number, int) else 0


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def shown(name: str, root: Path) -> str:
    """The number of cases as a page shows it; `root` is the repository."""
    number = tried(name, root / "tests")
    if not number:
        raise KeyError("its tables are empty")
    return f"{number:,}"


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_role("tried", Number(shown))
