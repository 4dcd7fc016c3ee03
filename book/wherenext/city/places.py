"""The places of Larkmere: where they stand, what they are, what they are called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from wherenext.city.map import DISTRICTS, LAKE, PARKS, TownMap, inside_blob, to_degrees
from wherenext.city.names import FIRST, NOUNS

KINDS = (
    "home", "work", "school", "food", "shopping", "leisure", "park", "health", "errand", "transit",
)  # fmt: skip
#: How the places of a kind are spread over districts of each character (rows sum to anything).
SPREAD: dict[str, dict[str, float]] = {
    "home": {"centre": 0.8, "mixed": 1.2, "campus": 1.0, "homes": 1.5, "works": 0.2},
    "work": {"centre": 2.6, "mixed": 1.6, "campus": 0.8, "homes": 0.2, "works": 3.0},
    "school": {"centre": 0.6, "mixed": 0.6, "campus": 3.0, "homes": 0.6, "works": 0.1},
    "food": {"centre": 3.6, "mixed": 2.0, "campus": 1.4, "homes": 0.4, "works": 0.4},
    "shopping": {"centre": 3.0, "mixed": 1.4, "campus": 0.6, "homes": 0.7, "works": 0.5},
    "leisure": {"centre": 2.6, "mixed": 2.0, "campus": 1.4, "homes": 0.5, "works": 0.4},
    "health": {"centre": 1.4, "mixed": 1.0, "campus": 1.2, "homes": 0.8, "works": 0.2},
    "errand": {"centre": 2.0, "mixed": 1.2, "campus": 0.8, "homes": 0.7, "works": 0.8},
    "transit": {"centre": 1.4, "mixed": 1.2, "campus": 1.0, "homes": 0.9, "works": 0.8},
}
#: Shares of the kinds among all places that are no homes.
MIX = {
    "work": 0.17, "school": 0.03, "food": 0.26, "shopping": 0.20, "leisure": 0.13, "park": 0.035,
    "health": 0.045, "errand": 0.10, "transit": 0.03,
}  # fmt: skip


def _ranked(rng: np.random.Generator, n: int) -> np.ndarray:
    """A random order of ``range(n)`` from plain uniforms, the same on every NumPy."""
    return np.argsort(rng.random(n), kind="stable")


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
        nouns = NOUNS[kind].split("|")
        if kind == "transit":
            noun = nouns[int(self.rng.random() * 2)]
            return self._free(lambda: f"{street} {noun}", f", {district}")

        def draw() -> str:
            noun = nouns[int(self.rng.random() * len(nouns))]
            if kind == "park":
                return f"{street} {noun}"  # here the "street" is the park
            first, second = (FIRST[int(u * len(FIRST))] for u in self.rng.random(2))
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
    """Put places along the streets and into the parks.

    Parameters
    ----------
    town
        The map.
    n_homes, n_others
        How many homes, and how many places of all other kinds together.
    rng
        Source of uniform random numbers.

    Returns
    -------
    pandas.DataFrame
        ``location_id`` (from 1), ``name``, ``kind``, ``district``, ``lon``, ``lat``
        (degrees) and ``appeal``: how strongly the place draws people who do not
        know it; a few places of each kind draw most (Zipf).
    """
    share = np.array([MIX[k] for k in KINDS[1:]])
    counts = np.floor(np.cumsum(np.r_[0, share]) / share.sum() * n_others + 0.5).astype(int)
    kinds = ["home"] * n_homes + [
        k for k, n in zip(KINDS[1:], np.diff(counts), strict=True) for _ in range(n)
    ]
    xy = np.zeros((len(kinds), 2))
    district, street = [""] * len(kinds), [""] * len(kinds)
    parks = [i for i, k in enumerate(kinds) if k == "park"]
    points, park_names = _park_points(rng, len(parks))
    names_of = [d[0] for d in DISTRICTS]
    seeds = np.array([d[1:3] for d in DISTRICTS])
    for i, point, park in zip(parks, points, park_names, strict=True):
        xy[i], street[i] = point, park
        district[i] = names_of[int(np.argmin(((seeds - point) ** 2).sum(1)))]
    for kind in KINDS:
        if kind == "park":
            continue
        weight = np.cumsum([SPREAD[kind][d[5]] for d in DISTRICTS])
        for i in (j for j, k in enumerate(kinds) if k == kind):
            u = rng.random(4)
            name = names_of[int(np.searchsorted(weight, u[0] * weight[-1]))]
            corners = town.corners[name]
            at = int(u[1] * (len(corners) - 1))
            # Between two corners of one street, a few steps off the kerb.
            same = town.corner_street[name][at] == town.corner_street[name][at + 1]
            step = (corners[at + 1] - corners[at]) if same else np.zeros(2)
            kerb = np.array([-step[1], step[0]]) / max(1.0, float(np.hypot(*step)))
            xy[i] = corners[at] + u[2] * step + kerb * (16 if u[3] < 0.5 else -16)
            district[i], street[i] = name, town.corner_street[name][at]
    namer = _Namer(rng)
    names = [namer(*row) for row in zip(kinds, district, street, strict=True)]
    appeal = np.ones(len(kinds))
    for kind in KINDS[1:]:
        rows = np.array([i for i, k in enumerate(kinds) if k == kind])
        appeal[rows[_ranked(rng, len(rows))]] = (np.arange(len(rows)) + 3.0) ** -0.75
        appeal[rows] /= appeal[rows].mean()
    lonlat = to_degrees(xy)
    places = pd.DataFrame(
        {
            "name": names,
            "kind": kinds,
            "district": district,
            "lon": lonlat[:, 0],
            "lat": lonlat[:, 1],
            "appeal": np.round(appeal, 3),
        }
    )
    # Ids follow the map (district, then street order), so they say nothing about popularity.
    order = np.lexsort((lonlat[:, 0], lonlat[:, 1], pd.factorize(places["district"], sort=True)[0]))
    places = places.iloc[order].reset_index(drop=True)
    places.insert(0, "location_id", np.arange(1, len(places) + 1))
    return places
