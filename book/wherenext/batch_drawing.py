"""How windows of a long table become one padded rectangle and a mask, drawn with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wherenext.architecture import WIDTH, Drawing, arrow_head, sheet
from wherenext.figures import COPIED, GRID, INK, MUTED, TRUTH
from wherenext.page_text import framed, safe_html

HIGH, MOST = 26, 10  # units of a box; and how many visits fit side by side


def batch_drawing(
    values: np.ndarray, first: Sequence[int], target: Sequence[int], *, caption: str
) -> Drawing:
    """Draw the way of a few short windows into a batch.

    Parameters
    ----------
    values : ndarray
        (N,) one whole number for each visit of the table, such as its location.
    first, target : sequence of int
        (B,) for each window the row where it begins, and the row of its target.
    caption : str
        Below the drawing.

    Returns
    -------
    Drawing

    Raises
    ------
    ValueError
        A window is empty, or too long to be drawn.

    Examples
    --------
    >>> shown = batch_drawing(np.arange(40, 60), [2, 9], [5, 14], caption="Two windows.")
    >>> shown.alt.endswith("Mask: 11100; 11111. Targets: 45; 54.")
    True
    """
    lengths = [end - start for start, end in zip(first, target, strict=True)]
    if min(lengths) < 1 or max(lengths) > MOST:
        raise ValueError(f"Windows of 1 to {MOST} visits can be drawn, not {sorted(lengths)}.")
    wide = max(lengths)
    cell = WIDTH / (wide + 2)
    marks: list[str] = []

    def box(
        x: float, y: float, text: object, edge: str, ink: str = INK, fill: str = "none"
    ) -> None:
        tint = f'<rect x="{x + 1.5:.1f}" y="{y}" width="{cell - 3:.1f}" height="{HIGH}" rx="4" '
        marks.append(f'{tint}fill="{fill}" fill-opacity=".14" stroke="{edge}"/>')
        say(x + cell / 2, y + 18, text, ink)

    def say(x: float, y: float, text: object, ink: str = INK, more: str = "") -> None:
        marks.append(f'<text x="{x:.1f}" y="{y}" fill="{ink}"{more}>{safe_html(text)}</text>')

    def head(y: float, text: str) -> None:
        say(2, y, text, INK, ' text-anchor="start" font-weight="600"')

    y = 14.0
    head(y, "the table, one number a visit")
    for start, end in zip(first, target, strict=True):
        y += 24
        say(2, y, f"rows {start} to {end - 1}, target {end}", MUTED, ' text-anchor="start"')
        y += 8
        for n in range(start, end + 1):
            last = n == end
            box((n - start) * cell, y, values[n], *((TRUTH, INK, TRUTH) if last else
                                                    (COPIED, INK, COPIED)))  # fmt: skip
        y += HIGH
    shape = f"({len(lengths)}, {wide})"
    y += 10
    marks.append(
        f'<path d="M{WIDTH / 2} {y}v16" stroke="{INK}" stroke-width="1.6"/>'
        + arrow_head(WIDTH / 2 - 4, y + 15, INK)
    )
    say(WIDTH / 2 + 10, y + 15, "cut, stack, fill up with 0", MUTED, ' text-anchor="start"')
    y += 42
    head(y, f"the batch {shape}")
    say(WIDTH - cell / 2, y, "target", MUTED)
    rows, masks = [], []
    y += 8
    for start, end in zip(first, target, strict=True):
        row = [int(values[n]) for n in range(start, end)]
        rows.append(row + [0] * (wide - len(row)))
        masks.append([1] * len(row) + [0] * (wide - len(row)))
        for n, (value, real) in enumerate(zip(rows[-1], masks[-1], strict=True)):
            look = (COPIED, INK, COPIED) if real else (GRID, MUTED, "none")
            box(n * cell, y, value, *look)
        box(WIDTH - cell, y, values[end], TRUTH, INK, TRUTH)
        y += HIGH + 4
    y += 20
    head(y, f"the mask {shape}: 1 is a visit")
    y += 8
    for mask in masks:
        for n, real in enumerate(mask):
            look = (INK, INK, MUTED) if real else (GRID, MUTED, "none")
            box(n * cell, y, real, *look)
        y += HIGH + 4
    answers = "; ".join(str(values[end]) for end in target)
    alt = (
        f"{len(lengths)} windows are cut out of the table, {' and '.join(map(str, lengths))} "
        f"visits long. Stacked and filled up with zeros they are a rectangle {shape}: "
        f"{'; '.join(', '.join(map(str, row)) for row in rows)}. "
        f"Mask: {'; '.join(''.join(map(str, mask)) for mask in masks)}. Targets: {answers}."
    )
    svg = sheet([f'<g font-size="13">{"".join(marks)}</g>'], y, alt)
    page = f'<div style="max-width:430px;margin:0 auto">{svg}</div>'
    return Drawing(framed(page, caption), alt)
