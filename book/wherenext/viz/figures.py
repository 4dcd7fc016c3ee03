"""Figures that a page can show in light and in dark, and that say what they show.

A matplotlib figure becomes inline SVG whose ink, paper and palette are CSS variables with
fallbacks, so the same picture follows the theme of the book and stays legible in any notebook.
Every figure carries alt text and a caption.
"""

from __future__ import annotations

import io
import re
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pgt.colours import (
    COPIED,
    EXTRA,
    GATE,
    GENERATED,
    GRID,
    INK,
    MUTED,
    PALETTE,
    PAPER,
    SEQUENTIAL,
    TRUTH,
    themed,
)
from pgt.plots import set_theme
from wherenext.viz.page_text import framed, safe_html
from wherenext.viz.svg import lighter

__all__ = [
    "COPIED", "EXTRA", "GATE", "GENERATED", "GRID", "INK", "MUTED", "PALETTE", "PAPER",
    "SEQUENTIAL", "TRUTH", "Shown", "show", "themed_svg",
]  # fmt: skip
set_theme()


def themed_svg(figure: Figure, alt: str) -> str:
    """Draw the figure as SVG with CSS variables for its colours.

    Its hatchings and clippings have names of their own, made from the alt text: a name that two
    figures of a page share means the first one, and if that is hidden, nothing is drawn.
    """
    buffer = io.StringIO()
    with plt.rc_context({"svg.hashsalt": alt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = themed(lighter(re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)))
    # Width and height give way to the page; the viewBox keeps the proportions.
    return re.sub(r'(<svg[^>]*?) height="[^"]*"([^>]*?) width="[^"]*"', r"\1\2", text, count=1)


class Shown:
    """A figure with alt text and caption, for the notebook to display."""

    def __init__(self, svg: str, png: bytes, alt: str, caption: str, width: float) -> None:
        self.svg, self.png, self.alt, self.caption, self.width = svg, png, alt, caption, width

    def picture(self) -> str:
        """The drawing as HTML, with its alt text and without its caption."""
        label = safe_html(self.alt)
        svg = self.svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        return f'<div class="pgt-scroll" style="max-width:{self.width:.0f}px">{svg}</div>'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        page = framed(self.picture(), self.caption)
        return {"text/html": page, "image/png": self.png, "text/plain": self.alt}


def show(figure: Figure, *, alt: str, caption: str) -> Shown:
    """Finish a figure: give it alt text and a caption, and close it.

    Parameters
    ----------
    figure : matplotlib Figure
    alt : str
        What a reader who cannot see it needs to know: what is plotted, and what it shows.
    caption : str
        One or two sentences below it.

    Examples
    --------
    >>> figure, axes = plt.subplots()
    >>> shown = show(figure, alt="An empty pair of axes.", caption="Nothing yet.")
    >>> "aria-label" in shown._repr_mimebundle_()["text/html"]
    True
    """
    for name, text in (("alt", alt), ("caption", caption)):
        if not text.strip():
            raise ValueError(f"A figure needs {name}; say in a sentence what it shows.")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    width = figure.get_size_inches()[0] * 110
    shown = Shown(themed_svg(figure, alt), buffer.getvalue(), alt, caption, width)
    plt.close(figure)
    return shown
