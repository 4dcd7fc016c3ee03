r"""Sphinx extension: plain Markdown that reads well in Colab, where MyST shows as raw text.

Chapters use plain Markdown, and the book build recognises some habits:

* A block quote that starts with a bold word and a full stop (``> **Pitfall.** …``) becomes a box
  with the classes ``callout`` and ``callout-pitfall``.
* A link whose address is the DOI (or the URL) of an entry in ``references.bib`` becomes a
  citation: ``[Vinyals et al. (2015)](https://arxiv.org/abs/1506.03134)`` is then listed in the
  bibliography, with links both ways.
* ``\tag{7.3}`` inside ``$$…$$`` numbers an equation. MathJax sets the number beside the formula
  everywhere; in the book, "equation (7.3)" and "equations (7.3) and (8.1)" link to it as well.
* A link to a page of the built book that is no notebook (``…/where-next/book/errata.html``), which
  is how Colab finds it, leads to the page beside it.
* Links between chapters name notebooks. MyST turns those in the text into links to pages; those in
  what a cell printed, and a figure's links to the built book, are turned here.

Code cells stay as they are: other code would not be found among the executed chapters.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from address import SITE
from docutils import nodes
from pybtex.database import parse_file
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

LINK = re.compile(r"\[[^\][]+\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")
BOOK = re.escape(f"{SITE}/book/")
OWN_PAGE = re.compile(rf"\]\({BOOK}(\w+)\.html\)")
OWN_LINK = re.compile(rf'(<a href="){BOOK}(\w+\.html")')
NOTEBOOK = re.compile(r"(?P<page>(?:\d\d|evidence)_\w+)\.ipynb(?P<place>#.*)?")
TAG = re.compile(r"\s*\\tag\{([^{}]*)\}\s*")
NUMBER = re.compile(r"\((\d+\.\d+)\)")
# The words that refer to equations; code is matched first, to be left alone.
EQUATIONS = re.compile(
    r"(?P<code>^(?P<fence>```+).*?^(?P=fence)|(?P<ticks>`+)[^`].*?(?P=ticks))|"
    r"\b[Ee]quations?\s+\(\d+\.\d+\)(?:(?:,|,?\s+and|\s+or|\s+to|\s*–)\s*\(\d+\.\d+\))*",
    re.S | re.M,
)


def addresses(bibliography: Path) -> dict[str, str]:
    """Return the citation key of each address (``https://doi.org/…`` or URL) in a .bib file."""
    keys = {}
    for key, entry in parse_file(str(bibliography)).entries.items():
        if "doi" in entry.fields:
            keys[f"https://doi.org/{entry.fields['doi'].lower()}"] = key
        if "url" in entry.fields:
            keys[entry.fields["url"]] = key
    return keys


def enrich(text: str, keys: dict[str, str]) -> str:
    """Return Markdown with links to known papers as citations, and equations as references."""

    def cite(match: re.Match[str]) -> str:
        url = match[1]
        key = keys.get(url.lower() if url.startswith("https://doi.org/") else url)
        return f"{{cite:t}}`{key}`" if key else match[0]

    def refer(match: re.Match[str]) -> str:
        return match[0] if match["code"] else NUMBER.sub(r"{eq}`\1`", match[0])

    return EQUATIONS.sub(refer, LINK.sub(cite, OWN_PAGE.sub(r"](\1.md)", text)))


def enrich_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Enrich a page, or the Markdown cells of a notebook, before it is parsed."""
    (bibliography,) = app.config.bibtex_bibfiles
    keys = addresses(Path(app.srcdir) / bibliography)
    if not str(app.env.doc2path(docname)).endswith(".ipynb"):
        source[0] = enrich(source[0], keys)
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = enrich("".join(cell["source"]), keys)
    source[0] = json.dumps(notebook)


def mark_callouts(_app: Sphinx, doctree: nodes.document) -> None:
    """Turn block quotes that start with a bold word and a full stop into boxes."""
    for quote in list(doctree.findall(nodes.block_quote)):
        first = quote.children[0] if quote.children else nodes.paragraph()
        # The parser leaves an empty text before a leading bold word.
        lead = next((child for child in first.children if child.astext()), None)
        if isinstance(lead, nodes.strong) and lead.astext().endswith("."):
            name = re.sub(r"\W+", "-", lead.astext().lower()).strip("-")
            # Sphinx writes no classes on a <blockquote>, but does on a <div>.
            box = nodes.container("", *quote.children, classes=["callout", f"callout-{name}"])
            quote.replace_self(box)


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Make each tagged equation known to Sphinx, by its number."""
    known: dict[str, tuple[str, str]] = app.env.get_domain("math").data["objects"]
    for block in doctree.findall(nodes.math_block):
        if found := TAG.search(block.astext()):
            number = found[1].strip()
            known[number] = (app.env.docname, number)
            block["ids"] = [*block["ids"], nodes.make_id(f"equation-{number}")]
            # Sphinx splits lines in this way, but would leave the tag inside, where TeX forbids it.
            body = TAG.sub(" ", block.astext()).strip()
            if r"\\" in body:
                body = rf"\begin{{split}}{body}\end{{split}}"
            block["nowrap"] = True
            block[:] = [nodes.Text(rf"\[{body} \tag{{{number}}}\]")]


def link_chapters(app: Sphinx, doctree: nodes.document) -> None:
    """Turn links to notebooks into links to their pages."""
    for link in doctree.findall(nodes.reference):
        match = NOTEBOOK.fullmatch(link.get("refuri", ""))
        if match is None:
            continue
        page = f"{app.env.docname.rpartition('/')[0]}/{match['page']}".lstrip("/")
        if page not in app.env.found_docs:
            logger.warning("There is no chapter %s.", page, location=link)
        target = app.builder.get_relative_uri(app.env.docname, page)
        link["refuri"] = target + (match["place"] or "")
        link["internal"] = True
    for raw in doctree.findall(nodes.raw):
        if raw.get("format") == "html" and OWN_LINK.search(raw.astext()):
            raw[:] = [nodes.Text(OWN_LINK.sub(r"\1\2", raw.astext()))]


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("source-read", enrich_source)
    app.connect("doctree-read", mark_callouts)
    app.connect("doctree-read", number_equations)
    app.connect("doctree-read", link_chapters)
