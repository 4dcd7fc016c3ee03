"""Sphinx extension: chapters with numbers; ``numbered`` of a toctree numbers sections too.

A chapter's file has its number in its name, as in ``07_pointer.ipynb``. The number goes into the
heading before Sphinx notes the title, so the sidebar, the tab of the browser, the links to the next
page and the search have it as well. Anchors and the text of links stay as they are written.
"""

from __future__ import annotations

import toc
from docutils import nodes
from sphinx.application import Sphinx


def number_chapter(app: Sphinx, doctree: nodes.document) -> None:
    """Put the number of a chapter before its title."""
    number = toc.chapter(app.env.docname)
    section = next(doctree.findall(nodes.section), None)
    if number is not None and section is not None:
        section[0].insert(0, nodes.inline("", f"{number}. ", classes=["chapter-number"]))


def name_documents(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Let a link that shows a file's path, as the table of execution times does, show its title."""
    for link in doctree.findall(nodes.reference):
        if (title := app.env.titles.get(link.astext())) is not None:
            link.children = [nodes.inline("", title.astext())]


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    # Before Sphinx collects the titles.
    app.connect("doctree-read", number_chapter, priority=400)
    app.connect("doctree-resolved", name_documents)
