"""Sphinx extension: mends for screen readers what no option of the theme mends, in every page.

The built book is judged by axe-core (``tests/browser/test_axe.py``). What it found in the theme's
own templates is mended here, at the place it comes from; what it found in the book's text and
figures is mended there.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

REPAIRS: tuple[tuple[re.Pattern[str], str], ...] = (
    # A button that shows words ("Search Ctrl+K") is called by these words, as voice control expects.
    (
        re.compile(r'(<button class="[^"]*search-button-field[^"]*")[^>]* aria-label="Search"'),
        r"\1",
    ),
    # Titles of icons would be read in addition to the button's name, all three of them.
    (re.compile(r'(<i class="theme-switch [^"]*" data-mode="\w+")\s+title="[^"]*"'), r"\1"),
    # What folds a cell says so in words, which differ when it is open and when it is closed.
    (re.compile(r'<summary aria-label="[^"]*"'), "<summary"),
    # ARIA 1.2 gave up the role of an entry in a bibliography: an entry in a list is a list item.
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    # Everything on a page belongs to a landmark, so the link home at the top of the contents too.
    (
        re.compile(r'<div class="sidebar-primary-item">(?=\s*<a class="navbar-brand logo")'),
        '<div class="sidebar-primary-item" role="navigation" aria-label="Home">',
    ),
)
EMPTY_HEAD = re.compile(r"<th(?: (?:scope|class)=\"\w+\")*>\s*(?:<p>\s*</p>\s*)?</th>")


def repair(page: str) -> str:
    """Return an HTML page with the theme's omissions mended.

    >>> repair('<i class="theme-switch fa-solid fa-sun" data-mode="light"  title="Light"></i>')
    '<i class="theme-switch fa-solid fa-sun" data-mode="light"></i>'
    >>> repair("<thead><tr><th></th><th>a</th></tr></thead>")
    '<thead><tr><td></td><th>a</th></tr></thead>'
    >>> repair('<th class="head"><p></p></th>')
    '<td></td>'
    """
    for pattern, mended in REPAIRS:
        page = pattern.sub(mended, page)
    # A head without words heads nothing: it is an empty cell.
    return EMPTY_HEAD.sub("<td></td>", page)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Mend the written pages."""
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        mended = repair(page)
        if mended != page:
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=800)
