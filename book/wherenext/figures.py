"""Figures that a page can show in light and in dark, with alt text and a caption.

A matplotlib figure becomes inline SVG whose colours are CSS variables with fallbacks.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pgt.colours import COPIED, EXTRA, GATE, GENERATED, INK, MUTED, PAPER, TRUTH, themed
from pgt.plots import set_theme
from wherenext.page_text import framed, safe_html

__all__ = [
    "COPIED", "EXTRA", "GATE", "GENERATED", "INK", "MUTED", "PAPER", "TRUTH",
    "Shown", "encoder_layer", "flowchart", "lighter", "show", "themed_svg",
]  # fmt: skip
set_theme()

NUMBER = re.compile(r"-?\d+\.\d+")
# Lengths on the page; not the factors of a scale, which multiply others.
LENGTHS = re.compile(r'(?<= )(?:d|x|y|x1|x2|y1|y2|width|height)="[^"]*"|translate\([^)]*\)')
GROUP = re.compile(r'<g id="[\w.]+_\d+"')  # named by matplotlib; nothing refers to these names


def themed_svg(figure: Figure, alt: str) -> str:
    """The figure as SVG with CSS variables for its colours; its parts are named by the alt text."""
    buffer = io.StringIO()
    with plt.rc_context({"svg.hashsalt": alt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = themed(lighter(re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)))
    # Width and height give way to the page; the viewBox keeps the proportions.
    return re.sub(r'(<svg[^>]*?) height="[^"]*"([^>]*?) width="[^"]*"', r"\1\2", text, count=1)


def lighter(svg: str) -> str:
    """The picture with fewer bytes: to a hundredth of a point, it is the same.

    >>> lighter('<g id="patch_1">\\n <path d="M 1.234567 2 \\nL 30.996 4 \\n"/>\\n</g>')
    '<g><path d="M1.23 2L31 4"/></g>'
    """
    svg = re.sub(r">\s+<", "><", re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL))
    svg = re.sub(r'(?<= d=")[^"]*', lambda found: re.sub(r"\s*([A-Za-z\n])\s*", r"\1",
                 " ".join(found[0].split())), svg)  # fmt: skip
    svg = LENGTHS.sub(lambda found: NUMBER.sub(_short, found[0]), svg)
    return GROUP.sub("<g", svg).replace("xlink:href=", "href=")


def _short(found: re.Match[str]) -> str:
    """A number with two decimals, unless that is nothing."""
    text = f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


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
    """Give a figure a caption, and alt text that says what it plots and shows; close it."""
    for name, text in (("alt", alt), ("caption", caption)):
        if not text.strip():
            raise ValueError(f"A figure needs {name}; say in a sentence what it shows.")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    width = figure.get_size_inches()[0] * 110
    shown = Shown(themed_svg(figure, alt), buffer.getvalue(), alt, caption, width)
    plt.close(figure)
    return shown


def flowchart(axes: Axes, boxes: Mapping[str, tuple[Any, ...]]) -> None:
    """Draw boxes with arrows, each ``name: (x, y, colour, *names of where its arrows lead)``.

    An arrow that leads up goes round on the right, in dashes.
    """
    drawn = {}
    for name, (x, y, colour, *_) in boxes.items():
        box = {"boxstyle": "round", "fc": PAPER, "ec": colour, "lw": 1.8}
        text = axes.text(x, y, name, bbox=box, ha="center", va="center", fontsize=8.5)
        drawn[name] = text.get_bbox_patch()
    for name, (x, y, _, *after) in boxes.items():
        for other in after:
            there = boxes[other][:2]
            look: dict[str, Any] = {"arrowstyle": "->", "color": MUTED, "lw": 1.2}
            look |= {"patchA": drawn[name], "patchB": drawn[other], "shrinkA": 2, "shrinkB": 2}
            if there[1] > y:
                look |= {"connectionstyle": "arc3,rad=1.5", "ls": "--"}
            # After the boxes, whose places are known once they are drawn.
            axes.annotate("", there, (x, y), arrowprops=look, zorder=4)
    x, y = zip(*(box[:2] for box in boxes.values()), strict=True)
    axes.set(xlim=(min(x) - 1.4, max(x) + 1.4), ylim=(min(y) - 0.4, max(y) + 0.4))
    axes.axis("off")


def encoder_layer() -> Figure:
    """One pre-norm layer of the encoder: a straight way, and two that leave it and come back."""
    figure, ax = plt.subplots(figsize=(7.2, 1.5))
    attention, after = "attention\n(all heads, out)", "x of the\nnext layer"
    above = {"LN": 1.1, attention: 2.9, "LN ": 5.6, "feed-forward": 7.2}
    below = {"x": 0.0, "+": 4.3, "+ ": 8.5, after: 9.9}
    box = {"boxstyle": "round", "fc": PAPER, "ec": MUTED, "lw": 1.8}
    drawn = {}
    for y, row in ((1, above), (0, below)):
        for name, x in row.items():
            text = ax.text(x, y, name, bbox=box, ha="center", va="center", fontsize=8.5, zorder=5)
            drawn[name] = text.get_bbox_patch()
    line: dict[str, Any] = {"color": MUTED, "lw": 1.2}

    def arrow(x: float, y: float, name: str) -> None:
        """From a point straight to the edge of a box."""
        there = (above | below)[name], float(name in above)
        look = {"arrowstyle": "->", "patchB": drawn[name], "shrinkA": 0, "shrinkB": 1} | line
        ax.annotate("", there, (x, y), arrowprops=look, zorder=4)

    for name, after in pairwise(below):
        arrow(below[name], 0, after)
    for leaves, norm, step, back in (
        (0.5, "LN", attention, "+"),
        (5.0, "LN ", "feed-forward", "+ "),
    ):
        ax.plot([leaves, leaves], [0, 1], **line)
        arrow(leaves, 1, norm)
        arrow(above[norm], 1, step)
        ax.plot([above[step], below[back]], [1, 1], **line)
        arrow(below[back], 1, back)
    ax.set(xlim=(-0.4, 10.6), ylim=(-0.5, 1.5))
    ax.axis("off")
    return figure
