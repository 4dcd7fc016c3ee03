"""The book as one PDF: all of it, with its links, its outline and its pictures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import paper
import pdf as printer
import pytest

from ..helpers import ROOT, give_up

PAGES = {"07_pointer", "08_gate"}


@pytest.fixture(scope="module")
def reader(html: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The PDF, printed anew by the command (one process holds one Playwright at a time)."""
    pypdf = pytest.importorskip("pypdf")
    if printer.find_chromium() is None:
        give_up("There is no Chromium or Chrome on this machine.")
    path = tmp_path_factory.mktemp("pdf") / "book.pdf"
    command = [sys.executable, str(ROOT / "book" / "_ext" / "pdf.py")]
    done = subprocess.run(
        [*command, "--html", str(html), "--out", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = pypdf.PdfReader(path)
    assert f"{len(found.pages)} pages" in done.stdout
    return found


@pytest.fixture(scope="module")
def book() -> list[paper.Page]:
    """What must be in it."""
    return paper.pages()


def titles(outline: list[Any]) -> list[str]:
    """All bookmarks, in order."""
    return [
        title
        for item in outline
        for title in (titles(item) if isinstance(item, list) else [item.title])
    ]


pytestmark = pytest.mark.slow


@pytest.mark.built
def test_every_page_of_the_book_is_there_and_marked(reader: Any, book: list[paper.Page]) -> None:
    marks = titles(reader.outline)
    chapters = [page for page in book if page.number]
    assert len(reader.pages) > 5 * len(chapters)
    for page in chapters:
        script = (ROOT / "book" / f"{page.name}.py").read_text(encoding="utf-8")
        name = re.search(r"^# # (.+)$", script, re.M)
        assert name is not None
        assert f"Chapter {page.number} {name[1]}" in marks
    assert {page.part for page in book if page.part} <= set(marks)
    top = [item for item in reader.outline if not isinstance(item, list)]
    assert len(top) == 1 + len({page.part for page in book if page.part})  # and the contents


@pytest.mark.built
def test_links_stay_links(reader: Any, book: list[paper.Page]) -> None:
    inside, outside = set(), set()
    places = reader.named_destinations
    for page in reader.pages:
        for link in page.get("/Annots") or []:
            action = link.get_object().get("/A", {})
            if "/URI" in action:
                outside.add(str(action["/URI"]))
            else:
                target = link.get_object().get("/Dest") or action.get("/D")
                if isinstance(target, str):
                    assert target in places, f"{target} is nowhere."
                inside.add(str(target))
    assert len(inside) > len(book)
    assert not [address for address in outside if not address.startswith(("https://", "mailto:"))]
    assert {page.name for page in book[1:]} <= {name.lstrip("/") for name in places}


@pytest.mark.built
def test_maps_are_pictures_and_formulas_are_set(reader: Any, html: Path) -> None:
    live = sum(
        len(re.findall(r"live-body\b[^{]*?>", path.read_text(encoding="utf-8")))
        for path in (html / "book").glob("[0-9][0-9]_*.html")
    )
    large = set()
    for page in reader.pages:
        for _, item in (page.get("/Resources", {}).get("/XObject") or {}).items():
            picture = item.get_object()
            if picture.get("/Subtype") == "/Image" and picture["/Width"] > 500:
                large.add(item.idnum)
    assert len(large) >= live > 0
    text = "\n".join(page.extract_text() for page in reader.pages[:80])
    assert "\\text{" not in text
    assert "$$" not in text


@pytest.mark.built
def test_the_contents_tell_the_right_pages(reader: Any, book: list[paper.Page]) -> None:
    text = "\n".join(reader.pages[i].extract_text() for i in (1, 2))
    places = reader.named_destinations
    for page in book[1:]:
        number = reader.get_destination_page_number(places[f"/{page.name}"]) + 1
        assert re.search(rf"\b{number}\b", text), f"{page.name} begins on page {number}."
        assert str(number) in reader.pages[number - 1].extract_text()


# ---- Its parts, without a browser --------------------------------------------------------------


def fit(body: str, pictures: tuple[str, ...] = ()) -> str:
    """An article as it is printed."""
    page = paper.Page("07_pointer")
    heading = '<h1>The pointer<a class="headerlink">#</a></h1>'
    text = f'<article class="bd-article">{heading}{body}</article>'
    return paper.article(page, text, PAGES, list(pictures), "../html/")


def test_ids_and_links_become_those_of_the_one_page() -> None:
    done = fit('<h2 id="gate">G</h2><a href="#gate">a</a><a href="08_gate.html#x">b</a>')
    assert '<h3 id="07_pointer--gate">' in done
    assert 'href="#07_pointer--gate"' in done
    assert 'href="#08_gate--x"' in done
    assert "headerlink" not in done
    assert '<span class="kicker">Chapter 7</span> The pointer' in done


def test_a_map_becomes_a_picture_with_its_name() -> None:
    drawn = '<figure class="pgt-map" aria-label="A map"><div class="live-body"></div></figure>'
    done = fit(drawn, ("p/m.png",))
    assert "live-body" not in done
    assert 'alt="A map"' in done
    with pytest.raises(ValueError, match="zip"):
        fit(drawn)


def test_solutions_lie_open_and_plumbing_stays_out() -> None:
    done = fit(
        '<div class="cell tag_hide-input"><details><summary>s</summary><div class="cell_input">'
        'plumbing</div></details><div class="cell_output">shown</div></div>'
        '<details class="solution"><summary>Solution 1</summary><p>because</p></details>'
    )
    assert "plumbing" not in done
    assert "shown" in done
    assert "<details" not in done
    assert "because" in done
    assert "Solution 1" in done


def test_pictures_inside_drawings_keep_their_own_ids() -> None:
    done = fit('<svg><defs><clippath id="c"></clippath></defs><g clip-path="url(#c)"></g></svg>')
    assert 'id="07_pointer--c"' in done
    assert 'clip-path="url(#07_pointer--c)"' in done


def test_the_table_of_contents_is_read_in_order(book: list[paper.Page]) -> None:
    assert book[0].name == "index"
    numbers = [int(page.number) for page in book if page.number]
    assert numbers == sorted(numbers)
    assert book[1].part
