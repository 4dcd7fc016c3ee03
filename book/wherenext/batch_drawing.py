"""How windows of a long table become one padded rectangle and a mask, drawn with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from wherenext.figures import COPIED, GRID, INK, MUTED, TRUTH, Shown, show

MOST = 10  # visits that fit side by side


def batch_drawing(
    values: np.ndarray, first: Sequence[int], target: Sequence[int], *, caption: str
) -> Shown:
    """Draw the way of a few short windows into a batch.

    ``values`` has one whole number for each visit of the table, such as its location; ``first`` and
    ``target`` (B,) are for each window the row where it begins, and the row of its target.
    """
    lengths = [end - start for start, end in zip(first, target, strict=True)]
    if min(lengths) < 1 or max(lengths) > MOST:
        raise ValueError(f"Windows of 1 to {MOST} visits can be drawn, not {sorted(lengths)}.")
    n, wide = len(lengths), max(lengths)
    mask = np.arange(wide) < np.array(lengths)[:, None]  # (B, L)
    batch = np.zeros((n, wide), dtype=int)
    batch[mask] = np.concatenate([values[a:b] for a, b in zip(first, target, strict=True)])
    ends = [int(values[end]) for end in target]
    figure, axes = plt.subplots(figsize=(4.3, 1.2 + 1.3 * n))
    axes.set(xlim=(0, wide + 2), ylim=(2.5 + 2.9 * n, 0))
    axes.set_axis_off()
    y = 0.4
    left: dict[str, Any] = {"ha": "left", "va": "center"}
    axes.text(0, y, "the table, one number a visit", weight="bold", **left)
    for start, end in zip(first, target, strict=True):
        axes.text(0, y + 0.55, f"rows {start} to {end - 1}, target {end}", color=MUTED, **left)
        for x, value in enumerate(values[start:end]):
            _box(axes, x, y + 1.15, value, COPIED)
        _box(axes, end - start, y + 1.15, values[end], TRUTH)
        y += 1.3
    axes.text(0, y + 0.65, "↓ cut, stack, fill up with 0", color=MUTED, **left)
    axes.text(0, y + 1.2, f"the batch ({n}, {wide})", weight="bold", **left)
    axes.text(wide + 1.5, y + 1.2, "target", color=MUTED, ha="center", va="center")
    for row in range(n):
        for x in range(wide):
            _box(axes, x, y + 1.8 + 0.8 * row, batch[row, x], COPIED if mask[row, x] else GRID)
        _box(axes, wide + 1, y + 1.8 + 0.8 * row, ends[row], TRUTH)
    y += 1.8 + 0.8 * n
    axes.text(0, y + 0.1, f"the mask ({n}, {wide}): 1 is a visit", weight="bold", **left)
    for row, x in np.ndindex(n, wide):
        _box(axes, x, y + 0.7 + 0.8 * row, int(mask[row, x]), INK if mask[row, x] else GRID)
    alt = (
        f"{n} windows are cut out of the table, {' and '.join(map(str, lengths))} visits long. "
        f"Stacked and filled up with zeros they are a rectangle ({n}, {wide}): "
        f"{'; '.join(', '.join(map(str, row)) for row in batch)}. "
        f"Mask: {'; '.join(''.join(map(str, row)) for row in mask.astype(int))}. "
        f"Targets: {'; '.join(map(str, ends))}."
    )
    return show(figure, alt=alt, caption=caption)


def _box(axes: Axes, x: float, y: float, text: object, colour: str) -> None:
    """A number in a box; what is filled up is pale."""
    fill = "none" if colour == GRID else (colour, 0.14)
    box = "round,pad=0,rounding_size=0.12"
    axes.add_patch(
        FancyBboxPatch((x + 0.05, y - 0.32), 0.9, 0.64, box, facecolor=fill, edgecolor=colour)
    )
    ink = MUTED if colour == GRID else INK
    axes.text(x + 0.5, y, str(text), color=ink, ha="center", va="center")
