"""The moving map of the front page, an SVG, because a map of folium weighs too much for it.

One person's week in the simulated town, as the shipped model sees it: the numbers are those of the
film of chapter 13 (`pgt.viz.prediction_map.film`), the picture is an inline SVG of a few kilobytes, so it is
there at once and knows the light and the dark page. ``front-map.js`` draws the moments and steps
through them; without a script the ground and the captions remain, and no dead button.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pgt import city as towns
from pgt.checkpoint import load_model, shipped
from pgt.look import look, story
from pgt.viz.basemap import GROUND, WIDE_STREETS
from pgt.viz.page_text import safe_html, safe_json
from pgt.viz.prediction_map import film
from pgt.windows import Windows, prepare

WIDTH, HEIGHT = 1000, 560  # units of the picture
MARGIN = 70  # units around the places
DAYS = 7


def week(windows: Windows, days: float = DAYS) -> np.ndarray:
    """The windows of the story's person around the story, in order of time."""
    routine = story(windows)
    own = np.flatnonzero(windows.users == windows.users[routine])
    start = windows.visits.started_at.iloc[windows.target[own]].reset_index(drop=True)
    middle = start[int(np.flatnonzero(own == routine)[0])]
    return own[((start - middle).abs() <= pd.Timedelta(days=days / 2)).to_numpy()]


class Frame:
    """From degrees to the units of the picture, so that some places fill it.

    Examples
    --------
    >>> frame = Frame([[0.0, 0.0], [0.01, 0.01]])  # latitude, longitude
    >>> frame([0.005, 0.005])
    (500, 280)
    """

    def __init__(self, spots: Sequence[Sequence[float]]) -> None:
        low, high = np.min(spots, axis=0), np.max(spots, axis=0)
        self.middle = (low + high) / 2
        self.shrink = math.cos(math.radians(float(self.middle[0])))
        north, east = high - low
        self.scale = min(
            (WIDTH - 2 * MARGIN) / max(east * self.shrink, 1e-9),
            (HEIGHT - 2 * MARGIN) / max(north, 1e-9),
        )

    def __call__(self, spot: Sequence[float]) -> tuple[int, int]:
        """[latitude, longitude] -> x to the right, y downwards."""
        north, east = np.asarray(spot[:2], dtype=float) - self.middle
        return (
            round(float(WIDTH / 2 + east * self.shrink * self.scale)),
            round(float(HEIGHT / 2 - north * self.scale)),
        )


def ground(features: Sequence[dict[str, Any]], frame: Frame) -> str:
    """The town's ground as SVG, one path a kind and width, without what lies outside."""
    layers: dict[tuple[str, float], list[str]] = {}
    for feature in features:
        about, shape = feature["properties"], feature["geometry"]
        if about["kind"] not in GROUND:
            continue
        closed = shape["type"] == "Polygon"
        line = shape["coordinates"][0] if closed else shape["coordinates"]
        spots = [frame((north, east)) for east, north in line]
        xs, ys = zip(*spots, strict=True)
        if max(xs) < 0 or min(xs) > WIDTH or max(ys) < 0 or min(ys) > HEIGHT:
            continue
        width = WIDE_STREETS.get(str(about.get("level")), float(GROUND[about["kind"]]["weight"]))
        # Steps from corner to corner are shorter than the corners; repeated corners say nothing.
        path, (x, y) = f"M{spots[0][0]} {spots[0][1]}l", spots[0]
        for to in spots[1:]:
            if to != (x, y):
                path += f"{to[0] - x} {to[1] - y} "
                x, y = to
        layers.setdefault((about["kind"], width), []).append(path.strip() + ("z" if closed else ""))
    order = sorted(layers, key=lambda layer: (list(GROUND).index(layer[0]), layer[1]))
    return "".join(
        f'<path class="{kind}" stroke-width="{1.4 * width:g}" d="{"".join(layers[kind, width])}"/>'
        for kind, width in order
    )


def fragment() -> str:
    """The map with its controls, words and numbers, as HTML."""
    model, _ = load_model(shipped("city"))
    town = towns.load()
    test = prepare(town.visits, protocol="exact").test
    looks = [look(model, test, int(i)) for i in week(test)]
    data = film(town, looks, top=3)
    frame = Frame([place[:2] for place in data["places"]])
    steps = [{k: v for k, v in step.items() if k != "heads"} for step in data["steps"]]
    numbers = {
        "places": [[*frame(place), place[2]] for place in data["places"]],
        "steps": steps,
    }
    hits = sum(s["candidates"][0][0] == s["truth"][0] for s in steps if s["candidates"])
    label = safe_html(
        "Map of a simulated town. Discs show where the pointer looks among the places that one "
        "person has visited in the past seven days, a ring the model's first guess, a diamond "
        "where the person went. The text below the map says the same."
    )
    return (
        '<figure class="front-map" id="front-map">'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f'<g class="ground">{ground(town.base["features"], frame)}</g><g class="marks"></g></svg>'
        '<div class="front-controls"><button type="button" class="front-play">'
        '<span aria-hidden="true">▶</span> <span class="front-verb">Play</span></button>'
        '<label><span class="visually-hidden">Moment</span><input type="range" min="0" '
        f'max="{len(steps) - 1}" value="0" step="1"></label></div>'
        '<output class="front-told" aria-live="off"></output>'
        '<figcaption><span class="key key-look">where the pointer looks</span> '
        '<span class="key key-guess">first guess</span> '
        '<span class="key key-truth">where they went</span> '
        f'<span class="front-note">One person, {len(steps)} moments, {hits} first guesses right. '
        "The town is simulated; the model is the one of this book.</span></figcaption>"
        "<noscript><style>.front-controls{display:none!important}</style></noscript>"
        f'<script type="application/json">{safe_json(numbers)}</script></figure>'
        '<script defer src="../_static/front-map.js"></script>'
    )
