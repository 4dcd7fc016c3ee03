"""A page can be read: its code fits, and what is seen of it is what the chapter teaches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
import pytest

from ..helpers import ROOT

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))
WIDTH = 78  # columns that a page of 1280 px shows without scrolling


def code(chapter: Path) -> Iterator[tuple[str, bool]]:
    """The code cells of a chapter, and whether each is folded."""
    for cell in jupytext.read(chapter).cells:
        if cell.cell_type == "code":
            tags = cell.metadata.get("tags", [])
            yield cell.source, bool({"hide-input", "hide-cell"} & set(tags))


def lines(source: str) -> list[str]:
    return [line for line in source.splitlines() if line.strip()]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_code_is_wider_than_the_page(chapter: Path) -> None:
    wide = [line for source, _ in code(chapter) for line in lines(source) if len(line) > WIDTH]
    assert wide == []


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
