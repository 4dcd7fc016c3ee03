"""Sphinx extension: what is made from the book's own data, since Sphinx has no tool for it.

A page says with ``<div id="…"></div>`` where it goes, and is read anew when what it is made from
has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from contents import contents
from front_chart import chart
from hero import fragment
from results_tables import experiments, speeds
from sources_map import folded
from sphinx.application import Sphinx

# The id of a place -> what writes it, from the repository and the pages that can be linked, and
# the files that it is made from.
PLACES: dict[str, tuple[Callable[[Path, set[str]], str], tuple[str, ...]]] = {
    "chapters": (contents, ("_toc.yml", "book/[0-9]*.ipynb")),
    "experiments": (experiments, ("book/results/*.json", "book/[0-9]*.py")),
    "front-chart": (lambda root, _: chart(root / "book" / "results"), ("book/results/*.json",)),
    "front-game": (lambda *_: fragment(), ("pgt/**/*.py",)),
    "documents": (lambda *_: folded(), ("book/_ext/sources_map.toml",)),
    "speed": (lambda root, _: speeds(root), ("book/results/bench.json",)),
}


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put into a page what it asks for."""
    root = Path(app.srcdir)
    for name, (write, files) in PLACES.items():
        place = f'<div id="{name}"></div>'
        if place in source[0]:
            built = {page.removeprefix("book/") for page in app.env.found_docs}
            source[0] = source[0].replace(place, write(root, built))
            for path in (path for pattern in files for path in root.glob(pattern)):
                app.env.dependencies[docname].add(str(path))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
