"""A page can be read: its code fits, and what is seen of it is what the chapter teaches."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path

import jupytext
import pytest
from contents import opening
from notebooks import FOLDED

from pgt.colours import VARIABLES

from ..helpers import ROOT

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))
WIDTH = 78  # columns that a page of 1280 px shows without scrolling
LINES = 15  # of code that one can take in at once
LONGER = {"15_traps": 18}  # two short functions, of which one asks for the other


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_code_is_wider_than_the_page(chapter: Path) -> None:
    code = [cell.source for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    lines = [line.rstrip() for source in code for line in source.splitlines()]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_cell_that_is_read_is_longer_than_one_can_take_in(chapter: Path) -> None:
    cells = [cell for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    # What is folded is not read on the way.
    read = [cell for cell in cells if not FOLDED & {*cell.metadata.get("tags", ())}]
    code = [re.findall(r"^[ \t]*[^#\s].*$", cell.source, re.MULTILINE) for cell in read]
    assert [lines for lines in code if len(lines) > LONGER.get(chapter.stem, LINES)] == []


def test_each_chapter_asks_and_a_cell_of_it_answers() -> None:
    rules = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| .+\? \| .+ \| `(.+)` \|$", rules, re.MULTILINE)
    assert [int(number) for number, _ in rows] == [int(path.name[:2]) for path in CHAPTERS]
    for chapter, (_, cell) in zip(CHAPTERS, rows, strict=True):
        lines = [line.strip() for line in chapter.read_text(encoding="utf-8").splitlines()]
        assert {cell, f"# @title {cell}"} & {*lines}, f"{chapter.name} has no cell {cell}"


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


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_says_its_goal_and_how_long_it_takes_as_the_front_page_reads_it(
    chapter: Path,
) -> None:
    _, goal, minutes = opening(chapter.with_suffix(".ipynb"))
    assert goal and 10 <= minutes <= 60


def assigned(source: str) -> set[str]:
    """The names that a cell gives a value, but for those within its functions."""
    found, todo = set[str](), [*ast.parse(source).body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension):
            todo += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_what_a_sentence_names_has_one_value_in_its_chapter(chapter: Path) -> None:
    # Sentences are filled in at the end: a cell below would change what one above says.
    notebook = json.loads(chapter.with_suffix(".ipynb").read_text(encoding="utf-8"))
    asked = {
        node.id
        for key in notebook["metadata"].get("numbers", {})
        for node in ast.walk(ast.parse(key.rpartition(":")[0].strip()))
        if isinstance(node, ast.Name)
    }
    cells = [
        cell.source
        for cell in jupytext.read(chapter).cells
        if cell.cell_type == "code" and "try" not in cell.metadata.get("tags", [])
    ]
    given = Counter(name for source in cells for name in assigned(source) & asked)
    assert {name: n for name, n in given.items() if n > 1} == {}


def test_every_colour_has_a_value_in_both_themes() -> None:
    css = (ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    assert [name for name in VARIABLES.values() if css.count(f"{name}:") < 2] == []
