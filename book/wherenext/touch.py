"""A figure that one can touch: a still one, and controls that draw it anew in the page.

The still one stays on paper and wherever JavaScript is off. No server answers.
"""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True)
class Touch:
    """A still figure with controls, for the notebook to display."""

    still: Shown
    data: dict[str, Any]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        figure = (
            f'<figure class="pgt-figure pgt-touch" id="pgt-touch">'
            f'<div class="touch-still">{self.still.picture()}</div>'
            f'<div class="touch-body" role="group" aria-label="{safe_html(self.still.alt)}" hidden>'
            f"</div><figcaption>{safe_html(self.still.caption)}</figcaption></figure>"
        )
        data, sheets = {"id": "pgt-touch", **self.data}, ("page_parts.css", "touch.css")
        page = scripted(figure, data, sheets, ("page_parts.js", "touch.js"))
        return {**self.still._repr_mimebundle_(**options), "text/html": page}


def kernel(
    still: Shown, chosen: ContextKernel, valid: Windows, *, opened: tuple[Windows, int],
    names: Mapping[Any, str], most: int = 400,
) -> Touch:  # fmt: skip
    """The kernel's five numbers, one window (``opened``), the accuracy on ``most`` others."""
    steps = np.unique(np.linspace(0, len(valid) - 1, most).astype(int))
    windows, i = opened
    visits = windows.visits_of(i)
    batch = windows.batch([i])
    window = _votes(batch, 0)
    # Longer windows lose their oldest visits on the way into a batch.
    visits = visits.tail(int(batch.length[0]))
    titles = [str(names.get(location, location)) for location in visits.location_id.unique()]
    numbers = {k: v for k, v in asdict(chosen).items() if k in ContextKernel.GRID}
    data = {
        "chosen": numbers,
        "windows": [_votes(valid.batch([step]), 0) for step in steps],
        "window": {
            **window, "names": titles,
            "when": [f"{start:%a %H:%M}" for start in visits.started_at],
        },
    }  # fmt: skip
    return Touch(still, data)


def _votes(batch: Batch, row: int) -> dict[str, Any]:
    """A window as the page's kernel reads it: its places numbered as they appear, from 0."""
    n = int(batch.length[row])
    codes, order = pd.factorize(batch.location[row, :n].numpy())
    found = np.flatnonzero(order == int(batch.target[row]))
    return {
        "places": codes.tolist(), "minutes": batch.start_minute[row, :n].int().tolist(),
        "now": int(batch.now_minute[row]), "truth": int(found[0]) if len(found) else -1,
    }  # fmt: skip
