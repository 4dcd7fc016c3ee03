"""Positions on a sphere: straight lines between its points are easier than great circles."""

from __future__ import annotations

import numpy as np


def on_sphere(east: np.ndarray, north: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three coordinates on the unit sphere, of longitudes and latitudes in radians.

    Examples
    --------
    >>> x, y, z = on_sphere(np.array([0.0]), np.array([0.0]))
    >>> x.tolist(), y.tolist(), z.tolist()
    ([1.0], [0.0], [0.0])
    """
    flat = np.cos(north)
    return flat * np.cos(east), flat * np.sin(east), np.sin(north)
