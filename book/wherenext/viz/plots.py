"""The figures that chapters share; each returns a `wherenext.figures.Shown`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from pgt.look import Look
from wherenext.figures import COPIED, EXTRA, GENERATED, MUTED, TRUTH, Shown, show


def history(table: pd.DataFrame, *, best_epoch: int, alt: str, caption: str) -> Shown:
    """Loss and accuracy by epoch (`pgt.train.TrainingLog.table`), with the best epoch marked."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2))
    left.plot(table.index, table.train_loss, color=COPIED, label="training")
    left.plot(table.index, table.valid_loss, color=GENERATED, ls="--", label="validation")
    left.set(xlabel="epoch", ylabel="loss (nats)", title="Loss")
    right.plot(table.index, table["valid_acc@1"], color=TRUTH, label="validation")
    right.set(xlabel="epoch", ylabel="Acc@1 (%)", title="Accuracy")
    for axes in (left, right):
        axes.axvline(best_epoch, color=MUTED, lw=1, ls=":", label="best epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
    left.legend()
    return show(figure, alt=alt, caption=caption)


def bars(
    values: Mapping[str, float],
    *,
    intervals: Mapping[str, tuple[float, float]] | None = None,
    highlight: Sequence[str] = (),
    xlabel: str,
    alt: str,
    caption: str,
) -> Shown:
    """Horizontal bars, one a model, with intervals and their values written out."""
    names = list(values)
    height = np.array([values[name] for name in names])
    figure, axes = plt.subplots(figsize=(7.0, 0.9 + 0.42 * len(names)))
    colours = [COPIED if name in highlight else MUTED for name in names]
    axes.barh(names, height, color=colours, height=0.66)
    end = height.copy()
    if intervals:
        low, high = np.array([intervals[name] for name in names]).T
        spread = np.clip([height - low, high - height], 0, None)
        axes.errorbar(height, names, xerr=spread, fmt="none", ecolor=EXTRA, capsize=3, lw=1.5)
        end = np.maximum(end, high)
    for name, value, at in zip(names, height, end, strict=True):
        axes.annotate(f"{value:.1f}", (at, name), (6, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, float(end.max()) * 1.12)
    axes.set_xlabel(xlabel)
    return show(figure, alt=alt, caption=caption)


def pointer_strip(look: Look, names: Mapping[object, str], *, alt: str, caption: str) -> Shown:
    """The window as a strip: one bar a visit, as high as the pointer's weight."""
    visits = look.visits
    figure, axes = plt.subplots(figsize=(max(6.4, 0.3 * len(visits)), 3.6))
    label = visits.location_id.map(lambda place: names.get(place, str(place)))
    hit = (visits.location_id == look.target.location_id).to_numpy()
    at = np.arange(len(visits))
    for where, colour, hatch, name in (
        (~hit, COPIED, None, "other places"),
        (hit, TRUTH, "///", "the true next place"),
    ):
        axes.bar(at[where], visits.attention[where], color=colour, hatch=hatch, edgecolor="white",
                 lw=0, width=0.8, label=name)  # fmt: skip
    axes.legend()
    axes.set_xticks(at, label, rotation=60, ha="right", fontsize=8)
    axes.set(ylabel="pointer attention", xlabel="visits, oldest first")
    axes.grid(axis="x", visible=False)
    return show(figure, alt=alt, caption=caption)


def mixture(look: Look, names: Mapping[object, str], *, alt: str, caption: str) -> Shown:
    """The likeliest places as stacked bars: copied and generated probability."""
    table = look.candidates
    marks = np.where(table.is_target, "✓ ", "")
    place = [names.get(place, "unknown place") for place in table.location_id]
    label = [mark + name for mark, name in zip(marks, place, strict=True)]
    figure, axes = plt.subplots(figsize=(7.0, 0.9 + 0.34 * len(table)))
    at = np.arange(len(table))
    axes.barh(at, table.copied, color=COPIED, label="copied from the window")
    axes.barh(at, table.generated, left=table.copied, color=GENERATED, hatch="///",
              edgecolor="white", lw=0, label="generated")  # fmt: skip
    axes.set_yticks(at, label)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="probability", title=f"gate {look.gate:.2f}")
    axes.legend(loc="lower right")
    return show(figure, alt=alt, caption=caption)
