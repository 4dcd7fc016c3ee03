"""Figures: alt text, theme colours, the same bytes every time."""

from __future__ import annotations

import re

import pytest
from matplotlib import pyplot as plt
from wherenext import figures

from pgt.colours import VARIABLES

from ..helpers import run_python


def draw() -> figures.Shown:
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], color=figures.COPIED)
    axes.set(xlabel="steps", ylabel="metres")
    return figures.show(
        figure, alt='A line that rises: "1" to 3 & <b>more</b>.', caption="A <line>."
    )


def test_alt_text_and_caption_are_there_and_escaped() -> None:
    page = draw()._repr_mimebundle_()["text/html"]
    assert 'role="img" aria-label="A line that rises: &quot;1&quot; to 3 &amp; &lt;b&gt;' in page
    assert "<figcaption>A &lt;line&gt;.</figcaption>" in page
    assert "<b>" not in page


@pytest.mark.parametrize("missing", ["alt", "caption"])
def test_a_figure_without_words_is_refused(missing: str) -> None:
    words = {"alt": "What it shows.", "caption": "Below it.", missing: "  "}
    figure, _ = plt.subplots()
    with pytest.raises(ValueError, match=f"needs {missing}"):
        figures.show(figure, **words)
    plt.close(figure)


def test_colours_follow_the_theme_and_have_fallbacks() -> None:
    svg = draw().svg
    for colour in (figures.INK, figures.PAPER, figures.COPIED):
        bare = svg.count(colour) - svg.count(f"var({VARIABLES[colour]}, {colour})")
        assert bare == 0, colour
        assert f"var({VARIABLES[colour]}, {colour})" in svg


def test_the_book_gives_every_colour_a_value_in_both_themes() -> None:
    from pathlib import Path

    css = Path(__file__).resolve().parents[2].joinpath("book/_static/book.css").read_text()
    for variable in VARIABLES.values():
        assert css.count(f"{variable}:") >= 2, variable


def test_two_figures_share_no_hatching_and_no_clipping() -> None:
    drawn = []
    for alt in ("One bar.", "Another bar."):
        figure, axes = plt.subplots()
        axes.bar([1], [2], hatch="///", color=figures.TRUTH)
        svg = figures.show(figure, alt=alt, caption="A bar.").svg
        used = set(re.findall(r"url\(#([^)]+)\)", svg))
        assert used and all(f'id="{name}"' in svg for name in used)
        drawn.append(used)
    assert not drawn[0] & drawn[1]


def test_whoever_imports_the_colours_has_the_books_style() -> None:
    # A chapter that imports nothing else must not be left with matplotlib's own layout.
    code = (
        "import wherenext.figures, matplotlib as m; "
        "assert m.rcParams['figure.constrained_layout.use'] and m.rcParams['axes.grid']"
    )
    assert run_python("-c", code).returncode == 0
