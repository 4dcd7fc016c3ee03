"""Pages that have files of their own are pages of the book, and their files are there."""

from __future__ import annotations

import page_files

from ..helpers import ROOT


def test_pages_and_files_exist() -> None:
    for page, file in (page_files.STYLES | page_files.SCRIPTS).items():
        assert page == "search" or list(ROOT.glob(f"{page}.*")), page
        assert (ROOT / "book" / "_static" / file).is_file(), file


def test_no_style_of_all_pages_asks_what_a_page_holds() -> None:
    """A page that is drawn anew again and again would ask at every mark."""
    css = (ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    assert ":has(.pgt-live[" not in css and ":has(.front-game" not in css
