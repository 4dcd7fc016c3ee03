"""Heat strips, bars and tables say what they are given."""

from __future__ import annotations

import re

import numpy as np
import pytest
from wherenext.html_marks import LEVELS, bar, heat, sigmoid


def cells(svg: str) -> dict[tuple[int, int], tuple[str, float]]:
    """By (row, column): above or below, and how dark."""
    found = {}
    for kind, dark, path in re.findall(
        r'<path class="(\w+)" stroke-opacity="([\d.]+)" d="([^"]*)"', svg
    ):
        for column, row in re.findall(r"M(\d+) (\d+)h1", path):
            found[int(row), int(column)] = kind, float(dark)
    return found


def test_every_cell_is_as_dark_as_its_number_is_large() -> None:
    values = np.random.default_rng(0).normal(size=(5, 9))
    values[2, 3] = 0
    found = cells(heat(values, list("abcde"), "x"))
    assert len(found) == values.size - 1 and (2, 3) not in found
    for at, (kind, dark) in found.items():
        assert kind == ("above" if values[at] > 0 else "below")
        assert 0 <= dark - abs(values[at]) / abs(values).max() <= 1 / LEVELS + 1e-3


def test_a_bar_stays_in_its_box() -> None:
    assert re.findall(r"width:([\d.]+)%", bar((0.25, "a"), (1.5, "b"), (-1, "c"))) == [
        "25.00", "100.00", "0.00",
    ]  # fmt: skip


@pytest.mark.parametrize("logit", [-9.0, -1.0, 0.0, 1.3, 40.0])
def test_the_dot_lies_on_the_curve(logit: float) -> None:
    svg = sigmoid(logit)
    x, y = (float(re.search(rf'{name}="([\d.]+)"', svg)[1]) for name in ("cx", "cy"))  # type: ignore
    points = [
        tuple(map(float, p.split(","))) for p in re.search(r'points="([^"]*)', svg)[1].split()
    ]  # type: ignore
    if abs(logit) < 5:
        assert min((x - a) ** 2 + (y - b) ** 2 for a, b in points) < 20
    assert 0 < x < 400 and 0 < y < 140
