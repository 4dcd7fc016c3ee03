"""Plots of what the model does: position bias, attention, reliability, and comparisons.

Each function draws on ``axes``, or on axes of its own, and returns them. Colours are those of
`pgt.colours`; a page may show them in the dark, and colour-blind readers tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pgt.colours import (
    COPIED,
    EXTRA,
    GENERATED,
    GRID,
    INK,
    MUTED,
    PALETTE,
    PAPER,
    SEQUENTIAL,
)  # fmt: skip
from pgt.errors import DataError

RC: Any = {
    "figure.figsize": (7.0, 3.6), "figure.dpi": 110, "figure.facecolor": PAPER,
    "figure.constrained_layout.use": True, "savefig.facecolor": PAPER,
    "axes.facecolor": PAPER, "axes.edgecolor": MUTED, "axes.labelcolor": INK,
    "axes.titlecolor": INK, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "axes.titlepad": 6, "axes.labelsize": 10,
    "grid.color": GRID, "grid.linewidth": 0.7, "text.color": INK, "xtick.color": INK,
    "ytick.color": INK, "xtick.labelsize": 10, "ytick.labelsize": 10, "axes.linewidth": 0.8,
    "patch.force_edgecolor": False, "legend.frameon": False, "legend.fontsize": 9,
    "legend.title_fontsize": 9, "font.size": 10,
    "lines.linewidth": 2, "font.family": "DejaVu Sans", "image.cmap": SEQUENTIAL,
    "svg.fonttype": "path",
}  # fmt: skip
MARKERS = ("o", "D", "s", "^", "v")


def set_theme() -> None:
    """Give all of matplotlib the look of these plots."""
    sns.set_theme(style="whitegrid", palette=list(PALETTE), rc=RC)


@contextmanager
def _axes(axes: Axes | None, **options: Any) -> Iterator[Axes]:
    """These axes, or new ones, drawn upon with the look of this module."""
    with sns.axes_style("whitegrid", rc=RC), sns.color_palette(list(PALETTE)), plt.rc_context(RC):
        yield plt.subplots(**options)[1] if axes is None else axes


def _column(table: pd.DataFrame, *names: str) -> None:
    """Say which column a plot misses."""
    for name in names:
        if name not in table.columns:
            raise DataError(f"The plot needs the column {name!r}; the table has "
                            f"{', '.join(map(str, table.columns))}.")  # fmt: skip
    if len(table) == 0:
        raise DataError("The table is empty, so there is nothing to plot.")


def position_bias(
    bias: Any, *, label: str = "", colour: str = COPIED, style: str = "-",
    axes: Axes | None = None,
) -> Axes:  # fmt: skip
    """The pointer's bias by position from the end; position 1 is the last visit."""
    curves = np.atleast_2d(np.asarray(bias, dtype=float))  # (seeds, P)
    if curves.ndim != 2 or curves.size == 0:
        raise DataError(f"A position bias is (P,) or (seeds, P), not {np.shape(bias)}.")
    at = np.arange(1, curves.shape[1] + 1)
    with _axes(axes) as ax:
        if len(curves) > 1:
            ax.plot(at, curves.T, color=colour, lw=0.6, alpha=0.45, ls=style)
        ax.plot(at, curves.mean(0), color=colour, lw=2.2, ls=style, label=label or None)
        ax.set(xlabel="position from the end (visits)", ylabel="position bias (logits)")
        ax.set_xticks([1, *range(5, curves.shape[1] + 1, 5)])
        if label and axes is None:
            ax.legend()
    return ax


def attention(
    weights: Any, *, labels: Sequence[str] | None = None, highest: float | None = None,
    bar: bool = True, axes: Axes | None = None,
) -> Axes:  # fmt: skip
    """Attention weights as a heat map: rows look at columns."""
    grid = np.atleast_2d(np.asarray(weights, dtype=float))  # (rows, L)
    size = grid.shape[1]
    if labels is not None and len(labels) != size:
        raise DataError(f"There are {len(labels)} labels for {size} visits; give one a visit.")
    every = 1 if labels is not None else max(1, size // 10)
    names = [str(name) for name in (range(1, size + 1) if labels is None else labels)][::every]
    ticks = np.arange(0, size, every) + 0.5
    with _axes(axes, figsize=(7.0, 1.9) if len(grid) == 1 else None) as ax:
        sns.heatmap(
            grid, cmap=SEQUENTIAL, vmin=0, vmax=highest, square=len(grid) == size, ax=ax, cbar=bar,
            cbar_kws={"label": "attention (weight)"}, rasterized=True, xticklabels=False,
            yticklabels=False,
        )  # fmt: skip
        ax.set_xticks(ticks, names, rotation=0 if labels is None else 60)
        if len(grid) == size:
            ax.set_yticks(ticks, names)
        ax.grid(visible=False)
        ax.set(xlabel="visit looked at", ylabel="visit that looks" if len(grid) > 1 else "")
    return ax


def reliability_diagram(
    forecasts: Mapping[str, pd.DataFrame] | pd.DataFrame, *,
    colours: Sequence[str] = PALETTE, axes: Axes | None = None,
) -> Axes:  # fmt: skip
    """A calibration diagram: what was forecast against how often it happened."""
    tables = {"": forecasts} if isinstance(forecasts, pd.DataFrame) else dict(forecasts)
    with _axes(axes, figsize=(4.4, 4.0)) as ax:
        ax.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":", label="calibrated")
        for number, (name, table) in enumerate(tables.items()):
            _column(table, "forecast", "observed")
            colour, marker = colours[number % len(colours)], MARKERS[number % 5]
            ax.plot(table.forecast, table.observed, color=colour, marker=marker, ms=5, lw=1.2,
                    mfc="none", label=name or None)  # fmt: skip
            if "low" in table.columns:
                ax.vlines(table.forecast, table.low, table.high, color=colour, lw=1)
        ax.set(xlabel="forecast (probability)", ylabel="share that happened", aspect="equal")
        ax.legend(loc="upper left")
    return ax


def bars(
    values: Mapping[str, float], *, intervals: Mapping[str, tuple[float, float]] | None = None,
    highlight: Sequence[str] = (), xlabel: str = "", axes: Axes | None = None,
) -> Axes:  # fmt: skip
    """Horizontal bars, one a model, with their values written out and, if given, intervals."""
    if not values:
        raise DataError("There is nothing to plot; give a value at least.")
    names, length = list(values), np.array(list(values.values()), dtype=float)
    with _axes(axes, figsize=(7.0, 0.9 + 0.42 * len(values))) as ax:
        sns.barplot(x=length, y=names, hue=names, orient="h", width=0.66, ax=ax, legend=False,
                    palette=[COPIED if name in highlight else MUTED for name in names],
                    saturation=1)  # fmt: skip
        end = length.copy()
        if intervals:
            low, high = np.array([intervals[name] for name in names], dtype=float).T
            spread = np.clip([length - low, high - length], 0, None)
            ax.errorbar(length, range(len(names)), xerr=spread, fmt="none", ecolor=EXTRA,
                        capsize=3, lw=1.5)  # fmt: skip
            end = np.maximum(end, high)
        for row, (value, at) in enumerate(zip(length, end, strict=True)):
            ax.annotate(f"{value:.1f}", (at, row), (6, 0), textcoords="offset points", va="center")
        ax.grid(axis="y", visible=False)
        ax.set(xlim=(0, float(end.max()) * 1.12), xlabel=xlabel, ylabel="")
    return ax


def loss_curves(table: pd.DataFrame, *, axes: Axes | None = None) -> Axes:
    """Loss by epoch (the index): ``train_loss`` and ``valid_loss``."""
    _column(table, "train_loss", "valid_loss")
    with _axes(axes) as ax:
        ax.plot(table.index, table.train_loss, color=COPIED, label="training")
        ax.plot(table.index, table.valid_loss, color=GENERATED, ls="--", label="validation")
        ax.set(xlabel="epoch", ylabel="loss (nats)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend()
    return ax


def mixture(
    candidates: pd.DataFrame, *, gate: float | None = None,
    names: Mapping[Any, str] | None = None, axes: Axes | None = None,
) -> Axes:  # fmt: skip
    """The likeliest places as stacked bars: ``copied`` and ``generated`` probability."""
    _column(candidates, "location_id", "copied", "generated")
    names, at = names or {}, np.arange(len(candidates))
    marks = candidates.get("is_target", pd.Series(False, index=candidates.index))
    labels = [
        ("✓ " if mark else "") + names.get(place, str(place))
        for place, mark in zip(candidates.location_id, marks, strict=True)
    ]
    with _axes(axes, figsize=(7.0, 0.9 + 0.34 * len(candidates))) as ax:
        ax.barh(at, candidates.copied, color=COPIED, label="copied from the window")
        ax.barh(at, candidates.generated, left=candidates.copied, color=GENERATED, hatch="///",
                edgecolor="white", lw=0, label="generated")  # fmt: skip
        ax.set_yticks(at, labels)
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        ax.set(xlabel="probability", title="" if gate is None else f"gate {gate:.2f}")
        ax.legend(loc="lower right")
    return ax
