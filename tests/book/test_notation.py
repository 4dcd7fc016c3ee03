r"""Every symbol of a chapter is in the table of symbols, which knows where it was first used.

A symbol is a letter (Latin, Greek or calligraphic) with its index: ``s_i`` and ``s_\ell`` are two
symbols, ``s_i`` and ``s_j`` are one. Words (``\text{…}``, ``\log``) name themselves, except as an
index: ``P_\text{gen}``.
"""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))
NOTATION = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")

GREEK = "|".join(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma "
    "tau phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell".split()
)
LETTER = (
    rf"\\(?:{GREEK})(?![A-Za-z])(?:\^\*)?|\\mathcal\{{\w\}}|(?<![\\A-Za-z])[A-Za-z](?![A-Za-z]*\{{)"
)
POWER = r"\^(?:\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}|\w)"
INDEX = r"_(?:\{(?P<group>(?:[^{}]|\{[^{}]*\})*)\}|(?P<one>\\text\{\w+\}|\\[a-z]+|[\w<>=]))"
SYMBOL = re.compile(rf"(?P<letter>{LETTER})(?:(?:{POWER})?{INDEX})?")
# Words, unless they are an index; and commands, unless they are letters.
WORD = re.compile(r"(?<!_)\\(?:text|operatorname|mathrm|begin|end|tag)\{[^{}]*\}")
COMMAND = re.compile(rf"\\(?!(?:{GREEK}|mathcal|text)(?![A-Za-z]))[A-Za-z]+")
# Two visits, or any visit and the last.
SAME = {"j": "i", "L": "i"}


def formulas(text: str) -> list[str]:
    """The formulas of a Markdown text."""
    text = re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.S | re.M)
    displayed = re.findall(r"\$\$(.*?)\$\$", text, re.S)
    return displayed + re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.*?\$\$", "", text, flags=re.S))


def symbols(formula: str, indices: bool = True) -> set[str]:
    """The symbols of a formula, those in an index included unless told otherwise."""
    found: set[str] = set()
    for match in SYMBOL.finditer(COMMAND.sub(" ", WORD.sub(" ", formula))):
        letter, index = match["letter"], match["group"] or match["one"] or ""
        word = re.search(r"\\text\{(\w+)\}", index)
        inner = [] if word else [SAME.get(i, i) for i in re.findall(LETTER, index)]
        found.update(inner if indices else [])
        if word:
            found.add(f"{letter}_{word[1]}")
        elif inner:
            found.add(f"{letter}_{inner[0]}")
        elif index:
            found.add(f"{letter}_{'1' if index.strip()[0].isdigit() else index}")
        else:
            found.add(letter)
    return found


def used_in(path: Path) -> set[str]:
    """The symbols of a chapter."""
    cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "markdown"]
    return {symbol for formula in formulas("\n\n".join(cells)) for symbol in symbols(formula)}


def rows() -> list[tuple[set[str], str]]:
    """The symbols that a row of the tables explains, and the row."""
    found = []
    for row in re.findall(r"^\|(?! *-)(?! *symbol).*\|$", NOTATION, re.M):
        found.append(({s for f in formulas(row.split(" | ")[0]) for s in symbols(f, False)}, row))
    return found


USED = {path.stem: used_in(path) for path in CHAPTERS}
EXPLAINED = {symbol for found, _ in rows() for symbol in found}


@pytest.mark.parametrize("chapter", USED)
def test_every_symbol_of_a_chapter_is_explained(chapter: str) -> None:
    missing = sorted(USED[chapter] - EXPLAINED)
    assert not missing, f"{chapter} uses {missing}: add them to book/notation.md, or use others."
