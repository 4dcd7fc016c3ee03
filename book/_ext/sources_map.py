"""Where each row of three design documents went;
kept as data, so that a test finds rows and code that are gone.

The map itself is ``sources_map.toml`` beside this file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import toc

DOCUMENTS = {
    "comparison": "Original and proposed",
    "temporal": "Temporal dependency",
    "improvements": "Improvements",
}  # key in the map, and what the document is called in the book


@dataclass(frozen=True)
class Entry:
    """One row of the map.

    Attributes
    ----------
    document : str
        A key of `DOCUMENTS`.
    section, row : str
        Where in the document.
    code : tuple of str
        ``module:attribute``, one or more, of the package or of the laboratory.
    chapter : str
        Name of the chapter's file, without ending.
    heading : str
        A section of the chapter; empty if the chapter as a whole is meant.
    """

    document: str
    section: str
    row: str
    code: tuple[str, ...]
    chapter: str
    heading: str


def read_map() -> list[Entry]:
    """The whole map, in the order of the documents."""
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    found = []
    for document, sections in tomllib.loads(text).items():
        for section, rows in sections.items():
            for row, (code, where) in rows.items():
                chapter, _, heading = where.partition("#")
                found.append(Entry(document, section, row, tuple(code.split()), chapter, heading))
    return found


def folded() -> str:
    """The maps of all documents, each below its title and folded."""
    entries = read_map()
    tables = (
        f"<details><summary>{title}</summary>\n\n{as_markdown(entries, document)}\n\n</details>"
        for document, title in DOCUMENTS.items()
    )
    return "\n\n".join(tables)


def as_markdown(entries: Sequence[Entry], document: str) -> str:
    """The map of one document as a Markdown table, with links.

    Parameters
    ----------
    entries : sequence of Entry
    document : str
        A key of `DOCUMENTS`.
    """
    lines = ["| section | row | code | where to read |", "|---|---|---|---|"]
    before = ""
    for entry in (entry for entry in entries if entry.document == document):
        # A section's name stands in its first row only, like a heading.
        section = "" if entry.section == before else entry.section
        before = entry.section
        code = "<br>".join(_linked(name) for name in entry.code)
        where = f"[chapter {toc.chapter(entry.chapter)}]({entry.chapter}.ipynb)"
        where += f", {entry.heading}" if entry.heading else ""
        lines.append(f"| {section} | {entry.row} | {code} | {where} |")
    return "\n".join(lines)


def _linked(code: str) -> str:
    module, _, path = code.partition(":")
    folder = "" if module.startswith("pgt.") else "book/"
    return f"[`{path}`]({toc.REPOSITORY}{folder}{module.replace('.', '/')}.py)"
