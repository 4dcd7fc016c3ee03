"""Figures: alt text, theme colours, the same bytes every time."""

from __future__ import annotations

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


def test_the_book_gives_every_colour_a_value_in_both_themes() -> None:
    from pathlib import Path

    css = Path(__file__).resolve().parents[2].joinpath("book/_static/book.css").read_text()
    for variable in VARIABLES.values():
        assert css.count(f"{variable}:") >= 2, variable
