"""Sphinx extension: what a link leads to, shown beside it; Escape does not close sphinx-tippy's.

``book.js`` does the showing. After the build, each page receives the previews of its own links: the
formula of a numbered equation, the goal of a chapter, the meaning of a word of the glossary. They
travel with the page, because a page opened from disk may not fetch anything, not even its neighbour.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from sphinx.application import Sphinx
from wherenext.page_text import safe_json

LINK = re.compile(r'<a class="reference internal" href="([\w-]+\.html)?(#[\w-]+)?"')
EQUATION = re.compile(r'<div class="math[^"]*" id="(equation-[\d-]+)">\s*(.*?)\s*</div>', re.S)
TERM = re.compile(
    r'<dt id="(term-[\w-]+)">(.*?)<a class="headerlink".*?</dt>\s*<dd>\s*<p>(.*?)</p>', re.S
)
TITLE = re.compile(r"<h1>(.*?)<a class=\"headerlink\"", re.S)
GOAL = re.compile(r"<dt>(You will be able to)</dt>\s*<dd>\s*<p>(.*?)</p>", re.S)  # see opening.py
LONGEST = 320  # characters


def text(markup: str) -> str:
    """The words of some HTML.

    Examples
    --------
    >>> text('A <em>gate</em>\\n  is a&nbsp;number.')
    'A gate is a\\xa0number.'
    """
    plain = html.unescape(re.sub(r"<[^>]+>", "", markup))
    plain = re.sub(r"[ \t\n]+", " ", plain).strip()
    return plain if len(plain) <= LONGEST else plain[:LONGEST].rsplit(" ", 1)[0] + " …"


def targets(name: str, page: str) -> dict[str, dict[str, str]]:
    """What can be shown of a page, by address.

    Parameters
    ----------
    name : str
        The file, as in ``07_pointer.html``.
    page : str
        Its HTML.

    Examples
    --------
    >>> targets("a.html", '<div class="math" id="equation-1-1">\\\\[x\\\\]</div>')
    {'a.html#equation-1-1': {'tex': '\\\\[x\\\\]'}}
    """
    found: dict[str, dict[str, str]] = {}
    for match in EQUATION.finditer(page):
        found[f"{name}#{match[1]}"] = {"tex": html.unescape(match[2])}
    for match in TERM.finditer(page):
        found[f"{name}#{match[1]}"] = {"title": text(match[2]), "text": text(match[3])}
    title, goal = TITLE.search(page), GOAL.search(page)
    if title and goal:
        found[name] = {"title": text(title[1]), "text": text(f"{goal[1]} {goal[2]}")}
    return found


def previews(name: str, page: str, known: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Those of the `known` targets that the article of a page links to, by the links' addresses."""
    article = page[page.find('<article class="bd-article"') :]
    wanted = {(match[1] or "") + (match[2] or "") for match in LINK.finditer(article)}
    found = {}
    for address in sorted(wanted):
        whole = address if not address.startswith("#") else name + address
        if whole in known and whole != name:
            found[address] = known[whole]
    return found


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Put the previews into the pages."""
    if exception is not None or app.builder.format != "html":
        return
    pages = {
        path: path.read_text(encoding="utf-8") for path in Path(app.outdir).glob("book/*.html")
    }
    known: dict[str, dict[str, str]] = {}
    for path, page in pages.items():
        known |= targets(path.name, page)
    for path, page in pages.items():
        shown = previews(path.name, page, known)
        if shown:
            script = f'<script type="application/json" id="previews">{safe_json(shown)}</script>\n'
            head, end, rest = page.rpartition("</body>")
            path.write_text(head + script + end + rest, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", finish, priority=810)
