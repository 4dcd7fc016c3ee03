"""Chapters and parts have their numbers, in headings, contents, tabs and the search."""

from __future__ import annotations

import re

import pytest
import toc

from .sphinx_helpers import Built, build

PAGES = {
    "01_start": "# Start\n\nOn to [the pointer](02_pointer.md).\n\n## A part\n",
    "02_pointer": "# The `pointer`\n\n## What it does\n",
    "glossary": "# Glossary\n\nSee [01_start](01_start.md).\n",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Two chapters and a page without a number."""
    return build(tmp_path_factory.mktemp("book"), PAGES, "chapter_numbers")


def test_the_number_is_in_heading_tab_and_contents(book: Built) -> None:
    assert book.warnings == ""
    page = book.page("02_pointer")
    assert re.search(r"<title>2\. The pointer", page)
    assert '<h1><span class="chapter-number">2. </span>The ' in page
    contents = re.findall(r'toctree-l1"><a[^>]*>(.*?)</a>', book.page("index"))
    titles = [re.sub("<[^>]+>", "", entry) for entry in contents]
    assert titles == ["1. Start", "2. The pointer", "Glossary"]


def test_the_real_book_is_numbered_without_gaps() -> None:
    parts = toc.parts()
    numbers = [n for pages in parts.values() for page in pages if (n := toc.chapter(page))]
    assert numbers == list(range(1, len(numbers) + 1))
    *numbered, evidence, last = parts
    assert [title.split(" · ")[0] for title in numbered] == "I II III IV V".split()
    assert (evidence, last) == ("Evidence", "Back matter")
    assert not any(map(toc.chapter, parts[evidence] + parts[last]))
