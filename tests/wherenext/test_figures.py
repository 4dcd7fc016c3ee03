"""Figures: alt text, theme colours, the same bytes every time."""

from __future__ import annotations

import re

import pytest
from matplotlib import pyplot as plt
from wherenext import figures

from pgt.colours import VARIABLES


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


def test_lengths_are_rounded_and_names_that_something_refers_to_stay() -> None:
    figure, axes = plt.subplots()
    axes.bar([1], [0.5], hatch="...", edgecolor="k")
    light = figures.show(figure, alt="A bar.", caption="A bar.").svg
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', light))
    assert len(used) > 5 and all(f'id="{a or b}"' in light for a, b in used)
    assert not re.search(r'="-?\d+\.\d{3,}"', light)
