"""Sphinx extension: pages that need the width of the column on the right.

A notebook cannot say so itself, as ``index.md`` does: its metadata do not reach the theme.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

WIDE = ("book/24_playground",)  # the live model has a map and a list side by side
REMOVE = "html_theme.sidebar_secondary.remove"


def widen(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Take the contents of the page, on its right, away."""
    if page in WIDE:
        context["meta"] = {**(context.get("meta") or {}), REMOVE: True}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", widen, priority=400)  # before the theme looks
    return {"parallel_read_safe": True, "parallel_write_safe": True}
