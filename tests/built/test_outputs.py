"""What cells print as Markdown is set in the book: tables are tables, formulas are formulas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from ..helpers import ROOT

RAW = re.compile(r"\|\s*:?[-–—]+:?\s*\||(?<![\\\w])\$[^\s$][^$\n]*\$")  # a table's rule, a formula
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9][0-9]_*.py"))

pytestmark = pytest.mark.built


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_markup_is_left_in_what_a_cell_prints(html: Path, name: str) -> None:
    page = BeautifulSoup(
        (html / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser"
    )
    texts = [part.get_text() for part in page.select("div.cell_output p, div.cell_output li")]
    assert [text[:200] for text in texts if RAW.search(text)] == []


@pytest.mark.parametrize(
    "left", ["| a | b | |—|—| | 1 | 2 |", "the weight $w_i$ of it", "|---|---|"]
)
def test_it_would_be_noticed(left: str) -> None:
    assert RAW.search(left)


@pytest.mark.parametrize("fine", [r"\(w_i\)", "it costs 5 $ or 6 $ a day", "|x| < |y|", "P(a | b)"])
def test_what_is_no_markup_is_left_alone(fine: str) -> None:
    assert not RAW.search(fine)
