"""Maps that need no network: folium over the city's own vector base map.

Text from data is escaped before it reaches HTML. Every map has a scale, a legend, a title for
screen readers, and a table with the same content below it.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import folium
import numpy as np
import pandas as pd
from branca.element import MacroElement
from folium.template import Template

from pgt.city import City
from pgt.figures import COPIED, GENERATED, MUTED, TRUTH
from pgt.look import Look

# Quiet colours for the ground, so that the data is what one sees.
GROUND: dict[str, dict[str, Any]] = {
    "district": {"fillColor": "#f3f1ec", "color": "#c9c4b8", "weight": 1, "fillOpacity": 1},
    "park": {"fillColor": "#d5e6cc", "color": "#b9d1ad", "weight": 1, "fillOpacity": 1},
    "river": {"fillColor": "#bcd8ea", "color": "#9cc3dc", "weight": 1, "fillOpacity": 1},
    "lake": {"fillColor": "#bcd8ea", "color": "#9cc3dc", "weight": 1, "fillOpacity": 1},
    "street": {"color": "#ffffff", "weight": 1.5, "opacity": 1},
    "rail": {"color": "#a39d92", "weight": 2, "dashArray": "6 5"},
}
WIDE_STREETS = {"avenue": 4.0, "promenade": 3.0}
KIND_COLOURS = {
    "home": "#5f6b7a", "work": "#0b68a8", "school": "#3a8fb7", "food": "#c04f00",
    "shopping": "#8a6d00", "leisure": "#8a3f8f", "park": "#007a5a", "health": "#b3304f",
    "transit": "#1b1f24", "errand": "#7a4b1e",
}  # fmt: skip
OTHER_KIND = "#444444"
HEIGHT = 460  # pixels


class ShownMap:
    """A map with title, caption and a table as its alternative, for the notebook to display."""

    def __init__(
        self, page: str, title: str, caption: str, table: pd.DataFrame, height: int = HEIGHT
    ) -> None:
        self.page, self.title, self.caption = page, title, caption
        self.table, self.height = table, height

    def _repr_html_(self) -> str:
        table = self.table.to_html(index=False, escape=True, border=0, classes="pgt-table")
        return (
            '<figure class="pgt-map">'
            f'<iframe title="{html.escape(self.title, quote=True)}" loading="lazy" '
            f'srcdoc="{html.escape(self.page, quote=True)}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
            f"<figcaption>{html.escape(self.caption)}</figcaption>"
            f"<details><summary>The same as a table</summary>{table}</details></figure>"
        )

    def __repr__(self) -> str:
        return self.title


def base_map(city: City) -> folium.Map:
    """The town without data: districts, parks, river, streets, with a scale."""
    west, south, east, north = city.bounds
    chart = folium.Map(
        tiles=None, control_scale=True, prefer_canvas=True, attr="", zoom_snap=0.25,
        scroll_wheel_zoom=False,
    )  # fmt: skip
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for feature in city.base["features"]:
        by_kind.setdefault(feature["properties"]["kind"], []).append(feature)
    for kind, ground in GROUND.items():
        if kind in by_kind:
            folium.GeoJson(
                {"type": "FeatureCollection", "features": by_kind[kind]},
                style_function=_style(ground), interactive=False, smooth_factor=0.5,
            ).add_to(chart)  # fmt: skip
    districts = by_kind.get("district", [])
    rings = [np.array(d["geometry"]["coordinates"][0])[:, ::-1] for d in districts]
    names = [str(d["properties"]["name"]) for d in districts]
    middles = [ring.mean(0).round(5).tolist() for ring in rings]
    _Labels(list(zip(middles, names, strict=True))).add_to(chart)
    chart.fit_bounds([[south, west], [north, east]])
    return chart


def _style(ground: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def of(feature: dict[str, Any]) -> dict[str, Any]:
        level = feature["properties"].get("level")
        return {**ground, "weight": WIDE_STREETS.get(str(level), ground["weight"])}

    return of


class _Labels(MacroElement):
    """District names, centred on their districts.

    Not folium.Marker: it draws Leaflet's stock icon before its own, and so asks for a picture
    that a page without network does not have.
    """

    _template = Template(
        """
        {% macro script(this, kwargs) %}
        {{ this.labels | tojson }}.forEach(([at, text]) => L.marker(at, {
            interactive: false, keyboard: false,
            icon: L.divIcon({className: "pgt-label", html: text, iconSize: [120, 14]}),
        }).addTo({{ this._parent.get_name() }}));
        {% endmacro %}
        """
    )
    style = (
        "<style>.pgt-label{font:600 11px system-ui,sans-serif;color:#5f5a50;text-align:center;"
        "text-shadow:0 0 3px #fff,0 0 3px #fff;background:none;border:0}"
        ".leaflet-container{background:#e6e3dc}</style>"
    )

    def __init__(self, labels: list[tuple[list[float], str]]) -> None:
        super().__init__()
        self.labels = [(at, html.escape(text)) for at, text in labels]


def _lines(*lines: str) -> str:
    """Text from data, escaped, one line each."""
    body = "<br>".join(html.escape(line) for line in lines)
    return f'<div style="font:13px system-ui,sans-serif">{body}</div>'


def _popup(*lines: str) -> folium.Popup:
    return folium.Popup(_lines(*lines), max_width=260)


def legend(chart: folium.Map, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A box at the lower right: (colour, meaning) rows."""
    items = "".join(
        '<div style="display:flex;gap:6px;align-items:center"><span style="flex:none;width:12px;'
        f'height:12px;border-radius:50%;background:{colour}"></span>{html.escape(text)}</div>'
        for colour, text in rows
    )
    box = (
        '<div style="position:absolute;right:10px;bottom:14px;z-index:800;background:#fffffff0;'
        "color:#1b1f24;padding:8px 10px;border-radius:6px;font:12px/1.5 system-ui,sans-serif;"
        f'box-shadow:0 1px 4px #0003"><b>{html.escape(title)}</b>{items}</div>'
    )
    root: Any = chart.get_root()
    root.html.add_child(folium.Element(box))


def finish(chart: folium.Map, title: str, caption: str, table: pd.DataFrame) -> ShownMap:
    """The map as it is shown: with a title, a caption and a table."""
    root: Any = chart.get_root()
    root.header.add_child(folium.Element(_Labels.style))
    root.title = title
    return ShownMap(root.render(), title, caption, table)


def city_map(city: City, *, title: str, caption: str, kinds: Sequence[str] = ()) -> ShownMap:
    """All visited places as dots, coloured by kind and sized by how often they are visited."""
    chart = base_map(city)
    visits = city.visits.location_id.value_counts()
    places = city.places[city.places.location_id.isin(visits.index)]
    if kinds:
        places = places[places.kind.isin(list(kinds))]
    # One layer for all dots, with few sizes, keeps the page ten times smaller than one each.
    steps = (visits.reindex(places.location_id).to_numpy() ** 0.5 / 2).round() * 2
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [place.lon, place.lat]},
            "properties": {
                "kind": place.kind, "radius": 1.5 + 0.55 * step,
                "text": _lines(place.name, f"{place.kind}, {place.district}",
                               f"{visits[place.location_id]} visits"),
            },
        }
        for place, step in zip(places.itertuples(), steps, strict=True)
    ]  # fmt: skip
    folium.GeoJson(
        {"type": "FeatureCollection", "features": features},
        marker=folium.CircleMarker(weight=0.5, color="#ffffff", fill=True, fill_opacity=0.8),
        style_function=lambda feature: {
            "radius": feature["properties"]["radius"],
            "fillColor": KIND_COLOURS.get(feature["properties"]["kind"], OTHER_KIND),
        },
        popup=folium.GeoJsonPopup(fields=["text"], labels=False),
    ).add_to(chart)
    shown = places.kind.value_counts()
    legend(chart, "Places by kind", [(KIND_COLOURS.get(k, OTHER_KIND), k) for k in shown.index])
    table = (
        places.assign(visits=places.location_id.map(visits))
        .groupby("kind")
        .agg(places=("location_id", "size"), visits=("visits", "sum"))
        .sort_values("visits", ascending=False)
        .reset_index()
    )
    return finish(chart, title, caption, table)


def window_map(city: City, look: Look, *, title: str, caption: str, top: int = 5) -> ShownMap:
    """One prediction on the map.

    Past visits are joined by a path that fades with age; each place is a blue circle whose area
    is the pointer's attention on it. Orange rings are the likeliest places by final probability,
    and the green ring is where the person went.
    """
    chart = base_map(city)
    places = city.places.set_index("location_id")
    visits = look.visits
    points = places.loc[visits.location_id, ["lat", "lon"]].to_numpy()
    for step in range(1, len(points)):
        folium.PolyLine(
            [points[step - 1].tolist(), points[step].tolist()], color="#1b1f24", weight=2,
            opacity=0.12 + 0.68 * (step / max(len(points) - 1, 1)) ** 2, interactive=False,
        ).add_to(chart)  # fmt: skip

    attention = visits.groupby("location_id").attention.agg(["sum", "size"])
    for place_id, (weight, n) in attention.sort_values("sum", ascending=False).iterrows():
        place = places.loc[place_id]
        folium.CircleMarker(
            [place.lat, place.lon], radius=4 + 26 * float(weight) ** 0.5, weight=1.5, color=COPIED,
            fill=True, fill_opacity=0.45, fill_color=COPIED,
            popup=_popup(str(place["name"]), f"attention {weight:.3f} over {int(n)} visits"),
        ).add_to(chart)  # fmt: skip
    candidates = look.candidates.head(top)
    for row in candidates.itertuples():
        if row.location_id not in places.index:
            continue  # the unknown place is nowhere
        place = places.loc[row.location_id]
        folium.CircleMarker(
            [place.lat, place.lon], radius=5 + 26 * float(row.probability) ** 0.5, weight=2.5,
            color=GENERATED, fill=False, dash_array="4 4",
            popup=_popup(str(place["name"]), f"probability {row.probability:.3f}",
                         f"copied {row.copied:.3f}, generated {row.generated:.3f}"),
        ).add_to(chart)  # fmt: skip
    truth = places.loc[look.target.location_id]
    folium.CircleMarker(
        [truth.lat, truth.lon], radius=9, weight=4, color=TRUTH, fill=False,
        popup=_popup(f"went to {truth['name']}", f"given {look.target_probability:.3f}"),
    ).add_to(chart)  # fmt: skip
    near = np.vstack([points, [[truth.lat, truth.lon]]])
    margin = 0.004
    chart.fit_bounds([(near.min(0) - margin).tolist(), (near.max(0) + margin).tolist()])
    legend(
        chart, "One prediction",
        [(COPIED, "pointer attention"), (GENERATED, "likeliest next places"),
         (TRUTH, "where they went"), (MUTED, "path, fading with age")],
    )  # fmt: skip
    table = candidates.assign(
        place=[
            str(places.name[i]) if i in places.index else "unknown place"
            for i in candidates.location_id
        ],
        attention=[float(attention["sum"].get(i, 0.0)) for i in candidates.location_id],
    )[["place", "probability", "copied", "generated", "attention", "is_target"]]
    return finish(chart, title, caption, table.round(3))
