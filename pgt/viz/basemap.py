"""The ground under every map: the town's own vector map, a frame, a legend, a table beside it.

No tiles, no network. Folium would write the same style rules again for every layer, and every
corner of every street with all its digits; here each layer is one list of whole-number steps, so a
map weighs a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import folium
import numpy as np
import pandas as pd
from branca.element import MacroElement
from folium.template import Template

from pgt.city import City
from pgt.viz.figures import COPIED, GENERATED, TRUTH
from pgt.viz.page_text import safe_html, safe_json
from pgt.viz.web_figure import web

# Quiet colours, so that the data is what one sees.
GROUND: dict[str, dict[str, Any]] = {
    "district": {"fillColor": "#f3f1ec", "color": "#c9c4b8", "weight": 1, "fillOpacity": 1},
    "park": {"fillColor": "#d5e6cc", "color": "#b9d1ad", "weight": 1, "fillOpacity": 1},
    "river": {"fillColor": "#bcd8ea", "color": "#9cc3dc", "weight": 1, "fillOpacity": 1},
    "lake": {"fillColor": "#bcd8ea", "color": "#9cc3dc", "weight": 1, "fillOpacity": 1},
    "street": {"color": "#ffffff", "weight": 1.5, "opacity": 1},
    "rail": {"color": "#a39d92", "weight": 2, "dashArray": "6 5"},
}
WIDE_STREETS = {"avenue": 4.0, "promenade": 3.0}
HEIGHT = 500  # pixels
UNIT = 1e-5  # degrees, about a metre
# The map takes what height is left; legends stand below it and cover nothing.
STYLE = """<style>
*{box-sizing:border-box}html,body{height:100%;margin:0}
body{display:flex;flex-direction:column;color:#1b1f24;background:#fff;
font:13px/1.45 system-ui,sans-serif}
.folium-map{order:1;flex:1 1 auto;height:auto!important;min-height:200px}
.leaflet-container{background:#e6e3dc}
.folium-map :is(.leaflet-control-scale-line,.leaflet-control-attribution){font-size:11px}
.pgt-label{font:600 11px system-ui,sans-serif;color:#5f5a50;text-align:center;
text-shadow:0 0 3px #fff,0 0 3px #fff;background:none;border:0}
.pgt-legend{order:3;display:flex;flex-wrap:wrap;gap:1px 14px;padding:6px 10px}
.pgt-legend span{display:flex;gap:6px;align-items:center}.pgt-legend svg{flex:none}
</style>"""
# Signs for a legend: SVG in a box from -8 to 8.
_CIRCLE = '<circle r="6" pathLength="100" stroke-width="2.5" fill="none" '
RING = (
    f'{_CIRCLE} stroke="{COPIED}" stroke-dasharray="50 100"/>'
    f'{_CIRCLE} stroke="{GENERATED}" stroke-dasharray="0 50 9 8 9 8 9 8"/>'
)
DIAMOND = f'<path d="M0-7L7 0 0 7-7 0z" fill="none" stroke="{TRUTH}" stroke-width="2.5"/>'
PATH = '<path d="M-7 5L0-4 7 4" fill="none" stroke="#1b1f24" stroke-width="2" opacity="0.6"/>'


def arch(colour: str, dashes: str = "none") -> str:
    """An arc for a legend."""
    look = f'fill="none" stroke="{colour}" stroke-width="3" stroke-dasharray="{dashes}"'
    return f'<path d="M-7 5Q0-9 7 5" {look}/>'


def dot(colour: str) -> str:
    """A filled circle for a legend."""
    return f'<circle r="6" fill="{colour}"/>'


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
            f'<iframe title="{safe_html(self.title)}" loading="lazy" '
            f'srcdoc="{safe_html(self.page)}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
            f"<figcaption>{safe_html(self.caption)}</figcaption>"
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
    _Ground(city.base["features"]).add_to(chart)
    chart.fit_bounds([[south, west], [north, east]])
    return chart


def steps(line: Sequence[Sequence[float]]) -> list[int]:
    """A line of [longitude, latitude] pairs as whole-number steps of latitude and longitude.

    The first pair of numbers counts from zero, every other one from the corner before it.

    Examples
    --------
    >>> steps([[-0.00002, 0.5], [-0.00001, 0.50003]])
    [50000, -2, 3, 1]
    """
    corners = np.rint(np.asarray(line)[:, ::-1] / UNIT).astype(int)
    flat: list[int] = np.diff(corners, axis=0, prepend=0).ravel().tolist()
    return flat


class _Ground(MacroElement):
    """All layers of the ground, and the names of the districts in their middles.

    Not folium.Marker for the names: it draws Leaflet's stock icon before its own, and so asks for
    a picture that a page without network does not have.
    """

    _template = Template(
        """
        {% macro script(this, kwargs) %}
        const walk = (flat) => {
            const line = [];
            for (let i = 0, y = 0, x = 0; i < flat.length; i += 2) {
                line.push([(y += flat[i]) * {{ this.unit }}, (x += flat[i + 1]) * {{ this.unit }}]);
            }
            return line;
        };
        for (const [style, lines] of {{ this.layers }}) {
            const look = {...style, interactive: false, smoothFactor: 0.5};
            const layer = style.fillColor
                ? L.polygon(lines.map((line) => [walk(line)]), look)
                : L.polyline(lines.map(walk), look);
            layer.addTo({{ this._parent.get_name() }});
        }
        {{ this.labels }}.forEach(([at, text]) => L.marker(at, {
            interactive: false, keyboard: false,
            icon: L.divIcon({className: "pgt-label", html: text, iconSize: [120, 14]}),
        }).addTo({{ this._parent.get_name() }}));
        {% endmacro %}
        """
    )

    def __init__(self, features: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self._name = "Ground"
        self.unit = UNIT
        layers: dict[tuple[str, float], list[list[int]]] = {}
        labels: list[tuple[list[float], str]] = []
        for feature in features:
            about, shape = feature["properties"], feature["geometry"]
            kind = about["kind"]
            if kind not in GROUND:
                continue
            line = shape["coordinates"][0] if shape["type"] == "Polygon" else shape["coordinates"]
            weight = WIDE_STREETS.get(str(about.get("level")), float(GROUND[kind]["weight"]))
            layers.setdefault((kind, weight), []).append(steps(line))
            if kind == "district":
                middle = np.array(line)[:, ::-1].mean(0).round(5).tolist()
                labels.append((middle, safe_html(about["name"])))
        # From the ground up; wide streets over narrow ones.
        order = sorted(layers, key=lambda layer: (list(GROUND).index(layer[0]), layer[1]))
        self.layers = safe_json([[{**GROUND[k], "weight": w}, layers[k, w]] for k, w in order])
        self.labels = safe_json(labels)


class _Script(MacroElement):
    """Scripts of this package with their numbers, after the map that they draw on."""

    _template = Template("{% macro script(this, kwargs) %}{{ this.code() }}{% endmacro %}")

    def __init__(self, data: Any, files: Sequence[str]) -> None:
        super().__init__()
        self._name = "Script"
        self.data, self.files = safe_json(data), files

    def code(self) -> str:
        parent: Any = self._parent
        sources = [web(name) for name in self.files]
        head = f"(() => {{\nconst chart = {parent.get_name()}, data = {self.data};\n"
        return head + "\n".join(sources) + "})();"


def run(chart: folium.Map, data: Any, *files: str) -> None:
    """Let scripts of this package draw `data` (anything that fits into JSON) on a map."""
    chart.add_child(_Script(data, files))


def legend(chart: folium.Map, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A line below the map: (SVG, meaning) rows."""
    items = "".join(
        '<span><svg aria-hidden="true" width="16" height="16" viewBox="-8 -8 16 16">'
        f"{sign}</svg>{safe_html(text)}</span>"
        for sign, text in rows
    )
    head = f"<b>{safe_html(title)}</b>" if title else ""
    root: Any = chart.get_root()
    root.html.add_child(folium.Element(f'<div class="pgt-legend">{head}{items}</div>'))


def finish(
    chart: folium.Map, title: str, caption: str, table: pd.DataFrame, height: int = HEIGHT
) -> ShownMap:
    """The map as it is shown: with a title, a caption and a table."""
    root: Any = chart.get_root()
    root.header.add_child(folium.Element(STYLE))
    root.title = safe_html(title)
    page = root.render().replace("<html>", '<html lang="en">', 1)
    return ShownMap(page, title, caption, table, height)
