"""Every entry of the bibliography is complete, and somebody cites it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pybtex.database import Entry, parse_file

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
ENTRIES: dict[str, Entry] = parse_file(str(BOOK / "references.bib")).entries
VENUE = {
    "article": "journal",
    "inproceedings": "booktitle",
    "book": "publisher",
    "incollection": "booktitle",
    "phdthesis": "school",
    "mastersthesis": "school",
}
# A DOI, with or without its address, or the address of a preprint.
ADDRESS = re.compile(r"\b10\.\d{4,}/[^\s()]*\w|https://arxiv\.org/abs/[\d.]*\d")
PAGES = [path for kind in ("[0-9][0-9]_*.py", "evidence_*.py", "*.md") for path in BOOK.glob(kind)]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in PAGES).lower()


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_is_complete(key: str) -> None:
    entry = ENTRIES[key]
    assert entry.persons.get("author"), f"{key} has no author."
    assert entry.fields.get("title"), f"{key} has no title."
    assert re.fullmatch(r"\d{4}[a-z]?", entry.fields.get("year", "")), f"{key} has no year."
    assert "doi" in entry.fields or "url" in entry.fields, f"{key} has neither doi nor url."
    address = entry.fields.get("url", "https://")
    assert address.startswith("https://"), f"{key} has no encrypted address."
    if entry.type in VENUE:
        assert entry.fields.get(VENUE[entry.type]), f"{key} has no {VENUE[entry.type]}."
    else:  # a preprint or a page: the address says where it appeared
        assert "arxiv.org/abs/" in entry.fields.get("url", "") or "howpublished" in entry.fields


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_is_cited(key: str) -> None:
    fields = ENTRIES[key].fields
    addresses = [fields.get("url", "-")]
    if "doi" in fields:
        addresses.append(f"https://doi.org/{fields['doi']}")
    cited = any(f"]({address.lower()})" in TEXT for address in addresses)
    assert cited, f"{key} is cited nowhere in the book; cite it or remove it."
