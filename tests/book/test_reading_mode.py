"""What is folded says what it is, what installs is left out, and tables line up."""

from __future__ import annotations

import json
from pathlib import Path
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
    return build(folder, {"other": "# Other\n"}, "myst_nb", "reading", "page_files", more=more)


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


def test_only_the_search_has_the_script_of_the_search(book: Built) -> None:
    assert "search.js" in book.page("search")
    assert "_static/search.js" not in book.page("01_a")


# ---- Tables --------------------------------------------------------------------------------------


def numbers(markup: str) -> list[str]:
    """The texts of the cells that stand right."""
    table = BeautifulSoup(reading.align(markup), "html.parser")
    return [found.get_text() for found in table.select(".number")]


def test_heads_stand_over_their_numbers() -> None:
    head = "<th></th><th>model</th><th>Acc@1</th>"
    first = "<tr><th>0</th><td>kernel</td><td>58.1 [55, 60]</td></tr>"
    second = "<tr><th>1</th><td>PGT</td><td>–</td></tr>"
    markup = (
        f'<table><thead><tr style="text-align: right;">{head}</tr></thead>{first}{second}</table>'
    )
    assert numbers(markup) == ["", "Acc@1", "0", "58.1 [55, 60]", "1", "–"]
    assert "text-align" not in reading.align(markup)


def test_cells_that_span_are_counted() -> None:
    head = '<tr><th></th><th colspan="2">GeoLife</th></tr><tr><th></th><th>a</th><th>b</th></tr>'
    body = '<tr><th rowspan="2">x</th><td>1</td><td>c</td></tr><tr><td>2</td><td>d</td></tr>'
    assert numbers(f"<table><thead>{head}</thead>{body}</table>") == ["a", "1", "2"]


@pytest.mark.parametrize(
    "text",
    ["1", "-0.5", "−0.5", "+1.2 [−0.1, 2.5]", "45 %", "45.0%", "12 ± 3", "1,024", "3e-05", "2.5 MB",
     "0.4 – 0.6", "(2.1)", "12 (3)", "~5", "10 s", "3 of 12"],
)  # fmt: skip
def test_it_is_a_number(text: str) -> None:
    assert reading.is_number(text)


@pytest.mark.parametrize(
    "text", ["", "Monday", "chapter 7", "7th Street", "PGT 2", "12 people", "–"]
)
def test_it_is_none(text: str) -> None:
    assert not reading.is_number(text)


def coded(markup: str) -> list[str]:
    """The texts of the cells that are set as code."""
    table = BeautifulSoup(reading.align(markup), "html.parser")
    return [found.get_text() for found in table.select("td > code, th > code")]


def test_columns_of_the_tables_of_visits_are_set_as_code_in_heads_alone() -> None:
    head = "<tr><th></th><th>user_id</th><th>place</th><th>no_pointer</th></tr>"
    body = "<tr><th>started_at</th><td>4</td><td>user_id</td><td>2</td></tr>"
    assert coded(f"<table><thead>{head}</thead>{body}</table>") == ["user_id"]


def test_what_stands_below_in_code_is_set_as_code() -> None:
    # As pandas writes a table whose index has a name.
    head = "<tr><th></th><th>change</th><th>in code</th></tr>"
    head += "<tr><th>in code</th><th></th><th></th></tr>"
    body = "<tr><th>no_user</th><td>no_time</td><td>without = (&#x27;user&#x27;,)</td></tr>"
    body += "<tr><th>full</th><td>2</td><td></td></tr>"
    found = coded(f"<table><thead>{head}</thead>{body}</table>")
    assert found == ["no_user", "without = ('user',)", "full"]


def test_what_is_code_already_is_set_once() -> None:
    markup = (
        "<table><thead><tr><th><code>user_id</code></th></tr></thead><tr><td>a</td></tr></table>"
    )
    assert reading.align(markup) == markup


def test_a_table_of_words_keeps_its_bytes() -> None:
    markup = "<table><tr><td>a &amp; b<br></td></tr></table>"
    assert reading.align(markup) == markup


def test_scripts_and_styles_are_where_the_extension_says() -> None:
    static = Path(reading.__file__).parents[1] / "_static"
    assert "Scorer.score" in (static / "search.js").read_text(encoding="utf-8")
    assert "pgt-code" in (static / "book.js").read_text(encoding="utf-8")
