"""Every link within the built book leads somewhere, and the check would notice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ..helpers import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

import links
import weight


@pytest.mark.built
def test_every_link_within_the_book_leads_somewhere(html: Path) -> None:
    assert list(links.broken(html)) == []


@pytest.mark.built
def test_no_link_elsewhere_is_unencrypted_or_to_this_machine(html: Path) -> None:
    strange = [a for a in links.external(html) if not a.startswith("https://") or "localhost" in a]
    assert strange == []


@pytest.mark.built
def test_every_chapter_can_be_opened_in_colab_and_downloaded(html: Path) -> None:
    chapters = sorted((html / "book").glob("[0-9][0-9]_*.html"))
    assert chapters
    for path in chapters:
        names = links.Page(path.read_text(encoding="utf-8")).names
        notebook = f"book/{path.stem}.ipynb"
        colab = "https://colab.research.google.com/github/where-next-book/where-next/blob/main/"
        assert colab + notebook in names, f"{path.name} has no button for Colab."
        assert f"../_sources/{notebook}" in names, f"{path.name} offers no notebook to download."
        offered = (html / "_sources" / notebook).read_bytes()
        assert offered == (ROOT / notebook).read_bytes(), f"The notebook of {path.name} differs."


@pytest.mark.built
def test_every_chapter_has_its_execution_time(html: Path) -> None:
    page = links.Page((html / "book" / "timings.html").read_text(encoding="utf-8"))
    chapters = {path.name for path in (html / "book").glob("[0-9][0-9]_*.html")}
    assert chapters <= set(page.names)


@pytest.mark.built
def test_no_page_is_too_heavy(html: Path) -> None:
    heavy = {
        name: it
        for name, it in weight.weigh(html).items()
        if it.own > weight.OWN_BUDGET or it.sent > weight.SENT_BUDGET
    }
    assert heavy == {}, "See `make weight`."


def site(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("b.html", None),
        ("b.html#here", None),
        ("b.html?x=1#here", None),
        ("#own", None),
        ("#", None),
        ("https://example.org/nowhere", None),
        ("mailto:a@example.org", None),
        ("c.html", "does not exist"),
        ("b.html#there", "no such place"),
        ("#missing", "no such place"),
        ("../../b.html", "outside the book"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(
    tmp_path: Path, link: str, complaint: str | None
) -> None:
    folder = site(
        tmp_path,
        a=f'<p id="own"><a href="{link}">x</a>',
        b='<h1 id="here">B</h1><br/><img id="i"/>',
    )
    found = list(links.broken(folder))
    assert len(found) == (complaint is not None)
    if complaint:
        assert complaint in found[0]
        assert "a.html" in found[0]


def test_pictures_scripts_and_frames_are_followed_too(tmp_path: Path) -> None:
    frame = "&lt;script src=&quot;map.js&quot;&gt;&lt;/script&gt;"
    folder = site(tmp_path, a=f'<img src="p.png"><iframe srcdoc="{frame}"></iframe>')
    assert [line.split()[3] for line in links.broken(folder)] == ["p.png,", "map.js,"]


def test_a_page_weighs_what_is_fetched_for_it(tmp_path: Path) -> None:
    (tmp_path / "s.js").write_text("x" * 10_000)
    (tmp_path / "p.png").write_bytes(bytes(range(250)))
    page = '<script src="s.js?v=1"></script><img src="p.png"><a href="b.html">b</a>'
    it = weight.weigh(site(tmp_path, a=page, b="<p>"))["a.html"]
    assert it.own == len(page)
    assert it.files == len(page) + 10_250
    assert 250 < it.sent < 600
