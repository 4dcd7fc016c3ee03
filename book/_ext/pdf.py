"""The whole book as one PDF, printed by headless Chromium from the built pages.

    python book/_ext/pdf.py            # _build/where-next.pdf, from _build/html

The articles of all pages are put one after the other into one page, so that every link within the
book stays a link. What only works on a screen is changed: a map becomes a picture of itself, folded
solutions lie open, code that only writes a sentence or a figure stays out. Chromium prints the page
twice: the first time tells on which page everything lies, the second has that in the contents and
in the index.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SITE = "https://where-next-book.github.io/where-next/"
TITLE = "Where Next?"
SUBTITLE = "Predicting where people go with a Pointer-Generator Transformer"
AUTHOR = "The Where Next? authors"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
WAIT = 1_800_000  # milliseconds; for all formulas of the book, a busy machine needs a tenth

# What has no use on paper.
OFF = ", ".join(
    (
        "a.headerlink", "script", "style.anchorjs", "button", "noscript", "p.actions", ".toctree-wrapper",
        ".tag_hide-input .cell_input", ".tag_hide-input > details", "figure.pgt-map details",
        ".screen-only",
    )
)  # fmt: skip
# What is drawn by a script, and becomes a picture.
LIVE = "iframe, canvas, .live-body"


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
        found = re.match(r"(\d\d)_", self.name)
        return str(int(found[1])) if found else ""


@dataclass
class Book:
    """All pages, in reading order; the first is the front page."""

    pages: list[Page] = field(default_factory=list)

    @classmethod
    def of(cls, toc: Path) -> Book:
        """Read the table of contents."""
        raw = yaml.safe_load(toc.read_text(encoding="utf-8"))
        pages = [Page(Path(raw["root"]).name)]
        for part in raw["parts"]:
            caption = part["caption"]
            for chapter in part["chapters"]:
                pages.append(Page(Path(chapter["file"]).name, part=caption))
                caption = ""
        return cls(pages)


def address(link: str, page: str, pages: set[str]) -> str:
    """Return where a link of the site leads in the one page.

    Parameters
    ----------
    link, page
        The link, and the page on which it stands.
    pages
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
    if name in pages:
        return f"#{name}--{anchor}" if anchor else f"#{name}"
    parts = f"book/{link}".split("/")
    while ".." in parts:
        at = parts.index("..")
        del parts[at - 1 : at + 1]
    return SITE + "/".join(parts)


def article(page: Page, text: str, pages: set[str], pictures: list[str], static: str) -> str:
    """Return the article of a built page, fit for the one page.

    Parameters
    ----------
    page
        Its title is filled in.
    text
        HTML of the built page.
    pages
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
    live = [tag for tag in found.select(LIVE) if not tag.find_parent(class_="live-body")]
    for tag, picture in zip(live, pictures, strict=True):
        around = tag.find_parent("figure")
        name = tag.get("title") or (around.get("aria-label") if around else None)
        tag.replace_with(BeautifulSoup(f'<img class="picture" src="{picture}">', "html.parser"))
        found.select(f'img[src="{picture}"]')[0]["alt"] = str(name or "What is live on the screen")
    for table in found.select("table[border]"):
        del table["border"]
    for empty in found.select("section#contents"):  # the front page lists what comes on paper, too
        empty.decompose()
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
    rename(found, page.name, pages, static)
    found.name = "article"
    found["id"], found["class"] = page.name, "chapter"
    found["style"] = f"page: {css_name(page)}"
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


def rename(found: Tag, name: str, pages: set[str], static: str) -> None:
    """Give every id the page's name before it, and turn every address to its new place."""
    for tag in found.find_all(True):
        for key, value in list(tag.attrs.items()):
            if key == "id":
                tag[key] = f"{name}--{value}"
            elif key in {"aria-labelledby", "aria-describedby", "for", "headers"}:
                words = value if isinstance(value, list) else str(value).split()
                tag[key] = " ".join(f"{name}--{word}" for word in words)
            elif key == "href" and tag.name == "a":
                tag[key] = address(str(value), name, pages)
            elif key in {"href", "xlink:href"} and str(value).startswith("#"):
                tag[key] = f"#{name}--{str(value)[1:]}"
            elif key == "src" and not re.match(r"[a-z]+:|pictures/", str(value)):
                tag[key] = static + "book/" + str(value)
            elif isinstance(value, str) and "url(#" in value:
                tag[key] = value.replace("url(#", f"url(#{name}--")


def css_name(page: Page) -> str:
    """The name of a page's kind of paper, which bears its running head."""
    return "paper-" + re.sub(r"\W", "-", page.name)


def running_heads(book: Book) -> str:
    """Style sheet: what stands at the head of each page of paper."""
    rules = []
    for page in book.pages[1:]:
        head = f"Chapter {page.number}" if page.number else TITLE
        left, right = (text.replace("\\", "").replace('"', "'") for text in (head, page.title))
        rules.append(
            f'@page {css_name(page)} {{ @top-left {{ content: "{left}" }} '
            f'@top-right {{ content: "{right}" }} }}'
        )
    return "\n".join(rules)


def contents(book: Book) -> str:
    """The table of contents; the numbers are filled in after the first printing."""
    rows = []
    for page in book.pages[1:]:
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


def combine(book: Book, articles: list[str], static: str, version: str, year: str) -> str:
    """Put all together into one page."""
    parts = []
    for page, text in zip(book.pages, articles, strict=True):
        if page.part:
            name = html.escape(page.part)
            # The part's name opens its first chapter and leads the outline.
            text = text.replace(">", f'><h1 class="part">{name}</h1>', 1)
        parts.append(text)
    styles = "".join(
        f'<link rel="stylesheet" href="{static}_static/{name}">'
        for name in ("pygments.css", "book.css")
    )
    print_css = (HERE / "print.css").read_text(encoding="utf-8")
    fonts = (ROOT / "book" / "_web" / "node_modules").as_uri()
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>{TITLE}</title>{styles}"
        f"<style>{print_css.replace('FONTS', fonts)}\n{running_heads(book)}</style>"
        '<script>window.MathJax = {options: {processHtmlClass: "math", '
        'ignoreHtmlClass: "mathjax_ignore"}}</script>'
        f'<script defer src="{static}_static/vendor/mathjax/tex-chtml.js"></script>'
        f"</head><body>{cover(version, year)}{contents(book)}{''.join(parts)}</body></html>"
    )


def find_chromium() -> str | None:
    """Return the path of Chromium or Chrome on this machine, or nothing."""
    return next(filter(None, map(shutil.which, NAMES)), str(MAC) if MAC.exists() else None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium or Chrome of the machine, without a window."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise SystemExit("The PDF is printed by Chromium or Chrome; please install one of them.")
    # Chromium's sandbox refuses to start for root, as in most containers.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if root else []
        )
        yield browser
        browser.close()


SETTLED = """() => [...document.querySelectorAll("figure.pgt-map iframe")].every(frame => {
  const inside = frame.contentDocument;
  return inside && inside.querySelector(
    ".leaflet-overlay-pane path, .leaflet-overlay-pane canvas, .leaflet-marker-pane *");
})"""
# Buttons make no sense in a picture.
STILL = ".leaflet-control-zoom { display: none !important }"


def take_pictures(browser: Any, source: Path, target: Path) -> list[str]:
    """Take a picture of everything live on a built page; return the names of the files."""
    if not re.search(r"<iframe|<canvas|live-body", source.read_text(encoding="utf-8")):
        return []
    page = browser.new_page(
        viewport={"width": 1200, "height": 900}, device_scale_factor=2, color_scheme="light"
    )
    page.set_default_timeout(WAIT)
    page.goto(source.as_uri(), wait_until="load")
    page.add_style_tag(content=".bd-header, .bd-header-article { display: none !important }")
    names: list[str] = []
    live = page.query_selector_all(
        ", ".join(f".bd-article {kind.strip()}" for kind in LIVE.split(","))
    )
    for handle in live:
        if handle.evaluate("tag => !!tag.parentElement.closest('.live-body')"):
            continue
        handle.scroll_into_view_if_needed()
        frame = handle.content_frame()
        if frame:
            frame.wait_for_selector(".leaflet-overlay-pane", state="attached")
            frame.add_style_tag(content=STILL)
        page.wait_for_timeout(600)  # a map fades in
        names.append(f"{source.stem}-{len(names) + 1}.png")
        handle.screenshot(path=target / names[-1])
    page.close()
    return names


def page_numbers(pdf: Path) -> dict[str, int]:
    """Return on which page of paper each anchor lies, counted from 1."""
    from pypdf import PdfReader

    reader = PdfReader(pdf)
    numbers = {}
    for name, destination in reader.named_destinations.items():
        number = reader.get_destination_page_number(destination)
        if number is not None:
            numbers[str(name).lstrip("/")] = number + 1
    return numbers


def tidy_outline(writer: Any, headings: list[str]) -> None:
    """Give each bookmark the text of its heading, and show two levels when the book is opened.

    Chromium says the words of a balanced heading twice.
    """
    from pypdf.generic import NameObject, NumberObject, TextStringObject

    marks: list[Any] = []

    def walk(parent: Any, depth: int) -> None:
        """Collect what is below `parent`, in reading order."""
        children, node = 0, parent.get("/First")
        while node is not None:
            mark = node.get_object()
            marks.append(mark)
            walk(mark, depth + 1)
            children, node = children + 1, mark.get("/Next")
        if children:  # positive is open, negative is folded
            parent[NameObject("/Count")] = NumberObject(children if depth < 2 else -children)

    walk(writer.root_object["/Outlines"], 0)
    if len(marks) != len(headings):
        raise SystemExit(f"The book has {len(headings)} headings, its outline {len(marks)}.")
    for mark, text in zip(marks, headings, strict=True):
        mark[NameObject("/Title")] = TextStringObject(text)


# The headings as they stand in the outline, in order.
HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(
  heading => heading.textContent.replace(/\\s+/g, " ").trim())"""

# What is wider than the paper would make Chromium print the whole book smaller.
FIT = """width => {
  for (const table of document.querySelectorAll("article table"))
    if (table.getBoundingClientRect().right > width) table.classList.add("tight");
  for (const formula of document.querySelectorAll("article mjx-container")) {
    const box = formula.getBoundingClientRect();
    if (box.right > width && box.width > 0)
      formula.style.fontSize = `${Math.floor((95 * (width - box.left)) / box.width)}%`;
  }
  const inside = (tag) => tag.closest("svg, mjx-container") && !tag.matches("svg, mjx-container");
  return [...document.querySelectorAll("article *")]
    .filter(tag => tag.getBoundingClientRect().right > width + 1 && !inside(tag))
    .map(tag => `${tag.closest("article").id}: ${tag.tagName} ${tag.textContent.slice(0, 60)}`);
}"""
WIDTH = 575  # pixels: A4 without the margins of print.css
FILL = """numbers => {
  for (const tag of document.querySelectorAll(".page-of")) {
    tag.textContent = numbers[tag.dataset.of] ?? "";
  }
  for (const link of document.querySelectorAll(".book-index a:not(.index-word)")) {
    const page = numbers[decodeURIComponent(link.hash.slice(1))];
    if (page) link.textContent = page;
  }
}"""


def write(html_folder: Path, target: Path) -> int:
    """Print the built book to `target`; return how many pages it has."""
    from pypdf import PdfReader, PdfWriter

    book = Book.of(ROOT / "_toc.yml")
    work = html_folder.parent / "print"
    shutil.rmtree(work, ignore_errors=True)
    (work / "pictures").mkdir(parents=True)
    static = f"../{html_folder.name}/"
    names = {page.name for page in book.pages}
    with chromium() as browser:
        articles = []
        for page in book.pages:
            source = html_folder / "book" / f"{page.name}.html"
            pictures = take_pictures(browser, source, work / "pictures")
            text = source.read_text(encoding="utf-8")
            files = [f"pictures/{name}" for name in pictures]
            articles.append(article(page, text, names, files, static))
        whole = work / "book.html"
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
        year = str(citation.get("date-released", ""))[:4] or "2026"
        whole.write_text(
            combine(book, articles, static, str(citation.get("version", "")), year), "utf-8"
        )
        paper = browser.new_page()
        paper.set_default_timeout(WAIT)
        paper.goto(whole.as_uri(), wait_until="load")
        paper.wait_for_function(
            "[...document.querySelectorAll('.math')].every(m => m.querySelector('mjx-container'))"
        )
        paper.evaluate("document.fonts.ready")
        paper.set_viewport_size({"width": WIDTH, "height": 900})
        paper.emulate_media(media="print")
        if wide := paper.evaluate(FIT, WIDTH):
            raise ValueError("Wider than the paper: " + "; ".join(wide[:5]))
        headings = paper.evaluate(HEADINGS)
        settings = {
            "path": work / "book.pdf", "outline": True, "tagged": True,
            "prefer_css_page_size": True, "print_background": True,
        }  # fmt: skip
        paper.pdf(**settings)
        paper.evaluate(FILL, page_numbers(work / "book.pdf"))
        paper.pdf(**settings)
    writer = PdfWriter(clone_from=PdfReader(work / "book.pdf"))
    writer.add_metadata(
        {"/Title": TITLE, "/Author": AUTHOR, "/Subject": SUBTITLE, "/Creator": "make pdf"}
    )
    writer.page_mode = "/UseOutlines"
    tidy_outline(writer, headings)
    writer.compress_identical_objects()
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.write(target)
    return len(writer.pages)


def main() -> int:
    """Print the book."""
    parser = argparse.ArgumentParser(description="Print the built book to one PDF.")
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "where-next.pdf")
    arguments = parser.parse_args()
    if not (arguments.html / "book").exists():
        print("There is no built book: run `make book`.", file=sys.stderr)
        return 1
    count = write(arguments.html, arguments.out)
    print(f"{arguments.out.name}: {count} pages, {arguments.out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
