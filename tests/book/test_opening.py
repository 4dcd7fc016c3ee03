"""What a chapter teaches, needs and takes is one paragraph in a notebook, three parts on a page."""

from __future__ import annotations

from pathlib import Path

import jupytext
import opening
import pytest
from bs4 import BeautifulSoup

from ..helpers import ROOT
from .sphinx_helpers import Built, build

CHAPTER = """# A chapter

One sentence.

*You will be able to* read *slowly*. *You need*
[the other](other.md) and `pandas`. *It
takes* ten minutes to read.

The text begins. *You need* no part for this.
"""
OTHER = """# Other

First *you* read this.

*You need* nothing. *It takes* no time.

Words, then *You will be able to* a. *You need* b. *It takes* c.
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("book"), {"a": CHAPTER, "other": OTHER}, "opening")


def test_the_paragraph_becomes_a_list_of_its_three_parts(book: Built) -> None:
    page = BeautifulSoup(book.page("a"), "html.parser")
    (strip,) = page.select("dl.opening")
    said = [(" ".join(part.get_text().split())) for part in strip.select("dt, dd")]
    assert said == [
        "You will be able to", "read slowly.", "You need", "the other and pandas.",
        "It takes", "ten minutes to read.",
    ]  # fmt: skip
    assert strip.select_one("dd a")["href"] == "other.html"  # type: ignore[index]
    assert strip.select_one("dd em") and strip.select_one("dd code")
    around = [str(strip.find_previous("p")), str(strip.find_next_sibling("p"))]
    assert around == [
        "<p>One sentence.</p>",
        "<p>The text begins. <em>You need</em> no part for this.</p>",
    ]


@pytest.mark.parametrize(
    "chapter", sorted((ROOT / "book").glob("[0-9][0-9]_*.py")), ids=lambda path: path.stem
)
def test_every_chapter_opens_with_the_three_parts(chapter: Path) -> None:
    first = jupytext.read(chapter).cells[0].source
    said = " ".join(first.split())
    places = [said.find(f"*{part}*") for part in opening.PARTS]
    assert -1 < places[0] < places[1] < places[2]
    assert f"\n\n*{opening.PARTS[0]}*" in first  # a paragraph of its own
