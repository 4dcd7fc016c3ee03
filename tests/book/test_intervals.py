"""Whoever sees an interval that resamples people learns how often such an interval holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import intervals
import pytest
from docutils.core import publish_doctree
from wherenext.results import read_results

from ..helpers import ROOT


def told(page: str) -> str:
    """A page of reStructuredText, with what the extension adds."""
    tree = publish_doctree(page)
    app: Any = SimpleNamespace(srcdir=ROOT)
    intervals.tell(app, tree)
    return str(tree.astext())


@pytest.mark.parametrize(
    "page",
    [
        "It leads by 3.1 points (95 % interval over people).",
        "Whiskers: 95 % intervals.",
        "How often do intervals of 95 % hold?",
        "Intervals of 95 % resample people.",
        "===== ======\nmodel [95 %]\n===== ======\none   two\n===== ======",
        "Its lead is +0.7 [−0.2, 1.7].",
        ".. raw:: html\n\n   <table><th>gain [95 %]</th></table>",
        "::\n\n  low, high = interval(now, against=before)\n",
        "::\n\n  drawn = resampled_means([lead], windows.users)\n",
    ],
)
def test_a_page_with_intervals_says_how_often_they_hold(page: str) -> None:
    text = told(f"Title\n=====\n\n{page}\n\nMore\n----\n\nThe last words.\n")
    assert text.count(intervals.held()) == 1 and text.index("last words") < text.index("narrow")
    assert "How we know" in text


@pytest.mark.parametrize(
    "page",
    [
        "Half of 95 % is 47.5 %.\n\n::\n\n  interval = [1.5, 2.5]  # a 95 % interval\n",
        "A 95 % interval of the mean over ten towns (Student's t).",
        ".. raw:: html\n\n   <div><script>var place = [51.05, 4.35];</script></div>",
    ],
)
def test_a_page_without_says_nothing(page: str) -> None:
    assert "narrow" not in told(page)


def test_the_sentence_is_measured() -> None:
    rows = read_results("interval_coverage").rows
    ours = rows[(rows["of"] == "difference") & (rows.method == "percentile")]
    assert f"{ours.coverage.item():.1f}\u00a0%" in intervals.held()
    assert f"with {ours.people.item()} people" in intervals.held()
    assert ours.coverage.item() < 94.5, "somewhat too narrow"
    wider = rows[(rows["of"] == "nominal level") & (rows.method == "98 %")]
    assert abs(wider.coverage.item() - 95) < 0.5 and "of 98\u00a0% in" in intervals.held()
