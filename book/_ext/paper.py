"""All pages of the book as one page for paper; Sphinx's singlehtml mixes up ids that pages share.

The articles are put one after the other, so that every link within the book stays a link. What only
works on a screen is changed: a map becomes a picture of itself, folded solutions lie open, code that
only writes a sentence or a figure stays out. ``pdf.py`` prints the page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import toc
from bs4 import BeautifulSoup, Tag

SITE = "https://where-next-book.github.io/where-next/"
TITLE = "Where Next?"
SUBTITLE = "Predicting where people go with a Pointer-Generator Transformer"
AUTHOR = "The Where Next? authors"

# What has no use on paper.
OFF = ", ".join(
    (
        "a.headerlink", "span.chapter-number", "script", "style.anchorjs", "button", "noscript", "p.actions", ".toctree-wrapper",
        ".tag_hide-input .cell_input", ".tag_hide-input > details", "figure.pgt-map details",
        ".pgt-answer", ".screen-only", "section#contents",  # the front page lists what comes on paper, too
    )
)  # fmt: skip
# What is drawn by a script, and becomes a picture.
LIVE = ".live-body"


@dataclass
class Page:
    """One page of the book.

    Attributes
    ----------
    name
        Its file without suffix, without folder, as ``07_pointer``.
    title
        Its heading.
    part
        The part of the book that it opens, or nothing.
    """

    name: str
    title: str = ""
    part: str = ""

    @property
    def number(self) -> str:
        """The number of a chapter, or nothing."""
        return str(toc.chapter(self.name) or "")

    @property
    def kind(self) -> str:
        """The name of its kind of paper in the style sheet, which bears its running head."""
        return f"paper-{self.name}"


def pages(root: Path = toc.ROOT) -> list[Page]:
    """All pages, in reading order; the first is the front page."""
    found = [Page("index")]
    for caption, names in toc.parts(root).items():
        found += [Page(name, part="" if i else caption) for i, name in enumerate(names)]
    return found


def address(link: str, page: str, names: set[str]) -> str:
    """Return where a link of the site leads in the one page.

    Parameters
    ----------
    link, page
        The link, and the page on which it stands.
    names
        Names of all pages that are printed.

    Examples
    --------
    >>> address("#the-gate", "08_gate", {"07_pointer", "08_gate"})
    '#08_gate--the-gate'
    >>> address("07_pointer.html", "08_gate", {"07_pointer", "08_gate"})
    '#07_pointer'
    >>> address("07_pointer.html#id2", "08_gate", {"07_pointer", "08_gate"})
    '#07_pointer--id2'
    >>> address("https://example.org", "08_gate", set())
    'https://example.org'
    >>> address("../_sources/book/07_pointer.ipynb", "08_gate", set())
    'https://where-next-book.github.io/where-next/_sources/book/07_pointer.ipynb'
    """
    if re.match(r"[a-z]+:|//", link):
        return link
    file, _, anchor = link.partition("#")
    name = file.removeprefix("../book/").removesuffix(".html") or page
    if name in names:
        return f"#{name}--{anchor}" if anchor else f"#{name}"
    return urljoin(SITE + "book/", link)


def article(page: Page, text: str, names: set[str], pictures: list[str], static: str) -> str:
    """Return the article of a built page, fit for the one page.

    Parameters
    ----------
    page
        Its title is filled in.
    text
        HTML of the built page.
    names
        Names of all pages that are printed.
    pictures
        Addresses of the pictures of what is live on the page, in order.
    static
        Address of the folder with the built book, with a final slash.
    """
    found = BeautifulSoup(text, "html.parser").select_one("article.bd-article")
    if found is None:
        raise ValueError(f"{page.name}.html has no article; was it built with the book's theme?")
    for unwanted in found.select(OFF):
        unwanted.decompose()
    for tag, picture in zip(found.select(LIVE), pictures, strict=True):
        around = tag.find_parent("figure")
        name = around.get("aria-label") if around else None
        alt = html.escape(str(name or "What is live on the screen"))
        still = f'<img class="picture" src="{picture}" alt="{alt}">'
        tag.replace_with(BeautifulSoup(still, "html.parser"))
    for table in found.select("table[border]"):
        del table["border"]
    for details in found.select("details"):
        unfold(details)
    heading = found.find("h1")
    page.title = heading.get_text().strip() if isinstance(heading, Tag) else page.name
    for level in (4, 3, 2, 1):  # the parts of the book are above the chapters
        for tag in found.find_all(f"h{level}"):
            tag.name = f"h{level + 1}"
    if isinstance(heading, Tag) and page.number:
        kicker = BeautifulSoup(f'<span class="kicker">Chapter {page.number}</span> ', "html.parser")
        heading.insert(0, kicker)
    rename(found, page.name, names, static)
    found.name = "article"
    found["id"], found["class"] = page.name, "chapter"
    found["style"] = f"page: {page.kind}"
    return str(found)


def unfold(details: Tag) -> None:
    """Lay a folded part open, under its name."""
    summary = details.find("summary", recursive=False)
    solution = "solution" in (details.get("class") or []) or details.find_parent(
        class_="tag_solution"
    )
    details.name = "div"
    details["class"] = "solution" if solution else "unfolded"
    if isinstance(summary, Tag):
        words = summary.find(class_="collapsed") or summary
        said = re.sub(r"^(Show|Hide) ", "", words.get_text().strip())
        summary.name, summary.attrs = "p", {"class": "folded-name"}
        summary.string = said[:1].upper() + said[1:]


def rename(found: Tag, name: str, names: set[str], static: str) -> None:
    """Give every id the page's name before it, and turn every address to its new place."""
    for tag in found.find_all(True):
        for key, value in list(tag.attrs.items()):
            if key == "id":
                tag[key] = f"{name}--{value}"
            elif key in {"aria-labelledby", "aria-describedby", "for", "headers"}:
                words = value if isinstance(value, list) else str(value).split()
                tag[key] = " ".join(f"{name}--{word}" for word in words)
            elif key == "href" and tag.name == "a":
                tag[key] = address(str(value), name, names)
            elif key in {"href", "xlink:href"} and str(value).startswith("#"):
                tag[key] = f"#{name}--{str(value)[1:]}"
            elif key in {"src", "href"} and not re.match(r"[a-z]+:|pictures/", str(value)):
                tag[key] = static + "book/" + str(value)
            elif isinstance(value, str) and "url(#" in value:
                tag[key] = value.replace("url(#", f"url(#{name}--")


def running_heads(book: Iterable[Page]) -> str:
    """Style sheet: what stands at the head of each page of paper."""
    rules = []
    for page in book:
        head = f"Chapter {page.number}" if page.number else TITLE
        left, right = (text.replace("\\", "").replace('"', "'") for text in (head, page.title))
        rules.append(
            f'@page {page.kind} {{ @top-left {{ content: "{left}" }} '
            f'@top-right {{ content: "{right}" }} }}'
        )
    return "\n".join(rules)


def contents(book: Iterable[Page]) -> str:
    """The table of contents; the numbers are filled in after the first printing."""
    rows = []
    for page in book:
        if page.part:
            rows.append(f'<li class="part-name">{html.escape(page.part)}</li>')
        rows.append(
            f'<li><a href="#{page.name}"><span class="no">{page.number}</span>'
            f'<span class="name">{html.escape(page.title)}</span>'
            f'<span class="page-of" data-of="{page.name}">000</span></a></li>'
        )
    return f'<nav class="contents"><h1>Contents</h1><ul>{"".join(rows)}</ul></nav>'


def cover(version: str, year: str) -> str:
    """The first page."""
    return (
        f'<section class="cover"><p class="cover-title">{TITLE}</p>'
        f'<p class="cover-subtitle">{SUBTITLE}</p><p class="cover-author">{AUTHOR}</p>'
        f'<p class="cover-note">Version {version}, {year}. The text is under '
        '<a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>, the code under the '
        f"MIT licence. The book with its live maps, and every chapter as a notebook: "
        f'<a href="{SITE}">{SITE.removeprefix("https://").rstrip("/")}</a></p></section>'
    )


def combine(book: list[Page], articles: list[str], static: str, version: str, year: str) -> str:
    """Put all together into one page."""
    bodies = []
    for page, text in zip(book, articles, strict=True):
        # The part's name opens its first chapter and leads the outline.
        part = f'<h1 class="part">{html.escape(page.part)}</h1>' if page.part else ""
        bodies.append(text.replace(">", f">{part}", 1))
    styles = "".join(
        f'<link rel="stylesheet" href="{static}_static/{name}">'
        for name in ("pygments.css", "book.css", "front.css")
    )
    print_css = Path(__file__).with_name("print.css").read_text(encoding="utf-8")
    fonts = (toc.ROOT / "book" / "_web" / "node_modules").as_uri()
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{TITLE}</title>{styles}"
        f"<style>{print_css.replace('FONTS', fonts)}\n{running_heads(book[1:])}</style>"
        '<script>window.MathJax = {options: {processHtmlClass: "math", '
        'ignoreHtmlClass: "mathjax_ignore"}}</script>'
        f'<script defer src="{static}_static/vendor/mathjax/tex-chtml.js"></script>'
        f"</head><body>{cover(version, year)}{contents(book[1:])}{''.join(bodies)}</body></html>"
    )
