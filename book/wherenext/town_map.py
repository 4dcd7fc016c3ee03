"""The town of Larkmere as a map: districts, river, parks, streets, and its places with their names.

Everything is laid out with straight lines in metres east and north of the bridge square and then
bent by `warp`, which is what makes it look grown.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


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
    """Points ``(n, 2)`` along a line or ring, at most about ``step`` metres apart."""
    ends = np.vstack([points[1:], points[:1]]) if closed else points[1:]
    out = []
    for a, b in zip(points, ends, strict=False):
        n = max(1, round(float(np.linalg.norm(b - a)) / step))
        out.append(a + (b - a) * np.arange(n)[:, None] / n)
    if not closed:
        out.append(points[-1:])
    return np.vstack(out)


Blob = tuple[str, float, float, float, float, float]  # name, centre, radii, phase of its outline

PLAN: dict[str, Any] = tomllib.loads(Path(__file__).with_name("town.toml").read_text("utf-8"))
NAME, TIMEZONE, CENTRE = PLAN["name"], PLAN["timezone"], PLAN["centre"]
DISTRICTS, PARKS, LAKE = PLAN["districts"], PLAN["parks"], PLAN["lake"]
FIRST_WORDS = PLAN["first_words"].split()  # of shops, cafés and companies
METRES_PER_DEGREE = 111_320.0
KINDS = (
    "home", "work", "school", "food", "shopping", "leisure", "park", "health", "errand", "transit",
)  # fmt: skip


@dataclass
class TownMap:
    """The map as GeoJSON, and where streets let places stand."""

    base: dict[str, Any]
    corners: dict[str, np.ndarray] = field(default_factory=dict)  # by district, (n, 2) metres
    corner_street: dict[str, list[str]] = field(default_factory=dict)  # the streets' names there


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


def inside_blob(xy: np.ndarray, blob: Blob) -> np.ndarray:
    """Which points ``(n, 2)`` lie in a park or lake."""
    _, cx, cy, rx, ry, phase = blob
    u, v = (xy[..., 0] - cx) / rx, (xy[..., 1] - cy) / ry
    return np.asarray(np.hypot(u, v) < _wobble(np.arctan2(v, u), phase))


def _wobble(angle: np.ndarray, phase: float) -> np.ndarray:
    return 1 + 0.12 * np.sin(2 * angle + phase) + 0.08 * np.sin(3 * angle - 2 * phase)


def _blob(blob: Blob, n: int = 36) -> np.ndarray:
    _, cx, cy, rx, ry, phase = blob
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    r = _wobble(angle, phase)
    return np.stack([cx + rx * r * np.cos(angle), cy + ry * r * np.sin(angle)], axis=1)


def _river() -> tuple[np.ndarray, np.ndarray]:
    """Centreline with half width ``(n, 3)`` and unit normals ``(n, 2)``."""
    line = smooth(np.array(PLAN["river"], dtype=float))
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
    geometry: dict[str, Any] = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    if kind in ("street", "rail"):
        geometry = {"type": "LineString", "coordinates": ring}
    about = {"kind": kind, "name": name, **more}
    return {"type": "Feature", "properties": about, "geometry": geometry}


def draw() -> TownMap:
    """Draw the town, always the same: GeoJSON in drawing order, with ``kind`` and ``name``."""
    line, normal = _river()
    features: list[dict[str, Any]] = []
    cells = _cells()
    for (name, *_, character), cell in zip(DISTRICTS, cells, strict=True):
        bent = warp(densify(cell, 140, closed=True))
        features.append(_feature("district", name, bent, character=character))
    bank = [line[:, :2] + side * normal * line[:, 2:] for side in (1, -1)]
    features.append(_feature("river", PLAN["river_name"], np.vstack([bank[0], bank[1][::-1]])))
    features += [_feature("park", park[0], _blob(park)) for park in PARKS]
    features.append(_feature("lake", LAKE[0], _blob(LAKE)))
    features.append(_feature("rail", "Prairie Line", smooth(np.array(PLAN["rail"], dtype=float))))

    town = TownMap({"type": "FeatureCollection", "name": NAME, "features": features})
    rng = np.random.default_rng(1887)  # only shuffles the names of streets
    names = [f"{a} {b}" for b in PLAN["street_types"] for a in PLAN["street_names"].split()]
    names = [names[i] for i in np.argsort(rng.random(len(names)), kind="stable")]
    for (district, _, _, angle, spacing, _), cell in zip(DISTRICTS, cells, strict=True):
        points, labels = [], []
        for street in _grid(cell, angle, spacing):
            bent = warp(densify(street, 110))
            gap = np.linalg.norm(bent[:, None] - line[None, :, :2], axis=2) - line[:, 2]
            free = gap.min(axis=1) > 75
            for park in PARKS:
                free &= ~inside_blob(bent, park)
            cut = np.flatnonzero(np.diff(free)) + 1
            for piece, is_free in zip(np.split(bent, cut), np.split(free, cut), strict=True):
                if not is_free[0] or len(piece) < 3:
                    continue
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
    for name, degrees in PLAN["avenues"].items():
        way = np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])
        road = densify(np.array([square, square + 5000 * way]), 100)
        road = warp(road[_reach(road) < 1.12])
        features.append(_feature("street", name, road, level="avenue"))
    for name, share in (("Ramparts", 0.27), ("Ring Road", 0.66)):
        loop = densify(_outline() * share + square * (1 - share), 150, closed=True)
        features.append(_feature("street", name, warp(np.vstack([loop, loop[:1]])), level="avenue"))
    return town


def _park_points(rng: np.random.Generator, n: int) -> tuple[np.ndarray, list[str]]:
    """Points ``(n, 2)`` inside parks and off the lake, and the names of the parks."""
    xy = np.zeros((0, 2))
    names: list[str] = []
    size = np.cumsum([p[3] * p[4] for p in PARKS])
    while len(xy) < n:
        park = PARKS[int(np.searchsorted(size, rng.random() * size[-1]))]
        point = np.array(park[1:3]) + (2 * rng.random(2) - 1) * 1.2 * np.array(park[3:5])
        if inside_blob(point, park) and not inside_blob(point, LAKE):
            xy, names = np.vstack([xy, point]), [*names, park[0]]
    return xy, names


class _Namer:
    """Hands out names, never the same twice."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.used: set[str] = set()

    def __call__(self, kind: str, district: str, street: str) -> str:
        if kind == "home":
            return self._free(lambda: f"{1 + int(self.rng.random() * 120)} {street}")
        nouns = PLAN["second_words"][kind]
        if kind == "transit":
            noun = nouns[int(self.rng.random() * 2)]
            return self._free(lambda: f"{street} {noun}", f", {district}")

        def draw() -> str:
            noun = nouns[int(self.rng.random() * len(nouns))]
            if kind == "park":
                return f"{street} {noun}"  # here the "street" is the park
            first, second = (FIRST_WORDS[int(u * len(FIRST_WORDS))] for u in self.rng.random(2))
            if kind in ("school", "health"):
                return f"{first} {noun}" if self.rng.random() < 0.5 else f"{district} {noun}"
            if kind == "work":
                return f"{first} & {second} {noun}" if first != second else f"{first} {noun}"
            return f"The {first} {noun}" if kind == "food" else f"{first} {noun}"

        return self._free(draw, f", {district}")

    def _free(self, draw: Callable[[], str], suffix: str = "") -> str:
        for attempt in range(60):
            name = draw() + (suffix if attempt > 12 else "")
            if name not in self.used:
                break
        else:
            stem, number = name, 2
            while f"{stem} {number}" in self.used:
                number += 1
            name = f"{stem} {number}"
        self.used.add(name)
        return name


def settle(town: TownMap, n_homes: int, n_others: int, rng: np.random.Generator) -> pd.DataFrame:
    """Put places along the streets and into the parks: `City.places`; ``appeal`` is Zipf's."""
    share = np.array([PLAN["mix"][k] for k in KINDS[1:]])
    counts = np.floor(np.cumsum(np.r_[0, share]) / share.sum() * n_others + 0.5).astype(int)
    kinds = np.repeat(np.array(KINDS, dtype=object), [n_homes, *np.diff(counts)])
    xy = np.zeros((len(kinds), 2))
    district, street = np.empty((2, len(kinds)), dtype=object)
    parks = np.flatnonzero(kinds == "park")
    xy[parks], street[parks] = _park_points(rng, len(parks))
    seeds = np.array([d[1:3] for d in DISTRICTS])
    apart = ((seeds - xy[parks, None]) ** 2).sum(2)  # (parks, districts)
    district[parks] = np.array([d[0] for d in DISTRICTS], dtype=object)[apart.argmin(1)]
    for kind in KINDS:
        for i in np.flatnonzero(kinds == kind) if kind != "park" else ():
            xy[i], district[i], street[i] = _along_a_street(town, kind, rng)
    namer = _Namer(rng)
    names = [namer(*row) for row in zip(kinds, district, street, strict=True)]
    lonlat = to_degrees(xy)
    places = pd.DataFrame(
        {"name": names, "kind": kinds, "district": district, "lon": lonlat[:, 0],
         "lat": lonlat[:, 1], "appeal": np.round(_appeal(kinds, rng), 3)}
    )  # fmt: skip
    # Ids follow the map (district, then street order), so they say nothing about popularity.
    order = np.lexsort((lonlat[:, 0], lonlat[:, 1], pd.factorize(places["district"], sort=True)[0]))
    places = places.iloc[order].reset_index(drop=True)
    places.insert(0, "location_id", np.arange(1, len(places) + 1))
    return places


def _along_a_street(
    town: TownMap, kind: str, rng: np.random.Generator
) -> tuple[np.ndarray, str, str]:
    """A spot for a place of a kind: (2,), its district and its street."""
    weight = np.cumsum([PLAN["spread"][kind][d[5]] for d in DISTRICTS])
    u = rng.random(4)
    district = DISTRICTS[int(np.searchsorted(weight, u[0] * weight[-1]))][0]
    corners, streets = town.corners[district], town.corner_street[district]
    at = int(u[1] * (len(corners) - 1))
    # Between two corners of one street, a few steps off the kerb.
    step = (corners[at + 1] - corners[at]) if streets[at] == streets[at + 1] else np.zeros(2)
    kerb = np.array([-step[1], step[0]]) / max(1.0, float(np.hypot(*step)))
    return corners[at] + u[2] * step + kerb * (16 if u[3] < 0.5 else -16), district, streets[at]


def _appeal(kinds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How much each place draws: among those of a kind Zipf's law, whose mean is 1."""
    appeal = np.ones(len(kinds))
    for kind in KINDS[1:]:
        rows = np.flatnonzero(kinds == kind)
        shuffled = np.argsort(rng.random(len(rows)), kind="stable")  # the same on every NumPy
        appeal[rows[shuffled]] = (np.arange(len(rows)) + 3.0) ** -0.75
        appeal[rows] /= appeal[rows].mean()
    return appeal
