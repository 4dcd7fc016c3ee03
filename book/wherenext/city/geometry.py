"""Lines and convex polygons in the plane, as arrays ``(n, 2)`` of points."""

from __future__ import annotations

import numpy as np


def smooth(points: np.ndarray, per_step: int = 8) -> np.ndarray:
    """A Catmull-Rom curve through the rows of ``points``."""
    p = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    t = np.linspace(0, 1, per_step, endpoint=False)[:, None]
    pieces = []
    for a, b, c, d in zip(p[:-3], p[1:-2], p[2:-1], p[3:], strict=True):
        pieces.append(
            0.5
            * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2
               + (3 * b - a - 3 * c + d) * t**3)
        )  # fmt: skip
    return np.vstack([*pieces, points[-1:]])


def clip(polygon: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """Keep the part of a convex polygon where ``point @ normal <= offset``."""
    side = polygon @ normal - offset
    kept: list[np.ndarray] = []
    for i in range(len(polygon)):
        a, b, sa, sb = polygon[i - 1], polygon[i], side[i - 1], side[i]
        if (sa > 0) != (sb > 0):
            kept.append(a + (b - a) * sa / (sa - sb))
        if sb <= 0:
            kept.append(b)
    return np.array(kept)


def densify(points: np.ndarray, step: float, closed: bool = False) -> np.ndarray:
    """Points ``(n, 2)`` along a line or ring, at most about ``step`` apart."""
    ends = np.vstack([points[1:], points[:1]]) if closed else points[1:]
    out = []
    for a, b in zip(points, ends, strict=False):
        n = max(1, round(float(np.linalg.norm(b - a)) / step))
        out.append(a + (b - a) * np.arange(n)[:, None] / n)
    if not closed:
        out.append(points[-1:])
    return np.vstack(out)


def pieces(line: np.ndarray, free: np.ndarray) -> list[np.ndarray]:
    """Cut a line where it is not free; keep pieces of at least three points."""
    cut = np.flatnonzero(np.diff(free.astype(int)) != 0) + 1
    return [p for p, f in zip(np.split(line, cut), np.split(free, cut), strict=True)
            if f[0] and len(p) >= 3]  # fmt: skip
