"""A small Sphinx book with the extensions of this one, built in a folder of its own."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

ROOT = Path(__file__).resolve().parents[2]

CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_parser", "sphinx.ext.mathjax", {{extensions}}]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
root_doc = "index"
# Said outright: what an earlier build in this process added to Sphinx's default would stay.
source_suffix = {{{{".md": "markdown"}}}}
nitpicky = False
html_theme = "basic"
html_use_index = False
{{more}}
"""


@dataclass
class Built:
    """The written pages, and what Sphinx complained about."""

    folder: Path
    warnings: str
    app: Sphinx

    def page(self, name: str) -> str:
        """The HTML of a page."""
        return (self.folder / f"{name}.html").read_text(encoding="utf-8")

    def doctree(self, name: str) -> nodes.document:
        """What was read of a page."""
        return self.app.env.get_doctree(name)


def build(folder: Path, pages: dict[str, str], *extensions: str, more: str = "") -> Built:
    """Build `pages`, Markdown by name, with extensions of the book; `more` goes into conf.py."""
    source = folder / "source"
    for name, text in {"index": "# Start\n", **pages}.items():
        path = source / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    toctree = "\n".join(["", "```{toctree}", *pages, "```", ""])
    with (source / "index.md").open("a", encoding="utf-8") as file:
        file.write(toctree)
    names = ", ".join(repr(name) for name in extensions)
    (source / "conf.py").write_text(CONF.format(extensions=names, more=more), encoding="utf-8")
    warnings = io.StringIO()
    with patch_docutils(str(source)), docutils_namespace():
        app = Sphinx(
            source, source, folder / "html", folder / "trees", "html",
            status=None, warning=warnings, freshenv=True,
        )  # fmt: skip
        app.build()
    return Built(folder / "html", warnings.getvalue(), app)
