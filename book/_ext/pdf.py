"""The whole book as one PDF, because no tool prints pages that scripts draw and numbers their index.

    python book/_ext/pdf.py            # _build/where-next.pdf, from _build/html

Headless Chromium prints the one page that ``paper.py`` puts together, twice: the first time tells on
which page everything lies, the second has that in the contents and in the index.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from paper import AUTHOR, LIVE, SUBTITLE, TITLE, article, combine, pages
from toc import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
WAIT = 1_800_000  # milliseconds; for all formulas of the book, a busy machine needs a tenth


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
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


# Buttons make no sense in a picture.
STILL = ".bd-header, .bd-header-article, .live-zoom { display: none !important }"


def take_pictures(browser: Any, source: Path, target: Path) -> list[str]:
    """Take a picture of everything live on a built page; return the names of the files."""
    if "live-body" not in source.read_text(encoding="utf-8"):
        return []
    page = browser.new_page(
        viewport={"width": 1200, "height": 900}, device_scale_factor=2, color_scheme="light"
    )
    page.set_default_timeout(WAIT)
    page.goto(source.as_uri(), wait_until="load")
    page.add_style_tag(content=STILL)
    names: list[str] = []
    for handle in page.query_selector_all(f".bd-article {LIVE}"):
        handle.scroll_into_view_if_needed()
        page.wait_for_timeout(600)  # a map is drawn anew when its size is known
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

    book = pages()
    work = html_folder.parent / "print"
    shutil.rmtree(work, ignore_errors=True)
    (work / "pictures").mkdir(parents=True)
    static = f"../{html_folder.name}/"
    names = {page.name for page in book}
    with chromium() as browser:
        articles = []
        for page in book:
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
