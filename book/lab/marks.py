"""A mark of code: a short hash of what some definitions do, and of nothing else.

A mark starts at named definitions and follows the names that they use, from definition to
definition, through imports and re-exports. Of each definition that it reaches it takes the syntax
tree without what does not change results: where the code stands, what it is called there, import
lines, docstrings, comments, annotations, the texts of errors, and the calls of refusals. So a mark
stays the same when code moves, when a definition or a local value is renamed, when a neighbour
changes, and on every version of Python; it changes with every constant, call or branch that is
reached.

A refusal is a function of a package that the tree is given the name of, whose functions can raise
an error and nothing else (a test reads them). A call of one, as a line of its own, changes no
result: either it does nothing, or there is none.

Names that are looked up at run time (a method of an object that came as an argument, say) cannot
be followed; what is reached only in this way is named as a start of its own. This module uses the
standard library only, so that any Python can compute a mark.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Fields of syntax trees that say nothing of behaviour, or that not every Python has.
SILENT = frozenset({"ctx", "type_comment", "type_params", "kind", "type_ignores", "returns"})
_REFERENCE = re.compile(r"@([\w.]*):([\w.]*)@")  # how a text names a definition
ROUNDS = 4  # references that tell apart what is otherwise the same
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


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


class Tree:
    """The source of packages, read once.

    Parameters
    ----------
    sources : mapping
        Source text by module, as in ``{"pgt.model": "…"}``; see `read_sources`.
    refusals : str, optional
        The package whose functions only refuse, as in ``pgt.refusals``.

    Examples
    --------
    >>> tree = Tree({"a": "def f(): return g()", "b": "def g(): return 1"})
    >>> before = tree.mark(["a:f"])
    >>> before == Tree({"a": "import b\\ndef f():\\n    'Says.'\\n    return g()"}).mark(["a:f"])
    True
    >>> Tree({"a": "from b import g\\ndef f(): return g()", "b": "def g(): return 1"}).mark(
    ...     ["a:f"]) == before
    False
    """

    def __init__(self, sources: Mapping[str, str], refusals: str = "") -> None:
        self.sources, self.refusals = dict(sources), refusals
        self.packages = {name.partition(".")[0] for name in sources}
        self._modules: dict[str, Module] = {}
        self._texts: dict[Target, tuple[str, frozenset[Target]]] = {}

    def replaced(self, module: str, source: str) -> Tree:
        """The tree with one module's source changed, what was read of the others kept."""
        other = Tree(self.sources | {module: source}, self.refusals)
        kept = {name: one for name, one in self._modules.items() if name != module}
        other._modules = kept
        other._texts = {one: text for one, text in self._texts.items() if one.module != module}
        return other

    def mark(self, starts: Iterable[str], stops: Collection[str] = ()) -> str:
        """Twelve hexadecimal digits for all that the starts reach.

        Parameters
        ----------
        starts : iterable of str
            As ``module:definition`` or ``module:Class.method``.
        stops : collection of str
            Definitions, classes' methods or whole modules (``pgt.analysis.results``) not to look
            into.

        Raises
        ------
        KeyError
            When there is no such definition.
        """
        texts = self.reached(starts, stops)
        # A definition is known by what it says and by what it uses, not by its name: each round
        # looks one reference further, as in the test of Weisfeiler and Leman for equal graphs.
        known = dict.fromkeys(texts, "")
        for _ in range(ROUNDS):
            known = {target: _short(_referring(text, known)) for target, text in texts.items()}
        return _short("\n".join(sorted(set(known.values()))))

    def reached(self, starts: Iterable[str], stops: Collection[str] = ()) -> dict[Target, str]:
        """The canonical text of every definition that the starts reach, themselves included."""
        todo = [self._start(start) for start in starts]
        found: dict[Target, str] = {}
        while todo:
            target = todo.pop()
            if target in found or _stopped(target, stops):
                continue
            text, uses = self._text(target)
            found[target] = text
            todo += uses
        return found

    def defines(self, module: str, name: str) -> bool:
        """Whether a module holds a definition itself."""
        return name.partition(".")[0] in self.module(module).definitions

    def offers(self, module: str, name: str) -> bool:
        """Whether a module has a definition, its own or an imported one."""
        found = self.resolve(module, name.partition(".")[0])
        return isinstance(found, Target) and bool(found.name)

    def _start(self, start: str) -> Target:
        """A definition, also by a name under which another module offers it."""
        module, _, name = start.partition(":")
        if module not in self.sources:
            raise KeyError(f"There is no module {module}.")
        first, dot, method = name.partition(".")
        found = self.resolve(module, first)
        if not isinstance(found, Target) or not found.name:
            raise KeyError(f"There is no {start}.")
        return Target(found.module, found.name + dot + method)

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
            if isinstance(node, _DEFINITIONS):
                module.definitions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                module.bindings |= self.bindings(node, name)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                for made in _stored(node):
                    if made != "__all__":
                        module.definitions.setdefault(made, []).append(node)
                loose += [node] if not _stored(node) else []
            elif not _is_text(node) and not _for_types_or_main(node):
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

    def _text(self, target: Target) -> tuple[str, frozenset[Target]]:
        if target not in self._texts:
            resolver = _Resolver(self, target.module, target.name)
            nodes = [resolver.visit(copy.deepcopy(node)) for node in self._nodes(target)]
            text = "".join(_dump(node) for node in nodes if node is not None)
            self._texts[target] = text, frozenset(resolver.uses)
        return self._texts[target]

    def _nodes(self, target: Target) -> list[ast.stmt]:
        name, _, method = target.name.partition(".")
        nodes = self.module(target.module).definitions[name]
        if not method:
            return nodes
        (parent,) = (node for node in nodes if isinstance(node, ast.ClassDef))
        found = [node for node in parent.body if getattr(node, "name", "") == method]
        if not found:
            raise KeyError(f"{target.module}:{target.name}")
        return found


class _Resolver(ast.NodeTransformer):
    """Puts definitions in the place of names, and leaves out what does not change results."""

    def __init__(self, tree: Tree, module: str, own: str = "") -> None:
        self.tree, self.module, self.own = tree, module, own
        self.scopes: list[tuple[bool, dict[str, Binding]]] = []  # (of a class, names)
        self.labels: list[dict[str, str]] = []  # by scope, what local names are called in the text
        self.uses: set[Target] = set()

    def _look(self, name: str) -> tuple[bool, Binding]:
        """Whether a name is local to a function, and else what it stands for."""
        for depth, (of_class, names) in enumerate(reversed(self.scopes)):
            if name in names and not (of_class and depth):
                bound = names[name]
                if isinstance(bound, Target) and bound.name:
                    return False, self.tree.resolve(bound.module, bound.name)
                return bound is None, bound
        return False, self.tree.resolve(self.module, name)

    def _label(self, name: str) -> str:
        """What a local name is called in the text: it may be renamed without changing the mark."""
        for depth, ((of_class, names), labels) in enumerate(
            zip(reversed(self.scopes), reversed(self.labels), strict=True)
        ):
            if name in names and not (of_class and depth):
                return labels.get(name, name)
        return name

    def _use(self, target: Target) -> ast.Name:
        some = [target]
        if not target.name:  # a module as a value: anything of it may be meant
            known = target.module in self.tree.sources
            some = [Target(target.module, name) for name in
                    (self.tree.module(target.module).definitions if known else ())]  # fmt: skip
        self.uses.update(some)
        return ast.Name(f"@{target.module}:{target.name}@", ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not self.scopes and not isinstance(node.ctx, ast.Load):
            return ast.Name("@self" if node.id == self.own else "@other", node.ctx)
        local, bound = self._look(node.id)
        if local or bound is None or not isinstance(node.ctx, ast.Load):
            return ast.Name(self._label(node.id), node.ctx)
        return self._use(bound) if isinstance(bound, Target) else ast.Name(bound, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        chain, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            chain.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name) and isinstance(root.ctx, ast.Load):
            local, bound = self._look(root.id)
            while not local and isinstance(bound, Target) and not bound.name and chain:
                known = bound.module in self.tree.sources
                bound = self.tree.resolve(bound.module, chain.pop()) if known else None
            if not local and isinstance(bound, Target) and bound.name:
                made: ast.expr = self._use(bound)
                for attribute in reversed(chain):
                    made = ast.Attribute(made, attribute, ast.Load())
                return made
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.AST:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        named += [one for one in (arguments.vararg, arguments.kwarg) if one]
        for one in named:
            one.annotation = None
        arguments.defaults = [self.visit(one) for one in arguments.defaults]
        arguments.kw_defaults = [one and self.visit(one) for one in arguments.kw_defaults]
        names: dict[str, Binding] = dict.fromkeys(one.arg for one in named)
        if isinstance(node, ast.Lambda):
            with _Scope(self, False, names):
                node.body = self.visit(node.body)
            return node
        node.name = self._label(node.name) if self.scopes else "@self"
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        own = _locals(node.body, self.tree, self.module)
        local = [name for name, bound in own.items() if bound is None and name not in names]
        labels = {name: f"@local{number}" for number, name in enumerate(local)}
        with _Scope(self, False, names | own, labels):
            node.body = self._body(node.body)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = node.name and self._label(node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._label(node.name) if self.scopes else "@self"
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        node.bases = [self.visit(one) for one in node.bases]
        node.keywords = [self.visit(one) for one in node.keywords]
        with _Scope(self, True, _locals(node.body, self.tree, self.module)):
            node.body = self._body(node.body)
        return node

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        kept = [made for node in body if (made := self.visit(node)) is not None]
        return kept or [ast.Pass()]

    def _comprehension(self, node: ast.AST) -> ast.AST:
        names = [
            part.id
            for one in node.generators  # type: ignore[attr-defined]
            for part in ast.walk(one.target)
            if isinstance(part, ast.Name)
        ]
        labels = {name: f"@each{number}" for number, name in enumerate(dict.fromkeys(names))}
        with _Scope(self, False, dict.fromkeys(names), labels):
            return self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _is_text(node) or self._refuses(node.value) else self.generic_visit(node)

    def _refuses(self, node: ast.expr) -> bool:
        """Whether an expression calls a refusal, with arguments that do nothing either."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return False
        local, bound = self._look(node.func.id)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return (
            not local and isinstance(bound, Target) and bool(self.tree.refusals)
            and bound.module.startswith(f"{self.tree.refusals}.") and all(map(_is_named, given))
        )  # fmt: skip

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if _for_types_or_main(node) else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        # Between the lines of a class it is a field of a dataclass, with or without a value.
        is_field = bool(self.scopes) and self.scopes[-1][0]
        if is_field and "ClassVar" not in ast.dump(node.annotation):
            node.annotation = ast.Constant(None)
            return self.generic_visit(node)
        if node.value is None:
            return None
        return self.generic_visit(ast.Assign([node.target], node.value))

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        # No result comes from a run that raised, so the words of an error are nobody's behaviour.
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return self.generic_visit(node)


class _Scope:
    """A scope for as long as its body is visited."""

    def __init__(
        self,
        resolver: _Resolver,
        of_class: bool,
        names: dict[str, Binding],
        labels: dict[str, str] | None = None,
    ) -> None:
        self.resolver, self.scope, self.labels = resolver, (of_class, names), labels or {}

    def __enter__(self) -> None:
        self.resolver.scopes.append(self.scope)
        self.resolver.labels.append(self.labels)

    def __exit__(self, *problem: object) -> None:
        self.resolver.scopes.pop()
        self.resolver.labels.pop()


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


def _locals(body: list[ast.stmt], tree: Tree, module: str) -> dict[str, Binding]:
    """The names that statements bind in their own scope."""
    found: dict[str, Binding] = {}
    elsewhere: set[str] = set()
    for node in _same_scope(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id)
        elif isinstance(node, (*_DEFINITIONS, ast.ExceptHandler)) and node.name:
            found.setdefault(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= tree.bindings(node, module)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere |= set(node.names)
    return {name: bound for name, bound in found.items() if name not in elsewhere}


def _same_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes but those inside nested functions, classes and comprehensions."""
    for node in body:
        yield node
        if isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            continue
        if isinstance(node, _COMPREHENSIONS):  # an assignment in one binds outside of it
            yield from (part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
            continue
        yield from _same_scope(ast.iter_child_nodes(node))


def _stored(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [
        part.id
        for target in targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    ]


def _is_named(node: ast.expr) -> bool:
    """Whether an expression only names what is there: ``x``, ``x.y``, a constant."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _for_types_or_main(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:` or `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and any(
        word in ast.dump(node.test) for word in ("TYPE_CHECKING", "__name__")
    )


def _dump(node: object) -> str:
    """A syntax tree as text, the same on every Python."""
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({_dump(list(_pieces(node)))})"
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if name not in SILENT)
        parts = (f"{name}={_dump(value)}" for name, value in fields if value not in (None, []))
        return f"{type(node).__name__}({','.join(parts)})"
    if isinstance(node, list):
        return f"[{','.join(_dump(one) for one in node)}]"
    return f"{type(node).__name__}:{node!r}"


def _pieces(node: ast.JoinedStr) -> Iterator[object]:
    """The parts of an f-string; Pythons cut the text between them differently."""
    text = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        if text:
            yield text
            text = ""
        spec = getattr(part, "format_spec", None)
        if isinstance(spec, ast.JoinedStr) and not spec.values:
            part.format_spec = None  # type: ignore[attr-defined]
        yield part
    if text:
        yield text


def _stopped(target: Target, stops: Collection[str]) -> bool:
    whole = f"{target.module}:{target.name}"
    return whole in stops or any(
        target.module == stop or target.module.startswith(f"{stop}.")
        for stop in stops if ":" not in stop
    )  # fmt: skip


def _referring(text: str, known: Mapping[Target, str]) -> str:
    """A text with what is known of each definition in the place of its name."""
    return _REFERENCE.sub(lambda found: "@" + known.get(Target(found[1], found[2]), ""), text)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
