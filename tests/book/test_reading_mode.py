"""What is folded says what it is, what installs is left out, and tables line up."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
import reading
from bs4 import BeautifulSoup
from colab import ADDRESS

from .sphinx_helpers import Built, build

FIGURE = '<figure class="pgt-figure"><svg></svg></figure>'
TABLE = "<table><tr><td>1</td></tr></table>"
OWN: dict[str, Any] = {
    "mystnb": {"code_prompt_show": "Show all rows", "code_prompt_hide": "Hide all rows"}
}


def cell(source: str, html: str = "", metadata: Any = None) -> Any:
    """A code cell with an output."""
    outputs = (
        [nbformat.v4.new_output("execute_result", {"text/html": html}, execution_count=1)]
        if html
        else []
    )
    return nbformat.v4.new_code_cell(
        source, metadata=metadata or {}, outputs=outputs, execution_count=1
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A chapter of a few cells, as notebooks have them."""
    folder = tmp_path_factory.mktemp("book")
    hidden: dict[str, Any] = {"tags": ["hide-input"]}
    install = f'try:\n    import pgt\nexcept ImportError:\n    install("-q "\n        "{ADDRESS}")'
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# A chapter\n\nText."),
            cell(install, metadata=hidden),
            cell("plot()", FIGURE, hidden),
            cell("table()", TABLE, hidden),
            cell("nothing = 1", metadata=hidden),
            cell("rows()", TABLE, hidden | OWN),
            cell("seen = 1"),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    source = folder / "source"
    source.mkdir()
    (source / "01_a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    # MyST-NB brings MyST's parser with it.
    more = 'extensions.remove("myst_parser")\nnb_execution_mode = "off"\n'
    more += 'source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}'
    return build(folder, {"other": "# Other\n"}, "myst_nb", "reading", more=more)


def test_a_folded_cell_says_what_is_in_it(book: Built) -> None:
    page = BeautifulSoup(book.page("01_a"), "html.parser")
    said = [[part.get_text() for part in summary.select("p")] for summary in page.select("summary")]
    assert said == [
        list(reading.DRAWN), list(reading.CODE), list(reading.CODE),
        ["Show all rows", "Hide all rows"],
    ]  # fmt: skip


def test_what_installs_is_in_the_notebook_alone(book: Built) -> None:
    page = book.page("01_a")
    assert ADDRESS not in page and "import pgt" not in page
    assert "seen" in page
    offered = (book.folder / "_sources" / "01_a.ipynb.txt").read_text(encoding="utf-8")
    assert ADDRESS in offered
