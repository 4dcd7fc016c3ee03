"""What `import pgt` offers and costs; every example in the package runs and says the truth."""

from __future__ import annotations

import ast
import doctest
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
    assert {name for name in loaded if name.startswith("pgt.")} == {"pgt._moved"}


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


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "pgt").rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    tested = doctest.testmod(module, optionflags=FLAGS)
    assert tested.attempted and not tested.failed
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


@pytest.mark.parametrize("name", pgt.__all__)
def test_public_names_are_documented_with_an_example(name: str) -> None:
    thing = getattr(pgt, name)
    text = inspect.getdoc(thing) or ""
    assert "Examples\n--------\n>>> " in text
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        section = f"{text}Parameters\n----------\n\n\n".split("Parameters\n----------\n")[1]
        heads = [line for line in section.split("\n\n")[0].splitlines() if line[0] != " "]
        listed = [one.strip() for head in heads for one in head.split(" : ")[0].split(",")]
        assert listed == list(signature.parameters)
        returns = signature.return_annotation
        assert ("Returns\n-------\n" in text) == (returns not in (None, "None"))
