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


@pytest.mark.parametrize(
    ("inside", "seen", "whole"),
    [
        ("<p>one two</p><pre>x = y</pre><table><tr><td>4</td><td>5</td></tr></table>", 7, 7),
        ("<pre><span>pgt</span><span>.</span><span>load</span><span>(</span>a</pre>", 1, 1),
        ("<pre><span>x</span>\n<span>y</span></pre>", 2, 2),
        ("<p>one</p><script>var a = 1</script><style>p { }</style><svg><text>a</text></svg>", 1, 1),
        ("<h2>A title<a class='headerlink' href='#a'>#</a></h2>", 2, 2),
        ("<details><summary>Show it</summary><p>three more words</p></details>", 2, 5),
        ("<details open=''><summary>Show it</summary><p>three more words</p></details>", 5, 5),
        ("<details><summary>Why</summary>bare text<details>and deeper</details></details>", 1, 5),
        (
            "<details><summary><span class='collapsed'>Show it</span>"
            "<span class='expanded'>Hide it</span></summary>code</details>",
            2,
            3,
        ),
        (
            "<p>so <span class='katex'><span class='katex-mathml'>g = 1</span>"
            "<span class='katex-html'>g</span></span></p>",
            2,
            2,
        ),
    ],
)
def test_words_are_those_of_a_reader(inside: str, seen: int, whole: int) -> None:
    page = f"<nav>not this</nav><article class='bd-article'>{inside}</article><p>nor this</p>"
    assert words(page) == (seen, whole)


def test_one_word_too_many_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    page = tmp_path / "book" / "a.html"
    page.write_text(f"<article class='bd-article'>{'word ' * LIMIT}</article>", encoding="utf-8")
    test_a_chapter_is_read_in_one_sitting(tmp_path, "a")
    page.write_text(f"<article class='bd-article'>{'word ' * LIMIT}one</article>", encoding="utf-8")
    with pytest.raises(AssertionError, match="6,001 words are seen"):
        test_a_chapter_is_read_in_one_sitting(tmp_path, "a")
