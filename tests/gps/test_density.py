"""Density clusters are those of scikit-learn's DBSCAN, label by label."""

from __future__ import annotations

import numpy as np
import pytest
from pgt.gps.density import density_clusters
from sklearn.cluster import DBSCAN

from pgt.gps import density
from pgt.visits import EARTH_RADIUS

EPS = 20 / EARTH_RADIUS


def library(radians: np.ndarray, eps: float, min_samples: int) -> list[int]:
    """The same by scikit-learn, which keeps every point's neighbours."""
    found = DBSCAN(eps=eps, min_samples=min_samples, algorithm="ball_tree", metric="haversine")
    return found.fit_predict(radians).tolist() if len(radians) else []


def scattered(rng: np.random.Generator) -> np.ndarray:
    """Places of different density, some points alone."""
    centre = rng.uniform(-12, 12, (15, 2))[rng.integers(0, 15, 400)]
    spread = rng.choice([0.2, 0.6, 2.0], 400)[:, None]
    return centre + rng.normal(0, 1, (400, 2)) * spread


def on_borders(rng: np.random.Generator) -> np.ndarray:
    """Points on the borders of cells and a hair beside them, some twice."""
    hair = rng.choice([-1e-4, 0, 1e-4], (400, 2))
    return (rng.integers(-15, 15, (400, 2)) / 3**0.5 + hair)[rng.integers(0, 300, 400)]


def chains(rng: np.random.Generator) -> np.ndarray:
    """Lines across many cells, in steps just within or just beyond the radius."""
    parts = []
    for step in (0.3, 0.99, 0.999999, 1.000001, 1.3):
        way = rng.uniform(0, 2 * np.pi)
        line = np.arange(60)[:, None] * step * np.array([np.cos(way), np.sin(way)])
        parts.append(line + rng.uniform(-40, 40, 2))
    return rng.permutation(np.concatenate(parts))


@pytest.mark.parametrize("shape", [scattered, on_borders, chains])
@pytest.mark.parametrize("min_samples", [1, 2, 3, 8, 1000])
@pytest.mark.parametrize("at", [(0.0, 0.0), (39.9, 116.3), (116.3, 39.9), (-89.9999, 179.9999)])
def test_labels_are_those_of_the_library(
    shape: object, min_samples: int, at: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(shape)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plane = shape(rng) * EPS
        stretch = np.array([1, max(abs(np.cos(np.radians(at[0]))), 0.1)])
        radians = np.radians(at) + plane / stretch
        monkeypatch.setattr(density, "AT_ONCE", int(rng.choice([50, 1 << 20])))
        found = density_clusters(radians, EPS, min_samples)
        assert found.tolist() == library(radians, EPS, min_samples)


@pytest.mark.parametrize("eps", [1e-9, 0.01, 1.0, 4.0])
def test_any_radius_and_no_points(eps: float) -> None:
    radians = np.random.default_rng(1).uniform([-1.5, -3], [1.5, 3], (150, 2))
    for points in (radians, radians[:1], radians[:0]):
        assert density_clusters(points, eps, 3).tolist() == library(points, eps, 3)


def test_neighbours_are_never_listed_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand points at one place: what is asked of the tree stays in proportion to them."""
    asked = []
    plain = density._neighbours

    def counted(*given):  # type: ignore[no-untyped-def]
        for rows, near in plain(*given):
            asked.append(near.size)
            yield rows, near

    monkeypatch.setattr(density, "_neighbours", counted)
    radians = np.random.default_rng(0).normal(0, EPS / 3, (1000, 2))
    assert set(density_clusters(radians, EPS, 2).tolist()) <= {-1, 0}
    assert sum(asked) < 4 * len(radians)
