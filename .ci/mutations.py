"""Small faults for a source: what one of its expressions or statements may be replaced by.

Not touched: docstrings and other text, annotations, decorators, assertions, what an error or a
warning says, what is printed, and the check of lengths in ``zip(..., strict=True)``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

LONG = 80  # characters of an expression that can still be read in a list
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
PAIRS = (
    ("min", "max"), ("amin", "amax"), ("argmin", "argmax"), ("minimum", "maximum"),
    ("any", "all"), ("floor", "ceil"), ("left", "right"), ("sin", "cos"),
)  # fmt: skip
SWAPS = dict(PAIRS) | {second: first for first, second in PAIRS}
NOT_ENTERED = {"annotation", "returns", "decorator_list", "type_comment", "bases"}
SPEAKS = {"warn", "print", "debug", "info", "warning"}


@dataclass(frozen=True)
class Mutation:
    """One replacement in a tree, which `apply` makes and `undo` takes back."""

    holder: Any
    field: str
    index: int | None  # in a list of nodes
    old: ast.AST
    new: ast.AST
    statement: ast.stmt | None
    line: int
    change: str = ""

    def apply(self) -> None:
        """Put the new node into the tree."""
        self._put(self.new)

    def undo(self) -> None:
        """Put the old node back."""
        self._put(self.old)

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.index] = node


def mutations(tree: ast.Module) -> list[Mutation]:
    """All the mutations of a source, each with its line and a text that is its own there."""
    found, times = [], Counter[tuple[int, str]]()
    for mutation in _walk(tree, None):
        text = _text(mutation)
        times[mutation.line, text] += 1
        number = times[mutation.line, text]
        found.append(replace(mutation, change=text + (f" ({number})" if number > 1 else "")))
    return found


def lines_of(statement: ast.stmt | None) -> range:
    """The lines of a statement; of one that holds others, those of its head alone."""
    if statement is None:
        return range(0)
    body = getattr(statement, "body", None)
    end = body[0].lineno if body else 1 + (statement.end_lineno or statement.lineno)
    return range(statement.lineno, max(end, statement.lineno + 1))


def _walk(node: ast.AST, statement: ast.stmt | None) -> Iterator[Mutation]:
    """The mutations below a node that stands in a statement."""
    for field, value in ast.iter_fields(node):
        if field in NOT_ENTERED:
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue
            inside = child if isinstance(child, ast.stmt) else statement
            at = index if isinstance(value, list) else None
            line = getattr(child, "lineno", getattr(node, "lineno", 0))
            for new in _replacements(child):
                yield Mutation(node, field, at, child, new, inside, line)
            if not _speaks(child):
                yield from _walk(child, inside)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.keyword(arg="strict"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Expr(value=ast.Constant()):
            return True
    return False


def _speaks(node: ast.AST) -> bool:
    """Whether what is below a node is mostly text for people."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name in SPEAKS
    return isinstance(node, ast.Raise)


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    if type(node) in OPERATORS:
        yield OPERATORS[type(node)]()
    if _may_be_dropped(node):
        yield ast.copy_location(ast.Pass(), node)
    new: ast.AST | None = None
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=new):
            pass
        case ast.Constant(value=bool(value)):
            new = ast.Constant(not value)
        case ast.Constant(value=int(value)):
            new = ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            new = ast.Constant(2 * value or 1.0)
        case ast.Constant(value=str(value)) if value in SWAPS:
            new = ast.Constant(SWAPS[value])
        case ast.Name(id=name) if name in SWAPS:
            new = ast.Name(SWAPS[name], ast.Load())
        case ast.Attribute(value=owner, attr=name) if name in SWAPS:
            new = ast.Attribute(owner, SWAPS[name], ast.Load())
        case ast.IfExp(test=test, body=body, orelse=orelse):
            new = ast.IfExp(test, orelse, body)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            new = ast.Return(ast.copy_location(ast.Constant(None), value))
    if new is not None:
        yield ast.copy_location(new, node)


def _may_be_dropped(node: ast.AST) -> bool:
    """Whether a statement can go without its names being missed at once."""
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.If(orelse=[]):
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            read = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
            return name in read
    return False


def _text(mutation: Mutation) -> str:
    """As ``a < b → a <= b``."""
    old = mutation.old
    if isinstance(mutation.new, ast.Pass):
        return _short("dropped: " + ast.unparse(old).splitlines()[0])
    if isinstance(old, ast.Return):
        return _short(ast.unparse(old)) + " → return None"
    around = mutation.holder if isinstance(mutation.holder, ast.expr | ast.keyword) else None
    for shown in (around, old):
        if shown is None or isinstance(shown, ast.operator | ast.cmpop | ast.boolop):
            continue
        before = ast.unparse(shown)
        mutation.apply()
        after = ast.unparse(mutation.new if shown is old else shown)
        mutation.undo()
        if shown is old or max(len(before), len(after)) <= LONG:
            return f"{_short(before)} → {_short(after)}"
    return f"{type(old).__name__} → {type(mutation.new).__name__}"


def _short(text: str) -> str:
    """On one line, and cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= LONG else text[:LONG] + " …"
