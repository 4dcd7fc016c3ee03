"""What `import pgt` offers, and what it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from pathlib import Path

import pytest

import pgt

from .helpers import ROOT, run_python

PACKAGE = ROOT / "pgt"
MODULES = {path.stem for path in PACKAGE.glob("[!_]*.py")}


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


@pytest.mark.parametrize("name", pgt.__all__)
def test_a_public_name_is_the_thing_itself(name: str) -> None:
    thing = getattr(pgt, name)
    assert thing.__name__ == name and name in dir(pgt)
    assert thing is getattr(importlib.import_module(thing.__module__), name)


def test_public_names_hide_no_module() -> None:
    assert not set(pgt.__all__) & MODULES
    for module in MODULES:
        assert inspect.ismodule(getattr(pgt, module)) and module in dir(pgt)


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
