"""A map with a slider: one person's predictions one after the other, and every head's attention.

The script is plain JavaScript beside this file; it gets the numbers as JSON and sets all names as
text. A range input and a list do the steering, so keyboard, touch and screen readers work as they
do everywhere else.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import folium
import numpy as np
import pandas as pd
from branca.element import MacroElement
from folium.template import Template

from pgt.city import City
from pgt.figures import COPIED, EXTRA, GENERATED, TRUTH
from pgt.look import Look
from pgt.maps import ShownMap, base_map, finish, legend

COLOURS = {"attention": COPIED, "head": EXTRA, "candidate": GENERATED, "truth": TRUTH}
STYLE = (
    "<style>#film{position:absolute;z-index:900;left:0;right:0;top:0;padding:6px 10px;"
    "background:#fffffff2;color:#1b1f24;font:13px/1.4 system-ui,sans-serif;"
    "box-shadow:0 1px 4px #0003}#film label{display:flex;gap:8px;align-items:center}"
    "#film input{flex:1;min-width:0;height:24px}#film select{font:inherit;max-width:60%}"
    "#film output{display:block;min-height:2.8em}.leaflet-container .leaflet-top{top:128px}</style>"
)


def film_map(city: City, looks: Sequence[Look], *, title: str, caption: str, top: int = 3
             ) -> ShownMap:  # fmt: skip
    """One person's predictions on a map, with a slider over time and a choice of heads.

    Parameters
    ----------
    city : City
    looks : sequence of Look
        What `pgt.look.look` opened, in order of time; all of one town's places.
    title, caption : str
        For screen readers, and below the map.
    top : int
        How many candidates are drawn.

    Returns
    -------
    ShownMap
        With a table of all steps as its alternative.

    Raises
    ------
    ValueError
        There is nothing to show.
    """
    if not looks:
        raise ValueError("A film needs at least one prediction; give the looks of some windows.")
    chart = base_map(city)
    data = film(city, looks, top)
    root: Any = chart.get_root()
    root.header.add_child(folium.Element(STYLE))
    root.html.add_child(folium.Element(_controls(data)))
    chart.add_child(_Script(data))
    spots = np.array([place[:2] for place in data["places"]])
    # The controls cover the upper edge.
    reach = np.ptp(spots[:, 0]) * 0.35 + 0.004
    north = [spots[:, 0].max() + reach, spots[:, 1].max() + 0.004]
    chart.fit_bounds([(spots.min(0) - 0.004).tolist(), north])
    legend(
        chart, "Attention over time",
        [(COPIED, "pointer attention"), (EXTRA, "one head's attention"),
         (GENERATED, "likeliest next places"), (TRUTH, "where they went")],
    )  # fmt: skip
    return finish(chart, title, caption, as_table(data))


def film(city: City, looks: Sequence[Look], top: int = 3) -> dict[str, Any]:
    """The numbers of a film, ready for JSON.

    Returns
    -------
    dict
        ``places`` ([lat, lon, name] each), ``heads`` (names), ``steps``: each with ``when``,
        ``visits`` (numbers of places, oldest first), ``attention`` (of the pointer, one a visit),
        ``heads`` (of the last visit, one row a head), ``candidates`` ([place, probability,
        copied]) and ``truth``.
    """
    known = city.places.set_index("location_id")
    numbers: dict[Any, int] = {}

    def number(location_id: Any) -> int:
        return numbers.setdefault(location_id, len(numbers))

    steps = []
    for seen in looks:
        drawn = seen.candidates[seen.candidates.location_id.isin(known.index)].head(top)
        # (layers, H, L, L): what the last visit looks at, layer by layer.
        rows = seen.self_attention[:, :, -1, :].reshape(-1, len(seen.visits))
        steps.append(
            {
                "when": f"{seen.visits.finished_at.iloc[-1]:%A %H:%M}",
                "visits": [number(place) for place in seen.visits.location_id],
                "attention": seen.visits.attention.round(3).tolist(),
                "heads": np.round(rows, 3).tolist(),
                "candidates": [
                    [number(row.location_id), round(float(row.probability), 3),
                     round(float(row.copied), 3)]
                    for row in drawn.itertuples()
                ],
                "truth": number(seen.target.location_id),
            }
        )  # fmt: skip
    layers, heads = looks[0].self_attention.shape[:2]
    places = [
        [round(float(known.lat[i]), 5), round(float(known.lon[i]), 5), str(known.name[i])]
        for i in numbers
    ]
    names = [f"layer {one + 1}, head {two + 1}" for one in range(layers) for two in range(heads)]
    return {"places": places, "heads": names, "steps": steps, "colours": COLOURS}


def as_table(data: dict[str, Any]) -> pd.DataFrame:
    """A film's steps in words: the alternative for those who do not see the map."""
    names = [place[2] for place in data["places"]]
    rows = []
    for step in data["steps"]:
        weights = pd.Series(step["attention"]).groupby(step["visits"]).sum()
        guess, sure, copied = step["candidates"][0]
        rows.append(
            {
                "when": step["when"],
                "at": names[step["visits"][-1]],
                "most attention": f"{names[weights.idxmax()]} ({weights.max():.2f})",
                "first guess": names[guess],
                "probability": sure,
                "of it copied": copied,
                "went to": names[step["truth"]],
            }
        )
    return pd.DataFrame(rows)


def _controls(data: dict[str, Any]) -> str:
    options = "".join(
        f'<option value="{i}">{html.escape(name)}</option>' for i, name in enumerate(data["heads"])
    )
    return (
        '<div id="film" role="group" aria-label="What is drawn">'
        '<label>Moment <input id="film-step" type="range" min="0" step="1" value="0" '
        f'max="{len(data["steps"]) - 1}"></label>'
        '<label>Attention of <select id="film-head"><option value="pointer">the pointer</option>'
        f'{options}</select></label><output id="film-told" aria-live="polite"></output></div>'
    )


class _Script(MacroElement):
    """The script, after the map that it draws on."""

    _template = Template("{% macro script(this, kwargs) %}{{ this.code() }}{% endmacro %}")

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__()
        self._name = "Film"
        self.data = data

    def code(self) -> str:
        """The script with its numbers; no text can end it early."""
        numbers = json.dumps(self.data, separators=(",", ":"))
        safe = numbers.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        source = files("pgt").joinpath("map_film.js").read_text(encoding="utf-8")
        parent: Any = self._parent
        return source.replace("FILM", safe, 1).replace("CHART", parent.get_name(), 1)
