"""One meaning, one colour, in plots and on maps; colour-blind readers tell them apart as well."""

from __future__ import annotations

INK, PAPER, GRID, MUTED = "#1b1f24", "#ffffff", "#d9dde2", "#5f6b7a"
COPIED, GENERATED, TRUTH, GATE, EXTRA = "#0b68a8", "#c04f00", "#007a5a", "#8a3f8f", "#8a6d00"
PALETTE = (COPIED, GENERATED, TRUTH, GATE, EXTRA)
SEQUENTIAL = "cividis"
# A page that defines these CSS variables shows plots and maps in its own colours, say in the dark.
VARIABLES = {
    INK: "--pgt-ink", PAPER: "--pgt-paper", GRID: "--pgt-grid", MUTED: "--pgt-muted",
    COPIED: "--pgt-copied", GENERATED: "--pgt-generated", TRUTH: "--pgt-truth",
    GATE: "--pgt-gate", EXTRA: "--pgt-extra",
}  # fmt: skip


def themed(text: str) -> str:
    """SVG or CSS whose colours follow the page, with themselves as fallbacks.

    >>> themed("stroke: #1b1f24")
    'stroke: var(--pgt-ink, #1b1f24)'
    """
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable}, {colour})")
    return text
