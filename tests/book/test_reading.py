"""A page can be read: its code fits, and what is seen of it is what the chapter teaches."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest

from pgt.colours import VARIABLES

from ..helpers import ROOT

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))
WIDTH = 78  # columns that a page of 1280 px shows without scrolling


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_code_is_wider_than_the_page(chapter: Path) -> None:
    code = [cell.source for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    lines = [line.rstrip() for source in code for line in source.splitlines()]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_opens_with_a_sentence_and_ends_with_what_to_remember(chapter: Path) -> None:
    cells = [cell.source for cell in jupytext.read(chapter).cells if cell.cell_type == "markdown"]
    title, _, rest = cells[0].partition("\n")
    assert title.startswith("# ")
    first = rest.strip().split("\n\n")[0]
    assert not first.startswith("*You will") and len(first.split()) < 60
    prose = "\n".join(cells)
    (remember,) = re.findall(r"^## What to remember\n+((?:- .*\n?|  .*\n?)+)", prose, re.MULTILINE)
    assert 3 <= len(re.findall(r"^- ", remember, re.MULTILINE)) <= 5


def test_every_colour_has_a_value_in_both_themes() -> None:
    css = (ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    assert [name for name in VARIABLES.values() if css.count(f"{name}:") < 2] == []
