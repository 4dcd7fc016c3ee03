"""The words of the book that the speller lets pass are sorted, and each is needed."""

from __future__ import annotations

from ..helpers import ROOT

WORDS = ROOT / "book" / "words.txt"
PROSE = [*ROOT.glob("*.md"), *ROOT.glob("data/*.md"), *ROOT.glob("book/*.md"),
         *ROOT.glob("book/[0-9][0-9]_*.py"), *ROOT.glob("book/evidence_*.py")]  # fmt: skip


def test_the_list_of_words_is_sorted_and_needed() -> None:
    words = WORDS.read_text(encoding="utf-8").splitlines()[1:]
    assert words == sorted(set(words), key=lambda word: (word.lower(), word))
    text = "\n".join(path.read_text(encoding="utf-8") for path in PROSE).lower()
    assert [word for word in words if word.lower() not in text] == []
