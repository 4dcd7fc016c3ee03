"""Sphinx extension: what a chapter teaches, needs and takes, side by side;
a MyST grid would be raw text on Colab.

In the notebook it is one paragraph, which Colab shows as it is: "*You will be able to* …. *You need*
…. *It takes* …." A page makes a list of it with these three words as terms; ``book.css`` puts the
three beside each other, and without styles it is still a list.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

PARTS = ("You will be able to", "You need", "It takes")


def parts(paragraph: nodes.paragraph) -> list[tuple[nodes.emphasis, list[nodes.Node]]]:
    """The three parts of an opening paragraph, each with what follows it; of any other, none."""
    found: list[tuple[nodes.emphasis, list[nodes.Node]]] = []
    for child in paragraph.children:
        if isinstance(child, nodes.emphasis) and " ".join(child.astext().split()) in PARTS:
            found.append((child, []))
        elif found:
            found[-1][1].append(child)
        elif child.astext().strip():
            return []  # begins with something else
    said = tuple(" ".join(label.astext().split()) for label, _ in found)
    return found if said == PARTS else []


def trim(content: list[nodes.Node]) -> list[nodes.Node]:
    """Without the spaces that stood between this part and its neighbours."""
    kept = list(content)
    if kept and isinstance(kept[0], nodes.Text):
        kept[0] = nodes.Text(kept[0].astext().lstrip())
    if kept and isinstance(kept[-1], nodes.Text):
        kept[-1] = nodes.Text(kept[-1].astext().rstrip())
    return kept


def lay_out(_app: Sphinx, doctree: nodes.document) -> None:
    """Turn the opening paragraph of a chapter into a list of its three parts."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if found := parts(paragraph):
            items = [
                nodes.definition_list_item(
                    "",
                    nodes.term("", *label.children),
                    nodes.definition("", nodes.paragraph("", "", *trim(content))),
                )
                for label, content in found
            ]
            paragraph.replace_self(nodes.definition_list("", *items, classes=["opening"]))
            return


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", lay_out)
