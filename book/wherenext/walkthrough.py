"""One window's way through the network, step by step, with the numbers of a trained model.

All steps are written as HTML that reads without a script; `steps.js` shows one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pgt.model import PointerGeneratorTransformer
from pgt.windows import Windows
from wherenext.architecture import Part, drawing
from wherenext.page_text import safe_html
from wherenext.steps import Step, steps_of
from wherenext.trace import Trace, trace
from wherenext.web_figure import WebFigure, web


@dataclass(frozen=True, repr=False)
class Walkthrough(WebFigure):
    """The steps, for the notebook to display or to be saved as a page."""

    trace: Trace
    steps: tuple[Step, ...]
    title: str
    caption: str

    def _repr_html_(self) -> str:
        last, says = len(self.steps), "The network. Each box leads to its step."
        numbers = {part: "–".join(map(str, steps)) for part, steps in self._ends().items()}
        network = drawing((), says, self._link, small=True, numbers=numbers)
        panels = "".join(
            f'<div class="step" id="pgt-step-{n}" data-parts="{" ".join(step.parts)}" '
            f'role="group" aria-labelledby="pgt-step-{n}-title"><p class="step-title" '
            f'id="pgt-step-{n}-title"><b>{n} of {last}</b> {safe_html(step.title)}</p>'
            f"<p>{safe_html(step.says)}</p>{step.picture}</div>"
            for n, step in enumerate(self.steps, start=1)
        )
        return (
            f"<style>{web('page_parts.css')}{web('steps.css')}</style>\n"
            f'<figure class="pgt-steps" aria-label="{safe_html(self.title)}">'
            '<div class="steps-bar" hidden><button type="button" data-by="-1">◀ Back</button>'
            f'<input type="range" min="1" max="{last}" value="1" aria-label="Step">'
            '<button type="button" data-by="1">Next ▶</button></div>'
            '<p class="steps-told" role="status"></p>'
            f'<div class="steps-body"><div class="steps-map">{network}</div>'
            f'<div class="steps-panels">{panels}</div></div>'
            f"<figcaption>{safe_html(self.caption)}</figcaption></figure>\n"
            f"<script>\n(() => {{\n{web('steps.js')}}})();\n</script>"
        )

    def _link(self, part: Part) -> str:
        """Where a box leads: to the first step of its part."""
        return f"#pgt-step-{self._ends()[part.name][0]}"

    def _ends(self) -> dict[str, list[int]]:
        """The first and the last step of each part, or its only one."""
        steps: dict[str, list[int]] = {}
        for n, step in enumerate(self.steps, 1):
            for part in step.parts:
                steps[part] = [*steps.get(part, [])[:1], n]
        return steps


def walkthrough(
    model: PointerGeneratorTransformer, windows: Windows, i: int, names: Mapping[object, str]
) -> Walkthrough:
    """Follow window ``i`` through a whole model; ``names`` has what places are called, by id."""
    found = trace(model, windows, i)
    steps = tuple(steps_of(found, names))
    title = f"One window's way through the network in {len(steps)} steps"
    caption = (
        "One prediction of the trained model with its own numbers, from the visits to the answer."
    )
    return Walkthrough(found, steps, title, caption)


def story(windows: Windows) -> int:
    """The window that Part II of the book follows: a short one of few places, found by rule."""
    for i in np.flatnonzero((windows.lengths >= 9) & (windows.lengths <= 12) & windows.in_window):
        places = windows.visits_of(int(i)).location_id
        counts = places.value_counts()
        target = windows.target_of(int(i)).location_id
        # Four to six places, none of them more than half; it returns to one that it has left.
        few = 4 <= len(counts) <= 6 and counts.iloc[0] <= len(places) / 2
        if few and counts[target] >= 2 and places.iloc[-1] != target:
            return int(i)
    raise ValueError("No window fits the story; any other will do as well.")
