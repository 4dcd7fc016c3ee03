"""Sphinx extension: a page with 95 % intervals says at its end how often such an interval holds.

They resample people, of whom there are few, and are somewhat too narrow. `lab.interval_coverage`
measured by how much, and whoever sees one has to know it. README says it by itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from wherenext.results import read_results

MEASURED = "evidence_cities"  # the page that tells how this was measured
# "95 % interval", "intervals of 95 %", "[95 %]", or one with its two ends.
CALLED = re.compile(
    r"95\s%\s(?:\w+\s)?interval|interval\w*\sof\s95\s%|\[95\s%|"
    r"\[[+−-]?\d+\.\d+, [+−-]?\d+\.\d+\]",
    re.IGNORECASE,
)


def printed(doctree: nodes.document) -> bool:
    """Whether a page prints such an interval, code apart."""
    shown = (nodes.TextElement, nodes.raw)
    texts = (node.astext() for node in doctree.findall(lambda node: isinstance(node, shown))
             if not isinstance(node, nodes.literal_block | nodes.comment))  # fmt: skip
    return any(CALLED.search(text) for text in texts)


def held(folder: Path | None = None) -> str:
    """The sentence: at so few people, so often; and which level would have held it so often."""
    results = read_results("interval_coverage", folder)
    of = results.rows[results.rows.like == "GeoLife"].set_index(["of", "method"])
    ours = of.loc[("difference", "percentile")]
    nominal = of.loc["nominal level"].coverage
    level = (nominal - 95).abs().idxmin()
    return (
        f"Intervals called 95\u00a0% are somewhat too narrow: with {ours.people} people, as many as "
        f"GeoLife has here, they held the truth in {ours.coverage:.1f}\u00a0% of "
        f"{results.header['trials']:,} trials, and intervals of {level} in "
        f"{nominal[level]:.1f}\u00a0%.".replace(" %", "\u00a0%")
    )


def tell(app: Sphinx, doctree: nodes.document) -> None:
    """Put the sentence at the end of the page."""
    if not printed(doctree):
        return
    paragraph = nodes.paragraph(classes=["intervals"])
    paragraph += nodes.Text(held(Path(app.srcdir) / "book" / "results") + " ")
    link = addnodes.pending_xref(
        "", nodes.inline("", "How we know, and how to read them"), refdomain="std", reftype="doc",
        reftarget=f"/book/{MEASURED}", refexplicit=True, refwarn=True,
    )  # fmt: skip
    paragraph += [link, nodes.Text(".")]
    sections = [node for node in doctree.children if isinstance(node, nodes.section)]
    (sections[-1] if sections else doctree).append(paragraph)


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("doctree-read", tell)
