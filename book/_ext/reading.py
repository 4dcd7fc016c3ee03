"""Sphinx extension: less code before the text; MyST-NB has one prompt for all that is folded.

The cell with which a chapter installs the package on Colab stays in the notebook, but not in the
page. A folded cell says what is in it: how a figure is drawn, or its title, as in Colab.
``book.js`` adds a button that opens all of them, and puts columns of numbers right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from address import ARCHIVE
from docutils import nodes
from sphinx.application import Sphinx

DRAWN = ("How this figure is drawn", "Hide how this figure is drawn")
CODE = ("Show the code", "Hide the code")
TITLE = re.compile(r"# @title (.+)")
FIGURE = re.compile(r"<(?:figure|iframe|svg|canvas)\b")


def code_cells(doctree: nodes.document) -> Iterator[nodes.container]:
    """The code cells of a page."""
    for node in doctree.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            yield node


def draws(cell: nodes.container) -> bool:
    """Whether a cell has a figure or a map among its outputs."""
    return any(
        part.get("mime_type", "").startswith("image/") for part in cell.findall(nodes.container)
    ) or any(FIGURE.search(raw.astext()) for raw in cell.findall(nodes.raw))


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the cell that installs; say on each folded one what is in it, unless it says so."""
    for cell in list(code_cells(doctree)):
        own = cell.get("prompt_show") != app.config.nb_code_prompt_show
        if ARCHIVE in cell[0].astext():
            cell.parent.remove(cell)
        elif cell.get("hide_mode") == "input" and not own:
            prompts: tuple[str, ...] = DRAWN if draws(cell) else CODE
            if prompts is CODE and (title := TITLE.search(cell[0].astext())):
                prompts = tuple(f"{one}: {title[1].replace('`', '')}" for one in CODE)
            cell["prompt_show"], cell["prompt_hide"] = prompts


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", fold)
