"""Maps that need no network: folium over the city's own vector base map.

Text from data is escaped before it reaches HTML. Every map has a scale, a legend, a title for
screen readers, and a table with the same content below it.
"""

from __future__ import annotations

from collections.abc import Sequence

import folium

from pgt.city import City
from pgt.viz.basemap import ShownMap, base_map, dot, finish, legend
from pgt.viz.page_text import safe_html

KIND_COLOURS = {
    "home": "#5f6b7a", "work": "#0b68a8", "school": "#3a8fb7", "food": "#c04f00",
    "shopping": "#8a6d00", "leisure": "#8a3f8f", "park": "#007a5a", "health": "#b3304f",
    "transit": "#1b1f24", "errand": "#7a4b1e",
}  # fmt: skip
OTHER_KIND = "#444444"


def _lines(*lines: object) -> str:
    """Text from data, escaped, one line each."""
    body = "<br>".join(safe_html(line) for line in lines)
    return f'<div style="font:13px system-ui,sans-serif">{body}</div>'


def city_map(city: City, *, title: str, caption: str, kinds: Sequence[str] = ()) -> ShownMap:
    """All visited places as dots, coloured by kind and sized by how often they are visited."""
    chart = base_map(city)
    visits = city.visits.location_id.value_counts()
    places = city.places[city.places.location_id.isin(visits.index)]
    if kinds:
        places = places[places.kind.isin(list(kinds))]
    # One layer for all dots, with few sizes, keeps the page ten times smaller than one each. Folium
    # writes ids and properties into its script as they are: of text only what `_lines` made safe.
    steps = (visits.reindex(places.location_id).to_numpy() ** 0.5 / 2).round() * 2
    features = [
        {
            "type": "Feature",
            "id": number,
            "geometry": {"type": "Point", "coordinates": [float(place.lon), float(place.lat)]},
            "properties": {
                "radius": 1.5 + 0.55 * step, "colour": KIND_COLOURS.get(place.kind, OTHER_KIND),
                "text": _lines(place.name, f"{place.kind}, {place.district}",
                               f"{visits[place.location_id]} visits"),
            },
        }
        for number, (place, step) in enumerate(zip(places.itertuples(), steps, strict=True))
    ]  # fmt: skip
    folium.GeoJson(
        {"type": "FeatureCollection", "features": features},
        marker=folium.CircleMarker(weight=0.5, color="#ffffff", fill=True, fill_opacity=0.8),
        style_function=lambda feature: {
            "radius": feature["properties"]["radius"],
            "fillColor": feature["properties"]["colour"],
        },
        popup=folium.GeoJsonPopup(fields=["text"], labels=False),
    ).add_to(chart)
    shown = places.kind.value_counts()
    legend(
        chart, "Places by kind", [(dot(KIND_COLOURS.get(k, OTHER_KIND)), k) for k in shown.index]
    )
    table = (
        places.assign(visits=places.location_id.map(visits))
        .groupby("kind")
        .agg(places=("location_id", "size"), visits=("visits", "sum"))
        .sort_values("visits", ascending=False)
        .reset_index()
    )
    return finish(chart, title, caption, table)
