"""Figures that one can touch: a still figure, and controls that draw it anew in the page.

Each has a still one below it (`wherenext.figures.show`), which stays on paper, in a
notebook that runs no scripts, and wherever JavaScript is off. What the controls need is computed
before, or is small enough to be computed in the page. No server answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from pgt.baselines import ContextKernel
from pgt.batch import Batch
from pgt.windows import Windows
from wherenext.figures import Shown
from wherenext.page_text import safe_html
from wherenext.web_figure import scripted

SHARED = ("page_parts.js", "touch.js")


@dataclass(frozen=True)
class Touch:
    """A still figure with controls, for the notebook to display."""

    still: Shown
    kind: str
    data: dict[str, Any]
    beside: bool = False

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        scripts = (*SHARED, f"touch_{self.kind}.js")
        id = f"pgt-touch-{self.kind}"
        still = self.still._repr_mimebundle_(**options)
        body = (
            f'<div class="touch-body" role="group" aria-label="{safe_html(self.still.alt)}" hidden>'
            "</div>"
        )
        picture = f'<div class="touch-still">{self.still.picture()}</div>'
        if self.beside:
            picture = self.still.picture()
        figure = (
            f'<figure class="pgt-figure pgt-touch" id="{id}" data-kind="{self.kind}">'
            f"{picture}{body}"
            f"<figcaption>{safe_html(self.still.caption)}</figcaption></figure>"
        )
        page = scripted(figure, {"id": id, **self.data}, ("page_parts.css", "touch.css"), scripts)
        return {**still, "text/html": page}


def kernel(
    still: Shown,
    chosen: ContextKernel,
    valid: Windows,
    *,
    opened: tuple[Windows, int],
    names: Mapping[Any, str],
    most: int = 400,
) -> Touch:
    """The five numbers of the context kernel, with one window and the accuracy on many.

    Parameters
    ----------
    still : Shown
    chosen : ContextKernel
        Where the controls begin.
    valid : Windows
        From these, ``most`` at equal steps are counted.
    opened : (Windows, int)
        The window that is shown, visit by visit.
    names : mapping
        Of ``location_id``.
    most : int
        How many windows are counted at each step of a control.

    Returns
    -------
    Touch

    Examples
    --------
    >>> import matplotlib.pyplot as plt, pgt
    >>> from wherenext.figures import show
    >>> town = wherenext.city.load()
    >>> data = pgt.prepare(town.visits)
    >>> still = show(plt.figure(), alt="Votes.", caption="Votes.")
    >>> names = dict(zip(town.places.location_id, town.places.name))
    >>> chosen = ContextKernel()
    >>> shown = kernel(still, chosen, data.valid, opened=(data.test, 0), names=names, most=50)
    >>> len(shown.data["windows"])
    50
    """
    steps = np.unique(np.linspace(0, len(valid) - 1, most).astype(int))
    windows, i = opened
    visits = windows.visits_of(i)
    batch = windows.batch([i])
    window = _votes(batch, 0)
    # Longer windows lose their oldest visits on the way into a batch.
    visits = visits.tail(int(batch.length[0]))
    titles: dict[int, str] = {}
    for place, location in zip(window["places"], visits.location_id, strict=True):
        titles[place] = str(names.get(location, location))
    numbers = {k: v for k, v in asdict(chosen).items() if k in ContextKernel.GRID}
    data = {
        "chosen": numbers,
        "windows": [_votes(valid.batch([step]), 0) for step in steps],
        "window": {
            **window, "names": [titles[place] for place in range(len(titles))],
            "when": [f"{start:%a %H:%M}" for start in visits.started_at],
        },
    }  # fmt: skip
    return Touch(still, "kernel", data)


def _votes(batch: Batch, row: int) -> dict[str, Any]:
    """A window as the page's kernel reads it: its places numbered as they appear, from 0."""
    n = int(batch.length[row])
    codes, order = pd.factorize(batch.location[row, :n].numpy())
    found = np.flatnonzero(order == int(batch.target[row]))
    return {
        "places": codes.tolist(), "minutes": batch.start_minute[row, :n].int().tolist(),
        "now": int(batch.now_minute[row]), "truth": int(found[0]) if len(found) else -1,
    }  # fmt: skip


def stays(
    still: Shown,
    hours: Sequence[float],
    apart: Mapping[int, Sequence[float]],
    found: Mapping[tuple[int, int], Sequence[tuple[float, float]]],
    visits: Sequence[tuple[float, float, str]],
    *,
    start: tuple[int, int],
) -> Touch:
    """The two thresholds of the sliding rule, over one day.

    ``hours``: when each fix was taken; ``apart``: by radius in metres, how far each fix is from its
    anchor; ``found``: by (radius, minutes), begin and end of each staypoint, in hours; ``visits``:
    begin, end and kind of each true visit; ``start``: radius and minutes at which the controls
    begin.
    """
    metres, minutes = sorted(apart), sorted({long for _, long in found})
    data = {
        "metres": metres, "minutes": minutes, "start": list(start),
        "hours": np.round(hours, 3).tolist(),
        "apart": [np.round(apart[far]).astype(int).tolist() for far in metres],
        "stays": [
            [np.round(np.reshape(found[far, long], (-1, 2)), 3).tolist() for long in minutes]
            for far in metres
        ],
        "visits": [[round(float(a), 3), round(float(b), 3), str(kind)] for a, b, kind in visits],
    }  # fmt: skip
    return Touch(still, "stays", data)


def seeds(
    still: Shown,
    tables: Mapping[str, Mapping[str, tuple[float, float, float, Sequence[float]]]],
    which: Mapping[str, Sequence[int]],
    *,
    measure: str,
    start: str,
) -> Touch:
    """One seed at a time, beside the mean of all seeds and its interval.

    ``tables``: by name, the rows of a table, each with its mean, both ends of the interval, and
    what each seed gave; ``which``: by the same name, the seeds in that order; ``measure``: what the
    numbers are, with their unit; ``start``: the table to begin with.
    """
    listed = [
        {
            "name": name,
            "seeds": [int(seed) for seed in which[name]],
            "rows": [
                {
                    "name": row, "mean": round(float(mean), 3), "low": round(float(low), 3),
                    "high": round(float(high), 3), "each": [round(float(one), 3) for one in each],
                }
                for row, (mean, low, high, each) in table.items()
            ],
        }
        for name, table in tables.items()
    ]  # fmt: skip
    data = {"tables": listed, "measure": measure, "start": list(tables).index(start)}
    return Touch(still, "seeds", data, beside=True)
