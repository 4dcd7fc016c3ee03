"""Sphinx extension: what is made from the book's own data goes where a page says ``<div id="…"></div>``.

Sphinx has no tool for these. autosummary would import every module to list them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from html import escape
from pathlib import Path

from address import FILES
from contents import contents
from front_chart import chart
from results_tables import colab, experiments, speeds
from sphinx.application import Sphinx
from wherenext.front_game import fragment


def modules(root: Path) -> str:
    """The modules of the package, each with the first line of its docstring and a link to its source."""
    lines = []
    for path in sorted((root / "pgt").glob("[!_]*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first = escape(" ".join(said.split("\n\n")[0].replace("`", "").split()))
        lines.append(
            f'<li id="pgt.{path.stem}"><a href="{FILES}pgt/{path.name}"><code>pgt.{path.stem}'
            f"</code></a> · {first}</li>"
        )
    return f"<ul>{''.join(lines)}</ul>"


# The id of a place -> what writes it, from the repository and the pages that can be linked.
PLACES: dict[str, Callable[[Path, set[str]], str]] = {
    "chapters": contents,
    "colab": colab,
    "experiments": experiments,
    "front-chart": lambda root, _: chart(root / "book" / "results"),
    "front-game": lambda *_: fragment(),
    "modules-of-package": lambda root, _: modules(root),
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
