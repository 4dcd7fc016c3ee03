"""Sphinx extension: mends for screen readers what no option of the theme mends, in every page.

The built book is judged by axe-core (``tests/browser/test_axe.py``). What it found in the theme's
own templates is mended here; what it found in the book's text and figures is mended there.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

REPAIRS = (
    # A button that shows words ("Search Ctrl+K") is called by these words, as voice control expects.
    (r'(<button class="[^"]*search-button-field[^"]*")[^>]* aria-label="Search"', r"\1"),
    # Titles of icons would be read in addition to the button's name, all three of them.
    (r'(<i class="theme-switch [^"]*" data-mode="\w+")\s+title="[^"]*"', r"\1"),
    # What folds a cell says so in words, which differ when it is open and when it is closed.
    (r'<summary aria-label="[^"]*"', "<summary"),
    # ARIA 1.2 gave up the role of an entry in a bibliography: an entry in a list is a list item.
    (r'role="doc-biblioentry"', 'role="listitem"'),
    # Everything on a page belongs to a landmark, so the link home at the top of the contents too.
    (
        r'<div class="sidebar-primary-item">(?=\s*<a class="navbar-brand logo")',
        '<div class="sidebar-primary-item" role="navigation" aria-label="Home">',
    ),
    # A figure that has a number, in the title of its folded code, says it where it is seen.
    (
        r"(?s)(# @title (Figure \d+\.\d+)\b(?:(?!# @title|<figcaption|map-caption).)*"
        r"<(?:figcaption|p class=\"map-caption\")>)(?!<strong>)",
        r"\1<strong>\2.</strong> ",
    ),
    # A head without words heads nothing: it is an empty cell.
    (r"<th(?: (?:scope|class)=\"\w+\")*>\s*(?:<p>\s*</p>\s*)?</th>", "<td></td>"),
)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Mend the written pages."""
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        for pattern, mended in REPAIRS:
            page = re.sub(pattern, mended, page)
        path.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=800)
