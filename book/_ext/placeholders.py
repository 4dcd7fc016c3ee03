"""Numbers in a chapter's sentences: ``{{ name }}`` or ``{{ name:.1f }}``, a name of its own code.

The script has the placeholder; the notebook has the number, as the run of the chapter gave it. A
number is kept under the key ``"name:format"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import jupytext

PLACEHOLDER = re.compile(
    r"\{\{\s*(?P<name>[A-Za-z_]\w*(?:\.\w+|\[[^\[\]{}]+\])*)\s*(?::(?P<spec>[^{}\s]+))?\s*\}\}"
)


def key(match: re.Match[str]) -> str:
    """Under which name a placeholder's number is kept."""
    return f"{match['name']}:{match['spec'] or ''}"


def placeholders(script: str) -> dict[str, tuple[str, str]]:
    """The names and formats of a script's numbers, by their keys."""
    return {
        key(match): (match["name"], match["spec"] or "")
        for cell in jupytext.reads(script, fmt="py:percent").cells
        if cell.cell_type == "markdown"
        for match in PLACEHOLDER.finditer(cell.source)
    }


def filled(text: str, numbers: Mapping[str, str]) -> str:
    """A text with its numbers, as prose writes them: a minus is no hyphen."""
    return PLACEHOLDER.sub(lambda match: re.sub(r"^-(?=\d)", "−", numbers[key(match)]), text)


def lacking(script: Path, wanted: str, names: Iterable[str], why: str = "") -> str:
    """The sentence for a placeholder whose number a chapter's run did not give."""
    # Without the comment signs, which may stand within a placeholder; the lines stay.
    text = re.sub(r"(?m)^# ?", "", script.read_text(encoding="utf-8"))
    (start, shown), *_ = [(m.start(), m[0]) for m in PLACEHOLDER.finditer(text) if key(m) == wanted]
    return (
        f"{script.name}, line {text.count(chr(10), 0, start) + 1}: {' '.join(shown.split())} has no value"
        f"{f' ({why})' if why else ''}. Write one of the names there are: {', '.join(names)}."
    )
