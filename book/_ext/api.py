"""Sphinx extension: the package's modules on one page, room by room;
autosummary imports each and knows no rooms.

The page ``api.md`` says where the list goes: ``<div id="modules-of-package">``. Each module gets
one line: its name, which is its anchor (``pgt.windows``) and leads to its source, and the first
sentence of its docstring. Nothing is imported: the sources are read.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from toc import REPOSITORY, ROOT

PACKAGE = ROOT / "pgt"
MARKER = '<div id="modules-of-package">'


@dataclass(frozen=True)
class Module:
    """A module as the page shows it.

    Attributes
    ----------
    name : str
        As in ``wherenext.town_map``.
    path : str
        Of its source, from the root of the repository.
    says : str
        The first sentence of its docstring.
    """

    name: str
    path: str
    says: str

    @property
    def room(self) -> str:
        """The folder that holds it, as a name; ``pgt`` for the core."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]


def first_sentence(docstring: str) -> str:
    """Return the first sentence, without the marks of reStructuredText.

    Examples
    --------
    >>> first_sentence("Reads ``a.csv``, e.g. yours. Then more.")
    'Reads a.csv, e.g. yours.'
    """
    text = " ".join(docstring.split("\n\n")[0].replace("`", "").split())
    return re.split(r"(?<=[.!?])(?<!e\.g\.) (?=[A-Z])", text)[0]


@cache
def modules(package: Path = PACKAGE) -> tuple[Module, ...]:
    """Return the public modules, room by room: first the core, and each room before its modules."""
    found = []
    for path in package.rglob("*.py"):
        place = path.relative_to(package.parent)
        name = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        if any(part.startswith("_") for part in name.split(".")):
            continue
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found.append(Module(name, place.as_posix(), first_sentence(docstring)))
    return tuple(sorted(found, key=lambda module: (module.room, module.name)))


class ListOfModules(SphinxTransform):
    """Put the list into the page that asks for it."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Replace the marker by one list a room."""
        for raw in list(self.document.findall(nodes.raw)):
            if MARKER in raw.astext():
                rooms = groupby(modules(), key=lambda module: module.room)
                raw.replace_self([self.room(list(own)) for _name, own in rooms])

    def room(self, own: list[Module]) -> nodes.bullet_list:
        """Return a room as a list; its own line stands above those of its modules."""
        head, *others = own
        item = self.line(head)
        if others:
            item += nodes.bullet_list("", *map(self.line, others))
        return nodes.bullet_list("", item)

    def line(self, module: Module) -> nodes.list_item:
        """Return the line of a module."""
        name = nodes.literal("", module.name)
        link = nodes.reference("", "", name, refuri=REPOSITORY + module.path)
        paragraph = nodes.paragraph("", "", link, nodes.Text(f" · {module.says}"))
        return nodes.list_item("", paragraph, ids=[module.name])


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_transform(ListOfModules)
