"""Small marks in HTML that a figure is put together from: heat strips, bars, tables of numbers.

They take their colours from the style sheet of the figure, and all text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wherenext.page_text import safe_html

LEVELS = 8  # of darkness in a heat strip
WIDE, LABEL = 400, 40  # units: of a heat strip, and of the names beside its rows


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, and no zero below zero.

    >>> number(-0.5), number(-0.001), number(12.346, 1)
    ('−0.50', '0.00', '12.3')
    """
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0 else text).replace("-", "−")


def heat(
    values: np.ndarray,
    rows: Sequence[str],
    alt: str,
    *,
    heads: Sequence[tuple[str, int]] = (),
    high: float = 13,
    written: bool = False,
) -> str:
    """A matrix as a strip of cells: the darker, the further from zero; below zero has its own
    colour.

    ``heads`` are names above the columns, and over how many each reaches; ``high`` is a row's
    height; ``written``: each cell has its number in it, as hundredths.
    """
    n, wide = values.shape
    cell, up = (WIDE - LABEL) / wide, 17 if heads else 0
    largest = float(np.abs(values).max()) or 1.0
    level = np.ceil(LEVELS * np.abs(values) / largest).astype(int)  # 0 … LEVELS
    marks = []
    for sign, kind in ((1, "above"), (-1, "below")):
        for step in range(1, LEVELS + 1):
            path = []
            for row, column in np.argwhere((level == step) & (np.sign(values) == sign)):
                path.append(f"M{column} {row}h1")
            if path:
                shade = f'stroke-opacity="{step / LEVELS:.3g}"'
                marks.append(f'<path class="{kind}" {shade} d="{"".join(path)}"/>')
    scale = f'transform="translate({LABEL} {up + high / 2:g}) scale({cell:.5g} {high:g})"'
    texts = [
        f'<text x="{LABEL - 6}" y="{up + (row + 0.5) * high + 4.5:g}" text-anchor="end">'
        f"{safe_html(name)}</text>"
        for row, name in enumerate(rows)
    ]
    start = 0
    for name, reach in heads:
        middle = LABEL + (start + reach / 2) * cell
        texts.append(f'<text x="{middle:.4g}" y="12" text-anchor="middle">{safe_html(name)}</text>')
        start += reach
    if written:
        inside = "".join(
            f'<text x="{LABEL + (column + 0.5) * cell:.4g}" y="{up + (row + 0.5) * high + 4.5:g}">'
            f"{number(values[row, column]).removeprefix('0')}</text>"
            for row in range(n)
            for column in range(wide)
        )
        texts.append(f'<g text-anchor="middle">{inside}</g>')
    return (
        f'<svg class="heat" role="img" aria-label="{safe_html(alt)}" '
        f'viewBox="0 0 {WIDE} {up + n * high:g}">'
        f'<rect class="ground" x="{LABEL}" y="{up}" width="{WIDE - LABEL}" height="{n * high:g}"/>'
        f"<g {scale}>{''.join(marks)}</g>{''.join(texts)}</svg>"
    )


def bar(*parts: tuple[float, str]) -> str:
    """A bar of (share of the whole width, class) parts, side by side."""
    inside = "".join(
        f'<i class="{kind}" style="width:{100 * min(max(share, 0.0), 1.0):.2f}%"></i>'
        for share, kind in parts
    )
    return f'<div class="bar" aria-hidden="true">{inside}</div>'


def sigmoid(logit: float, reach: float = 5.0) -> str:
    """The curve of the sigmoid from ``-reach`` to ``reach``, with a dot at a logit."""
    low, high, left = 12, 118, LABEL

    def spot(z: float) -> tuple[float, float]:
        share = (min(max(z, -reach), reach) + reach) / (2 * reach)
        return left + share * (WIDE - left - 8), high - (high - low) / (1 + math.exp(-z))

    curve = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(spot, np.linspace(-reach, reach, 61)))
    x, y = spot(logit)
    alt = f"The sigmoid of {number(logit)} is {number(1 / (1 + math.exp(-logit)), 3)}."
    ticks = "".join(
        f'<text x="{spot(z)[0]:.1f}" y="{high + 18}" text-anchor="middle">{number(z, 0)}</text>'
        for z in (-4, -2, 0, 2, 4)
    )
    return (
        f'<svg class="heat" role="img" aria-label="{safe_html(alt)}" viewBox="0 0 {WIDE} 140">'
        f'<path class="axis" d="M{left} {low}V{high}H{WIDE - 8}"/>'
        f'<path class="drop" d="M{x:.1f} {high}V{y:.1f}H{left}"/>'
        f'<polyline class="curve" points="{curve}"/><circle class="dot" cx="{x:.1f}" cy="{y:.1f}" '
        f'r="6"/><text x="{left - 6}" y="{low + 5}" text-anchor="end">1</text>'
        f'<text x="{left - 6}" y="{high + 3}" text-anchor="end">0</text>{ticks}</svg>'
    )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of finished HTML; the first column names its rows, no name heads bars."""
    top = "".join(
        f'<th scope="col">{safe_html(head)}</th>' if head else "<td></td>" for head in heads
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
