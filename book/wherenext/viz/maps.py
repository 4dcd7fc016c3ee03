"""A town's places on a map."""

from __future__ import annotations

from collections.abc import Sequence

from wherenext.city import City
from wherenext.viz.basemap import MapFigure, map_figure, of_town, paint

KIND_COLOURS = {
    "home": "#5f6b7a", "work": "#0b68a8", "school": "#3a8fb7", "food": "#c04f00",
    "shopping": "#8a6d00", "leisure": "#8a3f8f", "park": "#007a5a", "health": "#b3304f",
    "transit": "#1b1f24", "errand": "#7a4b1e",
}  # fmt: skip
OTHER_KIND = "#444444"


def city_map(city: City, *, title: str, caption: str, kinds: Sequence[str] = ()) -> MapFigure:
    """All visited places as dots, coloured by kind and sized by how often they are visited."""
    visits = city.visits.location_id.value_counts()
    places = city.places[city.places.location_id.isin(visits.index)]
    if kinds:
        places = places[places.kind.isin(list(kinds))]
    times = visits.reindex(places.location_id).to_numpy()
    # One path for all dots of a colour and a size, with few sizes, keeps the page small.
    sizes = 3 + 1.1 * (times**0.5 / 2).round() * 2
    layers: dict[tuple[str, float], list[int]] = {}
    for number, (kind, size) in enumerate(zip(places.kind, sizes, strict=True)):
        colour = KIND_COLOURS.get(kind, OTHER_KIND)
        layers.setdefault((colour, round(float(size), 1)), []).append(number)
    # Large dots first, so that they hide nothing.
    order = sorted(layers, key=lambda layer: -layer[1])
    about = [
        f"{row.kind}, {row.district}, {n} {'visit' if n == 1 else 'visits'}"
        for row, n in zip(places.itertuples(), times, strict=True)
    ]
    table = (
        places.assign(visits=times)
        .groupby("kind")
        .agg(places=("location_id", "size"), visits=("visits", "sum"))
        .sort_values("visits", ascending=False)
        .reset_index()
    )
    shown = places.kind.value_counts().index
    page = of_town(city, list(zip(places.lat, places.lon, places.name, strict=True)))
    page |= {"layers": [[*layer, layers[layer]] for layer in order], "about": about}
    return map_figure(
        page, "map_city.js", title=title, caption=caption, table=table,
        legend=[(paint(KIND_COLOURS.get(kind, OTHER_KIND)), kind) for kind in shown],
    )  # fmt: skip
