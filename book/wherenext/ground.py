"""The town's ground: GeoJSON for `pgt.maps`, and SVG paths for pages with a map of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from wherenext.city import City

UNIT = 1e-5  # of a path, in degrees: about a metre
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


def ground(base: Mapping[str, Any], *, names: bool = True) -> dict[str, Any]:
    """A feature a kind of ground with its style, and with names a point a district."""
    shapes: dict[str, list[Any]] = {kind: [] for kind in STYLES}
    for feature in base["features"]:
        if (kind := _style_of(feature)) in shapes:
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
    for row in districts(base).itertuples() if names else ():
        features.append(
            {"type": "Feature", "properties": {"name": row.location_id},
             "geometry": {"type": "Point", "coordinates": [row.lon, row.lat]}}
        )  # fmt: skip
    return {"type": "FeatureCollection", "features": features}


def _style_of(feature: Mapping[str, Any]) -> str:
    """A key of `STYLES`; wide streets have their own."""
    about = feature["properties"]
    return str(about["level"] if about.get("level") in STYLES else about["kind"])


def ground_of(features: Sequence[dict[str, Any]], corner: Sequence[float]) -> dict[str, Any]:
    """Features as SVG paths in `UNIT`: ``layers`` ([kind, width, path]) and ``labels``."""
    layers: dict[str, list[Any]] = {}
    labels: list[list[Any]] = []
    for feature in features:
        about, geometry, style = feature["properties"], feature["geometry"], _style_of(feature)
        if style not in STYLES:
            continue
        area = geometry["type"] == "Polygon"
        line = np.asarray(geometry["coordinates"][0] if area else geometry["coordinates"])
        corners = np.rint((line - corner) / UNIT).astype(int)
        steps = " ".join(f"{x} {y}" for x, y in np.diff(corners, axis=0))
        layer = layers.setdefault(style, [about["kind"], STYLES[style].get("weight", 1.0), ""])
        layer[2] += f"M{corners[0][0]} {corners[0][1]}l{steps}{'z' if area else ''}"
        if style == "district":
            labels.append([*corners.mean(0).round().astype(int).tolist(), str(about["name"])])
    return {"layers": [layers[style] for style in STYLES if style in layers], "labels": labels}


def districts(base: Mapping[str, Any]) -> pd.DataFrame:
    """The middles of the districts: ``location_id`` (the name), ``lon``, ``lat`` (degrees)."""
    rows = [
        (str(one["properties"]["name"]), *np.mean(one["geometry"]["coordinates"][0], 0).round(5))
        for one in base["features"]
        if one["properties"]["kind"] == "district"
    ]
    return pd.DataFrame(rows, columns=["location_id", "lon", "lat"])
