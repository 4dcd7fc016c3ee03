"""Sphinx extension: less code before the text, and tables that line up; MyST-NB has one prompt for all.

The cell with which a chapter installs the package on Colab stays in the notebook, but not in the
page. A folded cell says what is in it: how a figure is drawn, or just the code. ``book.js`` adds a
button that opens all of them. In tables, columns of numbers stand right, columns of words left.

Tables show words. An identifier stands in them only as code, and two kinds are set as code here: the
columns of the reader's own tables, as heads, and whatever stands below the head "in code". All others
are a fault (``tests/built/test_outputs.py``): the chapter puts words for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from colab import ADDRESS
from docutils import nodes
from sphinx.application import Sphinx

DRAWN = ("How this figure is drawn", "Hide how this figure is drawn")
CODE = ("Show the code", "Hide the code")
FIGURE = re.compile(r"<(?:figure|iframe|svg|canvas)\b")

TABLE = re.compile(r"<table\b(?:(?!<table\b).)*?</table>", re.S)
# 12, −3.5, +0.8 [−0.1, 1.7], 1,024 ± 3, 45 %, 2 h 10 min; an empty cell and a dash fit in as well.
UNIT = r"(?:%|ms|s|min|h|d|km|m|kB|MB|GB|KiB|MiB|GiB|×|points?)"
VALUE = rf"[~≈<>≤≥]?\s*[-+−±]?\d[\d,.]*(?:e[-+−]?\d+)?\s*{UNIT}?"
NUMBER = re.compile(rf"\(?{VALUE}\)?(?:(?:\s|,|;|±|\[|\]|\(|\)|–|-|−|/|to|of)*{VALUE})*\s*[\])]*")
# Columns of the tables of visits, fixes and results, which a reader's own code names.
COLUMNS = {
    "user_id", "location_id", "started_at", "finished_at", "tracked_at", "n_fixes", "p_explore",
    "target_time",
}  # fmt: skip
IN_CODE = "in code"
NOTHING = {"", "–", "—", "-", "NaN", "nan", "…", "..."}


def code_cells(doctree: nodes.document) -> Iterator[nodes.container]:
    """The code cells of a page."""
    for node in doctree.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            yield node


def draws(cell: nodes.container) -> bool:
    """Whether a cell has a figure or a map among its outputs."""
    return any(
        part.get("mime_type", "").startswith("image/") for part in cell.findall(nodes.container)
    ) or any(FIGURE.search(raw.astext()) for raw in cell.findall(nodes.raw))


def hide_installing(_app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the cell that installs the package."""
    for cell in list(code_cells(doctree)):
        if ADDRESS in cell[0].astext():
            cell.parent.remove(cell)


def name_folded(app: Sphinx, doctree: nodes.document) -> None:
    """Say on each folded input what is in it, unless its chapter has already said so."""
    for cell in code_cells(doctree):
        own = cell.get("prompt_show") != app.config.nb_code_prompt_show
        if cell.get("hide_mode") == "input" and not own:
            cell["prompt_show"], cell["prompt_hide"] = DRAWN if draws(cell) else CODE


def is_number(text: str) -> bool:
    """Whether a cell of a table is a number, an interval, or a number with its unit.

    >>> [is_number(text) for text in ("12", "+0.8 [−0.1, 1.7]", "45 %", "1,024 ± 3", "45.1 (3)")]
    [True, True, True, True, True]
    >>> [is_number(text) for text in ("Monday", "3 of the week", "chapter 7", "")]
    [False, False, False, False]
    """
    return NUMBER.fullmatch(" ".join(text.split())) is not None


def grid(table: Tag) -> tuple[list[dict[int, Tag]], int]:
    """The rows of a table, its cells by column, and how many of the rows are heads.

    A cell that spans several columns is not among them, for it belongs to none.
    """
    rows: list[dict[int, Tag]] = []
    taken: dict[tuple[int, int], bool] = {}
    trs = table.find_all("tr")
    for at, row in enumerate(trs):
        cells: dict[int, Tag] = {}
        column = 0
        for cell in row.find_all(["th", "td"], recursive=False):
            while (at, column) in taken:
                column += 1
            wide, high = (int(str(cell.get(name, "1"))) for name in ("colspan", "rowspan"))
            for below in range(high):
                for right in range(wide):
                    taken[at + below, column + right] = True
            if wide == 1:
                cells[column] = cell
            column += wide
        rows.append(cells)
    return rows, sum(row.find_parent("thead") is not None for row in trs)


def set_as_code(cell: Tag) -> None:
    """Put what a cell says into ``<code>``, unless there is nothing or it is code already."""
    if cell.get_text().strip() and cell.find("code") is None:
        code = Tag(name="code")
        code.extend([part.extract() for part in list(cell.contents)])
        cell.append(code)


def name_code(rows: list[dict[int, Tag]], heads: int) -> bool:
    """Set names of the code in a table as code; whether there were any."""
    named = [
        cell for row in rows[:heads] for cell in row.values() if cell.get_text().strip() in COLUMNS
    ]
    below = {
        at for row in rows[:heads] for at, cell in row.items() if cell.get_text().strip() == IN_CODE
    }
    named += [row[at] for row in rows[heads:] for at in below if at in row]
    for cell in named:
        set_as_code(cell)
    return bool(named)


def align(markup: str) -> str:
    """Return a table whose columns of numbers, with their heads, have the class ``number``.

    >>> align("<table><thead><tr><th>a</th><th>b</th></tr></thead>"
    ...       "<tr><td>x</td><td>1.5</td></tr></table>")
    '<table><thead><tr><th>a</th><th class="number">b</th></tr></thead><tr><td>x</td><td class="number">1.5</td></tr></table>'
    """
    soup = BeautifulSoup(markup, "html.parser")
    table = soup.table
    if table is None or table.find("table") is not None:
        return markup
    rows, heads = grid(table)
    changed = name_code(rows, heads)
    for head in table.select("tr[style]"):
        del head["style"]  # pandas puts all heads right, those of words too
        changed = True
    columns = {column for row in rows[heads:] for column in row}
    for column in sorted(columns):
        cells = [row[column] for row in rows[heads:] if column in row]
        words = [text for cell in cells if (text := cell.get_text().strip()) not in NOTHING]
        if not words or not all(map(is_number, words)):
            continue
        for row in rows:
            if column in row:
                classes = filter(None, row[column].get_attribute_list("class"))
                row[column]["class"] = " ".join([*map(str, classes), "number"])
                changed = True
    return str(soup) if changed else markup


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Line up the tables of the written pages."""
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).glob("book/*.html")):
        page = path.read_text(encoding="utf-8")
        # Not those inside of a map's own page, which is an attribute without a bare "<".
        done = TABLE.sub(lambda match: align(match[0]), page)
        if done != page:
            path.write_text(done, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", hide_installing, priority=400)
    app.connect("doctree-read", name_folded)
    app.connect("build-finished", finish, priority=805)
