"""Sphinx extension: measured numbers on pages without code;
MyST-NB's glue would have to be imported on Colab.

Chapters compute their numbers in cells. A page such as the front page has none, so it names a
fact, as in ``{fact}`kernel```, and the build puts the number there. A fact that is not known, or
whose results are not there, is a warning, and warnings fail the build.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from front_chart import own_rows
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole
from wherenext.results import Results, read_results

Fact = tuple[str, Callable[[Results], str]]


def percent(**where: Any) -> Callable[[Results], str]:
    """The mean test Acc@1 of some rows, in per cent."""
    return lambda results: f"{mean(results, **where):.1f}\u00a0%"


def lead(
    one: dict[str, Any], other: dict[str, Any], metric: str = "acc@1", group: str = "all",
    **where: Any,
) -> Callable[[Results], str]:  # fmt: skip
    """How far rows are ahead of others on the same windows, with its 95 % interval, in points."""

    def written(results: Results) -> str:
        same = {"target_time": "unknown", **where}
        points, low, high = results.difference(one | same, other | same, metric, group)
        return f"{points:+.1f} [{low:.1f}, {high:.1f}]".replace("-", "−")

    return written


def gain(more: dict[str, Any], less: dict[str, Any], **where: Any) -> Callable[[Results], str]:
    """As `lead`, without the interval."""
    return lambda results: lead(more, less, **where)(results).partition(" ")[0]


def mean(results: Results, **where: Any) -> float:
    """The mean test Acc@1 of rows that there must be, as the chart of the front page has it."""
    rows = own_rows(results, **where)
    if rows.empty:
        raise KeyError(f"{results.name}.json has no row with {where}.")
    return float(rows["acc@1"].mean())


# Name -> results file, and what to read from it.
GEOLIFE: dict[str, Any] = {"data": "geolife", "protocol": "exact"}
NEW_YORK: dict[str, Any] = {"data": "new york", "protocol": "published"}
MEMORY: dict[str, Any] = {"model": "contextual", "variant": "full"}
WEEK: dict[str, Any] = {"model": "contextual", "variant": "window"}
RULE_MEMORY, RULE_WEEK = {"model": "kernel_memory"}, {"model": "kernel"}
PGT: dict[str, Any] = {"model": "pgt", "variant": "full"}
PGT_TUNED: dict[str, Any] = {"model": "pgt", "variant": "tuned"}
FACTS: dict[str, Fact] = {
    "kernel": ("geolife_exact", percent(**RULE_WEEK, **GEOLIFE)),
    "pgt": ("geolife_exact", percent(**PGT, **GEOLIFE)),
    "pgt-tuned": ("geolife_exact", percent(**PGT_TUNED, **GEOLIFE)),
    "new-york-kernel": ("last_visit", percent(**RULE_WEEK, **NEW_YORK)),
    "new-york-pgt": ("last_visit", percent(**PGT, **NEW_YORK)),
    "pgt-lead-of-ten": ("geolife_exact", lead(PGT_TUNED, RULE_WEEK, "acc@10", **GEOLIFE)),
    "new-york-lead-of-ten": ("last_visit", lead(PGT, RULE_WEEK, "acc@10", **NEW_YORK)),
    "new-york-lead-on-known": ("last_visit", lead(PGT, RULE_WEEK, group="known", **NEW_YORK)),
    "gain": ("beyond", gain(MEMORY, WEEK, **GEOLIFE)),
    "rule-gain": ("beyond", gain(RULE_MEMORY, RULE_WEEK, **GEOLIFE)),
    "new-york-gain": ("last_visit", gain(MEMORY, WEEK, **NEW_YORK)),
    "new-york-rule-gain": ("last_visit", gain(RULE_MEMORY, RULE_WEEK, **NEW_YORK)),
    "lead": ("beyond", lead(MEMORY, RULE_MEMORY, **GEOLIFE)),
    "week-lead": ("beyond", lead(WEEK, RULE_WEEK, **GEOLIFE)),
    "nobody": ("nobody", percent(model="predictor", **GEOLIFE)),
    "new-york-nobody": ("last_visit", percent(model="predictor", **NEW_YORK)),
    "contextual": ("beyond", percent(**MEMORY, **GEOLIFE)),
    "new-york-contextual": ("last_visit", percent(**MEMORY, **NEW_YORK)),
}


def fact(name: str, folder: Path | None = None) -> str:
    """The number of a fact, as it is printed.

    Raises
    ------
    KeyError
        There is no such fact.
    """
    file, read = FACTS[name]
    return read(read_results(file, folder))


class Number(SphinxRole):
    """A role that becomes a number.

    Parameters
    ----------
    find : callable
        What the number is, from its name and the root of the repository.
    """

    def __init__(self, find: Callable[[str, Path], str]) -> None:
        self.find = find

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The number, or a warning."""
        try:
            shown = self.find(self.text, Path(self.env.srcdir))
        except (KeyError, ValueError, FileNotFoundError) as error:
            problem = f"No {self.name} {self.text}: {error}"
            message = self.inliner.reporter.warning(problem, line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        return [nodes.inline(self.rawtext, shown, classes=["fact"])], []


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_role("fact", Number(lambda name, root: fact(name, root / "book" / "results")))
