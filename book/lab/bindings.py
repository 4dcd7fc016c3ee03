"""Bindings: what each name in the source of a package stands for, read without importing it.

Of the standard library only, as `lab.marks` is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """What a name stands for: a definition of a module of ours, or a whole module.

    Attributes
    ----------
    module : str
        As in ``pgt.model``.
    name : str
        The definition in it; empty for the module itself.
    """

    module: str
    name: str = ""


# What a name in a scope stands for: a target, a dotted name of somebody else's, or a local value.
Binding = Target | str | None
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Module:
    """A module's top level.

    Attributes
    ----------
    definitions : dict
        By name, the statements that make it: its ``def`` or ``class``, its assignments, and every
        loose statement that mentions it.
    bindings : dict
        What imported names stand for.
    """

    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)


class Names:
    """What the names in the source of packages stand for; each module is read once.

    Parameters
    ----------
    sources : mapping
        Source text by module, as in ``{"pgt.model": "…"}``; see `read_sources`.
    refusals : str, optional
        The package whose functions only refuse, as in ``pgt.refusals``.

    Examples
    --------
    >>> names = Names({"a": "from b import g as f", "b": "def g(): return 1"})
    >>> names.resolve("a", "f")
    Target(module='b', name='g')
    """

    def __init__(self, sources: Mapping[str, str], refusals: str = "") -> None:
        self.sources, self.refusals = dict(sources), refusals
        self.packages = {name.partition(".")[0] for name in sources}
        self._modules: dict[str, Module] = {}

    def defines(self, module: str, name: str) -> bool:
        """Whether a module holds a definition itself."""
        return name.partition(".")[0] in self.module(module).definitions

    def offers(self, module: str, name: str) -> bool:
        """Whether a module has a definition, its own or an imported one."""
        found = self.resolve(module, name.partition(".")[0])
        return isinstance(found, Target) and bool(found.name)

    def resolve(self, module: str, name: str) -> Binding:
        """What a module-level name stands for; None when it is not ours and not imported."""
        here = self.module(module)
        if name in here.definitions:
            return Target(module, name)
        bound = here.bindings.get(name)
        if isinstance(bound, Target) and bound.name:
            again = self.resolve(bound.module, bound.name)
            return again if again is not None else f"{bound.module}.{bound.name}"
        if bound is None and f"{module}.{name}" in self.sources:
            return Target(f"{module}.{name}")
        return bound

    def module(self, name: str) -> Module:
        """A module's top level, parsed once."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module:
        module = Module()
        loose: list[ast.stmt] = []
        for node in ast.parse(self.sources[name]).body:
            if isinstance(node, DEFINITIONS):
                module.definitions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                module.bindings |= self.bindings(node, name)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                for made in stored(node):
                    if made != "__all__":
                        module.definitions.setdefault(made, []).append(node)
                loose += [node] if not stored(node) else []
            elif not is_text(node) and not for_types_or_main(node):
                loose.append(node)
        # A statement such as `TABLE["x"] = f` belongs to what it mentions; one that mentions
        # nothing, such as a setting of a library, to everything that stands beside it.
        for node in loose:
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            mentioned = names & module.definitions.keys()
            for made in mentioned or module.definitions:
                module.definitions[made].append(node)
        return module

    def bindings(self, node: ast.Import | ast.ImportFrom, inside: str) -> dict[str, Binding]:
        """What the names of an import line stand for."""
        if isinstance(node, ast.Import):
            return {
                alias.asname or alias.name.partition(".")[0]: self._imported(
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                for alias in node.names
            }
        source = node.module or ""
        if node.level:
            package = inside.split(".")
            keep = len(package) - node.level + (f"{inside}.__init__" in self.sources)
            source = ".".join([*package[:keep], *([source] if source else [])])
        found: dict[str, Binding] = {}
        for alias in node.names:
            whole = f"{source}.{alias.name}"
            ours = source in self.sources and whole not in self.sources
            found[alias.asname or alias.name] = (
                Target(source, alias.name) if ours else self._imported(whole)
            )
        return found

    def _imported(self, name: str) -> Binding:
        return Target(name) if name.partition(".")[0] in self.packages else name


def read_sources(*folders: Path) -> dict[str, str]:
    """The source of packages by module; a package's name is its folder's."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            found[module_name(path.relative_to(folder.parent))] = path.read_text(encoding="utf-8")
    return found


def module_name(path: Path) -> str:
    """As ``pgt.model`` for ``pgt/model.py``, and ``pgt.io`` for ``pgt/io/__init__.py``.

    Examples
    --------
    >>> module_name(Path("pgt/io/__init__.py"))
    'pgt.io'
    """
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def stored(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [
        part.id
        for target in targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    ]


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def for_types_or_main(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:` or `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and any(
        word in ast.dump(node.test) for word in ("TYPE_CHECKING", "__name__")
    )
