"""The ground of the front page's map as SVG: the town is drawn once, below twelve pictures.

Each picture shows a part of it by shifting and stretching what was drawn, so twelve pictures weigh
little more than one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from wherenext.ground import UNIT, ground_of

WIDTH, HEIGHT = 600, 340  # units of a picture
MARGIN = 44  # units around what it shows
CLOSEST = 0.012  # degrees of latitude that a picture shows at least, about 1.3 km


class Frame:
    """From degrees to the units of a picture, so that some places fill it.

    >>> frame = Frame([[0.0, 0.0], [0.02, 0.02]])  # latitude, longitude
    >>> frame([0.01, 0.01])
    (300.0, 170.0)
    """

    def __init__(self, spots: Sequence[Sequence[float]]) -> None:
        low, high = np.min(spots, axis=0), np.max(spots, axis=0)
        self.middle = (low + high) / 2
        self.shrink = math.cos(math.radians(float(self.middle[0])))
        north, east = high - low
        self.scale = float(
            min(
                (WIDTH - 2 * MARGIN) / max(east * self.shrink, 1e-9),
                (HEIGHT - 2 * MARGIN) / max(north, CLOSEST),
            )
        )

    def __call__(self, spot: Sequence[float]) -> tuple[float, float]:
        """[latitude, longitude] -> x to the right, y downwards."""
        north, east = np.asarray(spot[:2], dtype=float) - self.middle
        return (
            round(float(WIDTH / 2 + east * self.shrink * self.scale), 1),
            round(float(HEIGHT / 2 - north * self.scale), 1),
        )


class Ground:
    """The whole town, drawn once."""

    def __init__(
        self, features: Sequence[dict[str, Any]], bounds: tuple[float, float, float, float]
    ) -> None:
        self.west, self.south = bounds[:2]
        self.layers = ground_of(features, (self.west, self.south))["layers"]

    def paths(self) -> str:
        """The ground, one path a kind and width, from the ground up; wide streets on top."""
        return "".join(
            f'<path class="{kind}" stroke-width="{width:g}" d="{path}"/>'
            for kind, width, path in self.layers
        )

    def placed(self, frame: Frame) -> str:
        """The transformation that puts what was drawn under a picture, for an SVG attribute."""
        x, y = frame([self.south, self.west])
        high = UNIT * frame.scale
        return f"matrix({high * frame.shrink:.6f} 0 0 {-high:.6f} {x:.1f} {y:.1f})"


def apart(spots: Sequence[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """Push spots from each other until their marks do not touch; inside the picture they stay.

    >>> one, other = apart([(300, 170), (300, 170)], 30)
    >>> round(abs(one[0] - other[0]))
    30
    """
    at = np.array(spots, dtype=float)
    edge = least / 2
    for _ in range(200):
        moved = False
        for i in range(len(at)):
            for j in range(i):
                gap = at[i] - at[j]
                far = float(np.hypot(*gap))
                if far >= least - 0.5:
                    continue
                way = gap / far if far > 1e-6 else np.array([1.0, 0.0])
                at[i] += way * (least - far) / 2
                at[j] -= way * (least - far) / 2
                moved = True
        at = at.clip([edge, edge], [WIDTH - edge, HEIGHT - edge])
        if not moved:
            break
    return [(round(float(x), 1), round(float(y), 1)) for x, y in at]
