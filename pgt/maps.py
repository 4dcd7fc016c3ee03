"""Maps with folium: places and guesses, attention, flows, a week with a slider, values by place.

Every function takes plain tables with ``location_id``, ``lon`` and ``lat`` (degrees; a column
``name`` names places) and returns a `folium.Map`. Its page loads Leaflet from a CDN. By keyword,
``caption`` stands below the map; ``alt`` says for screen readers what it shows; ``ground`` is
GeoJSON drawn under everything, whose features may have ``style`` (of Leaflet) and ``name``; and
``streets`` shows OpenStreetMap at once: its server learns the area, so they are a layer else.

branca renders a macro's text a second time as a Jinja template: whatever comes from data passes
through `_text`, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import folium
import numpy as np
import pandas as pd
from branca.colormap import LinearColormap
from branca.element import MacroElement
from folium.plugins import Timeline, TimelineSlider
from folium.utilities import JsCode
from jinja2 import Template

from pgt.colours import COPIED, EXTRA, GENERATED, INK, MUTED, PALETTE, PAPER, TRUTH, themed
from pgt.errors import DataError

GeoFeature = dict[str, Any]
COLOURS = (*PALETTE, MUTED, "#d1526f", "#4aa3c7", "#a9713a", INK)  # of kinds
CIVIDIS = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"]
ROWS = 100  # of the table below a map, at most
FAINT = 0.01  # attention below has no line
# For Leaflet, and for the signs of the legend. Forms differ, not only colours.
STYLES: dict[str, dict[str, Any]] = {
    "visit": {"color": PAPER, "weight": 2, "fillColor": INK, "fillOpacity": 1},
    "place": {"color": MUTED, "weight": 1, "fillColor": MUTED, "fillOpacity": 0.45},
    "attention": {"color": COPIED, "weight": 1.5, "fillColor": COPIED, "fillOpacity": 0.45},
    "head": {"color": EXTRA, "weight": 1.5, "fillColor": EXTRA, "fillOpacity": 0.35},
    "guess": {"color": GENERATED, "weight": 3, "dashArray": "6 4", "fillOpacity": 0},
    "truth": {"color": TRUTH, "weight": 5, "fillOpacity": 0},
}
PATH = {"color": INK, "weight": 1.5, "opacity": 0.5, "fill": False}
LESS = {"color": TRUTH, "fillColor": TRUTH, "weight": 2, "dashArray": "5 4"}  # below zero
SAY = JsCode("""function (feature, layer) {
    if (feature.properties.text) { layer.bindPopup(feature.properties.text); }
}""")
ESCAPES = {ord(sign): f"&#{ord(sign)};" for sign in "&<>\"'{}`$\\\n\r\t"}


def _text(*lines: object) -> str:
    """Text from data as HTML that neither a browser, a script nor Jinja takes for code."""
    return "<br>".join(str(line).translate(ESCAPES) for line in lines)


def places_map(
    visits: pd.DataFrame,
    guesses: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    *,
    by: str | None = None,
    path: pd.DataFrame | None = None,
    **page: Any,
) -> folium.Map:
    """Places as discs, as large as their visits; guesses, the one truth, and a path as a line."""
    visits = _located(visits, "visits", "location_id", *([by] if by else []))
    places = _place_table(visits, by).sort_values("visits", ascending=False, kind="stable")
    size = 18 / math.sqrt(max(9, places.visits.iloc[0]))  # pixels
    layers, legend = [], []
    if path is not None:
        track = _located(path, "path", near=visits.lon[0])[["lon", "lat"]].to_numpy()
        layers.append(_layer("path", [_mark(track)], PATH))
        legend.append((PATH, "path"))
    ordered = by is not None and isinstance(places[by].dtype, pd.CategoricalDtype)
    by_kind = places.groupby(by, sort=ordered, observed=True) if by else [("places", places)]
    for (name, group), colour in zip(by_kind, cycle(COLOURS)):
        style = STYLES["place"] | ({"color": colour, "fillColor": colour} if by else {})
        discs = [
            _mark(p, p.name_, f"{p.visits} visits", radius=max(2.5, size * math.sqrt(p.visits)))
            for p in group.itertuples()
        ]
        layers.append(_layer(name, discs, style))
        legend.append((style, str(name) if by else "places, as large as their visits"))
    table = places.set_index("location_id")[["name_", "visits"]]
    sheet = _Sheet(layers, legend, table, places)
    return sheet.with_answers(None if by else visits.tail(1), guesses, truth).drawn(**page)


def attention_map(
    visits: pd.DataFrame,
    guesses: pd.DataFrame | None = None,
    truth: pd.DataFrame | None = None,
    *,
    heads: Mapping[str, Sequence[float]] | np.ndarray | None = None,
    **page: Any,
) -> folium.Map:
    """Where the pointer looks: a disc a place by ``attention``, bent lines to the last visit."""
    visits = _located(visits, "visits", "location_id", "attention")
    if isinstance(heads, np.ndarray):
        heads = {
            f"layer {layer + 1}, head {head + 1}": heads[layer, head, -1]
            for layer, head in np.ndindex(*heads.shape[:2])
        }
    last, places = visits.iloc[-1], _place_table(visits)
    layers = [_layer("path", [_mark(visits[["lon", "lat"]].to_numpy())], PATH, show=False)]
    table = places.set_index("location_id")[["name_", "visits"]]
    looks = {"pointer": visits.attention.to_numpy()} | dict(heads or {})
    for name, weights in looks.items():
        if len(weights) != len(visits):
            raise DataError(f"Head {name!r} has {len(weights)} weights for {len(visits)} visits; "
                            "give one a visit, the oldest first.")  # fmt: skip
        weight = pd.Series(weights, dtype=float).groupby(visits.location_id).sum()
        table[name] = weight
        marks = []
        for place in places.itertuples():
            share = float(weight[place.location_id])
            words = (place.name_, f"attention {share:.2f}, {place.visits} visits")
            marks.append(_mark(place, *words, radius=max(2, 30 * math.sqrt(share))))
            if place.location_id != last.location_id and share >= FAINT:
                marks.append(_mark(_arc(place, last), *words, weight=0.5 + 7 * share, fill=False))
        style = STYLES["attention" if name == "pointer" else "head"]
        layers.append(_layer(name, marks, style, choice=len(looks) > 1, show=name == "pointer"))
    legend = [(STYLES["attention"], "pointer attention, per place")]
    if heads:
        legend.append((STYLES["head"], "another view: choose at the top right"))
    table = table.sort_values("pointer", ascending=False)
    sheet = _Sheet(layers, legend, table, places)
    return sheet.with_answers(visits.tail(1), guesses, truth).drawn(**page)


def flow_map(
    flows: pd.DataFrame, places: pd.DataFrame, *, largest: int = 24, **page: Any
) -> folium.Map:
    """Flows between places, or groups of places: ``here``, ``there``, and columns of numbers."""
    places = _place_table(_located(places, "places", "location_id"))
    flows = _table(flows, "flows", "here", "there")
    at = {place.location_id: place for place in places.itertuples()}
    if unknown := [place for place in (*flows.here, *flows.there) if place not in at]:
        raise DataError(f"The flows name {unknown[0]!r}, which is no location_id of the places; "
                        "add it to the places or drop the flow.")  # fmt: skip
    columns = flows.drop(columns=["here", "there"]).select_dtypes("number").columns.tolist()
    if not columns:
        raise DataError("The flows have no column of numbers; add one, say the number of trips.")
    layers = []
    for name in columns:
        part = flows.loc[flows[name].abs().sort_values(ascending=False).index[:largest]]
        most = float(part[name].abs().max()) or 1.0
        marks = []
        for here, there, value in zip(part.here, part.there, part[name], strict=True):
            share = abs(value) / most
            words = (f"{at[here].name_} → {at[there].name_}", f"{name}: {value:.3g}")
            look = _themed(LESS) if value < 0 else {}
            if here == there:
                marks.append(_mark(at[here], *words, **look, radius=max(2, 24 * math.sqrt(share))))
            else:
                look |= {"fill": False, "opacity": 0.8, "weight": 0.5 + 8 * share}
                marks.append(_mark(_arc(at[here], at[there]), *words, **look))
        layers.append(_layer(name, marks, STYLES["attention"], choice=len(columns) > 1,
                             show=name == columns[0]))  # fmt: skip
    legend = [(STYLES["attention"], "within a place; between places, bending to the left")]
    if (flows[columns] < 0).any(axis=None):
        legend.append((LESS, "below zero"))
    table = flows.loc[flows[columns[0]].abs().sort_values(ascending=False).index[:largest]]
    table = table[["here", "there", *columns]].replace(
        {side: {id_: place.name_ for id_, place in at.items()} for side in ("here", "there")}
    )
    return _Sheet(layers, legend, table, places).drawn(**page)


def week_map(moments: pd.DataFrame, **page: Any) -> folium.Map:
    """What is where from ``started_at`` to ``finished_at``, with a slider over the moments."""
    moments = _located(moments, "moments", "location_id", "started_at", "finished_at")
    role = moments.get("role", pd.Series("visit", index=moments.index))
    share = moments.get("share", pd.Series(np.nan, index=moments.index))
    if len(strange := role[~role.isin(list(STYLES))]):
        raise DataError(f"role is {strange.iloc[0]!r}; it must be one of {', '.join(STYLES)}.")
    stops = pd.DatetimeIndex(moments.started_at.drop_duplicates().sort_values())
    first = stops.searchsorted(moments.started_at)
    until = np.maximum(stops.searchsorted(moments.finished_at) - 1, first)  # still there
    marks = []
    for place, kind, part, start, end in zip(
        moments.itertuples(), role, share, first, until, strict=True
    ):
        radius = 7 if pd.isna(part) else max(2, 30 * math.sqrt(part))
        words = [] if pd.isna(part) else [f"{kind} {part:.2f}"]
        when = f"{place.started_at:%A %H:%M} to {place.finished_at:%A %H:%M}"
        mark = _mark(place, place.name_, when, *words, **_themed(STYLES[kind]), radius=radius)
        mark["properties"] |= {"start": int(start), "end": int(end)}
        marks.append(mark)
    timeline = Timeline(
        {"type": "FeatureCollection", "features": marks},
        style=JsCode("function (feature) { return feature.properties.style; }"),
        point_to_layer=JsCode("function (feature, at) { return L.circleMarker(at); }"),
        on_each_feature=SAY,
    )
    timeline.control = False
    slider = TimelineSlider(auto_play=False, show_ticks=False, steps=max(1, len(stops) - 1),
                            playback_duration=700 * len(stops))  # fmt: skip
    # The slider counts stops, so that an arrow key goes to the next one.
    names = ", ".join(f'"{stop:%A %H:%M}"' for stop in stops)
    options: dict[str, Any] = slider.options
    options["format_output"] = JsCode(f"function (stop) {{ return [{names}][stop]; }}")
    table = pd.DataFrame({"from": moments.started_at.dt.strftime("%A %H:%M"),
                          "to": moments.finished_at.dt.strftime("%A %H:%M"),
                          "place": moments.name_, "role": role, "share": share})  # fmt: skip
    everywhere = [_mark(spot, spot.name_, radius=4) for spot in _place_table(moments).itertuples()]
    layers = [_layer("places", everywhere, STYLES["place"]), timeline]
    layers.append(slider.add_timelines(timeline))
    legend = [(STYLES[kind], kind) for kind in role.unique()]
    return _Sheet(layers, legend, table.dropna(axis="columns", how="all"), moments).drawn(**page)


def value_map(places: pd.DataFrame, value: str, *, label: str = "", **page: Any) -> folium.Map:
    """A number by place, say the mean gate, on a scale of colours; ``visits`` gives the size."""
    places = _located(places, "places", "location_id", value)
    if places[value].isna().any() or not pd.api.types.is_numeric_dtype(places[value]):
        raise DataError(f"Column {value!r} must hold a number in every row; drop the other rows.")
    label = label or value
    low, high = float(places[value].min()), float(places[value].max())
    scale = LinearColormap(CIVIDIS, vmin=low, vmax=high if high > low else low + 1)
    visits = places.get("visits", pd.Series(1, index=places.index))
    size = (14 * (visits / visits.max()) ** 0.5).clip(lower=4)
    discs = [
        _mark(
            spot, spot.name_, f"{label}: {number:.3g}", radius=radius, fillColor=scale(number)[:7]
        )
        for spot, radius, number in zip(places.itertuples(), size, places[value], strict=True)
    ]
    style = STYLES["place"] | {"color": INK, "fillOpacity": 0.9}
    legend = [
        (style | {"fillColor": scale(number)[:7]}, f"{words}{number:.3g}")
        for number, words in ((low, f"{label}: "), ((low + high) / 2, ""), (high, ""))
    ]
    table = pd.DataFrame({"place": places.name_, label: places[value], "visits": visits})
    table = table.sort_values(label, ascending=False)
    return _Sheet([_layer(label, discs, style)], legend, table, places).drawn(**page)


def _table(table: pd.DataFrame, what: str, *columns: str) -> pd.DataFrame:
    """The table, which has these columns and a row at least."""
    for name in columns:
        if name not in table.columns:
            raise DataError(f"A map needs the column {name!r} in the {what}; add it or rename "
                            "yours.")  # fmt: skip
    if len(table) == 0:
        raise DataError(f"The {what} are empty, so there is nothing to draw; give a row at least.")
    return table.reset_index(drop=True)


def _located(
    table: pd.DataFrame, what: str, *columns: str, near: float | None = None
) -> pd.DataFrame:
    """The table with true coordinates, and names in ``name_``."""
    table = _table(table, what, "lon", "lat", *columns)
    for name, limit in (("lon", 180), ("lat", 90)):
        number = pd.to_numeric(table[name], errors="coerce")
        if number.isna().any():
            raise DataError(f"{int(number.isna().sum())} rows of the {what} have no number in "
                            f"{name!r}; fill it in, or leave these rows out.")  # fmt: skip
        if (number.abs() > limit).any():
            raise DataError(f"{name!r} is {number[number.abs() > limit].iloc[0]:g} in the {what}, "
                            f"outside ±{limit} degrees; are lon and lat swapped?")  # fmt: skip
        table[name] = number.astype(float)
    # Counted from one spot, a person at the date line is in one piece.
    first = table.lon[0] if near is None else near
    table["lon"] = (first + (table.lon - first + 180) % 360 - 180).round(7)
    if "location_id" in columns:
        table["name_"] = table["name" if "name" in table.columns else "location_id"].astype(str)
    return table


def _place_table(visits: pd.DataFrame, by: str | None = None) -> pd.DataFrame:
    """One row a place, in order of the first visit, with the number of its visits."""
    groups = visits.groupby("location_id", sort=False)
    table = groups[["lon", "lat", "name_", *([by] if by else [])]].last()
    return table.assign(visits=groups.size()).reset_index()


def _known(table: pd.DataFrame, what: str, places: pd.DataFrame) -> pd.DataFrame:
    """Guesses or the truth with coordinates, or with those of the places; others are left out."""
    table = _table(table, what, "location_id").rename_axis(index="order").reset_index()
    names = places.set_index("location_id").name_
    if {"lon", "lat"} <= set(table.columns) and table.lon.notna().any():
        table = table[table.lon.notna() & table.lat.notna()]
        located = _located(table, what, "location_id", near=places.lon.iloc[0])
    else:
        spots = places[["location_id", "lon", "lat"]]
        located = table.drop(columns=["lon", "lat"], errors="ignore").merge(spots, on="location_id")
    if "name" not in table.columns:
        known = located.location_id.map(names)
        located["name_"] = known.fillna(located.location_id.astype(str))
    return located.sort_values("order")


def _themed(style: Mapping[str, Any]) -> dict[str, Any]:
    """A style whose colours follow the page."""
    return {name: themed(v) if isinstance(v, str) else v for name, v in style.items()}


def _mark(at: Any, *lines: object, **style: Any) -> GeoFeature:
    """A disc at a place, or a line through points (n, 2), with words; sizes in pixels."""
    point = hasattr(at, "lon")
    # As numpy rounds, which takes long for two numbers.
    where = [round(1e5 * x) / 1e5 for x in (at.lon, at.lat)] if point else np.round(at, 5).tolist()
    look = {name: round(v, 1) if isinstance(v, float) else v for name, v in style.items()}
    return {
        "type": "Feature",
        "geometry": {"type": "Point" if point else "LineString", "coordinates": where},
        "properties": {"style": look} | ({"text": _text(*lines)} if lines else {}),
    }


def _arc(here: Any, there: Any) -> np.ndarray:
    """A line (12, 2) from here to there that bends to its left."""
    start, end = np.array([here.lon, here.lat]), np.array([there.lon, there.lat])
    shrink = max(0.01, math.cos(math.radians(here.lat)))  # of a degree east
    way = (end - start) * (shrink, 1)
    peak = (start + end) / 2 + 0.3 * np.array([-way[1] / shrink, way[0]])
    t = np.linspace(0, 1, 12)[:, None]
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * peak + t**2 * end)


def _layer(
    name: object,
    features: list[GeoFeature],
    style: Mapping[str, Any],
    *,
    choice: bool = False,
    show: bool = True,
) -> folium.FeatureGroup:
    """A layer to switch on and off, or, as a ``choice``, one of several."""
    group = folium.FeatureGroup(_text(name), overlay=not choice, show=show)
    marker = folium.CircleMarker()
    marker.options = look = _themed(style)  # once a layer; a feature has only what differs
    folium.GeoJson({"type": "FeatureCollection", "features": features}, marker=marker,
                   on_each_feature=SAY, **look).add_to(group)  # fmt: skip
    return group


class _Words(MacroElement):
    """What stands around a map: its legend, caption and table, and its name for screen readers."""

    _template = Template("""
    {% macro header(this, kwargs) %}<style>
    body { display: flex; flex-direction: column; font: 14px system-ui, sans-serif; }
    .folium-map { flex: 1 0 300px; min-height: 0; background: #e6e3dc; }
    .map-words { flex: none; max-height: 40%; overflow: auto; padding: 4px 6px; }
    .map-words p { margin: 2px 0; }
    .map-words :is(th, td) { padding-right: 10px; text-align: left; }
    .map-legend span { margin-right: 14px; } .map-legend svg { vertical-align: -3px; }
    .map-name { font: 600 11px system-ui, sans-serif; white-space: nowrap; color: #5f5a50; }
    </style>{% endmacro %}
    {% macro html(this, kwargs) %}{{ this.page }}{% endmacro %}
    {% macro script(this, kwargs) %}
    (function (map) {
        const box = map.getContainer();
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", box.parentNode.querySelector(".map-words").dataset.alt);
        const slider = box.querySelector(".time-slider"), said = box.querySelector(".time-text");
        if (slider) {
            const say = () => slider.setAttribute("aria-valuetext", said.textContent);
            slider.setAttribute("aria-label", "Moment");
            slider.addEventListener("input", say);
            say();
        }
    })({{ this._parent.get_name() }});
    {% endmacro %}""")

    def __init__(self, page: str) -> None:
        super().__init__()
        self._name = "Words"
        self.page = page


@dataclass(frozen=True)
class _Sheet:
    """What a map shows: layers, legend (style and words), a table; and the spots of its view."""

    layers: Sequence[MacroElement]
    legend: Sequence[tuple[Mapping[str, Any], str]]
    table: pd.DataFrame
    spots: pd.DataFrame

    def drawn(
        self, *, caption: str = "", alt: str = "", ground: Mapping[str, Any] | None = None,
        streets: bool = False,
    ) -> folium.Map:  # fmt: skip
        """The map, with the words around it."""
        chart = folium.Map(tiles=None, control_scale=True, scroll_wheel_zoom=False, zoom_snap=0.25)
        folium.Figure(width="100%", height="520px").add_child(chart)
        if ground:
            _add_ground(chart, ground)
        folium.TileLayer("OpenStreetMap", name="streets (from openstreetmap.org)", overlay=True,
                         show=streets).add_to(chart)  # fmt: skip
        for layer in self.layers:
            layer.add_to(chart)
        folium.LayerControl().add_to(chart)
        low, high = self.spots[["lat", "lon"]].min(), self.spots[["lat", "lon"]].max()
        slides = any(isinstance(layer, TimelineSlider) for layer in self.layers)
        below = 110 if slides else 30  # pixels
        chart.fit_bounds([low.tolist(), high.tolist()], padding_top_left=(30, 30),
                         padding_bottom_right=(30, below), max_zoom=16)  # fmt: skip
        _Words(_words(self.legend, self.table, caption, alt)).add_to(chart)
        return chart

    def with_answers(
        self, last: pd.DataFrame | None, guesses: pd.DataFrame | None, truth: pd.DataFrame | None
    ) -> _Sheet:
        """With the guesses, the last visit, and where they went, which the view holds."""
        sheet = self.with_guesses(guesses) if guesses is not None and len(guesses) else self
        if truth is not None:
            truth = _known(truth, "truth", self.spots)
            sheet = replace(sheet, spots=pd.concat([self.spots, truth]))
        ends = (("last visit", "visit", 5, last), ("where they went", "truth", 12, truth))
        for name, kind, radius, rows in ends:
            if rows is not None:
                marks = [_mark(row, row.name_, name, radius=radius) for row in rows.itertuples()]
                sheet = sheet.with_layer(name, marks, kind, name)
        return sheet

    def with_guesses(self, guesses: pd.DataFrame) -> _Sheet:
        """With rings as large as the guesses' probability; a guess elsewhere gets a row."""
        known = _known(_table(guesses, "guesses", "probability"), "guesses", self.spots)
        rings = [
            _mark(row, f"{row.order + 1}. {row.name_}", f"probability {row.probability:.3f}",
                  radius=max(4, 26 * math.sqrt(row.probability)))
            for row in known.itertuples()
        ]  # fmt: skip
        table = self.table.reindex(self.table.index.union(guesses.location_id, sort=False))
        names = known.set_index("location_id").name_
        table["name_"] = table.name_.fillna(names).fillna(table.index.to_series())
        table["probability"] = guesses.set_index("location_id").probability
        table = table.sort_values("probability", ascending=False, kind="stable")
        sheet = replace(self, table=table)
        return sheet.with_layer("guesses", rings, "guess", "guesses, as large as their probability")

    def with_layer(self, name: str, marks: list[GeoFeature], kind: str, words: str) -> _Sheet:
        """With one more layer on top, and its sign in the legend."""
        layers = [*self.layers, _layer(name, marks, STYLES[kind])]
        return replace(self, layers=layers, legend=[*self.legend, (STYLES[kind], words)])


def _words(
    legend: Sequence[tuple[Mapping[str, Any], str]], table: pd.DataFrame, caption: str, alt: str
) -> str:
    """Legend, caption and table as HTML."""
    shown = table.rename(columns={"name_": "place"}).head(ROWS).round(3).convert_dtypes()
    with pd.option_context("display.max_colwidth", None):
        cells = shown.astype(object).where(shown.notna(), "").map(_text).rename(columns=_text)
        cells = cells.to_html(index=False, escape=False, border=0)
    rows = "The same as a table" + (f", the first {ROWS} rows" if len(table) > ROWS else "")
    signs = "".join(f"<span>{_sign(style)} {_text(words)}</span>" for style, words in legend)
    return (
        f'<div class="map-words" data-alt="{_text(alt or caption or "Map")}">'
        f'<p class="map-legend">{signs}</p><p class="map-caption">{_text(caption)}</p>'
        f"<details><summary>{rows}</summary>{cells}</details></div>"
    )


def _sign(style: Mapping[str, Any]) -> str:
    """A small disc for the legend, or a line, drawn as the map draws it."""
    shape = 'path d="M-7 0H7"' if style.get("fill") is False else 'circle r="5.5"'
    look = _themed({"fillOpacity": 0, "fillColor": "none", "dashArray": "none"} | dict(style))
    return (
        '<svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true">'
        f'<{shape} stroke="{look["color"]}" stroke-width="{min(look["weight"], 3)}" '
        f'stroke-dasharray="{look["dashArray"]}" '
        f'fill="{look["fillColor"]}" fill-opacity="{look["fillOpacity"]}"/></svg>'
    )


def _add_ground(chart: folium.Map, ground: Mapping[str, Any]) -> None:
    """Draw GeoJSON below everything, also below the streets, and write the names of its points."""
    for pane, height in (("ground", 150), ("names", 160)):
        folium.map.CustomPane(pane, z_index=height).add_to(chart)
    group = folium.FeatureGroup("ground", control=False).add_to(chart)
    areas: list[GeoFeature] = []
    for feature in ground["features"]:
        about, geometry = feature["properties"], feature["geometry"]
        if geometry["type"] != "Point":
            style = about.get("style", _themed(PATH))
            areas.append({"type": "Feature", "geometry": geometry, "properties": {"style": style}})
            continue
        lon, lat = geometry["coordinates"]
        name = f'<span class="map-name">{_text(about.get("name", ""))}</span>'
        icon = folium.DivIcon(html=name, icon_size=(0, 0), class_name="map-name-at")
        folium.Marker((lat, lon), icon=icon, pane="names", interactive=False,
                      keyboard=False).add_to(group)  # fmt: skip
    folium.GeoJson({"type": "FeatureCollection", "features": areas}, pane="ground",
                   interactive=False).add_to(group)  # fmt: skip
