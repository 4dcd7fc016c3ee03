"""Predictions on the map: one window, or a film of many with a slider and every head's attention.

A range input and a list do the steering, so keyboard, touch and screen readers work as they do
everywhere else. Below the map of a film stands the same in words and bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pgt.look import Look
from wherenext.city import City
from wherenext.page_text import options
from wherenext.viz.basemap import (
    CROSS,
    DIAMOND,
    DISC,
    PATH,
    RING,
    MapFigure,
    arch,
    map_figure,
    of_town,
)

LEGEND = (
    (DISC, "pointer attention, per place"),
    (RING, "likeliest places: copied (solid), generated (dashed)"),
    (CROSS, "last visit"),
    (DIAMOND, "where they went"),
    (PATH, "path, fading with age"),
)
PANEL = """<section class="live-panel map-panel" aria-label="The moment in words">
<p><output data-live="told" aria-live="polite"></output></p><p data-live="most"></p>
<table><thead><tr><th scope="col">place</th><th aria-hidden="true"></th><th scope="col">copied</th>\
<th scope="col">gen.</th><th scope="col">sum</th></tr></thead><tbody data-live="guesses"></tbody>\
</table></section>"""


def window_map(city: City, look: Look, *, title: str, caption: str, top: int = 5) -> MapFigure:
    """One prediction on the map.

    Past visits are joined by a path that fades with age; each place is a blue disc whose area is
    the pointer's attention on it. Rings are the likeliest places: their area is the probability,
    their solid blue part was copied and their dashed orange part generated. The green diamond is
    where the person went.
    """
    data = film(city, [look], top)
    (step,) = data["steps"]
    # Rings of unlikely places may lie outside.
    inside = sorted({*step["visits"], step["truth"][0]})
    names = dict(zip(city.places.location_id, city.places.name.astype(str), strict=True))
    attention = look.visits.groupby("location_id").attention.sum()
    candidates = look.candidates.head(top)
    table = candidates.assign(
        place=[names.get(i, "unknown place") for i in candidates.location_id],
        attention=[float(attention.get(i, 0.0)) for i in candidates.location_id],
    )[["place", "probability", "copied", "generated", "attention", "is_target"]]
    table = table.rename(columns={"is_target": "went there"}).round(3)
    return map_figure(
        of_town(city, data.pop("places")) | data | {"view": inside}, "map_film.js",
        title=title, caption=caption, table=table, legend=LEGEND,
    )  # fmt: skip


def film_map(city: City, looks: Sequence[Look], *, title: str, caption: str, top: int = 4
             ) -> MapFigure:  # fmt: skip
    """One person's predictions on a map, to play or to step through, with a choice of heads.

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
    MapFigure
        With a table of all steps as its alternative.

    Raises
    ------
    ValueError
        There is nothing to show.
    """
    if not looks:
        raise ValueError("A film needs at least one prediction; give the looks of some windows.")
    data = film(city, looks, top)
    table = as_table(data)
    return map_figure(
        of_town(city, data.pop("places")) | data, "map_film.js",
        title=title, caption=caption, table=table,
        legend=[*LEGEND[:1], (arch("ray"), "one head, from the last visit"), *LEGEND[1:]],
        before=_controls(data), after=PANEL,
    )  # fmt: skip


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
    return {"places": places, "heads": names, "steps": steps}


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
                "most on one place": f"{data['heads'][head]}: {names[seen]} ({most:.2f})",
                "first guess": "unknown place" if guess is None else names[guess],
                "probability": sure,
                "of it copied": copied,
                "went to": names[step["truth"][0]],
                "given": step["truth"][1],
            }
        )
    return pd.DataFrame(rows)


def _controls(data: dict[str, Any]) -> str:
    return (
        '<div class="live-row map-choose" role="group" aria-label="What is drawn">'
        '<label>Moment <input data-live="step" type="range" min="0" step="1" value="0" '
        f'max="{len(data["steps"]) - 1}"></label>'
        '<button type="button" data-live="play">Play</button>'
        '<label>Attention of <select data-live="head"><option value="pointer">the pointer</option>'
        f"{options(data['heads'])}</select></label></div>"
    )
