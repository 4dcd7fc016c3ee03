"""Predictions on the map: one window, or a film of many with a slider and every head's attention.

The scripts beside this file are plain JavaScript; they get the numbers as JSON and set all names
as text. A range input and a list do the steering, so keyboard, touch and screen readers work as
they do everywhere else. Below the map of a film stands the same in words and bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import folium
import numpy as np
import pandas as pd

from pgt.city import City
from pgt.look import Look
from pgt.viz.basemap import (
    DIAMOND,
    PATH,
    RING,
    ShownMap,
    arch,
    base_map,
    dot,
    finish,
    legend,
    run,
)
from pgt.viz.figures import COPIED, EXTRA, GENERATED, TRUTH
from pgt.viz.page_text import safe_html

COLOURS = {"copied": COPIED, "generated": GENERATED, "truth": TRUTH, "head": EXTRA}
LEGEND = (
    (dot(COPIED), "pointer attention, per place"),
    (RING, "likeliest places: copied (solid), generated (dashed)"),
    (DIAMOND, "where they went"),
    (PATH, "path, fading with age"),
)
MARGIN = 0.004  # degrees around the places
FILM_HEIGHT = 760  # pixels
STYLE = f"""<style>
#film{{order:0;padding:6px 10px}}#film-panel{{order:2;padding:6px 10px 0;min-height:14em}}
#film label{{display:flex;gap:8px;align-items:center;min-height:34px}}
#film input{{flex:1;min-width:0;height:32px;margin:0}}
#film select{{font:inherit;min-height:30px;max-width:65%;color:inherit;background:#fff}}
#film-told{{display:block}}#film-panel p{{margin:0 0 4px}}
#film-panel table{{border-collapse:collapse;width:100%;font:inherit}}
#film-panel :is(th,td){{padding:1px 0 1px 6px;text-align:right;font-weight:400;
font-variant-numeric:tabular-nums}}#film-panel th[scope=row]{{text-align:left;padding-left:0;
width:40%;overflow-wrap:anywhere}}#film-panel thead th{{color:#57606a}}
#film-panel .bar{{width:35%}}.bar div{{display:flex;height:11px;background:#eceff1}}
.bar i{{height:100%}}.bar .copied{{background:{COPIED}}}
.bar .generated{{background:repeating-linear-gradient(90deg,{GENERATED} 0 3px,#f3c9ab 3px 5px)}}
</style>"""
PANEL = """<div id="film-panel"><output id="film-told" for="film-step film-head"></output>
<p id="film-most"></p><table><thead><tr><th scope="col" style="text-align:left;padding:0">place</th>
<th aria-hidden="true"></th><th scope="col">copied</th><th scope="col">gen.</th>
<th scope="col">sum</th></tr></thead><tbody id="film-guesses"></tbody></table></div>"""


def window_map(city: City, look: Look, *, title: str, caption: str, top: int = 5) -> ShownMap:
    """One prediction on the map.

    Past visits are joined by a path that fades with age; each place is a blue disc whose area is
    the pointer's attention on it. Rings are the likeliest places: their area is the probability,
    their solid blue part was copied and their dashed orange part generated. The green diamond is
    where the person went.
    """
    data = film(city, [look], top)
    chart = base_map(city)
    # Rings of unlikely places may lie outside.
    inside = {*data["steps"][0]["visits"], data["steps"][0]["truth"][0]}
    bounds = _bounds([data["places"][number] for number in inside])
    run(chart, data | {"bounds": bounds}, "map_marks.js", "map_film.js")
    legend(chart, "", LEGEND)
    names = dict(zip(city.places.location_id, city.places.name.astype(str), strict=True))
    attention = look.visits.groupby("location_id").attention.sum()
    candidates = look.candidates.head(top)
    table = candidates.assign(
        place=[names.get(i, "unknown place") for i in candidates.location_id],
        attention=[float(attention.get(i, 0.0)) for i in candidates.location_id],
    )[["place", "probability", "copied", "generated", "attention", "is_target"]]
    return finish(chart, title, caption, table.round(3))


def film_map(city: City, looks: Sequence[Look], *, title: str, caption: str, top: int = 4
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
    data = film(city, looks, top)
    chart = base_map(city)
    root: Any = chart.get_root()
    root.header.add_child(folium.Element(STYLE))
    root.html.add_child(folium.Element(_controls(data)))
    run(chart, data | {"bounds": _bounds(data["places"])}, "map_marks.js", "map_film.js")
    legend(chart, "", [*LEGEND[:1], (arch(EXTRA), "one head, from the last visit"), *LEGEND[1:]])
    return finish(chart, title, caption, as_table(data), FILM_HEIGHT)


def _bounds(places: Sequence[Sequence[Any]]) -> list[list[float]]:
    """South-west and north-east corner of a view of all places."""
    spots = np.array([place[:2] for place in places], dtype=float)
    corners: list[list[float]] = [
        (spots.min(0) - MARGIN).round(5).tolist(), (spots.max(0) + MARGIN).round(5).tolist()
    ]  # fmt: skip
    return corners


def _per_place(visits: Sequence[int], weights: np.ndarray) -> list[list[Any]]:
    """[place, weight, visits] a place, the heaviest first: visits to one place are added up."""
    sums: dict[int, tuple[float, int]] = {}
    for place, weight in zip(visits, weights, strict=True):
        total, n = sums.get(place, (0.0, 0))
        sums[place] = (total + float(weight), n + 1)
    heaviest = sorted(sums.items(), key=lambda item: -item[1][0])
    return [[place, round(total, 3), n] for place, (total, n) in heaviest]


def film(city: City, looks: Sequence[Look], top: int = 4) -> dict[str, Any]:
    """The numbers of a film, ready for JSON.

    Returns
    -------
    dict
        ``places`` ([lat, lon, name] each), ``heads`` (names) and ``steps``: each with ``when``,
        ``gate``, ``visits`` (numbers of places, oldest first), ``attention`` (of the pointer,
        [place, weight, visits] each), ``heads`` (the same of every head, as the last visit looks),
        ``candidates`` ([place, probability, copied] each) and ``truth`` (the same of the target).
    """
    known = city.places.set_index("location_id")
    numbers: dict[Any, int] = {}

    def number(location_id: Any) -> int:
        return numbers.setdefault(location_id, len(numbers))

    steps = []
    for seen in looks:
        visits = [number(place) for place in seen.visits.location_id]
        drawn = seen.candidates[seen.candidates.location_id.isin(known.index)].head(top)
        # (layers, H, L, L) -> (layers · H, L): what the last visit looks at.
        weights = seen.self_attention
        rows = list(weights[:, :, -1, :].reshape(-1, len(visits))) if weights.size else []
        attention = seen.visits.attention.to_numpy()
        target = seen.target.location_id
        copied = seen.gate * attention[(seen.visits.location_id == target).to_numpy()].sum()
        steps.append(
            {
                "when": f"{seen.visits.finished_at.iloc[-1]:%A %H:%M}",
                "gate": round(seen.gate, 3),
                "visits": visits,
                "attention": _per_place(visits, attention),
                "heads": [_per_place(visits, row) for row in rows],
                "candidates": [
                    [number(place), round(float(p), 3), round(float(c), 3)]
                    for place, p, c in zip(
                        drawn.location_id, drawn.probability, drawn.copied, strict=True
                    )
                ],
                "truth": [
                    number(target), round(seen.target_probability, 3), round(float(copied), 3)
                ],
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
        place, weight, _ = step["attention"][0]
        head = max(range(len(step["heads"])), key=lambda one: step["heads"][one][0][1])
        seen, most, _ = step["heads"][head][0]
        guess, sure, copied = next(iter(step["candidates"]), (None, 0.0, 0.0))
        rows.append(
            {
                "when": step["when"],
                "at": names[step["visits"][-1]],
                "most pointer attention": f"{names[place]} ({weight:.2f})",
                "most selective head": f"{data['heads'][head]}: {names[seen]} ({most:.2f})",
                "first guess": "unknown place" if guess is None else names[guess],
                "probability": sure,
                "of it copied": copied,
                "went to": names[step["truth"][0]],
                "given": step["truth"][1],
            }
        )
    return pd.DataFrame(rows)


def _controls(data: dict[str, Any]) -> str:
    options = "".join(
        f'<option value="{i}">{safe_html(name)}</option>' for i, name in enumerate(data["heads"])
    )
    return (
        '<div id="film" role="group" aria-label="What is drawn">'
        '<label>Moment <input id="film-step" type="range" min="0" step="1" value="0" '
        f'max="{len(data["steps"]) - 1}"></label>'
        '<label>Attention of <select id="film-head"><option value="pointer">the pointer</option>'
        f"{options}</select></label></div>{PANEL}"
    )
