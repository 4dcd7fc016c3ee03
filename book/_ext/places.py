"""Sphinx extension: what is made from the book's own data, since Sphinx has no tool for it.

A page says with ``<div id="…"></div>`` where it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contents import contents
from front_chart import chart
from hero import fragment
from results_tables import experiments, speeds
from sphinx.application import Sphinx

# The id of a place -> what writes it, from the repository and the pages that can be linked.
PLACES: dict[str, Callable[[Path, set[str]], str]] = {
    "chapters": contents,
    "experiments": experiments,
    "front-chart": lambda root, _: chart(root / "book" / "results"),
    "front-game": lambda *_: fragment(),
    "speed": lambda root, _: speeds(root),
}


def fill(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Put into a page what it asks for."""
    for name, write in PLACES.items():
        place = f'<div id="{name}"></div>'
        if place in source[0]:
            built = {page.removeprefix("book/") for page in app.env.found_docs}
            source[0] = source[0].replace(place, write(Path(app.srcdir), built))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("source-read", fill)
