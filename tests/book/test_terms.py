"""The index and the glossary: what is in them, in which order, and that nothing is forgotten."""

from __future__ import annotations

import html
import re
from pathlib import Path

import jupytext
import pytest
import terms

from .sphinx_helpers import ROOT, Built, build

SCRIPTS = sorted((ROOT / "book").glob("[0-9][0-9]_*.py"))
GLOSSARY = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")

START = (
    "# Where next?\n\nThe **gates** open. A **gate** again, a **stranger**, and `wherenext.city`.\n"
)
HEAD = """# The pointer

## Two heads and a Pointer

```python
from pgt.look import INK, look
```
"""
DEFINED = """# Glossary

```{glossary}
pointer
  A.

gate
  B.

Head
  C.

unused
  D.
```
"""
INDEX = '# Index\n\n<div id="index-of-words"></div>\n\n<div id="index-of-package"></div>\n'
PAGES = {"01_start": START, "02_head": HEAD, "glossary": DEFINED, "genindex": INDEX}
PAGES["notes"] = "# The pointer\n\n**gate**\n"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Two chapters, a glossary and an index."""
    folder = tmp_path_factory.mktemp("book")
    return build(folder, PAGES, "terms", more='index_glossary = "glossary.md"')


def lines(book: Built) -> list[str]:
    """The index as text, a line a word."""
    items = re.findall(
        r"<li>(.*?)</li>", book.page("genindex").split("<h1>")[1].split("sphinxsidebar")[0], re.S
    )
    return [html.unescape(re.sub(r"<[^>]+>", "", item)).strip() for item in items]


def test_the_index_is_sorted_and_lists_each_page_once(book: Built) -> None:
    assert book.warnings == ""
    assert lines(book) == [
        "gate · Where next?",
        "Head · The pointer",
        "pointer · The pointer",
        "unused",
        "wherenext.city · Where next?",
        "pgt.look.look · The pointer",
    ]


def test_letters_stand_above_their_words(book: Built) -> None:
    assert re.findall(r'<p class="index-letter">(.)</p>', book.page("genindex")) == list("GHPU")


def test_every_line_leads_somewhere(book: Built) -> None:
    links = re.findall(r'href="((?:0|glossary)[^"#]*)\.html#([^"]+)"', book.page("genindex"))
    assert len(links) == 9
    for page, anchor in links:
        assert book.page(page).count(f'id="{anchor}"') == 1, f"{page} has no single {anchor}"


# ---- The book itself ---------------------------------------------------------------------------


def entries() -> list[tuple[list[str], str]]:
    """The words that share a definition, and the definition."""
    found: list[tuple[list[str], str]] = []
    for block in re.findall(r"^```\{glossary\}\n(.*?)^```", GLOSSARY, re.S | re.M):
        for entry in block.strip().split("\n\n"):
            words = [line for line in entry.splitlines() if not line.startswith(" ")]
            found.append((words, entry[len("\n".join(words)) :]))
    return found


def test_no_word_is_defined_twice() -> None:
    words = [terms.plain(word) for word in terms.glossary_terms(GLOSSARY)]
    assert sorted(words) == sorted(set(words))
    assert len(words) > 60


def test_every_definition_links_to_where_the_word_is_explained() -> None:
    for words, text in entries():
        assert "](" in text, f"The glossary's {words[0]} has no link."
        for name in re.findall(r"\]\(([\w.]+\.(?:ipynb|md))", text):
            assert (ROOT / "book" / name).exists(), f"{words[0]}: {name} does not exist."


def introduced(path: Path) -> list[str]:
    """What a chapter prints in bold as a term: up to three words inside a sentence."""
    found = []
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"^```.*?^```|`[^`]*`|\$[^$]*\$", "", cell.source, flags=re.S | re.M)
            for match in re.finditer(r"(?<=[^\s>*\-.\d])( |\n)\*\*([^*]+)\*\*", text):
                word = " ".join(match[2].split())
                if re.search(r"[^\W\d]", word) and word[-1] not in ".:?!" and word.count(" ") < 3:
                    found.append(word)
    return found


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_glossary_has_every_word_that_a_chapter_introduces(path: Path) -> None:
    known = {terms.plain(word) for word in terms.glossary_terms(GLOSSARY)}
    missing = sorted({word for word in introduced(path) if terms.plain(word) not in known})
    assert not missing, (
        f"{path.stem} introduces {missing} in bold: define them in book/glossary.md, "
        "or write them in italics if they are no terms."
    )
