"""Sphinx extension: plain Markdown that also reads well in Colab, made richer in the book.

Directives such as ``{note}`` and ``{cite}`` show as raw text in Colab and on GitHub. Chapters use
plain Markdown instead, and the book build recognises two habits:

* A block quote that starts with a bold word and a full stop (``> **Pitfall.** …``) becomes a box
  with the classes ``callout`` and ``callout-pitfall``.
* A link whose address is the DOI (or the URL) of an entry in ``references.bib`` becomes a
  citation: ``[Vinyals et al. (2015)](https://arxiv.org/abs/1506.03134)`` is then listed in the
  bibliography, with links both ways.

Both are habits of prose. Code cells stay as they are: there, a citation's braces would be those of
an f-string, and other code would not be found among the executed chapters.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from pybtex.database import parse_file
from sphinx.application import Sphinx

LINK = re.compile(r"\[[^\][]+\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")


def addresses(bibliography: Path) -> dict[str, str]:
    """Return the citation key of each address (``https://doi.org/…`` or URL) in a .bib file."""
    keys = {}
    for key, entry in parse_file(str(bibliography)).entries.items():
        if "doi" in entry.fields:
            keys[f"https://doi.org/{entry.fields['doi'].lower()}"] = key
        if "url" in entry.fields:
            keys[entry.fields["url"]] = key
    return keys


def cite(text: str, keys: dict[str, str]) -> str:
    """Return `text` with each link to a known paper replaced by a citation.

    Examples
    --------
    >>> cite("[A (2015)](https://doi.org/10.1/A)", {"https://doi.org/10.1/a": "a2015"})
    '{cite:t}`a2015`'
    """

    def replace(match: re.Match[str]) -> str:
        url = match[1]
        key = keys.get(url.lower() if url.startswith("https://doi.org/") else url)
        return f"{{cite:t}}`{key}`" if key else match[0]

    return LINK.sub(replace, text)


def cite_in_notebook(text: str, keys: dict[str, str]) -> str:
    """Return a notebook, as JSON, with citations in its Markdown cells only."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = cite("".join(cell["source"]), keys)
    return json.dumps(notebook)


def cite_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn links to known papers into citations before the page is parsed."""
    keys: dict[str, str] = {}
    for name in app.config.bibtex_bibfiles:
        keys |= addresses(Path(app.srcdir) / name)
    is_notebook = str(app.env.doc2path(docname)).endswith(".ipynb")
    source[0] = (cite_in_notebook if is_notebook else cite)(source[0], keys)


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", cite_links)
    app.connect("doctree-read", mark_callouts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
