"""Links between chapters, and numbers of equations, lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest

from ..helpers import ROOT

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
def test_every_mention_of_a_chapter_is_a_link_that_works_on_github_too(path: Path) -> None:
    for text, target in LINK.findall(prose(path)):
        name = target.split("#")[0]
        assert name.endswith(".ipynb"), f"{path.name}: [{text}]({target}) lacks .ipynb."
        assert (ROOT / "book" / name).exists(), f"{path.name}: [{text}]({target}) leads nowhere."
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
