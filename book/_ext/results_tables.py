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
COLUMNS = {
    "Question": 12, "Main figures": 16, "Data": 15, "Seeds": 6, "Chapters": 6, "Made with": 12,
    "Command": 16,
}  # fmt: skip


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
    versions = ", ".join(
        f"{package.capitalize() if package != 'pgt' else package} {version}"
        for package, version in raw["versions"].items()
    )
    cells = {
        "Question": escape(raw["question"]),
        "Main figures": "<br>".join(escape(line) for line in main_figures(raw["rows"])),
        "Data": "<br>".join(escape(_data(source)) for source in sources(raw)),
        "Seeds": escape(", ".join(str(seed) for seed in seeds)) or "none",
        "Chapters": ", ".join(_link(page, pages) for page in readers) or "none",
        "Made with": escape(f"{raw['device'].upper()}, {duration(raw['seconds'])}; {versions}"),
        "Command": f"<code>{escape(raw['command'])}</code>",
    }
    head = f'<th scope="row" id="results-{name}"><code>{escape(name)}</code></th>'
    return f"<tr>{head}" + "".join(
        f'<td style="min-width: {width}rem">{cells[column]}</td>' for column, width in COLUMNS.items()
    ) + "</tr>"  # fmt: skip


def _data(source: dict[str, Any]) -> str:
    windows = " / ".join(f"{n:,}" for n in source.get("windows", {}).values())
    protocol = f", {source['protocol']} protocol" if "protocol" in source else ""
    protocol += ", back from the last visit" if source.get("anchor") == "last_visit" else ""
    counts = "".join(
        f", {n:,} {what}" for what, n in source.items() if isinstance(n, int) and what != "seed"
    )
    of = {2: "train / valid", 3: "train / valid / test"}.get(len(source.get("windows", {})), "")
    return f"{source['name']}{protocol}{counts}" + (f": {windows} windows ({of})" if of else "")


def _link(page: str, pages: Collection[str]) -> str:
    label = str(toc.chapter(page) or page.replace("_", ": ").capitalize())
    if page not in pages:
        return escape(label)
    spoken = f' aria-label="chapter {label}"' if label.isdigit() else ""
    return f'<a href="{page}.html"{spoken}>{escape(label)}</a>'


def duration(seconds: float) -> str:
    r"""In words of a size that is read at a glance.

    >>> duration(41.7), duration(478.9), duration(9000)
    ('42\xa0s', '8\xa0min', '2.5\xa0h')
    """
    if seconds < 100:
        return f"{seconds:.0f}\u00a0s"
    return f"{seconds / 60:.0f}\u00a0min" if seconds < 6000 else f"{seconds / 3600:.1f}\u00a0h"


def main_figures(rows: list[dict[str, Any]], best: int = 3) -> list[str]:
    r"""One line a data set: its best models by mean test Acc@1 (or NDCG@10); else what it tells of.

    >>> row = {"split": "test", "group": "all", "data": "city", "protocol": "exact",
    ...        "model": "kernel", "variant": "full", "target_time": "unknown", "acc@1": 41.24}
    >>> main_figures([row, row | {"model": "last", "acc@1": 12.0}])
    ['city, exact: test Acc@1 kernel 41.2\xa0%, last 12.0\xa0%']
    >>> main_figures([{"trap": "twins"}, {"trap": "unknown token"}])
    ['twins; unknown token']
    """
    split = "test" if "test" in {row.get("split") for row in rows} else "valid"
    # Sets of places have no single right answer, and so no Acc@1.
    metric, label = next(
        (pair for pair in (("acc@1", "Acc@1"), ("ndcg@10", "NDCG@10"))
         if any(row.get(pair[0]) is not None for row in rows)), ("acc@1", "Acc@1"),
    )  # fmt: skip
    scores: dict[tuple[str, str], dict[tuple[str, str, str], list[float]]] = {}
    counted = [row for row in rows if (row.get("split"), row.get("group")) == (split, "all")
               and row.get(metric) is not None]  # fmt: skip
    for row in counted:
        if row.get("table") == counted[0].get("table"):  # the others tell of differences
            models = scores.setdefault((row["data"], row["protocol"]), {})
            models.setdefault((row["model"], row["variant"], row["target_time"]), []).append(
                row[metric]
            )
    lines = []
    for (data, protocol), models in scores.items():
        means = {key: sum(values) / len(values) for key, values in models.items()}
        first = sorted(means, key=means.__getitem__, reverse=True)
        whole = next((key for key in first if key[1] == "full"), None)
        if whole and len({model for model, _, _ in first}) == 1:
            # Variants of one model: the whole of it, and those that differ most from it.
            first.sort(key=lambda key: -abs(means[key] - means[whole]))
            first = [whole, *(key for key in first if key != whole)]
        best_of = ", ".join(f"{_name(*key)} {means[key]:.1f}\u00a0%" for key in first[:best])
        lines.append(f"{data}, {protocol}: {split} {label} {best_of}")
    if lines:
        return lines
    kinds = ("trap", "table", "what", "file", "method", "model")
    topic = next((key for key in kinds if rows and key in rows[0]), None)
    if topic is None:
        return []
    return ["; ".join(dict.fromkeys(str(row[topic]).replace("_", " ") for row in rows))]


def _name(model: str, variant: str, target_time: str) -> str:
    """As in ``pgt (no pointer, knows the day)``."""
    more = [] if variant == "full" else [variant.replace("_", " ")]
    more += [] if target_time == "unknown" else [f"knows the {target_time}"]
    return model.replace("_", " ") + (f" ({', '.join(more)})" if more else "")


def speeds(root: Path) -> str:
    """The table of speeds, as HTML."""
    raw = json.loads((root / "book" / "results" / "bench.json").read_text(encoding="utf-8"))
    rows = [
        f'<tr><th scope="row">{escape(_work(row["name"]))}</th>'
        f"<td>{_short(row['ours'])}</td><td>{_short(row.get('reference'))}</td>"
        f"<td>{_short(row.get('ratio'))}</td><td>{escape(row['unit'])}</td>"
        f"<td>{_short(row.get('peak'))}</td></tr>"
        for row in raw["rows"]
    ]
    columns = ("What", "Ours", "Reference", "Ratio", "Unit", "Peak, MiB")
    return _scrolling("Table of speeds", columns, rows)


def _work(name: str) -> str:
    """What a row of speeds measured; a chapter is called by its number."""
    return re.sub(r"\bchapter (\d\d)_\w+", lambda found: f"chapter {int(found[1])}", name)


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
