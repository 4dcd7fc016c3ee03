"""The contents of the front page, because a toctree knows neither goals nor times.

A chapter's opening lines say what its reader will be able to do and how long it takes to read.
Running time was measured when the chapter was executed for this build (see ``execute.py``).
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import execute
import toc
from results_tables import duration

# Minutes as the chapters say them.
MINUTES = {
    "ten": 10, "fifteen": 15, "a quarter of an hour": 15, "twenty": 20, "twenty-five": 25,
    "thirty": 30, "half an hour": 30, "thirty-five": 35, "forty": 40, "forty-five": 45,
    "fifty": 50, "an hour": 60,
}  # fmt: skip
OPENING = re.compile(
    r"\*You will be able to\* (?P<goal>.*?)\. \*You need\*.*?"
    rf"\*It takes\*.*?\b(?P<read>{'|'.join(sorted(MINUTES, key=len, reverse=True))})"
    r"(?: minutes)? to read"
)


def opening(chapter: Path) -> tuple[str, str, int]:
    """What a notebook says at its beginning: its title, its goal, and the minutes to read it."""
    text = "".join(json.loads(chapter.read_text(encoding="utf-8"))["cells"][0]["source"])
    title, _, rest = text.removeprefix("# ").partition("\n")
    found = OPENING.search(" ".join(rest.split()))
    if found is None:
        raise ValueError(
            f"{chapter.name} must begin with a title and what to wonder about, then: *You will be "
            "able to* …. *You need* …. *It takes* … minutes to read …"
        )
    goal = re.sub(r"\]\([^)]*\)|[*`\[]", "", found["goal"])
    return title, goal[:1].upper() + goal[1:], MINUTES[found["read"]]


def contents(root: Path, built: set[str]) -> str:
    """The parts and their chapters, those that are built, as HTML."""
    took = {name: report.execution_seconds for name, report in execute.reports().items()}
    blocks, minutes, ran = [], 0, 0.0
    for caption, pages in toc.parts(root).items():
        items = []
        for name in pages:
            if name in built and (number := toc.chapter(name)) is not None:
                title, goal, reading = opening(root / "book" / f"{name}.ipynb")
                minutes += reading
                ran += took.get(name, 0)
                runs = f" · runs {duration(took[name])}" if name in took else ""
                items.append(
                    f'<li value="{number}"><a class="reference internal" href="{name}.html">'
                    f'{escape(title)}</a> <span class="times">{reading}\u00a0min{runs}</span>'
                    f'<span class="goal">{escape(goal)}.</span></li>'
                )
        if items:
            blocks.append(f'<h3 class="part">{escape(caption)}</h3>'
                          f'<ol class="chapters">{"".join(items)}</ol>')  # fmt: skip
    total = f"About {minutes / 60:.0f} hours of reading"
    if ran:
        total += f"; the code takes {duration(ran)} on one processor core"
    return f'<p class="total">{total}.</p>{"".join(blocks)}'
