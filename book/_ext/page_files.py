"""Sphinx extension: styles and scripts of one page; html_css_files gives them to all.

What changes often on a page, such as the playground, is styled anew at every change, and a rule with
``:has`` in the styles of all pages would be asked each time; so these pages have a file of their own.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

STYLES = {"book/index": "front.css", "book/26_playground": "playground.css"}
SCRIPTS = {"search": "search.js"}
# The theme's icons are drawn when the page is opened; what is drawn later holds none.
ICONS = "window.FontAwesomeConfig = {observeMutations: false};"


def add_files(
    app: Sphinx, pagename: str, _template: str, _context: dict[str, Any], _doctree: Any
) -> None:
    """Give a page its files."""
    app.add_js_file(None, body=ICONS, priority=100)
    if pagename in SCRIPTS:
        app.add_js_file(SCRIPTS[pagename], loading_method="defer")
    if pagename in STYLES:
        app.add_css_file(STYLES[pagename], priority=900)


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("html-page-context", add_files)
