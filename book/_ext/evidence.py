"""Sphinx extension: no number without a source, no results without a reader; no linter knows either.

Measured numbers are computed in code cells from ``book/results``. Of each other number that looks
measured (`measured`), the paragraph, list item or table row must cite a work of the bibliography,
the design documents or the errata, or code on the page is written with it, or ``book/numbers.toml``
says why it needs no measurement. Anything else is a warning, and warnings fail the build. So is a
results file that nobody reads, that is missing, or whose own sources say something else now.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import notebooks
import portable
from measured import called, is_setting, paragraphs, plain, settings, spoken, suspicious
from sphinx.application import Sphinx
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the laboratory is in book/

LOG = logging.getLogger(__name__)

HEADER = {"experiment", "question", "command", "data", "code", "versions", "device", "seconds"}
EVERY = "every"  # the section of numbers.toml that is for all pages


class Page(NamedTuple):
    """What a page says, by cell, and the code that it runs; ``03_windows`` has no ending."""

    name: str
    markdown: list[str]
    code: list[str]

    @property
    def prose(self) -> list[str]:
        """All that is read as prose: Markdown, and the sentences that code shows."""
        return self.markdown + [text for cell in self.code for text in spoken(cell)]


def pages(root: Path) -> list[Page]:
    """The chapters, the pages of the back matter, and the project's own papers."""
    found = []
    for path in notebooks.chapters(root / "book"):
        cells = jupytext.read(path).cells
        kinds = ([c.source for c in cells if c.cell_type == kind] for kind in ("markdown", "code"))
        found.append(Page(path.stem, *kinds))
    # Each erratum quotes the documents and is tied to a test; the test holds its numbers.
    others = [path for path in (root / "book").glob("*.md") if path.stem != "errata"]
    for path in [*sorted(others), root / "README.md", root / "data" / "README.md"]:
        name = path.stem if path.parent.name == "book" else path.relative_to(root).as_posix()
        found.append(Page(name, [path.read_text(encoding="utf-8")], []))
    return found


def unsourced(root: Path) -> Iterator[str]:
    """One sentence for every number without a source, and for every unused excuse."""
    text = (root / "book" / "numbers.toml").read_text(encoding="utf-8")
    reasons: dict[str, dict[str, str]] = tomllib.loads(text)
    known = frozenset(portable.addresses(root / "book" / "references.bib"))
    said: dict[str, str] = dict.fromkeys(reasons, "")
    for page in pages(root):
        excuses = reasons.get(page.name, {}) | reasons.get(EVERY, {})
        numbers = {number for cell in page.code for number in settings(cell)}
        for prose in page.prose:
            passages = "\n".join("\n".join(items) for items in paragraphs(prose, known))
            for section in reasons.keys() & {page.name, EVERY}:
                said[section] += passages
            for hit in suspicious(prose, known, excuses):
                if not is_setting(hit, numbers):
                    yield (
                        f"{page.name}: '{hit.number} {hit.unit}' has no source (… {hit.context.strip()} …); "
                        "compute it in a cell from book/results, cite where it comes from, or say "
                        "in book/numbers.toml why it needs none"
                    )
    for section, phrases in reasons.items():
        for phrase in phrases:
            if phrase not in said[section]:
                yield f"{section}: numbers.toml excuses '{phrase}', which is not there"


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
    """The names of results files that a cell's code reads.

    A name may be computed, as in a loop over names. So where one is not written out, every string
    of the cell that is a file's name or the end of one counts.
    """
    nodes = list(ast.walk(ast.parse(code)))
    strings = [str(n.value) for n in nodes if isinstance(n, ast.Constant) and n.value]
    named = [
        getattr(node.args[0], "value", None)
        for node in nodes
        if isinstance(node, ast.Call) and called(node) == "read_results" and node.args
    ]
    found = [name for name in named if isinstance(name, str)]
    if len(found) < len(named):
        found += sorted(there & {*strings, *(a + b for a in strings for b in strings)})
    return list(dict.fromkeys(found))


def doubtful(root: Path) -> Iterator[str]:
    """One sentence for every results file that is missing, unread, or made from other numbers."""
    from lab.data_sets import anchored, data_fingerprint
    from lab.experiments import EXPERIMENTS
    from lab.reports import NO_CODE, outdated
    from wherenext.results import read_results

    folder = root / "book" / "results"
    there = {path.stem for path in folder.glob("*.json")}
    code = [path.read_text(encoding="utf-8") for top in ("pgt", "tests")
            for path in (root / top).rglob("*.py")]  # fmt: skip
    readers = read_by(root)
    for name in sorted((readers.keys() | EXPERIMENTS.keys()) - there):
        yield f"there is no book/results/{name}.json; run python book/lab/run.py {name}"
    for name in sorted(there - NO_CODE):
        file = f"book/results/{name}.json"
        raw = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        call = re.compile(rf"read_results\(\s*[\"']{name}[\"']")
        if name not in readers and not any(map(call.search, code)):
            yield f"{file} is read by nothing; use it or remove it"
        if lacking := sorted(HEADER - raw.keys()):
            yield f"{file} does not say its {', '.join(lacking)}; make it again"
            continue
        for other in outdated(read_results(name, folder)):
            yield f"{file} takes numbers from {other}.json, which has others now; run {raw['command']}"
        for source in sources(raw):
            if source["name"] != "city":
                continue
            if source["fingerprint"] != data_fingerprint(anchored("city", source["anchor"])):
                yield f"{file} was measured on another city; run {raw['command']}"


def sources(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The data of a results file; a header with only one has no list."""
    data = raw["data"]
    return data if isinstance(data, list) else [data]


def check(app: Sphinx) -> None:
    """Warn of everything that has no source or no reader."""
    root = Path(app.srcdir)
    for sentence in (*unsourced(root), *doubtful(root)):
        LOG.warning("%s", sentence, type="evidence")  # a sentence may hold per cent signs


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("builder-inited", check)
