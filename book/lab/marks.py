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
from collections.abc import Collection, Iterable, Mapping

from lab.bindings import Names, Target
from lab.canonical import Resolver, dump

_REFERENCE = re.compile(r"@([\w.]*):([\w.]*)@")  # how a text names a definition
ROUNDS = 4  # references that tell apart what is otherwise the same


class Tree(Names):
    """The source of packages, read once.

    Parameters
    ----------
    sources, refusals
        As for `lab.bindings.Names`.

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
        super().__init__(sources, refusals)
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
            Definitions, classes' methods or whole modules (``wherenext.results``) not to look
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

    def _text(self, target: Target) -> tuple[str, frozenset[Target]]:
        if target not in self._texts:
            resolver = Resolver(self, target.module, target.name)
            nodes = [resolver.visit(copy.deepcopy(node)) for node in self._nodes(target)]
            text = "".join(dump(node) for node in nodes if node is not None)
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
