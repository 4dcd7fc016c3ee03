r"""Sphinx extension: numbered equations, and links to them from every chapter.

Sphinx's own labels show as raw text in Colab and on GitHub. Chapters use plain TeX and plain words
instead, and the book build recognises two habits:

* ``\tag{7.3}`` inside ``$$…$$`` numbers the third displayed equation of chapter 7. MathJax sets the
  number beside the formula everywhere; in the book the equation can be linked to as well.
* The words "equation (7.3)" and "equations (7.3) and (8.1)" become links to these equations.

A number that is out of order, belongs to another chapter or is used twice is a warning, and so is
a reference to an equation that does not exist; the build stops at warnings.

Links between chapters name notebooks, as Colab and GitHub need them. Sphinx turns those in the text
into links to pages; those in what a cell printed are turned here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

logger = logging.getLogger(__name__)

TAG = re.compile(r"\s*\\tag\{([^{}]*)\}\s*")
NUMBER = re.compile(r"\((\d+\.\d+)\)")
NUMBERS = re.compile(
    r"\b[Ee]quations?\s+\(\d+\.\d+\)(?:(?:,|,?\s+and|\s+or|\s+to|\s*–)\s*\(\d+\.\d+\))*"
)
NOTEBOOK = re.compile(r"(?P<page>\d\d_\w+)\.ipynb(?P<place>#.*)?")
# No links inside these: code, formulas, and what is a link already.
CLOSED: tuple[type[nodes.Node], ...] = (
    *(nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw),
    *(nodes.reference, addnodes.pending_xref, nodes.title, nodes.comment),
)


def chapter_of(docname: str) -> int | None:
    """Return the number of a chapter, or None for the other pages.

    Examples
    --------
    >>> chapter_of("book/07_pointer"), chapter_of("book/glossary")
    (7, None)
    """
    match = re.match(r"(\d\d)_", docname.rsplit("/", 1)[-1])
    return int(match[1]) if match else None


def complaint(tags: Sequence[str], chapter: int | None) -> str | None:
    """Return what is wrong with the tags of a page, in the order of its text, or None.

    Examples
    --------
    >>> complaint(["7.1", "7.2"], 7)
    >>> complaint(["7.1", "7.3"], 7)
    'The equation tagged 7.3 should be 7.2: number them in the order of the text.'
    """
    if tags and chapter is None:
        return f"Equation {tags[0]}: only chapters have numbered equations."
    for k, tag in enumerate(tags, start=1):
        if tag != f"{chapter}.{k}":
            return (
                f"The equation tagged {tag} should be {chapter}.{k}: "
                "number them in the order of the text."
            )
    return None


def tagged(formula: str, tag: str) -> str:
    r"""Return display mathematics for MathJax with the tag outside of all environments.

    Examples
    --------
    >>> tagged("a = b", "7.1")
    '\\[a = b \\tag{7.1}\\]'
    """
    body = TAG.sub(" ", formula).strip()
    # Sphinx splits lines in this way, but would leave the tag inside, where TeX forbids it.
    if r"\\" in body:
        body = rf"\begin{{split}}{body}\end{{split}}"
    return rf"\[{body} \tag{{{tag}}}\]"


def anchor(number: str) -> str:
    """Return the id of an equation.

    Examples
    --------
    >>> anchor("7.3")
    'equation-7-3'
    """
    return "equation-" + number.replace(".", "-")


def equations(env: BuildEnvironment) -> dict[str, str]:
    """Return the page of each numbered equation of the book, by its number."""
    if not hasattr(env, "book_equations"):
        env.book_equations = {}  # type: ignore[attr-defined]
    known: dict[str, str] = env.book_equations  # type: ignore[attr-defined]
    return known


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Give each tagged equation an id, and remember where it is."""
    tags = []
    for block in doctree.findall(nodes.math_block):
        found = TAG.findall(block.astext())
        if len(found) > 1:
            logger.warning("An equation has the tags %s: one is enough.", found, location=block)
        if found:
            number = found[0].strip()
            tags.append(number)
            block["ids"] = [*block["ids"], anchor(number)]
            block["nowrap"] = True
            block[:] = [nodes.Text(tagged(block.astext(), number))]
            equations(app.env)[number] = app.env.docname
    wrong = complaint(tags, chapter_of(app.env.docname))
    if wrong:
        logger.warning(wrong, location=app.env.docname)


def links(text: str, docname: str) -> list[nodes.Node]:
    """Return `text` as nodes in which the numbers of equations wait for their links."""
    parts: list[nodes.Node] = []
    end = 0
    for phrase in NUMBERS.finditer(text):
        for number in NUMBER.finditer(text, phrase.start(), phrase.end()):
            parts.append(nodes.Text(text[end : number.start()]))
            shown = nodes.inline("", number[0], classes=["equation-number"])
            parts.append(
                addnodes.pending_xref(
                    "",
                    shown,
                    refdomain="",
                    reftype="equation",
                    reftarget=number[1],
                    refdoc=docname,
                    refwarn=True,
                )
            )
            end = number.end()
    return [*parts, nodes.Text(text[end:])]


def link_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Turn the words "equation (7.3)" into links, which are resolved when all pages are read."""
    parents = {id(text.parent): text.parent for text in doctree.findall(nodes.Text)}
    for parent in parents.values():
        above: Any = parent
        while above is not None and not isinstance(above, CLOSED):
            above = above.parent
        if above is not None:
            continue
        children: list[nodes.Node] = []
        for child in parent.children:  # a line break splits a text in three
            if isinstance(child, nodes.Text) and children and isinstance(children[-1], nodes.Text):
                children[-1] = nodes.Text(children[-1] + child)
            else:
                children.append(child)
        if any(isinstance(child, nodes.Text) and NUMBERS.search(child) for child in children):
            linked = []
            for child in children:
                text = isinstance(child, nodes.Text)
                linked += links(str(child), app.env.docname) if text else [child]
            parent[:] = linked


def link_chapters(app: Sphinx, doctree: nodes.document) -> None:
    """Turn links to notebooks into links to their pages."""
    for link in doctree.findall(nodes.reference):
        match = NOTEBOOK.fullmatch(link.get("refuri", ""))
        if match is None:
            continue
        folder = app.env.docname.rpartition("/")[0]
        page = f"{folder}/{match['page']}".lstrip("/")
        if page not in app.env.found_docs:
            logger.warning("There is no chapter %s.", page, location=link)
        target = app.builder.get_relative_uri(app.env.docname, page)
        link["refuri"] = target + (match["place"] or "")
        link["internal"] = True


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Return the link to an equation, or None where there is no such equation."""
    target = node["reftarget"]
    if node["reftype"] != "equation" or target not in equations(env):
        return None
    return make_refnode(
        app.builder, node["refdoc"], equations(env)[target], anchor(target), content
    )


def forget(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop the equations of a page that is read anew."""
    for number in [n for n, page in equations(env).items() if page == docname]:
        del equations(env)[number]


def merge(_app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    """Take over what another process has read."""
    for number, page in equations(other).items():
        if page in docnames:
            equations(env)[number] = page


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-read", number_equations)
    app.connect("doctree-read", link_equations)
    app.connect("doctree-read", link_chapters)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
