"""What cells print is set in the book: tables are tables, formulas are formulas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import reading
from bs4 import BeautifulSoup

from ..helpers import ROOT

RAW = re.compile(r"\|\s*:?[-–—]+:?\s*\||(?<![\\\w])\$[^\s$][^$\n]*\$")  # a table's rule, a formula
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9][0-9]_*.py"))
PAGES = CHAPTERS + sorted(path.stem for path in (ROOT / "book").glob("*.md"))
# What a machine writes into a table, and a person would not.
MACHINE = (
    ("no value", re.compile(r"(?<![\w.])(?:NaN|nan|NaT|<NA>)(?!\w)|^None$")),
    # At the end of an interval the sign says on which side of zero it lies.
    ("a zero below zero", re.compile(r"^[-−]0(?:\.0*)?$")),
    ("a raw dict", re.compile(r"\{\s*(?:['\"]|\d+\s*:)")),
    # Names of the code are set as code: see book/_ext/reading.py.
    ("an identifier", re.compile(r"\w_\w|(?<!\w)_\w")),
    ("rounding of the machine", re.compile(r"\d\.(?=\d{6})\d*(?:000[1-9]|999\d)(?!\d)")),
)
COUNTED = re.compile(r"\b(?:people|visits|windows|seeds|places|days|rows|runs)\b")
COUNT = re.compile(r"[-−]?\d[\d,]*\.0")
WHOLE = re.compile(r"(?:[-−]?\d[\d,]*(?:\.0)?|[–—-]?)")

pytestmark = pytest.mark.built


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_markup_is_left_in_what_a_cell_prints(html: Path, name: str) -> None:
    page = BeautifulSoup(
        (html / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser"
    )
    texts = [part.get_text() for part in page.select("div.cell_output p, div.cell_output li")]
    assert [text[:200] for text in texts if RAW.search(text)] == []


def whole(column: list[str]) -> list[str]:
    """The cells of a column that are counts and yet end in .0; shares may be whole by chance."""
    counts = [text for text in column if COUNT.fullmatch(text)]
    values = {float(text.replace(",", "").replace("−", "-")) for text in counts}
    chance = values <= {0.0, 1.0, 100.0} or (len(counts) < 2 and max(values) <= 100)
    return counts if counts and all(map(WHOLE.fullmatch, column)) and not chance else []


def faults(page: BeautifulSoup, inside: str = ".bd-article table") -> list[str]:
    """What is wrong with the tables of a page: the text of a cell, and why."""
    found = []
    for table in page.select(inside):
        # A formula has its braces and underscores, and names of the code are set as code.
        for part in table.select("code, .math, script"):
            part.decompose()
        rows, heads = reading.grid(table)
        for row in rows:
            for cell in row.values():
                text = " ".join(cell.get_text(" ").split())
                found += [f"{text[:80]!r}: {why}" for why, sign in MACHINE if sign.search(text)]
        for column in sorted({column for row in rows[heads:] for column in row}):
            cells = [row[column].get_text().strip() for row in rows[heads:] if column in row]
            head = " ".join(row[column].get_text() for row in rows[:heads] if column in row)
            if COUNTED.search(head) and (counts := whole(cells)):
                found.append(f"{counts[0]!r}: a count with a decimal, {len(counts)} in a column")
    return found


@pytest.mark.parametrize("name", PAGES)
def test_no_table_shows_what_a_machine_would_write(html: Path, name: str) -> None:
    text = (html / "book" / f"{name}.html").read_text(encoding="utf-8")
    text = re.sub(r"<svg\b.*?</svg>|\bsrcdoc=\"[^\"]*\"", "", text, flags=re.S)
    found = faults(BeautifulSoup(text, "html.parser"))
    assert found == []
