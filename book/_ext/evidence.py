"""Sphinx extension: no number without a source, no results without a reader; no linter knows either.

Measured numbers are computed in code cells from ``book/results``, so a number that is typed should
be a definition, an example, or somebody else's, cited beside it. This extension reads the prose of
every page (`measured`) and asks of each number that looks measured where it comes from. It is
content if the paragraph, list item or table row cites a work of the bibliography, the design
documents or the errata, if code on the page is written with that number, or if
``book/numbers.toml`` says why it needs no measurement. Anything else is a warning, and warnings
fail the build. So is a results file that nobody reads, that is missing, or that was made from
another results file which says something else now.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import notebooks
import portable
from measured import Hit, called, is_setting, plain, settings, spoken, suspicious
from sphinx.application import Sphinx
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the laboratory is in book/

LOG = logging.getLogger(__name__)

HEADER = {"experiment", "question", "command", "data", "code", "versions", "device", "seconds"}
EVERY = "every"  # the section of numbers.toml that is for all pages


@dataclass(frozen=True)
class Page:
    """What a page says, and the code that it runs."""

    name: str  # without ending, as in ``03_windows``
    markdown: list[str]  # by cell; a page without code has one cell
    code: list[str]  # by cell; a page without code has one cell

    @property
    def prose(self) -> list[str]:
        """All that is read as prose: Markdown, and the sentences that code shows."""
        return self.markdown + [text for cell in self.code for text in spoken(cell)]


def pages(root: Path) -> list[Page]:
    """The chapters, the pages of the back matter, and the project's own papers."""
    found = []
    for path in notebooks.chapters(root / "book"):
        cells = jupytext.read(path).cells
        by_kind: dict[str, list[str]] = {"markdown": [], "code": []}
        for cell in cells:
            by_kind.setdefault(cell.cell_type, []).append(cell.source)
        found.append(Page(path.stem, by_kind["markdown"], by_kind["code"]))
    # Each erratum quotes the documents and is tied to a test; the test holds its numbers.
    plain_pages = set((root / "book").glob("*.md")) - {root / "book" / "errata.md"}
    plain_pages |= {root / "README.md", root / "data" / "README.md"}
    for path in sorted(path for path in plain_pages if path.is_file()):
        name = path.stem if path.parent.name == "book" else path.relative_to(root).as_posix()
        found.append(Page(name, [path.read_text(encoding="utf-8")], []))
    return found


def hits(page: Page, known: frozenset[str]) -> Iterator[Hit]:
    """The numbers of a page that look measured, have no source, and are not in its code."""
    numbers = {number for cell in page.code for number in settings(cell)}
    for text in page.prose:
        for hit in suspicious(text, known):
            if not is_setting(hit, numbers):
                yield hit


def unsourced(root: Path) -> Iterator[str]:
    """One sentence for every number without a source, and for every unused excuse."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(
        (root / "book" / "numbers.toml").read_text(encoding="utf-8")
    )
    known = frozenset(portable.addresses(root / "book" / "references.bib"))
    used: set[tuple[str, str]] = set()
    for page in pages(root):
        excuses = [(section, phrase) for section in (page.name, EVERY)
                   for phrase in reasons.get(section, {})]  # fmt: skip
        for hit in hits(page, known):
            said = {excuse for excuse in excuses if hit.within(excuse[1])}
            used |= said
            if not said:
                yield (
                    f"{page.name}: '{hit.text}' has no source (… {hit.context} …); compute it in a "
                    "cell from book/results, cite where it comes from, or say in book/numbers.toml "
                    "why it needs none"
                )
    for section, phrases in reasons.items():
        for phrase, reason in phrases.items():
            if (section, phrase) not in used:
                yield (
                    f"{section}: numbers.toml excuses '{phrase}', which is not there or has a "
                    "source; remove the entry"
                )
            elif not reason.strip():
                yield f"{section}: numbers.toml excuses '{phrase}' without a reason; give one"


def read_by(root: Path) -> dict[str, list[str]]:
    """The pages that read each results file, by the file's name."""
    there = {path.stem for path in (root / "book" / "results").glob("*.json")}
    readers: dict[str, list[str]] = {}
    for page in pages(root):
        read = (name for cell in page.code for name in names_read(plain(cell), there))
        for name in dict.fromkeys(read):
            readers.setdefault(name, []).append(page.name)
    return readers


def names_read(code: str, there: set[str]) -> list[str]:
    """The names of results files that a cell's code reads, in order.

    A name may be computed, as in a loop over names. So where one is not written out, every string
    of the cell that is a file's name or the end of one counts.

    >>> names_read('a = read_results("city")', set())
    ['city']
    >>> names_read('[read_results(f"real_{n}") for n in ("a", "b")]', {"real_a", "c"})
    ['real_a']
    """
    tree = ast.parse(code)
    found, strings, computed = [], [], False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.append(node.value)
        if isinstance(node, ast.Call) and called(node) == "read_results" and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                found.append(name.value)
            else:
                computed = True
    if computed:
        made = {text for text in strings if text} | {a + b for a in strings for b in strings}
        found += sorted(there & made)
    return list(dict.fromkeys(found))


def doubtful(root: Path) -> Iterator[str]:
    """One sentence for every results file that is missing, unread, or made from other numbers."""
    from lab.data_sets import anchored, data_fingerprint
    from lab.experiments import EXPERIMENTS
    from lab.reports import NO_CODE, outdated
    from wherenext.results import read_results

    folder = root / "book" / "results"
    there = {path.stem for path in folder.glob("*.json")}
    readers = read_by(root)
    for name in sorted(readers.keys() - there):
        yield f"{', '.join(readers[name])}: there is no book/results/{name}.json"
    for name in sorted(EXPERIMENTS.keys() - there - readers.keys()):
        yield f"there is no book/results/{name}.json; run python book/lab/run.py {name}"
    for name in sorted(there - NO_CODE):
        file = f"book/results/{name}.json"
        raw = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        if name not in readers and not _read_by_code(root, name):
            yield f"{file} is read by nothing; use it or remove it"
        if lacking := sorted(HEADER - raw.keys()):
            yield f"{file} does not say its {', '.join(lacking)}; make it again"
            continue
        for other in outdated(read_results(name, folder)):
            yield f"{file} takes numbers from {other}.json, which has others now; run {raw['command']}"
        for source in sources(raw):
            if source["name"] != "city":
                continue
            # Files of before windows said what they go back from have those of the target's day.
            key = anchored("city", source.get("anchor") or "target_day")
            if source.get("fingerprint") != data_fingerprint(key):
                yield f"{file} was measured on another city; run {raw['command']}"


def sources(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The data of a results file; a header with only one has no list."""
    data = raw["data"]
    return data if isinstance(data, list) else [data]


def _read_by_code(root: Path, name: str) -> bool:
    """Whether the package or a test takes something from a results file."""
    call = re.compile(rf"read_results\(\s*[\"']{name}[\"']")
    return any(
        call.search(path.read_text(encoding="utf-8"))
        for folder in ("pgt", "tests")
        for path in (root / folder).rglob("*.py")
    )


def check(app: Sphinx) -> None:
    """Warn of everything that has no source or no reader."""
    root = Path(app.srcdir)
    for sentence in (*unsourced(root), *doubtful(root)):
        LOG.warning("%s", sentence, type="evidence")  # a sentence may hold per cent signs


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("builder-inited", check)
