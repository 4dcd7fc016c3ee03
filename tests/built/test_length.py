"""A chapter answers one question: what is seen of its page has at most 6,000 words."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from ..helpers import ROOT

LIMIT = 6_000
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9][0-9]_*.py"))
# What nobody reads: drawings, programs, formulas a second time, what a fold says once it is open.
UNREAD = (
    "script, style, svg, template, noscript, .katex-mathml, mjx-assistive-mml, a.headerlink, "
    "summary .expanded"
)

pytestmark = pytest.mark.built


def count(article: Tag) -> int:
    """What stands between spaces, also a sign alone: a page is not made shorter by symbols."""
    return len(article.get_text(" ").split())


def words(html: str) -> tuple[int, int]:
    """The words of a page's article: those that are seen, and those with all that is folded."""
    (article,) = BeautifulSoup(html, "html.parser").select(".bd-article")
    for part in article.select(UNREAD):
        part.decompose()
    for code in article.select("pre"):  # each token of it is an element of its own
        code.replace_with(code.get_text())
    whole = count(article)
    for fold in article.select("details:not([open])"):
        for part in list(fold.children):
            if getattr(part, "name", None) != "summary":
                part.extract()
    return count(article), whole


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_read_in_one_sitting(html: Path, name: str) -> None:
    seen, whole = words((html / "book" / f"{name}.html").read_text(encoding="utf-8"))
    assert seen <= LIMIT, f"{seen:,} words are seen, {whole:,} with all that is folded"
