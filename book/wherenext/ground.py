"""The town's ground, below its maps: GeoJSON for `pgt.maps`, and SVG for pages without Leaflet.

The live models and the front page's game draw a map of their own, so that each is one file which
works without a network; ``web/ground.js`` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from wherenext.city import City
from wherenext.viz.page_text import safe_html

# From the ground up, as Leaflet draws them; a page may define the colours anew.
STYLES: dict[str, dict[str, Any]] = {
    "district": {"color": "var(--pgt-land-line, #c9c4b8)", "weight": 1},
    "park": {"stroke": False},
    "river": {"stroke": False},
    "lake": {"stroke": False},
    "street": {"color": "var(--pgt-street, #ffffff)", "weight": 1.5},
    "promenade": {"color": "var(--pgt-street, #ffffff)", "weight": 3},
    "avenue": {"color": "var(--pgt-street, #ffffff)", "weight": 4},
    "rail": {"color": "var(--pgt-rail, #a39d92)", "weight": 2, "dashArray": "6 5"},
}
FILLS = {
    "district": "var(--pgt-land, #f3f1ec)",
    "park": "var(--pgt-park, #d5e6cc)",
    "river": "var(--pgt-water, #bcd8ea)",
    "lake": "var(--pgt-water, #bcd8ea)",
}


def located(table: pd.DataFrame | pd.Series, town: City) -> pd.DataFrame:
    """A table (or one visit) with ``name``, ``lon`` and ``lat`` of its places, by ``location_id``.

    Rows of a place that the town does not have are left out.
    """
    if isinstance(table, pd.Series):
        table = table.to_frame().T
    spots = town.places.set_index("location_id")[["name", "lon", "lat"]]
    table = table[table.location_id.isin(spots.index)]
    return table.assign(**{column: table.location_id.map(spots[column]) for column in spots})


def ground(base: Mapping[str, Any]) -> dict[str, Any]:
    """One feature a kind of ground with its style, and a point with the name of each district.

    ``base`` is the GeoJSON of `city.City.base`.
    """
    shapes: dict[str, list[Any]] = {kind: [] for kind in STYLES}
    for feature in base["features"]:
        if (kind := _kind(feature)) in shapes:
            shapes[kind].append(feature["geometry"]["coordinates"])
    features: list[dict[str, Any]] = []
    for kind, coordinates in shapes.items():
        fill = {"fillColor": FILLS[kind], "fillOpacity": 1} if kind in FILLS else {"fill": False}
        shape = "MultiPolygon" if kind in FILLS else "MultiLineString"
        if coordinates:
            features.append(
                {"type": "Feature", "properties": {"kind": kind, "style": STYLES[kind] | fill},
                 "geometry": {"type": shape, "coordinates": coordinates}}
            )  # fmt: skip
    for row in districts(base).itertuples():
        features.append(
            {"type": "Feature", "properties": {"name": row.location_id},
             "geometry": {"type": "Point", "coordinates": [row.lon, row.lat]}}
        )  # fmt: skip
    return {"type": "FeatureCollection", "features": features}


def districts(base: Mapping[str, Any]) -> pd.DataFrame:
    """The middles of the districts: ``location_id`` (the name), ``lon``, ``lat`` (degrees)."""
    rows = [
        (str(one["properties"]["name"]), *np.mean(one["geometry"]["coordinates"][0], 0).round(5))
        for one in base["features"]
        if one["properties"]["kind"] == "district"
    ]
    return pd.DataFrame(rows, columns=["location_id", "lon", "lat"])


def _kind(feature: Mapping[str, Any]) -> str:
    """What lies there; a wide street has a name of its own."""
    about = feature["properties"]
    return str(about["level"] if about.get("level") in STYLES else about["kind"])


# ---- Pages without Leaflet ------------------------------------------------------------------

UNIT = 1e-5  # degrees, about a metre
FRAME = """<div class="live-map" data-live="frame">
<svg data-live="map" tabindex="0" role="group" aria-roledescription="map" aria-label="$label"></svg>
<div class="live-zoom"><button type="button" data-live="in" aria-label="Zoom in">+</button>\
<button type="button" data-live="out" aria-label="Zoom out">−</button>\
<button type="button" data-live="fit" aria-label="$all">◻</button></div>
<div class="live-scale" data-live="scale" aria-hidden="true"></div>
<div class="live-tip" data-live="tip" hidden></div>
</div>"""
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


def svg_ground(features: Sequence[Mapping[str, Any]], corner: Sequence[float]) -> dict[str, Any]:
    """The base map as SVG paths in units of `UNIT` from a corner (lon, lat).

    ``layers`` are [kind, width in pixels, path] each, from the ground up; ``labels`` are [east,
    north, name of a district] each.
    """
    layers: dict[str, list[str]] = {kind: [] for kind in STYLES}
    for feature in features:
        geometry = feature["geometry"]
        area = geometry["type"] == "Polygon"
        line = np.asarray(geometry["coordinates"][0] if area else geometry["coordinates"])
        corners = np.rint((line - corner) / UNIT).astype(int)
        steps = " ".join(f"{x} {y}" for x, y in np.diff(corners, axis=0))
        path = f"M{corners[0][0]} {corners[0][1]}l{steps}" + ("z" if area else "")
        if (kind := _kind(feature)) in layers:
            layers[kind].append(path)
    wide = ("promenade", "avenue")  # streets
    middles = districts({"features": features})
    at = np.rint((middles[["lon", "lat"]].to_numpy() - corner) / UNIT).astype(int)
    return {
        "layers": [
            ["street" if kind in wide else kind, STYLES[kind].get("weight", 1), "".join(paths)]
            for kind, paths in layers.items()
            if paths
        ],
        "labels": [
            [east, north, name]
            for (east, north), name in zip(at.tolist(), middles.location_id, strict=True)
        ],
    }


def frame(label: str, everything: str) -> str:
    """The place of a map, for ``ground.js``: what it is called, and its button that shows all."""
    return Template(FRAME).substitute(label=safe_html(label), all=safe_html(everything))
