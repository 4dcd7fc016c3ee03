"""How long the chapters take to run, as it was when this book's outputs were made.

The one execution of each chapter (see execute.py) leaves its times in the cache. `chapter_times`
reads them; as a Sphinx extension this module writes the table of ``book/timings.md``.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import execute
from sphinx.application import Sphinx

PLACE = '<div id="chapter-times"></div>'
REPOSITORY = "https://github.com/where-next-book/where-next"
COLAB = "https://colab.research.google.com/github/where-next-book/where-next/blob/main"


@dataclass(frozen=True)
class Took:
    """The time of one chapter, in seconds.

    Attributes
    ----------
    seconds
        All code cells together, the kernel's own start not counted.
    processor
        Time of a processor, which a busy machine lengthens less.
    slowest
        The slowest cell.
    cells
        How many code cells there are.
    """

    seconds: float
    processor: float
    slowest: float
    cells: int


def chapter_times() -> dict[str, Took]:
    """Return what each chapter took, by the name of its file without suffix, in reading order.

    A chapter that has not been executed since it changed is not among them.
    """
    return {
        name: Took(
            report.execution_seconds,
            report.processor_seconds,
            max(report.cells, default=0.0),
            len(report.cells),
        )
        for name, report in execute.reports().items()
    }


def in_words(seconds: float) -> str:
    """Say a time as a person would.

    Examples
    --------
    >>> in_words(0.4), in_words(1.2), in_words(41.3), in_words(125)
    ('under a second', '1 second', '41 seconds', '2 min 5 s')
    """
    if seconds < 0.5:
        return "under a second"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} second{'s' if whole > 1 else ''}"
    return f"{whole // 60} min {whole % 60} s"


def title(chapter: Path) -> str:
    """Return the title of a chapter, from its script."""
    found = re.search(r"^# # (.+)$", chapter.read_text(encoding="utf-8"), re.M)
    return found[1] if found else chapter.stem


def table(book: Path, pages: set[str]) -> str:
    """Return the table as HTML; `pages` are the chapters that the book has."""
    rows = []
    took = chapter_times()
    for name in sorted(pages & took.keys()):
        it = took[name]
        notebook = f"book/{name}.ipynb"
        heading = escape(title(book / f"{name}.py"))
        links = (
            f'<a href="{COLAB}/{notebook}" aria-label="Open {heading} in Colab">Colab</a>, '
            f'<a href="../_sources/{notebook}" download="{name}.ipynb" '
            f'aria-label="Download the notebook of {heading}">notebook</a>'
        )
        rows.append(
            f'<tr><td>{name[:2]}</td><th scope="row"><a href="{name}.html">{heading}</a></th>'
            f"<td>{in_words(it.seconds)}</td><td>{in_words(it.processor)}</td>"
            f"<td>{in_words(it.slowest)}</td>"
            f"<td>{it.cells}</td><td>{links}</td></tr>"
        )
    names = (
        "No.",
        "Chapter",
        "Runs in",
        "Processor time",
        "Slowest cell",
        "Cells",
        "Open or download",
    )
    head = "".join(f'<th scope="col">{column}</th>' for column in names)
    return (
        '<div class="pst-scrollable-table-container results" tabindex="0" role="region" '
        f'aria-label="Execution times"><table class="table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def summary(pages: set[str]) -> str:
    """Return one paragraph: all chapters together, and on what."""
    took = [it for name, it in chapter_times().items() if name in pages]
    total = sum(it.processor for it in took)
    return (
        f"All {len(took)} chapters together: {in_words(total)} of a processor, measured on "
        f"{platform.system()} with {os.cpu_count()} cores and no GPU used, Python "
        f"{platform.python_version()}, torch {version('torch')}."
    )


def write_table(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the table where a page asks for it."""
    if PLACE not in source[0]:
        return
    pages = {name.removeprefix("book/") for name in app.env.found_docs}
    both = f"{summary(pages)}\n\n{table(Path(app.srcdir) / 'book', pages)}"
    source[0] = source[0].replace(PLACE, both)
    app.env.note_reread()  # the times change without the page


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", write_table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
