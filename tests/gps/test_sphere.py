"""Points on the unit sphere are as far apart as the places on the globe."""

from __future__ import annotations

import numpy as np
import pytest
from pgt.gps.sphere import on_sphere


def test_chords_are_those_of_the_globe() -> None:
    east, north = np.radians([0.0, 0.0, 16.0]), np.radians([0.0, 1.0, 48.0])
    points = np.stack(on_sphere(east, north), axis=1)
    assert np.linalg.norm(points, axis=1) == pytest.approx(1)
    arc = 2 * np.arcsin(np.linalg.norm(points[0] - points[1]) / 2)
    assert arc == pytest.approx(np.pi / 180)
    # The way from the equator to the pole is a quarter of the circle, whatever the longitude.
    pole = np.stack(on_sphere(np.radians([70.0]), np.radians([90.0])), axis=1)
    assert points[0] @ pole[0] == pytest.approx(0)
