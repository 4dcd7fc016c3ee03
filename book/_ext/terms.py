"""Sphinx extension: an index with titles of chapters; Sphinx's has [1] and [2], marked by hand.

Nothing is marked by hand. The words of the index are those of the glossary, and a page is listed

* where it shows such a word in **bold**, as a chapter does when it introduces one, or has it in a
  heading,
* where it names something of the package as code, or imports it in a cell (such a name leads to
  its module on the page of the package), and
* where Sphinx itself makes an index entry, as for the definitions in the glossary.

The page ``genindex.md`` says where the two lists go: ``<div id="index-of-words">`` and
``<div id="index-of-package">``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import api
import toc
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

logger = logging.getLogger(__name__)

PACKAGE = "pgt"
PLACES = {"index-of-words": False, "index-of-package": True}


def glossary_terms(text: str) -> list[str]:
    """Return the terms that the ``{glossary}`` blocks of a Markdown text define.

    Examples
    --------
    >>> glossary_terms("```{glossary}\\ngate\\n  A number.\\n\\npointer\\n  A part.\\n```\\n")
    ['gate', 'pointer']
    """
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```", text, re.S | re.M)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.strip() for line in lines if line.strip() and not line[0].isspace()]


def plain(words: str) -> str:
    """Return a form that is the same for "Heads", "head" and "head.".

    Examples
    --------
    >>> plain("Gradient  clipping."), plain("keys")
    ('gradient clipping', 'key')
    """
    parts = re.findall(r"[\w@’'-]+", words.lower())
    return " ".join(re.sub(r"(?<=[^s])s$", "", part) for part in parts)


def imports(code: str) -> list[str]:
    """Return the full names that a cell imports from the package, but for constants.

    Examples
    --------
    >>> imports("from pgt.metrics import evaluate, gains")
    ['pgt.metrics.evaluate', 'pgt.metrics.gains']
    >>> imports("from pgt import city; from wherenext.figures import INK")
    ['wherenext.city']
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:  # not Python
        return []
    return [
        f"{node.module}.{name.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE
        for name in node.names
        if not name.name.isupper()
    ]


class IndexTerms(SphinxTransform):
    """Make index entries where a page introduces a word of the glossary or uses the package."""

    default_priority = 800  # before Sphinx collects the entries

    def apply(self, **_: Any) -> None:
        """Insert the entries, the first of each word only."""
        if toc.chapter(self.env.docname) is None:
            return
        seen: set[str] = set()
        for node, word in list(self.occurrences()):
            if word not in seen:
                seen.add(word)
                self.enter(node, word)

    def occurrences(self) -> Iterator[tuple[nodes.Element, str]]:
        """Yield each node that belongs into the index, with its word."""
        terms = {plain(word): word for word in self.config.index_words}
        for node in self.document.findall(nodes.Element):
            if isinstance(node, nodes.strong):
                if (word := plain(node.astext())) in terms:
                    yield node, terms[word]
            elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
                heading = f" {plain(node.astext())} "
                for form, term in terms.items():
                    if f" {form} " in heading:
                        yield node.parent, term
            elif isinstance(node, nodes.literal):
                if re.fullmatch(rf"{PACKAGE}(\.\w+)+", node.astext()):
                    yield node, node.astext()
            elif isinstance(node, nodes.literal_block):
                yield from ((node, name) for name in imports(node.astext()))

    def enter(self, node: nodes.Element, word: str) -> None:
        """Insert an entry for `word` that leads to `node`."""
        if not node["ids"]:
            slug = re.sub(r"\W+", "-", word.lower()).strip("-")
            node["ids"].append(f"index-{slug}")
        entry = ("single", word, node["ids"][0], "", None)
        index = addnodes.index(entries=[entry])
        self.document.append(index)


def entries(app: Sphinx, package: bool) -> dict[str, dict[str, str]]:
    """Return the anchors of every word by page, sorted as in a book."""
    found: dict[str, dict[str, str]] = {}
    domain: Any = app.env.get_domain("index")
    for docname, page in sorted(domain.entries.items()):  # the order of the chapters
        if docname == app.config.index_api.removesuffix(".md"):
            continue  # it names the whole package; each name leads there
        for _type, word, anchor, _main, _key in page:
            if word.startswith(f"{PACKAGE}.") == package:
                found.setdefault(word, {}).setdefault(docname, anchor)
    order = sorted(found, key=lambda word: (re.sub(r"\W", "", word.lower()), word))
    return {word: found[word] for word in order}


def module_of(name: str) -> str | None:
    """Return the module that a full name is in, or is.

    Examples
    --------
    >>> module_of("pgt.metrics.evaluate"), module_of("wherenext.city"), module_of("pgt.nowhere")
    ('pgt.metrics', 'wherenext.city', 'pgt')
    """
    known = {module.name for module in api.modules()}
    parts = name.split(".")
    ways = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((way for way in ways if way in known), None)


def line(app: Sphinx, docname: str, word: str, pages: dict[str, str]) -> nodes.list_item:
    """Return one line of the index: the word, which leads to its definition, and its pages."""
    shown: nodes.Element
    if word.startswith(f"{PACKAGE}."):
        shown = nodes.literal(word, word)
        listed = app.config.index_api.removesuffix(".md")
        if listed in app.env.found_docs and (module := module_of(word)):
            shown = make_refnode(app.builder, docname, listed, module, shown)
    else:
        shown = nodes.inline(word, word, classes=["index-word"])
    paragraph = nodes.paragraph()
    defined = app.config.index_glossary.removesuffix(".md")
    if defined in pages:
        shown = make_refnode(app.builder, docname, defined, pages[defined], shown)
    paragraph += shown
    for page, anchor in pages.items():
        if page != defined:
            title = nodes.inline("", app.env.titles[page].astext().split(": ")[0])
            paragraph += nodes.Text(" · ")
            paragraph += make_refnode(app.builder, docname, page, anchor, title)
    return nodes.list_item("", paragraph)


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the lists into the page that asks for them; letters stand above the words."""
    for raw in list(doctree.findall(nodes.raw)):
        place = re.search(r'<div id="(index-of-\w+)">', raw.astext())
        if place is None:
            continue
        listed = entries(app, PLACES[place[1]])
        if not listed:
            logger.warning("The index is empty.", location=docname)
        new: list[nodes.Node] = []
        for letter, words in groupby(listed, key=lambda word: word[0].upper()):
            if not PLACES[place[1]]:
                new.append(nodes.paragraph("", letter, classes=["index-letter"]))
            lines = [line(app, docname, word, listed[word]) for word in words]
            new.append(nodes.bullet_list("", *lines, classes=["book-index"]))
        raw.replace_self(new)


def load_terms(app: Sphinx) -> None:
    """Read the words of the index from the glossary's source."""
    path = Path(app.srcdir) / app.config.index_glossary
    app.config.index_words = glossary_terms(path.read_text(encoding="utf-8"))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_config_value("index_glossary", "book/glossary.md", "env", types=[str])
    app.add_config_value("index_api", "book/api.md", "env", types=[str])
    app.add_config_value("index_words", [], "", types=[list])
    app.add_transform(IndexTerms)
    app.connect("builder-inited", load_terms)
    app.connect("doctree-resolved", fill)
