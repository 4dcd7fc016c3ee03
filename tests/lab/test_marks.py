"""Marks of code change with behaviour, and with nothing else."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import models, provenance, reports, runs
from lab.bindings import read_sources
from lab.marks import Tree

PACKAGE, LAB = provenance.PACKAGE, provenance.LAB


def mark(source: str, **more: str) -> str:
    """Of ``a.f``, in a tree of several modules."""
    return Tree({"a": source, **more}).mark(["a:f"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a: int) -> int:\n    return a", "def f(a):\n    'Says.'\n    return a  # why"),
        ("def f(): return 1", "import os\nx = 3\ndef g(): ...\ndef f(): return 1"),
        ("import numpy as np\ndef f(): return np.ones(3)",
         "import numpy\ndef f(): return numpy.ones(3)"),
        ("def f(): raise ValueError('No.')", "def f(): raise ValueError(f'Not {1}.')"),
        ("def f():\n    x: int = 1\n    return x", "def f():\n    x = 1\n    return x"),
        ("def f(): return g()\ndef g(): return 1", "from b import g\ndef f(): return g()"),
        ("def f(): return g()\ndef g(): return 1", "import b\ndef f(): return b.g()"),
        ("def f(): return g()\ndef g(): return 1", "def f():\n    from b import g\n    return g()"),
        ("def f(): return g()\ndef g(): return 1", "from c import g\ndef f(): return g()"),
        ("def f(): return g()\ndef g(): return 1", "def f(): return h()\ndef h(): return 1"),
        ("def f(a):\n    b = a\n    return [x for x in b]",
         "def f(a):\n    c = a\n    return [d for d in c]"),
        ("def f():\n    try: return 1\n    except OSError as e: return e",
         "def f():\n    try: return 1\n    except OSError as error: return error"),
        ("def f():\n    def g(): return 1\n    return g",
         "def f():\n    def h(): return 1\n    return h"),
        ("def f(): return G\nG = 1", "def f(): return H\nH = 1"),
        ("class f:\n    x: int = 1", "class f:\n    'Doc.'\n    x: float = 1"),
        ("from typing import TYPE_CHECKING\ndef f(): return 1",
         "if TYPE_CHECKING:\n    import b\ndef f(): return 1\nif __name__ == '__main__': f()"),
    ],
)  # fmt: skip
def test_what_changes_no_result_changes_no_mark(one: str, other: str) -> None:
    beside = {"b": "def g(): return 1", "c": "from b import g"}
    assert mark(one, **beside) == mark(other, **beside)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(): return 1", "def f(): return 2"),
        ("def f(): return 1", "def f(): return 1.0"),
        ("def f(a=1): return a", "def f(a=2): return a"),
        ("class f:\n    x: int = 1", "class f:\n    y: int = 1"),
        ("class f:\n    x: int", "class f:\n    x: int\n    y: int"),
        ("class f:\n    x: int = 1", "class f:\n    x: ClassVar[int] = 1"),
        ("from math import log\ndef f(): return log(2)",
         "from numpy import log\ndef f(): return log(2)"),
        ("def f(): return g()\ndef g(): return 1", "def f(): return g()\ndef g(): return 2"),
        ("def f(): return g()\ndef g(): return 1", "import b\ndef f(): return b.h()"),
        ("T = {}\ndef f(): return T", "T = {}\nT['x'] = 1\ndef f(): return T"),
        ("T = [1]\ndef f(): return T", "T = [1]\nT += [2]\ndef f(): return T"),
        ("import torch\ndef f(): return 1",
         "import torch\ntorch.set_num_threads(1)\ndef f(): return 1"),
        ("def f(x): return f'{x:.1f}'", "def f(x): return f'{x:.2f}'"),
        ("def f(x): return f'{x} a'", "def f(x): return f'{x} b'"),
        ("def f(a):\n    b, c = a\n    return b", "def f(a):\n    b, c = a\n    return c"),
        ("def f(a): return a", "def f(b): return b"),
        ("def f(): return b.g() + b.h()\nimport b", "def f(): return b.h() + b.g()\nimport b"),
    ],
)  # fmt: skip
def test_what_changes_results_changes_the_mark(one: str, other: str) -> None:
    beside = {"b": "def g(): return 1\ndef h(): return 2"}
    assert mark(one, **beside) != mark(other, **beside)


def test_a_local_name_is_not_a_definition() -> None:
    """What is called like a definition but is a local value does not reach it."""
    for body in ("def f(g): return g", "def f():\n    g = 1\n    return g",
                 "def f(): return [g for g in ()]", "f = lambda g: g",
                 "def f():\n    with open('x') as g: return g"):  # fmt: skip
        source = body + "\ndef g(): return {}"
        assert mark(source.format(1)) == mark(source.format(2)), body
    # A method is not seen by the names of its neighbours.
    method = "class f:\n    g = 1\n    def h(self): return g()\ndef g(): return "
    assert mark(method + "1") != mark(method + "2")


def test_definitions_of_one_name_are_told_apart() -> None:
    source = "import b, c\ndef f(): return {}.g(0) + {}.g(1)"
    beside = {"b": "def g(x): return x", "c": "def g(x): return -x"}
    assert mark(source.format("b", "c"), **beside) != mark(source.format("c", "b"), **beside)
    # Which modules they stand in does not matter.
    turned = {"b": beside["c"], "c": beside["b"]}
    assert mark(source.format("b", "c"), **beside) == mark(source.format("c", "b"), **turned)


def test_a_mark_stops_where_it_is_told() -> None:
    tree = {"a": "import b\ndef f(): return b.g()", "b": "def g(): return 1"}
    other = tree | {"b": "def g(): return 2"}
    for stop in ("b", "b:g"):
        assert Tree(tree).mark(["a:f"], [stop]) == Tree(other).mark(["a:f"], [stop])
    assert Tree(tree).mark(["a:f"]) != Tree(other).mark(["a:f"])
    with pytest.raises(KeyError, match="no a:h"):
        Tree(tree).mark(["a:h"])


ROOM = {"no.one": "def refuse(x): raise ValueError", "b": "def refuse(x): x.append(1)"}
LINES = """
from no.one import refuse
from no.one import refuse as again
from b import refuse as other
def f(x):
    {line}
    return x
"""


def with_line(line: str, refusals: str) -> str:
    """The mark of a function in which a line stands."""
    return Tree({"a": LINES.format(line=line), **ROOM}, refusals).mark(["a:f"])


@pytest.mark.parametrize(
    "line", ["refuse(x)", "refuse(x.y)", "refuse(1)", "refuse(x=x)", "again(x)"]
)
def test_a_refusal_changes_no_mark(line: str) -> None:
    plain = mark("def f(x): return x")
    assert with_line(line, "no") == plain
    assert with_line(line, "") != plain
    assert with_line(line, "no.one") != plain  # the room is a package, and this a module


@pytest.mark.parametrize(
    "line",
    ["refuse(next(x))", "refuse(x[0])", "refuse(*x)", "y = refuse(x)", "other(x)", "x.refuse(x)",
     "refuse((x := 1))", "return refuse(x)"],
)  # fmt: skip
def test_what_does_more_than_refuse_changes_the_mark(line: str) -> None:
    assert with_line(line, "no") != mark("def f(x): return x")


# ---- This package -----------------------------------------------------------------------------

STARTS = {name: runs.starts_of(name) for name in models.MAKERS} | {
    name: reports.starts_of(name) for name in reports.REPORTS
}


def moved(sources: dict[str, str]) -> dict[str, str]:
    """The package with every module in another place: `pgt.train` becomes `pgt.x_train`."""
    inner = {name for name in sources if name.count(".") == 1 and name.startswith("pgt.")}
    found = {}
    for name, text in sources.items():
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.module == "pgt":
                    for alias in node.names:
                        if f"pgt.{alias.name}" in inner:
                            alias.asname = alias.asname or alias.name
                            alias.name = f"x_{alias.name}"
                else:
                    node.module = there(node.module)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("pgt.") and alias.asname:
                        alias.name = there(alias.name)
        found[there(name)] = ast.unparse(tree)
    return found


def there(name: str) -> str:
    """Where `moved` puts a module."""
    head, _, rest = name.partition(".")
    return f"pgt.x_{rest}" if head == "pgt" and rest else name


@pytest.fixture(scope="module")
def tree() -> Tree:
    """The package as it is."""
    return Tree(read_sources(PACKAGE, LAB), provenance.REFUSALS)


@pytest.mark.slow
def test_a_move_changes_no_mark_of_the_package(tree: Tree) -> None:
    other = Tree(moved(tree.sources), there(provenance.REFUSALS))
    stops = {_there(stop) for stop in provenance.STOPS}
    for name, starts in STARTS.items():
        before = tree.mark(starts, provenance.STOPS)
        assert other.mark([_there(start) for start in starts], stops) == before, name


def _there(start: str) -> str:
    module, colon, name = start.partition(":")
    return there(module) + colon + name


class _Other(ast.NodeTransformer):
    """Changes one number or text of a definition: the first that is not a docstring or an error."""

    def __init__(self) -> None:
        self.done = False

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if self.done or isinstance(node.value, bool) or not isinstance(node.value, int | float):
            return node
        self.done = True
        return ast.Constant(node.value + 1)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_one_constant_in_any_module_that_is_reached_changes_the_mark(tree: Tree, name: str) -> None:
    sources = tree.sources
    before = tree.mark(STARTS[name], provenance.STOPS)
    reached = tree.reached(STARTS[name], provenance.STOPS)
    looked_at = set()
    for module in {target.module for target in reached}:
        parsed, change = ast.parse(sources[module]), _Other()
        for target in sorted((t for t in reached if t.module == module), key=lambda t: t.name):
            first, _, method = target.name.partition(".")
            for node in parsed.body:
                own = [node] if getattr(node, "name", "") == first else []
                if method and own:
                    own = [part for part in node.body if getattr(part, "name", "") == method]
                if isinstance(node, ast.Assign) and first in map(ast.unparse, node.targets):
                    own = [node]
                for part in own:
                    change.visit(part)
        if change.done:
            looked_at.add(module)
            changed = tree.replaced(module, ast.unparse(parsed))
            assert changed.mark(STARTS[name], provenance.STOPS) != before, module
    assert len(looked_at) >= len({target.module for target in reached}) / 2


def test_every_model_that_a_report_trains_is_marked(tree: Tree) -> None:
    """A report that takes models from `lab.models` names them, so that their code counts."""
    for name in reports.REPORTS:
        reached = tree.reached(reports.starts_of(name), provenance.STOPS - {"lab.models:trained"})
        takes = any((one.module, one.name) == ("lab.models", "trained") for one in reached)
        assert not takes or reports.report(name).models, name
        assert set(reports.report(name).models) <= models.MAKERS.keys()


def pythons() -> list[str]:
    """Other supported Pythons of this machine."""
    beside = Path(sys.executable).resolve().parents[2]
    found = []
    for minor in (11, 12, 13, 14):
        names = [shutil.which(f"python3.{minor}"), *map(str, beside.glob(
            f"3.{minor}.*/bin/python3.{minor}"))]  # fmt: skip
        for path in filter(None, names):
            answer = subprocess.run([path, "-c", "print(6 * 7)"], capture_output=True, text=True)
            if answer.stdout.strip() == "42" and minor != sys.version_info.minor:
                found.append(path)
                break
    return found


@pytest.mark.slow
def test_a_mark_is_the_same_on_every_python(tree: Tree) -> None:
    others = pythons()
    if not others:
        pytest.skip("there is no other Python here")
    script = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from lab.bindings import read_sources
from lab.marks import Tree
starts, stops, refusals = json.loads(sys.stdin.read())
tree = Tree(read_sources(*map(Path, sys.argv[2:])), refusals)
print(json.dumps({name: tree.mark(some, stops) for name, some in starts.items()}))
"""
    asked = json.dumps([STARTS, sorted(provenance.STOPS), provenance.REFUSALS])
    where = [str(LAB.parent), str(PACKAGE), str(LAB)]
    here = {name: tree.mark(starts, provenance.STOPS) for name, starts in STARTS.items()}
    for python in others:
        told = subprocess.run([python, "-c", script, *where], input=asked, text=True,
                              capture_output=True, check=True)  # fmt: skip
        assert json.loads(told.stdout) == here, python


HARMLESS = {
    "all", "any", "bool", "device_count", "encode_locations", "enumerate", "fingerprint", "float",
    "get", "getattr", "hasattr", "int", "is_available", "is_integer_dtype", "isascii", "isdecimal",
    "isdigit", "isfinite", "isinstance", "isnan", "items", "len", "map", "max", "min", "numel",
    "partition", "repr", "set", "startswith", "state_dict", "str", "sum", "tuple", "type", "unique",
    "values", "warn", "zip",
}  # fmt: skip
MAY_STAND = (
    ast.FunctionDef, ast.If, ast.For, ast.Raise, ast.Assign, ast.Return, ast.Expr, ast.Import,
    ast.ImportFrom,
)  # fmt: skip


def does_more_than_refuse(source: str) -> Iterator[str]:
    """Lines of a module of refusals that could change a result."""
    tree = ast.parse(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    in_errors = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        bad = isinstance(node, ast.stmt) and not isinstance(node, MAY_STAND)
        if isinstance(node, ast.Attribute | ast.Subscript):
            bad = not isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Call) and id(node) not in in_errors:
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            bad = called not in HARMLESS | own
        if isinstance(node, ast.FunctionDef) and node.name.startswith("require_"):
            bad = any(isinstance(part, ast.Return) and part.value for part in ast.walk(node))
        if bad:
            yield ast.unparse(node)


def test_refusals_refuse_and_do_nothing_else() -> None:
    for path in (PACKAGE / "refusals").glob("*.py"):
        assert not list(does_more_than_refuse(path.read_text(encoding="utf-8"))), path.name


@pytest.mark.parametrize(
    "line",
    ["x.y = 1", "x[0] = 1", "x.append(1)", "next(x)", "del x[0]", "global y", "return x",
     "with x: pass", "try: pass\n    except OSError: pass", "x += 1", "if next(x): raise OSError"],
)  # fmt: skip
def test_what_is_more_than_a_refusal_is_noticed(line: str) -> None:
    assert list(does_more_than_refuse(f"def require_x(x):\n    {line}\n"))
