"""The ground under every map, and a map as a figure: its words, a legend, a table with the same.

A map is SVG that a script of ``wherenext/web`` draws, with the colours of the page, light or dark; it
has no tiles and needs no network. Whatever comes from data reaches the page as JSON or escaped, and
the scripts set it as text.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from wherenext.city import City
from wherenext.page_text import safe_html, safe_json
from wherenext.web_figure import WebFigure, scripted

# What lies below the data, from the ground up, with the width of its lines in pixels.
GROUND = {"district": 1.0, "park": 1.0, "river": 1.0, "lake": 1.0, "street": 1.5, "rail": 2.0}
WIDE_STREETS = {"avenue": 4.0, "promenade": 3.0}
UNIT = 1e-5  # degrees, about a metre
SHEETS = ("page_parts.css", "map.css")
SCRIPTS = ("page_parts.js", "map_names.js", "map.js", "map_marks.js", "map_figure.js")
FRAME = """<div class="live-map" data-live="frame">
<svg data-live="map" tabindex="0" role="group" aria-roledescription="map" aria-label="$label"></svg>
<div class="live-zoom"><button type="button" data-live="in" aria-label="Zoom in">+</button>\
<button type="button" data-live="out" aria-label="Zoom out">−</button>\
<button type="button" data-live="fit" aria-label="$all">◻</button></div>
<div class="live-scale" data-live="scale" aria-hidden="true"></div>
<div class="live-tip" data-live="tip" hidden></div>
</div>"""


def ground_of(features: Sequence[dict[str, Any]], corner: Sequence[float]) -> dict[str, Any]:
    """The base map as SVG paths in units of 1e-5 degree from a corner, and the districts' names.

    Parameters
    ----------
    features : list of GeoJSON features
        As in `wherenext.city.City.base`.
    corner : (lon, lat)
        In degrees.

    Returns
    -------
    dict
        ``layers``: [kind, width in pixels, path] each, from the ground up; ``labels``: [east,
        north, name] each.
    """
    layers: dict[tuple[str, float], list[str]] = {}
    labels: list[list[Any]] = []
    for feature in features:
        about, geometry = feature["properties"], feature["geometry"]
        kind = about["kind"]
        if kind not in GROUND:
            continue
        area = geometry["type"] == "Polygon"
        line = np.asarray(geometry["coordinates"][0] if area else geometry["coordinates"])
        corners = np.rint((line - corner) / UNIT).astype(int)
        steps = np.diff(corners, axis=0)
        path = f"M{corners[0][0]} {corners[0][1]}l" + " ".join(f"{x} {y}" for x, y in steps)
        width = WIDE_STREETS.get(str(about.get("level")), GROUND[kind])
        layers.setdefault((kind, width), []).append(path + ("z" if area else ""))
        if kind == "district":
            middle = corners.mean(0).round().astype(int).tolist()
            labels.append([*middle, str(about["name"])])
    order = sorted(layers, key=lambda layer: (list(GROUND).index(layer[0]), layer[1]))
    return {"layers": [[k, w, "".join(layers[k, w])] for k, w in order], "labels": labels}


# Signs for a legend: SVG in a box from -8 to 8.
DISC = '<circle r="6" class="attention"/>'
SOLID = '<circle r="6" class="solid"/>'
RING = (
    '<circle r="6" pathLength="100" class="solid" stroke-dasharray="50 100"/>'
    '<circle r="6" pathLength="100" class="dashed" stroke-dasharray="0 50 9 8 9 8 9 8"/>'
)
CROSS = '<path d="M-5-5L5 5M5-5L-5 5" class="here"/>'
DIAMOND = '<path d="M0-7L7 0 0 7-7 0z" class="truth"/>'
PATH = '<path d="M-7 5L0-4 7 4" class="path"/>'


def frame(label: str, everything: str) -> str:
    """The place of a map, for ``map.js``: what it is called, and its button that shows all."""
    return Template(FRAME).substitute(label=safe_html(label), all=safe_html(everything))


def arch(kind: str, dashes: str = "none") -> str:
    """An arc for a legend, in the colour of a class of ``map.css``."""
    return f'<path d="M-7 5Q0-9 7 5" class="{kind}" stroke-width="3" stroke-dasharray="{dashes}"/>'


def dot(kind: str) -> str:
    """A disc for a legend, in the colour of a class of ``map.css``."""
    return f'<circle r="6" class="{kind}"/>'


def paint(colour: str) -> str:
    """A disc for a legend, of a colour."""
    return f'<circle r="6" class="kind" fill="{safe_html(colour)}"/>'


@dataclass(frozen=True, repr=False)
class MapFigure(WebFigure):
    """A map with title, caption and a table as its alternative, for the notebook to display.

    Attributes
    ----------
    data : dict
        What the scripts draw, ready for JSON.
    script : str
        The file of ``wherenext/web`` that draws it.
    body : str
        HTML: the map and what stands around it.
    title, caption : str
        For screen readers and for those who see it.
    table : DataFrame
        The same in numbers.
    """

    data: dict[str, Any]
    script: str
    body: str
    title: str
    caption: str
    table: pd.DataFrame

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            table = self.table.to_html(index=False, escape=True, border=0, classes="pgt-table")
        figure = (
            f'<figure class="pgt-map pgt-live" id="{self.data["id"]}" '
            f'aria-label="{safe_html(self.title)}">'
            f'<div class="live-body">{self.body}</div>'
            f"<figcaption>{safe_html(self.caption)}</figcaption>"
            f"<details><summary>The same as a table</summary>{table}</details></figure>"
        )
        return scripted(figure, self.data, SHEETS, (*SCRIPTS, self.script))


def of_town(city: City, places: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Where places of a town lie, and its ground, as `map_figure` wants them.

    Parameters
    ----------
    city : City
        Its ground lies below.
    places : sequence of (latitude, longitude, name)
        In degrees; the script knows them by their numbers.

    Returns
    -------
    dict
        ``ground``, ``spots``, ``shrink`` and ``names``.
    """
    west, south, _, north = city.bounds
    at = np.array([place[:2] for place in places], dtype=float).reshape(-1, 2)
    return {
        "ground": ground_of(city.base["features"], (west, south)),
        "spots": np.rint((at[:, ::-1] - (west, south)) / UNIT).astype(int).tolist(),
        "shrink": round(math.cos(math.radians((south + north) / 2)), 5),
        "names": [str(place[2]) for place in places],
    }


def map_figure(
    page: dict[str, Any],
    script: str,
    *,
    title: str,
    caption: str,
    table: pd.DataFrame,
    legend: Sequence[tuple[str, str]],
    before: str = "",
    after: str = "",
) -> MapFigure:
    """A map, drawn by a script.

    Parameters
    ----------
    page : dict
        What the script needs, ready for JSON: ``spots`` (in units of 1e-5 degree), ``shrink`` (the
        length of a degree east by one north), ``names``, a ``ground`` of `ground_of` or none, and
        whatever else it draws. `of_town` has the first four.
    script : str
        A file of ``wherenext/web``.
    title, caption : str
    table : DataFrame
        The same in numbers.
    legend : sequence of (sign, meaning)
        Signs are SVG of this module; meanings may be anybody's text.
    before, after : str
        HTML above and below the map; texts in it are escaped already.

    Returns
    -------
    MapFigure
    """
    shown = hashlib.sha256(safe_json([title, page]).encode()).hexdigest()[:10]
    page = page | {"id": f"pgt-map-{shown}"}
    signs = "".join(
        f'<span><svg viewBox="-8 -8 16 16" aria-hidden="true">{sign}</svg>{safe_html(text)}</span>'
        for sign, text in legend
    )
    place = frame(f"{title}. Arrow keys move the map, plus and minus zoom.", "Show all")
    body = f'{before}{place}{after}<div class="live-legend">{signs}</div>'
    return MapFigure(page, script, body, title, caption, table)
