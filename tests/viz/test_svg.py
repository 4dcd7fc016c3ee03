"""Lighter pictures look the same: pixels, circles, places; and they are lighter."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image
from wherenext.viz import figures, svg


def matplotlibs(figure: plt.Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


@pytest.fixture(scope="module")
def drawn() -> str:
    """A picture with everything: marks, a hatching of dots, a raster, text, lines."""
    figure, axes = plt.subplots()
    rng = np.random.default_rng(0)
    axes.plot(rng.random(200), "o", ms=3)
    axes.plot(rng.random(2000), rng.random(2000), ".", alpha=0.3, rasterized=True)
    axes.bar([1], [0.5], hatch="...", edgecolor="k")
    axes.imshow(rng.random((8, 8)), extent=(0, 1, 0, 1))
    axes.set(xlabel="metres per visit", aspect="auto")
    return matplotlibs(figure)


def test_it_is_lighter(drawn: str) -> None:
    assert len(svg.lighter(drawn)) < 0.6 * len(drawn)


def test_what_is_light_stays_as_it_is(drawn: str) -> None:
    once = svg.lighter(drawn).replace("image/webp", "image/none")
    assert svg.lighter(once) == once


def test_every_length_is_the_same_to_a_hundredth(drawn: str) -> None:
    before = re.findall(r'<use [^<>]* x="([^"]*)" y="([^"]*)"', drawn)
    after = re.findall(r'<use [^<>]* x="([^"]*)" y="([^"]*)"', svg.lighter(drawn))
    assert len(after) == len(before) >= 80
    gap = np.array(before, float) - np.array(after, float)
    assert 0 < abs(gap).max() <= 0.005 + 1e-9


def test_scales_keep_their_decimals(drawn: str) -> None:
    assert drawn.count("scale(0.015625)") == svg.lighter(drawn).count("scale(0.015625)") > 5


def test_rasters_keep_every_pixel(drawn: str) -> None:
    def pixels(text: str) -> list[np.ndarray]:
        found = re.findall(r"data:image/\w+;base64,([^\"]+)", text)
        return [
            np.asarray(
                Image.open(io.BytesIO(base64.b64decode(data.replace("\n", "")))).convert("RGBA")
            )
            for data in found
        ]

    before, after = pixels(drawn), pixels(svg.lighter(drawn))
    assert len(before) == len(after) == 2
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_circle_is_two_arcs_of_its_radius() -> None:
    figure, axes = plt.subplots()
    axes.bar([1], [1], hatch=".", edgecolor="k")
    path = max(re.findall(r' d="([^"]*)"', matplotlibs(figure)), key=len)
    tight = svg.tight(path)
    first = svg.CURVED.search(tight)
    assert first is not None
    ends = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)(?=[MCz])", first[0] + "z"), float)
    middle = (ends[0] + ends[4]) / 2
    radius = np.linalg.norm(ends[0] - middle)
    arcs = svg.circles(tight)
    assert "C" not in arcs and arcs.count("a") == 2 * tight.count("M")
    x, y, r = map(float, re.match(r"M(-?[\d.]+) (-?[\d.]+)a([\d.]+) ", arcs).groups())  # type: ignore[union-attr]
    np.testing.assert_allclose([x + r, y, r], [*middle, radius], atol=2e-3)


def test_what_only_has_eight_curves_is_no_circle() -> None:
    wave = "M0 0" + "".join(f"C{i} 1 {i} 2 {i + 1} {i % 2}" for i in range(8)) + "z"
    assert svg.circles(wave) == wave


@pytest.mark.parametrize(
    ("style", "shared"),
    [("fill: red", True), ("fill-opacity: 0.5", True), ("opacity: 0.5", False)],
)
def test_marks_share_their_style_unless_they_shine_through(style: str, shared: bool) -> None:
    marks = "".join(f'<use href="#m" x="{x}" style="{style}"/>' for x in range(3))
    light = svg.lighter(f"<g>{marks}</g>")
    assert light.count(style) == (1 if shared else 3) and light.count("<use") == 3


def test_marks_of_other_styles_keep_their_own() -> None:
    marks = "".join(f'<use href="#m" style="fill: {c}"/>' for c in ("red", "red", "blue"))
    assert svg.lighter(marks) == (
        '<g style="fill: red"><use href="#m"/><use href="#m"/></g>'
        '<use href="#m" style="fill: blue"/>'
    )


def test_names_that_something_refers_to_stay(drawn: str) -> None:
    light = svg.lighter(drawn)
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', light))
    assert len(used) > 5
    assert all(f'id="{a or b}"' in light for a, b in used)


def test_the_figures_of_the_book_are_lighter() -> None:
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3])
    text = figures.themed_svg(figure, "A line.")
    plt.close(figure)
    assert not re.search(r"\d\.\d{3,}(?!\d*\))", text.replace("0.015625", ""))
