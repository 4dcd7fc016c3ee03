"""Where a figure comes from: a fingerprint of the data it was measured on, and of the code.

The fingerprint of code sees behaviour only: comments, docstrings and type annotations may change
without making a results file stale.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from pgt.windows import Dataset

PACKAGE = Path(__file__).resolve().parent

# What makes the windows, and what only tells about results. The windows themselves carry a
# fingerprint of their own, so that code which makes the same windows in another way is no change.
OUTSIDE = frozenset(
    {
        "visits",
        "tables",
        "vocabulary",
        "windows",
        "sources",
        "batch",
        "checkpoint",
        "predict",
        "runs",
        "reports",
        "results",
        "provenance",
        "experiments",
    }
)


def fingerprint(data: Dataset) -> str:
    """A short hash of every window an experiment sees.

    Examples
    --------
    >>> import pgt.city, pgt.windows
    >>> len(fingerprint(pgt.windows.prepare(pgt.city.load().visits)))
    12
    """
    digest = hashlib.sha256()
    for part in (data.train, data.valid, data.test):
        digest.update(part.features.numpy().tobytes())
        digest.update(np.ascontiguousarray(part.first).tobytes())
        digest.update(np.ascontiguousarray(part.target).tobytes())
    return digest.hexdigest()[:12]


def behaviour(source: str) -> str:
    """The syntax tree of Python source without docstrings and annotations, as text.

    Examples
    --------
    >>> behaviour("def f(x: int): 'Says.'; return x") == behaviour("def f(x): return x  # why")
    True
    >>> behaviour("f = 1") == behaviour("f = 2")
    False
    """
    return ast.dump(_Behaviour().visit(ast.parse(source)))


class _Behaviour(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._body(node)

    def _body(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # A dataclass field stays; only its type is left out.
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def imports(module: str) -> set[str]:
    """Names of the package's modules that a module of it imports, directly.

    Examples
    --------
    >>> "encoder" in imports("model")
    True
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(_path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "pgt":
            names = [f"pgt.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        found |= {name.removeprefix("pgt.") for name in names if name.startswith("pgt.")}
    return {name for name in found if _path(name).is_file()}


def closure(modules: Iterable[str]) -> list[str]:
    """The modules and all that they import, in order, without those that only make the data."""
    todo, done = set(modules), set()
    while todo:
        module = todo.pop()
        done.add(module)
        todo |= imports(module) - done - OUTSIDE
    return sorted(done)


@cache
def code_fingerprint(modules: tuple[str, ...]) -> str:
    """A short hash of the behaviour of modules and of all that they import.

    Examples
    --------
    >>> len(code_fingerprint(("baselines", "metrics")))
    12
    """
    digest = hashlib.sha256()
    for module in closure(modules):
        digest.update(module.encode())
        digest.update(behaviour(_path(module).read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def _path(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
