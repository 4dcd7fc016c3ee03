"""What the pages point to exists: chapters and their numbers, tests, code, publications."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from typing import Any

import pytest
import toc
from address import FILES
from pybtex.database import Entry, parse_file

from ..helpers import ROOT

BOOK = ROOT / "book"
ENTRIES: dict[str, Entry] = parse_file(str(BOOK / "references.bib")).entries
VENUE = {"article": "journal", "book": "publisher", "phdthesis": "school"} | dict.fromkeys(
    ("inproceedings", "incollection"), "booktitle"
)
PAGES = [path for kind in ("[0-9][0-9]_*.py", "evidence_*.py", "*.md") for path in BOOK.glob(kind)]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in PAGES).lower()
ERRATA = (BOOK / "errata.md").read_text(encoding="utf-8")
DOCUMENTS = (BOOK / "documents.md").read_text(encoding="utf-8")
LINKS = dict(re.findall(r"^\[(\w+)\]: (\S+)$", DOCUMENTS, re.MULTILINE))


def test_the_book_is_numbered_without_gaps() -> None:
    parts = toc.parts()
    numbers = [n for pages in parts.values() for page in pages if (n := toc.chapter(page))]
    assert numbers == list(range(1, len(numbers) + 1))
    *numbered, evidence, last = parts
    assert [title.split(" · ")[0] for title in numbered] == "I II III IV V".split()
    assert not any(map(toc.chapter, parts[evidence] + parts[last]))


def test_errata_and_their_tests_name_each_other() -> None:
    defined = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        names = re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        defined |= {f"{path.relative_to(ROOT).as_posix()}::{name}" for name in names}
    named = set(re.findall(r"tests/[\w/]+\.py::test_\w+", ERRATA))
    assert len(named) > 15 and not named - defined
    assert not {name for name in defined if "::test_erratum_" in name} - named


@pytest.mark.parametrize(
    ("name", "label"), sorted(set(re.findall(r"\[`([\w.]+)`\]\[(\w+)\]", DOCUMENTS)))
)
def test_code_exists_where_the_documents_page_links_to(name: str, label: str) -> None:
    path = LINKS[label].removeprefix(FILES)
    module: Any = import_module(path.removesuffix(".py").replace("/", "."))
    # A field of a dataclass without a default has a type and no value.
    reduce(
        lambda thing, part: getattr(thing, part, None) or thing.__annotations__[part],
        name.split("."), module,
    )  # fmt: skip


@pytest.mark.parametrize("key", ENTRIES)
def test_a_publication_is_complete_and_cited(key: str) -> None:
    entry = ENTRIES[key]
    fields, address = entry.fields, entry.fields.get("url", "")
    assert entry.persons.get("author") and fields.get("title")
    assert re.fullmatch(r"\d{4}[a-z]?", fields.get("year", ""))
    assert address.startswith("https://") if address else "doi" in fields
    if entry.type in VENUE:
        assert fields.get(VENUE[entry.type])
    else:  # a preprint or a page: the address says where it appeared
        assert "arxiv.org/abs/" in address or "howpublished" in fields
    addresses = {address, f"https://doi.org/{fields.get('doi')}"}
    assert any(f"]({one.lower()})" in TEXT for one in addresses)
