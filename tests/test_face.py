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


def test_import_loads_nothing_heavy() -> None:
    code = "import pgt, json, sys; pgt.__version__, dir(pgt); print(json.dumps([*sys.modules]))"
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert not {"torch", "numpy", "pandas", "matplotlib"} & loaded
    assert not {name for name in loaded if name.startswith("pgt.")}


@pytest.mark.parametrize("name", pgt.__all__)
def test_a_public_name_is_the_thing_itself(name: str) -> None:
    thing = getattr(pgt, name)
    assert thing.__name__ == name and name in dir(pgt)
    assert thing is getattr(importlib.import_module(thing.__module__), name)


def test_public_names_hide_no_module() -> None:
    modules = {path.stem for path in (ROOT / "pgt").glob("[!_]*.py")}
    assert not set(pgt.__all__) & modules
    for module in modules:
        assert inspect.ismodule(getattr(pgt, module)) and module in dir(pgt)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(pgt.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names}
    assert seen == {name: getattr(pgt, name).__module__ for name in pgt.__all__}
