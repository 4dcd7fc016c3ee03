"""The town of Larkmere as a map: districts, river, parks, streets.

Larkmere is invented. It lies on empty prairie, where clocks never change, and
its map is drawn by this module alone: no tile, no download, no licence.
Everything is laid out with straight lines in metres east and north of the
bridge square and then bent by :func:`warp`, which is what makes it look grown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wherenext.city.geometry import clip, densify, pieces, smooth
from wherenext.city.names import STREET_NAMES, STREET_TYPES

NAME = "Larkmere"
TIMEZONE = "America/Regina"  # UTC-6 all year: no clock change can blur an hour
CENTRE = (-108.6400, 50.9300)  # lon, lat in degrees
METRES_PER_DEGREE = 111_320.0

#: name, seed point (m), angle of its street grid (degrees), street spacing (m), character
DISTRICTS: tuple[tuple[str, float, float, float, float, str], ...] = (
    ("Old Town", -250, 620, 12, 150, "centre"),
    ("Market Side", 1150, 1150, -8, 180, "centre"),
    ("Quayside", 1250, -700, 35, 210, "mixed"),
    ("Glasshouse", -1150, -950, -28, 210, "mixed"),
    ("Collegium", -1750, 900, 5, 230, "campus"),
    ("Orchard Hill", -450, 2450, -15, 250, "homes"),
    ("Northgate", 1500, 2750, 8, 260, "homes"),
    ("Larkfield", 2850, 1350, 20, 270, "homes"),
    ("Tannery Works", 3050, -700, -4, 300, "works"),
    ("Southbank", 1350, -2250, 18, 250, "homes"),
    ("Willow End", -600, -2500, -10, 270, "homes"),
    ("Saint Alder", -2750, -900, 24, 260, "homes"),
    ("Windmill Rise", -3200, 1250, -20, 280, "homes"),
    ("Far Meadow", -2500, -2500, 2, 300, "homes"),
)
#: name, centre (m), radii (m), phase of its outline
PARKS: tuple[tuple[str, float, float, float, float, float], ...] = (
    ("Lantern Gardens", 480, 1080, 250, 170, 0.3),
    ("Botanic Terrace", -1290, 1560, 320, 220, 1.2),
    ("Heronsmere Park", 2330, 2130, 420, 330, 2.2),
    ("Alder Common", -2220, -150, 300, 230, 0.9),
    ("Willow Meadows", -1350, -2000, 430, 260, 2.9),
    ("Signal Green", 2080, -1560, 260, 210, 4.0),
    ("Kite Hill", 350, 3150, 330, 260, 5.1),
    ("Miller's Wood", -3330, 1900, 400, 250, 0.1),
    ("Foundry Green", 3500, 150, 220, 180, 3.3),
)
LAKE = ("Heronsmere", 2380, 2130, 210, 140, 1.4)
RIVER_NAME = "River Ouzel"
RIVER = np.array(  # centreline from north-west to south-east, then half the width (m)
    [
        (-4900, 3250, 70),
        (-4300, 2950, 75),
        (-3000, 2350, 75),
        (-2150, 1900, 80),
        (-1500, 400, 85),
        (-850, -250, 90),
        (100, -120, 95),
        (900, 130, 95),
        (1900, 150, 100),
        (2450, -450, 105),
        (2400, -1350, 110),
        (2900, -2250, 120),
        (4200, -2800, 130),
        (5000, -2950, 140),
    ],
    dtype=float,
)
AVENUES: tuple[tuple[str, float], ...] = (
    ("Harbour Avenue", -62),
    ("Meridian Avenue", 88),
    ("Larkfield Avenue", 24),
    ("College Avenue", 158),
    ("Glasshouse Road", 226),
    ("Old Mill Road", 197),
    ("Foundry Road", -18),
    ("Northgate Avenue", 58),
    ("Orchard Avenue", 118),
    ("Willow Road", 264),
)


@dataclass
class TownMap:
    """The geometry the simulator needs: GeoJSON, and where streets let places stand.

    ``corners`` maps a district's name to the street points in it, shape ``(n, 2)``
    in metres; ``corner_street`` to the names of the streets at those points.
    """

    base: dict[str, Any]
    corners: dict[str, np.ndarray] = field(default_factory=dict)
    corner_street: dict[str, list[str]] = field(default_factory=dict)


def to_degrees(xy: np.ndarray) -> np.ndarray:
    """Metres east and north of the centre ``(..., 2)`` to rounded ``(lon, lat)`` degrees."""
    lon = CENTRE[0] + xy[..., 0] / (METRES_PER_DEGREE * math.cos(math.radians(CENTRE[1])))
    lat = CENTRE[1] + xy[..., 1] / METRES_PER_DEGREE
    return np.round(np.stack([lon, lat], axis=-1), 5)  # 1e-5 degrees: about a metre


def warp(xy: np.ndarray) -> np.ndarray:
    """Bend the drawing board: smooth shifts of up to some 200 m; same point, same shift."""
    x, y = xy[..., 0], xy[..., 1]
    dx = 130 * np.sin(y / 830 + 0.7) + 45 * np.sin(y / 310 + x / 900)
    dy = 120 * np.sin(x / 940 + 1.9) + 40 * np.sin(x / 350 - y / 800)
    return np.stack([x + dx, y + dy], axis=-1)


def inside_blob(xy: np.ndarray, blob: tuple[str, float, float, float, float, float]) -> np.ndarray:
    """Which points ``(n, 2)`` lie in a park or lake of :data:`PARKS`' form; ``(n,)`` bool."""
    _, cx, cy, rx, ry, phase = blob
    u, v = (xy[..., 0] - cx) / rx, (xy[..., 1] - cy) / ry
    return np.asarray(np.hypot(u, v) < _wobble(np.arctan2(v, u), phase))


def _wobble(angle: np.ndarray, phase: float) -> np.ndarray:
    return 1 + 0.12 * np.sin(2 * angle + phase) + 0.08 * np.sin(3 * angle - 2 * phase)


def _blob(blob: tuple[str, float, float, float, float, float], n: int = 36) -> np.ndarray:
    _, cx, cy, rx, ry, phase = blob
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    r = _wobble(angle, phase)
    return np.stack([cx + rx * r * np.cos(angle), cy + ry * r * np.sin(angle)], axis=1)


def _river() -> tuple[np.ndarray, np.ndarray]:
    """Centreline with half width ``(n, 3)`` and unit normals ``(n, 2)``."""
    line = smooth(RIVER)
    along = np.gradient(line[:, :2], axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return line, np.stack([-along[:, 1], along[:, 0]], axis=1)


def _reach(xy: np.ndarray) -> np.ndarray:
    """Below 1 inside the town, 1 on its outline (a superellipse), before the warp; ``(n,)``."""
    return ((np.abs(xy) / [4100, 3500]) ** 2.6).sum(axis=1)


def _outline() -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return way / (_reach(way) ** (1 / 2.6))[:, None]


def _cells() -> list[np.ndarray]:
    """Each district's polygon: the points of the town nearest to its seed."""
    seeds = np.array([d[1:3] for d in DISTRICTS])
    cells = []
    for i, here in enumerate(seeds):
        cell = _outline()
        for j, other in enumerate(seeds):
            if i != j:
                normal = other - here
                cell = clip(cell, normal, float(normal @ (here + other)) / 2)
        cells.append(cell)
    return cells


def _grid(cell: np.ndarray, angle: float, spacing: float) -> list[np.ndarray]:
    """Straight streets in two directions across a convex district, before the warp."""
    lines = []
    for turn, gap in ((0.0, spacing), (90.0, spacing * 1.55)):
        a = math.radians(angle + turn)
        along, across = np.array([math.cos(a), math.sin(a)]), np.array([-math.sin(a), math.cos(a)])
        reach = cell @ across
        for offset in np.arange(reach.min() + gap / 2, reach.max(), gap):
            ends = []
            side = reach - offset
            for i in range(len(cell)):
                if (side[i - 1] > 0) != (side[i] > 0):
                    share = side[i - 1] / (side[i - 1] - side[i])
                    ends.append(cell[i - 1] + (cell[i] - cell[i - 1]) * share)
            if len(ends) == 2 and np.linalg.norm(ends[1] - ends[0]) > 150:
                ends.sort(key=lambda p: float(p @ along))
                lines.append(np.array(ends))
    return lines


def _feature(kind: str, name: str, xy: np.ndarray, **more: str) -> dict[str, Any]:
    ring = to_degrees(xy).tolist()
    if kind in ("street", "rail"):
        geometry = {"type": "LineString", "coordinates": ring}
    else:
        geometry = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    return {
        "type": "Feature",
        "properties": {"kind": kind, "name": name, **more},
        "geometry": geometry,
    }


def draw() -> TownMap:
    """Draw the town; the result is always the same.

    Returns
    -------
    TownMap
        ``base`` is a GeoJSON FeatureCollection in drawing order, with
        ``properties.kind`` one of district, river, lake, park, rail, street and
        ``properties.name``; a district has a ``character``, a street a ``level``
        (street, promenade, avenue).
    """
    line, normal = _river()
    features: list[dict[str, Any]] = []
    cells = _cells()
    for (name, *_, character), cell in zip(DISTRICTS, cells, strict=True):
        bent = warp(densify(cell, 140, closed=True))
        features.append(_feature("district", name, bent, character=character))
    bank = [line[:, :2] + side * normal * line[:, 2:] for side in (1, -1)]
    features.append(_feature("river", RIVER_NAME, np.vstack([bank[0], bank[1][::-1]])))
    features += [_feature("park", park[0], _blob(park)) for park in PARKS]
    features.append(_feature("lake", LAKE[0], _blob(LAKE)))
    rail = smooth(np.array([(-4600.0, -1900), (-2400, -1420), (-300, -1330), (1500, -1230),
                             (3000, -1500), (4800, -900)]))  # fmt: skip
    features.append(_feature("rail", "Prairie Line", rail))

    town = TownMap({"type": "FeatureCollection", "name": NAME, "features": features})
    rng = np.random.default_rng(1887)  # only shuffles the names of streets
    names = [f"{a} {b}" for b in STREET_TYPES for a in STREET_NAMES]
    names = [names[i] for i in np.argsort(rng.random(len(names)), kind="stable")]
    for (district, _, _, angle, spacing, _), cell in zip(DISTRICTS, cells, strict=True):
        points, labels = [], []
        for street in _grid(cell, angle, spacing):
            bent = warp(densify(street, 110))
            gap = np.linalg.norm(bent[:, None] - line[None, :, :2], axis=2) - line[:, 2]
            free = gap.min(axis=1) > 75
            for park in PARKS:
                free &= ~inside_blob(bent, park)
            for piece in pieces(bent, free):
                name = names.pop()
                features.append(_feature("street", name, piece, level="street"))
                points.append(piece)
                labels += [name] * len(piece)
        town.corners[district] = np.vstack(points)
        town.corner_street[district] = labels
    for side, bank_name in ((1, "North Promenade"), (-1, "South Promenade")):
        walk = (line[:, :2] + side * normal * (line[:, 2:] + 45))[20:-12]
        features.append(_feature("street", bank_name, walk, level="promenade"))
    square = np.array([-120.0, 330.0])
    for name, degrees in AVENUES:
        way = np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])
        road = densify(np.array([square, square + 5000 * way]), 100)
        road = warp(road[_reach(road) < 1.12])
        features.append(_feature("street", name, road, level="avenue"))
    for name, share in (("Ramparts", 0.27), ("Ring Road", 0.66)):
        loop = densify(_outline() * share + square * (1 - share), 150, closed=True)
        features.append(_feature("street", name, warp(np.vstack([loop, loop[:1]])), level="avenue"))
    return town
