"""Numbered equations, their references, and links between chapters."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest

from .sphinx_helpers import ROOT, Built, build

SEVEN = r"""# Pointer

$$
a_i = b \tag{7.1}
$$

As equation (7.1) says, and equations (8.1),
(7.2) and (7.1) too. Not `equation (7.1)`. Equation
(8.1) as well.

$$
x &= 1 \\
y &= 2 \tag{7.2}
$$

$$
z = 3
$$
"""
EIGHT = "# Gate\n\n$$\ng = 1 \\tag{8.1}\n$$\n"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Two chapters that refer to each other."""
    pages = {"07_pointer": SEVEN, "08_gate": EIGHT}
    extensions = ("sphinxcontrib.bibtex", "portable")
    more = f"bibtex_bibfiles = [{str(ROOT / 'book' / 'references.bib')!r}]"
    return build(tmp_path_factory.mktemp("book"), pages, *extensions, more=more)


def test_references_become_links_also_across_chapters(book: Built) -> None:
    assert book.warnings == ""
    page = book.page("07_pointer")
    hrefs = re.findall(r'<a class="reference internal" href="([^"]*equation[^"]*)"', page)
    eight = "08_gate.html#equation-8-1"
    assert hrefs == ["#equation-7-1", eight, "#equation-7-2", "#equation-7-1", eight]


# ---- The chapters themselves -------------------------------------------------------------------

SCRIPTS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))
CHAPTERS = {int(path.name[:2]): path.stem for path in SCRIPTS}
PROSE = sorted((ROOT / "book").glob("*.md"))
LINK = re.compile(r"\[([^\][]*)\]\((\d\d_\w+[^)\s]*)\)")


def prose(path: Path) -> str:
    """The Markdown of a chapter or page, without code."""
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
    else:
        cells = jupytext.read(path).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.S | re.M)


@pytest.mark.parametrize("path", [*SCRIPTS, *PROSE], ids=lambda path: path.name)
def test_links_to_chapters_work_on_github_too(path: Path) -> None:
    for text, target in LINK.findall(prose(path)):
        name = target.split("#")[0]
        assert name.endswith(".ipynb"), f"{path.name}: [{text}]({target}) lacks .ipynb."
        assert (ROOT / "book" / name).exists(), f"{path.name}: [{text}]({target}) leads nowhere."


@pytest.mark.parametrize("path", [*SCRIPTS, *PROSE], ids=lambda path: path.name)
def test_every_mention_of_a_chapter_is_a_link_to_it(path: Path) -> None:
    text = prose(path)
    for number, target in re.findall(r"\[[Cc]hapter (\d+)\]\((\d\d)_", text):
        assert int(number) == int(target), f"{path.name}: chapter {number} links to {target}."
    unlinked = re.findall(r"\b[Cc]hapters?\s+(\d+)", re.sub(r"\[[^\][]*\]\([^)]*\)", "", text))
    own = int(path.name[:2]) if path.name[:2].isdigit() else None
    there = [n for n in unlinked if int(n) in CHAPTERS and int(n) != own]
    assert not there, f"{path.name} mentions chapter {there[0]} without a link to it."


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_numbers_of_equations_are_in_order_and_lead_somewhere(path: Path) -> None:
    chapter = int(path.name[:2])
    tags = re.findall(r"\\tag\{([^}]*)\}", prose(path))
    assert tags == [f"{chapter}.{k}" for k in range(1, len(tags) + 1)]
    for phrase in re.findall(
        r"\b[Ee]quations?\s+\([^)]*\)(?:[\s,andorto–]*\([^)]*\))*", prose(path)
    ):
        for number in re.findall(r"\((\d+\.\d+)\)", phrase):
            target = CHAPTERS[int(number.split(".")[0])]
            there = prose(ROOT / "book" / f"{target}.py")
            assert rf"\tag{{{number}}}" in there, f"{path.name}: there is no equation ({number})."
