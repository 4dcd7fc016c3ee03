"""Sphinx extension: the package's modules on one page; autosummary would import each.

The page ``api.md`` says where the list goes: ``<div id="modules-of-package">``. Each module gets
one line: its name, which is its anchor (``pgt.windows``) and leads to its source, and the first
sentence of its docstring. Nothing is imported: the sources are read.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
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
    """A module as the page shows it: as in ``pgt.windows``, its source, its first sentence."""

    name: str
    path: str
    says: str


def first_sentence(docstring: str) -> str:
    """Return the first sentence, without the marks of reStructuredText.

    >>> first_sentence("Reads ``a.csv``, e.g. yours. Then more.")
    'Reads a.csv, e.g. yours.'
    """
    text = " ".join(docstring.split("\n\n")[0].replace("`", "").split())
    return re.split(r"(?<=[.!?])(?<!e\.g\.) (?=[A-Z])", text)[0]


@cache
def modules(package: Path = PACKAGE) -> tuple[Module, ...]:
    """Return the public modules, in the order of their names."""
    found = []
    for path in sorted(package.glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        place = path.relative_to(package.parent).as_posix()
        found.append(Module(f"{package.name}.{path.stem}", place, first_sentence(docstring)))
    return tuple(found)


class ListOfModules(SphinxTransform):
    """Put the list into the page that asks for it."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Replace the marker by the list."""
        for raw in list(self.document.findall(nodes.raw)):
            if MARKER in raw.astext():
                raw.replace_self(nodes.bullet_list("", *map(self.line, modules())))

    def line(self, module: Module) -> nodes.list_item:
        """Return the line of a module."""
        name = nodes.literal("", module.name)
        link = nodes.reference("", "", name, refuri=REPOSITORY + module.path)
        paragraph = nodes.paragraph("", "", link, nodes.Text(f" · {module.says}"))
        return nodes.list_item("", paragraph, ids=[module.name])


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_transform(ListOfModules)
