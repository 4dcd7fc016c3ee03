"""The canonical text of a definition: what of it changes results, the same on every Python.

Of the standard library only, as `lab.marks` is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from lab.bindings import DEFINITIONS, Binding, Names, Target, for_types_or_main, is_text

# Fields of syntax trees that say nothing of behaviour, or that not every Python has.
SILENT = frozenset({"ctx", "type_comment", "type_params", "kind", "type_ignores", "returns"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Resolver(ast.NodeTransformer):
    """Puts definitions in the place of names, and leaves out what does not change results."""

    def __init__(self, source: Names, module: str, own: str = "") -> None:
        self.source, self.module, self.own = source, module, own
        self.scopes: list[tuple[bool, dict[str, Binding]]] = []  # (of a class, names)
        self.labels: list[dict[str, str]] = []  # by scope, what local names are called in the text
        self.uses: set[Target] = set()

    def _look(self, name: str) -> tuple[bool, Binding]:
        """Whether a name is local to a function, and else what it stands for."""
        for depth, (of_class, names) in enumerate(reversed(self.scopes)):
            if name in names and not (of_class and depth):
                bound = names[name]
                if isinstance(bound, Target) and bound.name:
                    return False, self.source.resolve(bound.module, bound.name)
                return bound is None, bound
        return False, self.source.resolve(self.module, name)

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
            known = target.module in self.source.sources
            some = [Target(target.module, name) for name in
                    (self.source.module(target.module).definitions if known else ())]  # fmt: skip
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
                known = bound.module in self.source.sources
                bound = self.source.resolve(bound.module, chain.pop()) if known else None
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
        own = _locals(node.body, self.source, self.module)
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
        with _Scope(self, True, _locals(node.body, self.source, self.module)):
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
        return None if is_text(node) or self._refuses(node.value) else self.generic_visit(node)

    def _refuses(self, node: ast.expr) -> bool:
        """Whether an expression calls a refusal, with arguments that do nothing either."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return False
        local, bound = self._look(node.func.id)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return (
            not local and isinstance(bound, Target) and bool(self.source.refusals)
            and bound.module.startswith(f"{self.source.refusals}.") and all(map(_is_named, given))
        )  # fmt: skip

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if for_types_or_main(node) else self.generic_visit(node)

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
        resolver: Resolver,
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


def _locals(body: list[ast.stmt], source: Names, module: str) -> dict[str, Binding]:
    """The names that statements bind in their own scope."""
    found: dict[str, Binding] = {}
    elsewhere: set[str] = set()
    for node in _same_scope(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id)
        elif isinstance(node, (*DEFINITIONS, ast.ExceptHandler)) and node.name:
            found.setdefault(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= source.bindings(node, module)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere |= set(node.names)
    return {name: bound for name, bound in found.items() if name not in elsewhere}


def _same_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes but those inside nested functions, classes and comprehensions."""
    for node in body:
        yield node
        if isinstance(node, (*DEFINITIONS, ast.Lambda)):
            continue
        if isinstance(node, _COMPREHENSIONS):  # an assignment in one binds outside of it
            yield from (part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
            continue
        yield from _same_scope(ast.iter_child_nodes(node))


def _is_named(node: ast.expr) -> bool:
    """Whether an expression only names what is there: ``x``, ``x.y``, a constant."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


def dump(node: object) -> str:
    """A syntax tree as text, the same on every Python."""
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({dump(list(_pieces(node)))})"
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if name not in SILENT)
        parts = (f"{name}={dump(value)}" for name, value in fields if value not in (None, []))
        return f"{type(node).__name__}({','.join(parts)})"
    if isinstance(node, list):
        return f"[{','.join(dump(one) for one in node)}]"
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
