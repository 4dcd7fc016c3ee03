"""Sphinx extension: how long each chapter takes, for the contents of the front page.

Reading time is counted: words, lines of code, displayed formulas and figures of the chapter, without
its exercises. Running time was measured when the chapter was executed for this build (see
``execute.py``). A page that has ``<div id="chapters"></div>`` gets the contents there, by part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import yaml  # type: ignore[import-untyped]
from jupyter_cache import get_cache
from sphinx.application import Sphinx

PLACE = '<div id="chapters"></div>'
# What a careful reader gets through in a minute.
WORDS, LINES = 200, 25
FORMULA, FIGURE = 0.25, 0.3  # minutes
ROUND = 5  # minutes
EXERCISES = re.compile(r"^##\s+Exercises", re.M)
FORMULAS = re.compile(r"\$\$.*?\$\$", re.S)
MARKUP = re.compile(r"<[^>]+>|\]\([^)]*\)|[#*>`$\[\]|\\{}]")
SHOWS = re.compile(r"\bshow\(|_map\(|plots\.\w+\(")


@dataclass(frozen=True)
class Effort:
    """What a chapter asks of its reader.

    Attributes
    ----------
    title : str
        Of the page.
    goal : str
        What the reader will be able to do.
    minutes : int
        To read it, rounded to five.
    seconds : float or None
        To run it, if that was measured.
    exercises : int
        How many there are.
    """

    title: str
    goal: str
    minutes: int
    seconds: float | None
    exercises: int


def reading_minutes(markdown: list[str], code: list[str]) -> float:
    """Minutes to read prose, formulas, code and figures.

    Examples
    --------
    >>> reading_minutes(["word " * 400], [])
    2.0
    >>> reading_minutes(["word " * 200 + "$$x$$"], ["a = 1"])
    1.29
    """
    prose = "\n".join(markdown)
    formulas = len(FORMULAS.findall(prose))
    words = len(MARKUP.sub(" ", FORMULAS.sub(" ", prose)).split())
    lines = sum(bool(line.strip()) for cell in code for line in cell.splitlines())
    figures = sum(len(SHOWS.findall(cell)) for cell in code)
    return words / WORDS + lines / LINES + formulas * FORMULA + figures * FIGURE


def effort(path: Path, cache: Path) -> Effort:
    """Measure a chapter, a notebook."""
    notebook = nbformat.read(path, as_version=4)
    markdown: list[str] = []
    code: list[str] = []
    exercises = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            exercises += len(re.findall(r"^\*\*Exercise \d", cell.source, re.M))
        if cell.cell_type == "markdown" and not exercises:
            markdown.append(EXERCISES.split(cell.source)[0])
        elif cell.cell_type == "code" and not exercises:
            code.append(cell.source)
    minutes = reading_minutes(markdown, code)
    opening = "\n".join(markdown[:2])
    title = re.search(r"^# (.+)", opening, re.M)
    goal = re.search(r"\*You will be able to\*\s+(.*?)(?:\.\s|\.$|\*You need)", opening, re.S)
    return Effort(
        title[1].strip() if title else path.stem,
        re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)|[*`\[]", "", goal[1])).strip() if goal else "",
        max(ROUND, ROUND * round(minutes / ROUND)),
        seconds(path, cache),
        exercises,
    )


def seconds(path: Path, cache: Path) -> float | None:
    """How long the executed chapter in the cache took, or None."""
    if not cache.exists():
        return None
    try:
        record = get_cache(cache).match_cache_notebook(nbformat.read(path, as_version=4))
    except KeyError:
        return None
    taken = (record.data or {}).get("execution_seconds")
    return None if taken is None else float(taken)


def said(taken: float | None) -> str:
    """Seconds as one reads them.

    Examples
    --------
    >>> said(6.2), said(43.0), said(95.0), said(None)
    ('5\xa0s', '45\xa0s', '2\xa0min', '')
    """
    if taken is None:
        return ""
    if taken <= 60:
        return f"{max(5, 5 * round(taken / 5))}\u00a0s"
    return f"{max(1, round(taken / 60))}\u00a0min"


def contents(root: Path, built: set[str]) -> str:
    """The parts and their chapters, as HTML."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    cache = root / "_build" / ".jupyter_cache"
    blocks, minutes, taken, all_timed = [], 0, 0.0, True
    for part in toc["parts"]:
        files = [chapter["file"] for chapter in part["chapters"]]
        files = [name for name in files if name in built and (root / f"{name}.ipynb").exists()]
        items = []
        for name in files:
            one = effort(root / f"{name}.ipynb", cache)
            minutes += one.minutes
            taken += one.seconds or 0.0
            all_timed &= one.seconds is not None
            page = Path(name).name
            times = f"{one.minutes}\u00a0min"
            if one.seconds is not None:
                times += f" · runs {said(one.seconds)}"
            items.append(
                f'<li value="{int(page[:2])}"><a class="reference internal" href="{page}.html">'
                f'{escape(one.title)}</a> <span class="times">{times}</span>'
                f'<span class="goal">{escape(one.goal[:1].upper() + one.goal[1:])}.</span></li>'
            )
        if items:
            blocks.append(
                f'<h3 class="part">{escape(part["caption"])}</h3>'
                f'<ol class="chapters">{"".join(items)}</ol>'
            )
    hours = f"{minutes / 60:.0f}"
    total = f"About {hours} hours of reading"
    if all_timed and blocks:
        total += f"; the code of all chapters takes {said(taken)} on one processor core"
    return f'<p class="total">{total}.</p>{"".join(blocks)}'


def insert(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the contents where a page asks for them."""
    if PLACE not in source[0]:
        return
    root = Path(app.srcdir)
    source[0] = source[0].replace(PLACE, contents(root, set(app.env.found_docs)))
    for path in (root / "_toc.yml", *root.glob("book/[0-9]*.ipynb")):
        app.env.dependencies[docname].add(str(path))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
