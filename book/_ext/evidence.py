"""Sphinx extension: no number in the prose without a source, and no stale results.

Measured numbers are computed in code cells from ``book/results``, so a number that is typed in
Markdown should be a definition, an example, or somebody else's, cited beside it. This extension
reads the Markdown of every page and asks of each number that looks measured (a percentage, a
decimal, something with a unit, a number of three digits and more) where it comes from. It is
content if the paragraph cites a source, if the number stands in a code cell of the same page, or
if ``book/numbers.toml`` says why it needs no measurement. Anything else is a warning, and warnings
fail the build. So is a results file that is stale, that nobody reads, or that is missing.

It also writes the tables of experiments and of speeds (``<div id="experiments">`` and
``<div id="speed">`` on a page).
"""

from __future__ import annotations

import ast
import html
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)

UNIT = (
    r"%|percent|points?|seconds?|minutes?|hours?|days|weeks|metres|m\b|km|ms|MB|GB|bits?|nats|times|"
    r"windows|visits|people|places|locations|parameters|epochs|steps|seeds|users"
)
NUMBER = re.compile(
    rf"(?<![\w.,/#$\\(-])(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+\.\d+|\d+)(?:\s*(?P<unit>{UNIT}))?"
    r"(?![\w]|[.,]\d|-\d)"
)
# What is taken out before numbers are looked for: code, maths, addresses, HTML, comments.
NOISE = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)]*\)|<!--.*?-->|<[^>]+>|https?://\S+",
    re.DOTALL,
)
# Numbers that name something: chapter 7, exercise 2.1, equation (7.3), section 4, figure 2.
NAMES = re.compile(
    r"(?:\b|(?=§))(?:[Cc]hapters?|[Ee]xercises?|[Ee]quations?|[Ss]olutions?|[Ss]ections?|[Ff]igures?|[Pp]arts?|"
    r"[Ss]teps?|[Ll]ayers?|[Hh]eads?|[Ee]rrat(?:um|a)|[Vv]ersions?|Python|seed|id|row|entry|position|"
    r"visit|index|CC BY|§)\s*\(?\d+(?:[.–-]\d+)*\)?(?:(?:,| and|, and| to| or)\s+\(?\d+(?:\.\d+)*\)?)*"
)
CITED = re.compile(r"\]\((?:https?://|errata|[^)]*errata)[^)]*\)|\bdocuments\b|\{cite")
YEARS = re.compile(r"\b(?:1[89]|20)\d\d\b")


@dataclass(frozen=True)
class Hit:
    """A number that looks measured."""

    number: str
    unit: str
    line: str

    @property
    def text(self) -> str:
        """As it stands: with a percent sign, or with its unit."""
        return f"{self.number} {self.unit}".strip()


def paragraphs(markdown: str) -> Iterator[str]:
    """Split Markdown into paragraphs and table rows, without headings and their numbers.

    Examples
    --------
    >>> list(paragraphs("# Title 3\\n\\nOne\\ntwo.\\n\\n| a | b |\\n| 1 | 2 |"))
    ['One\\ntwo.', '| a | b |\\n| 1 | 2 |']
    """
    for block in re.split(r"\n\s*\n", markdown):
        lines = [line for line in block.splitlines() if not line.lstrip().startswith("#")]
        if text := "\n".join(lines).strip():
            yield text


def suspicious(paragraph: str) -> list[Hit]:
    """The numbers of a paragraph that look measured and have no source beside them.

    Examples
    --------
    >>> [hit.text for hit in suspicious("It is right 41.3 % of the time, in 1,200 windows.")]
    ['41.3 %', '1,200 windows']
    >>> suspicious("See chapter 7. It was so in [a paper](https://doi.org/10.1/x): 41.3 %.")
    []
    """
    if CITED.search(paragraph):
        return []
    text = NAMES.sub(" ", NOISE.sub(" ", paragraph))
    text = YEARS.sub(" ", text)
    hits = []
    for match in NUMBER.finditer(text):
        number, unit = match["number"], match["unit"] or ""
        long = len(re.sub(r"\D", "", number)) >= 3
        if (
            "." in number
            or long
            or unit in ("%", "percent", "points", "point", "seconds", "ms", "times")
        ):
            hits.append(
                Hit(number, unit, " ".join(text[max(0, match.start() - 40) :][:100].split()))
            )
    return hits


def pages(root: Path) -> dict[str, tuple[list[str], str]]:
    """Each page's Markdown, cell by cell, and its code, by its name without ending."""
    found: dict[str, tuple[list[str], str]] = {}
    for path in sorted((root / "book").glob("[0-9][0-9]_*.py")):
        cells = jupytext.read(path).cells
        markdown = [cell.source for cell in cells if cell.cell_type == "markdown"]
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        found[path.stem] = (markdown, code)
    # Each erratum quotes the documents and is tied to a test; the test holds its numbers.
    for path in sorted(set((root / "book").glob("*.md")) - {root / "book" / "errata.md"}):
        found[path.stem] = ([path.read_text(encoding="utf-8")], "")
    return found


def unsourced(root: Path) -> Iterator[str]:
    """One sentence for every number without a source, and for every unused excuse."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(
        (root / "book" / "numbers.toml").read_text(encoding="utf-8")
    )
    used: set[tuple[str, str]] = set()
    for page, (markdown, code) in pages(root).items():
        excuses = reasons.get(page, {})
        in_code = set(re.findall(r"(?<![\w.])\d[\d_]*(?:\.\d+)?", code))
        in_code = {number.replace("_", "") for number in in_code}
        for hit in (
            hit for cell in markdown for part in paragraphs(cell) for hit in suspicious(part)
        ):
            if hit.text in excuses:
                used.add((page, hit.text))
            elif hit.number.replace(",", "") not in in_code:
                yield (
                    f"{page}: '{hit.text}' has no source (… {hit.line} …); compute it in a cell from "
                    "book/results, cite where it comes from, or say in book/numbers.toml why it "
                    "needs none"
                )
    for page, excuses in reasons.items():
        for text in excuses:
            if (page, text) not in used:
                yield f"{page}: numbers.toml excuses '{text}', which is not there; remove the entry"


def read_by(root: Path) -> dict[str, list[str]]:
    """The pages that read each results file, by the file's name."""
    there = {path.stem for path in (root / "book" / "results").glob("*.json")}
    readers: dict[str, list[str]] = {}
    for page, (_, code) in pages(root).items():
        # A chapter may also loop over names: any string that is one counts.
        loose = [name for name in re.findall(r"[\"']([a-z_]+)[\"']", code) if name in there]
        for name in dict.fromkeys(names_read(code) + loose if "read_results" in code else []):
            readers.setdefault(name, []).append(page)
    return readers


def names_read(code: str) -> list[str]:
    """The literal names in ``read_results("…")``, in order.

    Examples
    --------
    >>> names_read('a = read_results("city")')
    ['city']
    """
    code = re.sub(r"^\s*[%!].*$", "", code, flags=re.MULTILINE)
    return [
        node.args[0].value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "read_results"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]


def doubtful(root: Path) -> Iterator[str]:
    """One sentence for every results file that is missing, unread, or older than its code."""
    from pgt.reports import NO_CODE, stale
    from pgt.results import read_results
    from pgt.runs import data_fingerprint

    folder = root / "book" / "results"
    there = {path.stem for path in folder.glob("*.json")}
    readers = read_by(root)
    for name in sorted(readers.keys() - there):
        yield f"{', '.join(readers[name])}: there is no book/results/{name}.json"
    for name in sorted(there):
        if name not in readers and name not in NO_CODE:
            yield f"book/results/{name}.json is read by no chapter; use it or remove it"
        raw = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        if name in NO_CODE:
            continue
        for key in (
            "experiment",
            "question",
            "command",
            "data",
            "code",
            "versions",
            "device",
            "seconds",
        ):
            if key not in raw:
                yield f"book/results/{name}.json does not say its {key}; make it again"
        if "code" not in raw:
            continue
        for part in stale(read_results(name, folder)):
            yield (
                f"book/results/{name}.json is older than the code of {part}; run {raw['command']}, "
                "for an experiment perhaps with --confirm"
            )
        for source in _sources(raw):
            if source["name"] == "city" and source["fingerprint"] != data_fingerprint("city"):
                yield f"book/results/{name}.json was measured on another city; run {raw['command']}"


def _sources(raw: dict[str, Any]) -> list[dict[str, Any]]:
    data = raw["data"]
    return data if isinstance(data, list) else [data]


def table(root: Path) -> str:
    """The table of experiments, as HTML."""
    readers = read_by(root)
    rows = []
    for path in sorted((root / "book" / "results").glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        if path.stem == "bench":
            continue
        windows = "; ".join(
            f"{source['name']} ({source['protocol']}): "
            + " / ".join(f"{n:,}" for n in source["windows"].values())
            for source in _sources(raw)
            if "windows" in source
        )
        seeds = sorted({row.get("seed") for row in raw["rows"]} - {None})
        links = ", ".join(
            f'<a href="{page}.html">{int(page[:2]) if page[:2].isdigit() else page}</a>'
            for page in readers.get(path.stem, [])
        )
        cells = [
            f"<code>{raw['command']}</code>",
            raw.get("question", ""),
            windows,
            f"{len(seeds)}" if seeds else "none",
            headline(raw["rows"]),
            f"{raw['seconds'] / 60:.0f} min, {raw['device']}",
            links,
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    names = ["Command", "Question", "Windows (train / valid / test)", "Seeds", "Main figure",
             "Time", "Chapters"]  # fmt: skip
    return _scrolling("Table of experiments", names, "".join(rows))


def speed(root: Path) -> str:
    """The table of speeds, as HTML."""
    raw = json.loads((root / "book" / "results" / "bench.json").read_text(encoding="utf-8"))
    body = "".join(
        f'<tr><th scope="row">{html.escape(row["name"])}</th>'
        f"<td>{_short(row['ours'])}</td><td>{_short(row.get('reference'))}</td>"
        f"<td>{_short(row.get('ratio'))}</td><td>{html.escape(row['unit'])}</td></tr>"
        for row in raw["rows"]
    )
    return _scrolling("Table of speeds", ["What", "Ours", "Reference", "Ratio", "Unit"], body)


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def _scrolling(label: str, names: list[str], body: str) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        f'<div class="pst-scrollable-table-container" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def headline(rows: list[dict[str, Any]]) -> str:
    """The two best models of an experiment, by mean test Acc@1; empty for other tables."""
    scores: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if (
            row.get("split") == "test"
            and row.get("group") == "all"
            and row.get("acc@1") is not None
        ):
            name = row["model"] + ("" if row["variant"] == "full" else f", {row['variant']}")
            name = name.replace("_", " ") + (
                f" (told the {row['when']})" if row["when"] != "unknown" else ""
            )
            scores.setdefault((f"{row['data']}, {row['protocol']}", name), []).append(row["acc@1"])
    best: dict[str, list[tuple[float, str]]] = {}
    for (data, name), values in scores.items():
        best.setdefault(data, []).append((sum(values) / len(values), name))
    several = len(best) > 1
    parts = [
        (f"{data}: " if several else "")
        + ", ".join(f"{name} {score:.1f} %" for score, name in sorted(some, reverse=True)[:2])
        for data, some in best.items()
    ]
    return "; ".join(parts)


def check(app: Sphinx) -> None:
    """Warn of everything that has no source or is stale."""
    root = Path(app.srcdir)
    for sentence in (*unsourced(root), *doubtful(root)):
        LOG.warning(sentence, type="evidence")


def write_tables(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Put the tables where a page asks for them."""
    for mark, make in (("experiments", table), ("speed", speed)):
        if (place := f'<div id="{mark}"></div>') in source[0]:
            source[0] = source[0].replace(place, make(Path(app.srcdir)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", check)
    app.connect("source-read", write_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
