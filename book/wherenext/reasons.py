"""Reasons as bars: what spoke for a person's likeliest places, and what against."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from wherenext.figures import COPIED, GENERATED, INK, Shown, show

WIDE = 46  # characters of a reason in one line
LONG = 60  # of a place's name


def reasons(table: pd.DataFrame, whose: object, *, most: int = 5) -> Shown:
    """What `pgt.NextLocation.explain` returns, one panel a place, one bar a reason."""
    parts = [(place, part.head(most)) for place, part in table.groupby("location_id", sort=False)]
    rows = [len(part) for _, part in parts]
    lines = [[textwrap.fill(text, WIDE) for text in part.about] for _, part in parts]
    figure, panels = plt.subplots(
        len(parts), 1, sharex=True, squeeze=False, height_ratios=rows,
        figsize=(7.4, 0.7 + sum(0.42 * n + 0.55 for n in rows)),
    )  # fmt: skip
    end = max(1.0, float(np.ceil(max(part.effect.abs().max() for _, part in parts))))
    for axes, (place, part), names in zip(panels[:, 0], parts, lines, strict=True):
        at, effect = np.arange(len(part)), part.effect.to_numpy()
        for where, colour, hatch in ((effect >= 0, COPIED, None), (effect < 0, GENERATED, "///")):
            axes.barh(at[where], effect[where], color=colour, hatch=hatch, edgecolor="white", lw=0,
                      height=0.62)  # fmt: skip
        for y, value in zip(at, effect, strict=True):
            shift, side = (4, "left") if value >= 0 else (-4, "right")
            axes.annotate(f"{value:+.1f}", (value, y), (shift, 0), textcoords="offset points",
                          va="center", ha=side, fontsize=8)  # fmt: skip
        axes.set_yticks(at, names, fontsize=8, parse_math=False)
        axes.set_title(_said(place, part), parse_math=False, fontsize=10)
        axes.axvline(0, color=INK, lw=0.8)
        axes.set_xlim(-1.2 * end, 1.2 * end)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
    panels[-1, 0].set_xlabel("effect on the probability (percentage points)")
    told = "; ".join(
        f"{_said(place, part)}, above all because of: {part.about.iloc[0]} "
        f"({part.effect.iloc[0]:+.1f} points)"
        for place, part in parts
    )
    return show(
        figure,
        alt=f"The likeliest next places of {whose}, and the reasons for each as bars. {told}.",
        caption=f"What spoke for the likeliest next places of {whose}. A bar is what the "
        "fact adds to the probability: blue speaks for the place, hatched orange against it.",
    )


def _said(place: object, part: pd.DataFrame) -> str:
    """A place with its probability, in one line; what cannot be printed is left out."""
    name = "".join(sign for sign in str(place) if sign.isprintable())
    visits = int(part.visits.iloc[0])
    return (
        f"{textwrap.shorten(name, LONG, placeholder='…')}: {part.probability.iloc[0]:.0%}, "
        f"{visits} visit{'s' * (visits != 1)}"
    )
