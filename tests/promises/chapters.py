"""The tables of an executed chapter as text, and what it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bs4 import BeautifulSoup

FIGURE = re.compile(r"<(?:figure|iframe|svg|canvas)\b")
# What a clock says, what rounding leaves, and what only says that an exercise is right.
OTHER = re.compile(
    r"\d\s*(?:µs|ms|s|min|h|MB|MiB|GB|kB)\b|\bseconds\b|\btimes (?:as )?fast|\bfaster\b|/tmp/"
    r"|Transformer / BiLSTM|^exponent |^below 1: on small tables|^and left a checkpoint of epoch"
    r"|\de-(?:0[6-9]|1\d)\b|\b0e\+00|^(?:Not yet|Right): exercise"
)


def tables(notebook: Any) -> list[str]:
    """Every table and every printed text with a number in it, without the lines of `OTHER`."""
    found = []
    for cell in notebook.cells:
        for text in _outputs(cell):
            lines = (" ".join(line.split()) for line in text.splitlines())
            found.append("\n".join(line for line in lines if line and not OTHER.search(line)))
    return [text for text in found if re.search(r"\d", text)]


def _outputs(cell: Any) -> Iterator[str]:
    printed = ""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        html, words = data.get("text/html", ""), data.get("text/markdown", "")
        if output.output_type == "stream" and output.name == "stdout":
            printed += output.text
        elif words:
            blocks = re.findall(r"(?m)(?:^\s*\|.*\n?)+", words)
            yield from (re.sub(r"(?m)^\|[-:|\s]+\|$", "", block) for block in blocks)
        elif html and not FIGURE.search(html):
            yield from map(_rows, BeautifulSoup(html, "html.parser").select("table"))
        elif not html and not any(kind.startswith("image/") for kind in data):
            yield data.get("text/plain", "")
    yield printed


def _rows(table: Any) -> str:
    """Its rows, without columns of a clock; nothing where the heads of such columns span two."""
    rows = [[cell.get_text(" ") for cell in row.select("th,td")] for row in table.select("tr")]
    clock = {i for i, head in enumerate(rows[0]) if head.strip() in ("seconds", "ms", "ms a step")}
    if clock and table.select("[colspan], [halign]"):
        return ""
    return "\n".join(
        " | ".join(" ".join(text.split()) for i, text in enumerate(row) if i not in clock)
        for row in rows
    )
