"""Sphinx extension: a page with intervals that resample people says at its end how often they hold.

There are few people, so these intervals are somewhat too narrow. `lab.interval_coverage` measured
by how much, and whoever sees one has to know it. README says it by itself. Other intervals, such
as Student's t over towns, are not meant.
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


# What computes one: functions of `pgt.metrics`, and `Results.difference`.
RESAMPLES = re.compile(
    r"\b(?:resampled_means|percentile_interval|interval_of_mean|interval)\(|\.difference\("
)


def resamples(doctree: nodes.document) -> bool:
    """Whether a page's code computes such an interval, or its text or a table shows one."""
    for node in doctree.findall(nodes.Element):
        if isinstance(node, nodes.comment):
            continue
        text = node.astext()
        if isinstance(node, nodes.literal_block):
            found = bool(RESAMPLES.search(text))
        elif isinstance(node, nodes.raw):  # tables; not maps and live pages, with their coordinates
            found = "<table" in text and "<script" not in text and bool(CALLED.search(text))
        else:
            prose = isinstance(node, nodes.TextElement) and "Student" not in text
            found = prose and bool(CALLED.search(text))
        if found:
            return True
    return False


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
    if not resamples(doctree):
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
