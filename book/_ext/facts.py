"""Sphinx extension: measured numbers on pages without code; glue wants MyST-NB on Colab.

Chapters compute their numbers in cells. A page such as the front page has none, so it names a
fact, as in ``{fact}`kernel-published```, and the build puts the number there. A fact that is not
known, or whose results are not there, is a warning, and warnings fail the build.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx.application import Sphinx
from sphinx.util import logging

from pgt.analysis.results import Results, read_results

LOG = logging.getLogger(__name__)
Fact = tuple[str, Callable[[Results], str]]


def percent(**where: Any) -> Callable[[Results], str]:
    """The mean test Acc@1 of some rows, in per cent."""
    return lambda results: f"{results.mean(**where):.1f}\u00a0%"


def trap(column: str, form: str, **where: Any) -> Callable[[Results], str]:
    """One value of the traps' table."""

    def written(results: Results) -> str:
        rows = results.rows
        for name, value in where.items():
            rows = rows[rows[name] == value]
        return signed(form.format(rows[column].item()))

    return written


def signed(number: str) -> str:
    """A number with a typographic minus.

    Examples
    --------
    >>> signed("-1.5")
    '−1.5'
    """
    return number.replace("-", "−")


def without(part: str) -> Fact:
    """What the model gains or loses on GeoLife without a part, in points of Acc@1."""
    where = {"trap": "one seed", "what": part, "data": "geolife", "protocol": "published"}
    return "traps", trap("mean", "{:+.1f}", **where)


def doubtful_signs(results: Results) -> str:
    """Rows of an ablation table whose sign one pair of seeds gets wrong one time in ten or more."""
    rows = results.rows
    rows = rows[(rows.trap == "one seed") & (rows.data == "geolife")]
    rows = rows[rows.protocol == "published"]
    return f"{int((rows.value > 10).sum())} of {len(rows)}"


def parameters(model: str) -> Callable[[Results], str]:
    """How many numbers a network of the chapter on the contextual pointer has learned, on GeoLife."""

    def written(results: Results) -> str:
        (count,) = {
            note["parameters"]
            for key, note in results.header["runs"].items()
            if key.startswith(f"geolife_published/{model}-full-unknown-")
        }
        return f"{count:,}"

    return written


# Name -> results file, and what to read from it.
GEOLIFE: dict[str, Any] = {"data": "geolife", "protocol": "published"}
FACTS: dict[str, Fact] = {
    "kernel": ("geolife_published", percent(model="kernel")),
    "network": ("geolife_published", percent(model="pgt", variant="tuned", target_time="unknown")),
    "mhsa": ("geolife_published", percent(model="mhsa", variant="tuned")),
    "lstm": ("geolife_published", percent(model="lstm", variant="tuned")),
    "no-pointer": without("no_pointer"),
    "no-generator": without("no_generator"),
    "no-gate": without("no_gate"),
    "doubtful-signs": ("traps", doubtful_signs),
    "unknown-targets": (
        "traps",
        trap("value", "{:.0f}\u00a0%", what="test targets that are the unknown token"),
    ),
    "unknown-points": (
        "traps",
        trap("value", "{:.1f}", what="points of kernel for the unknown token"),
    ),
    "kernel-merged": (
        "traps",
        trap("value", "{:.1f}\u00a0%", what="kernel, unknown places merged"),
    ),
    "kernel-exact": ("beyond", percent(model="kernel", data="geolife", protocol="exact")),
    "contextual": (
        "beyond",
        percent(model="contextual", variant="full", target_time="unknown", **GEOLIFE),
    ),
    "contextual-week": (
        "beyond",
        percent(model="contextual", variant="window", target_time="unknown", **GEOLIFE),
    ),
    "kernel-memory": ("beyond", percent(model="kernel_memory", **GEOLIFE)),
    "new-york-network": ("new_york", percent(model="pgt", variant="full")),
    "new-york-kernel": ("new_york", percent(model="kernel")),
    "new-york-contextual": (
        "new_york",
        percent(model="contextual", variant="full", target_time="unknown"),
    ),
    "contextual-parameters": ("beyond", parameters("contextual")),
    "network-parameters": ("beyond", parameters("pgt")),
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


def role(
    _name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, *_: Any, **__: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The role ``fact``: a number, with the name of the file it is from as its title."""
    env = inliner.document.settings.env
    root = Path(env.srcdir)
    try:
        shown = fact(text, root / "book" / "results")
    except (KeyError, ValueError, FileNotFoundError) as error:
        message = inliner.reporter.warning(f"No fact {text}: {error}", line=lineno)
        return [nodes.problematic(rawtext, rawtext)], [message]
    env.note_dependency(str(root / "book" / "results" / f"{FACTS[text][0]}.json"))
    return [nodes.inline(rawtext, shown, classes=["fact"])], []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_role("fact", role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
