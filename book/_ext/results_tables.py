"""The tables of ``book/experiments.md``, from the headers of our results, which no tool reads."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from html import escape
from pathlib import Path
from typing import Any

import toc
from evidence import read_by, sources
from lab.reports import NO_CODE

# Columns of the table of experiments, with the least width that keeps each readable, in rem.
COLUMNS = {"Question": 12, "Data": 15, "Seeds": 6, "Chapters": 6, "Made with": 12, "Command": 16}


def experiments(root: Path, built: Collection[str]) -> str:
    """The table of experiments, as HTML."""
    readers = read_by(root)
    rows = []
    for path in sorted((root / "book" / "results").glob("*.json")):
        if path.stem not in NO_CODE:
            raw = json.loads(path.read_text(encoding="utf-8"))
            rows.append(_row(path.stem, raw, readers.get(path.stem, ()), built))
    return _scrolling("Table of experiments", ("Name", *COLUMNS), rows)


def _row(name: str, raw: dict[str, Any], readers: Iterable[str], pages: Collection[str]) -> str:
    seeds = sorted({row["seed"] for row in raw["rows"] if row.get("seed") is not None})
    versions = ", ".join(f"{package} {version}" for package, version in raw["versions"].items())
    cells = {
        "Question": escape(raw["question"]),
        "Data": "<br>".join(escape(_data(source)) for source in sources(raw)),
        "Seeds": escape(", ".join(map(str, seeds))) or "none",
        "Chapters": ", ".join(_link(page, pages) for page in readers) or "none",
        "Made with": escape(f"{raw['device'].upper()}, {duration(raw['seconds'])}; {versions}"),
        "Command": f"<code>{escape(raw['command'])}</code>",
    }
    head = f'<th scope="row" id="results-{name}"><code>{escape(name)}</code></th>'
    row = (f'<td style="min-width: {COLUMNS[name]}rem">{text}</td>' for name, text in cells.items())
    return f"<tr>{head}{''.join(row)}</tr>"


def _data(source: dict[str, Any]) -> str:
    said = source["name"]
    said += f", {source['protocol']} protocol" if "protocol" in source else ""
    said += ", back from the last visit" if source.get("anchor") == "last_visit" else ""
    for what, n in source.items():
        said += f", {n:,} {what}" if isinstance(n, int) and what != "seed" else ""
    for part, n in source.get("windows", {}).items():
        said += f", {n:,} windows {part}"
    return str(said)


def _link(page: str, pages: Collection[str]) -> str:
    label = str(toc.chapter(page) or page.replace("_", ": ").capitalize())
    if page not in pages:
        return escape(label)
    spoken = f' aria-label="chapter {label}"' if label.isdigit() else ""
    return f'<a href="{page}.html"{spoken}>{escape(label)}</a>'


def duration(seconds: float) -> str:
    """In words of a size that is read at a glance."""
    if seconds < 100:
        return f"{seconds:.0f}\u00a0s"
    return f"{seconds / 60:.0f}\u00a0min" if seconds < 6000 else f"{seconds / 3600:.1f}\u00a0h"


def speeds(root: Path) -> str:
    """The table of speeds, as HTML."""
    raw = json.loads((root / "book" / "results" / "bench.json").read_text(encoding="utf-8"))
    rows = []
    for row in raw["rows"]:
        name = re.sub(r"\bchapter 0?(\d+)_\w+", r"chapter \1", row["name"])
        cells = [_short(row.get(key)) for key in ("ours", "reference", "ratio", "peak")]
        cells.insert(3, escape(row["unit"]))
        own = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{own}</tr>')
    columns = ("What", "Ours", "Reference", "Ratio", "Unit", "Peak, MiB")
    return _scrolling("Table of speeds", columns, rows)


def colab(root: Path, built: Collection[str]) -> str:
    """The table of the notebooks as they run on Colab's versions, as HTML."""
    raw = json.loads((root / "book" / "results" / "colab.json").read_text(encoding="utf-8"))
    rows = []
    for row in raw["rows"]:
        said = [f"{old} is {new}" for old, new in row["numbers"].values()]
        said += sorted({line.split(":")[0] for line in row["lines"]}, key=lambda x: int(x[5:]))
        said += ["a warning"] * bool(row["warnings"]) + ["an error"] * bool(row["error"])
        cells = (duration(row["seconds"]), escape(", ".join(said)) or "nothing")
        own = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{_link(row["notebook"], built)}</th>{own}</tr>')
    versions = ", ".join(f"{package} {version}" for package, version in raw["versions"].items())
    table = _scrolling("Table of notebooks on Colab", ("Notebook", "Time", "What differs"), rows)
    return f"<p>{escape(raw['date'])}: {escape(versions)}.</p>{table}"


def _short(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def _scrolling(label: str, names: Iterable[str], rows: Iterable[str]) -> str:
    """A table in a container that scrolls by itself, by keyboard too."""
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<div class="pst-scrollable-table-container results" tabindex="0" role="region" '
        f'aria-label="{label}"><table class="table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
