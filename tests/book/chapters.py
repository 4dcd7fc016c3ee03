"""What a page of the book says, and what its executed chapter shows, for tests of its claims."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from textwrap import dedent
from typing import TypeVar

import jupytext
from measured import LINK, spoken

from ..helpers import ROOT, give_up
from ..promises import adaptor
from ..promises.chapters import tables

Claims = Callable[[], None]
Node = TypeVar("Node", bound=ast.AST)
PAGES: dict[Claims, tuple[str, ...]] = {}  # a test of claims, and the pages that make them


def claims_of(*pages: str) -> Callable[[Claims], Claims]:
    """A test whose assertions each have for a message what one of these pages says.

    The message is a sentence or a part of one, as a reader reads it; "…" stands for anything
    between two parts of a paragraph, such as a number that a run fills in.
    """

    def mark(test: Claims) -> Claims:
        PAGES[test] = pages
        return test

    return mark


def unsaid(test: Claims) -> Iterator[str]:
    """One sentence for each assertion of the test that guards no sentence of its pages."""
    text = "\n".join(paragraph for page in PAGES[test] for paragraph in paragraphs(page))
    for node in source_nodes(test, ast.Assert):
        phrase = getattr(node.msg, "value", None)
        pattern = ".*?".join(map(re.escape, str(phrase).split("…")))
        if phrase is None:
            yield f"names no sentence: {ast.unparse(node)}"
        elif (found := len(re.findall(pattern, text))) != 1:
            yield f"{' and '.join(PAGES[test])} say it {found} times: {phrase}"
    comments = re.findall(r'# .*".*', inspect.getsource(test))
    yield from (f"quotes where nobody looks: {one}" for one in comments)


def source_nodes(test: Claims, kind: type[Node]) -> Iterator[Node]:
    """The nodes of one kind in the source of a test."""
    tree = ast.parse(dedent(inspect.getsource(test)))
    return (node for node in ast.walk(tree) if isinstance(node, kind))


@cache
def paragraphs(page: str) -> list[str]:
    """The paragraphs of a page as they are read: Markdown, captions, and comments of code."""
    path = ROOT / "book" / f"{page}.py"
    texts = []
    for cell in jupytext.read(path if path.exists() else path.with_suffix(".md")).cells:
        if cell.cell_type == "markdown":
            texts.append(re.sub(r"(?m)^[ \t]*>[ \t]?", "", LINK.sub(r"\1", cell.source)))
        else:
            blocks = re.findall(r"(?m)(?:^# .*\n?)+", cell.source)
            texts += [re.sub(r"(?m)^# ", "", block) for block in blocks] + spoken(cell.source)
    blocks = [block for text in texts for block in re.split(r"\n\s*\n", text)]
    return [" ".join(re.sub("[*`]", "", block).split()) for block in blocks]


def printed(chapter: str, begin: str, which: int = 0) -> list[list[str]]:
    """The rows of the first (or another) printed table of a chapter with this text at its top."""
    table = [t for t in shown(chapter) if begin in " ".join(t.splitlines()[:2])][which]
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]


def rows(chapter: str) -> dict[str, list[float]]:
    """The numbers of an executed chapter's tables, by the head of the row; the last counts."""
    found: dict[str, list[float]] = {}
    for line in (line for table in shown(chapter) for line in table.splitlines()):
        head, *cells = line.split(" | ")
        try:
            found[head] = [float(cell.replace(",", "")) for cell in cells]
        except ValueError:
            continue  # a row of words
    return found


def shown(chapter: str) -> list[str]:
    """The tables of an executed chapter."""
    notebook = adaptor.executed(chapter)
    if notebook is None:
        give_up(f"{chapter} has not been executed as it is now: run `make chapters`.")
    return tables(notebook)


def in_sentences(chapter: str) -> dict[str, float]:
    """The numbers in a chapter's sentences, by their names in its source."""
    notebook = json.loads((ROOT / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    numbers = notebook["metadata"]["numbers"].items()
    return {key.rpartition(":")[0]: number(text.replace(",", "")) for key, text in numbers}


def number(text: str) -> float:
    return float(text.replace("−", "-"))
