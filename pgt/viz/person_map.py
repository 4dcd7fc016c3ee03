"""One person on a map: the places of the past, and the guesses where they go next.

The visits may be anybody's, anywhere, so there is no ground to draw them on: tiles would need a
network. The map is SVG in one piece of HTML, and a table beside it says the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgt.errors import DataError
from pgt.units import EARTH_RADIUS
from pgt.viz.page_text import safe_html
from pgt.viz.web_figure import WebFigure

WIDE, HIGH, EDGE = 720, 460, 46  # pixels: the drawing, and what is left free around the places
LARGEST = 34.0  # pixels: the radius of what has a share of one
IN_VIEW = 0.95  # of the visits, so that one far journey does not make a dot of the town
LEAST = 400.0  # metres across
LONG = 34  # characters of a name on the map
STYLE = """<style>
.pgt-person{--ink:#1b1f24;--paper:#fff;--past:#5f6b7a;--guess:#0b68a8;margin:0;color:var(--ink)}
html[data-theme=dark] .pgt-person{--ink:#e6e9ed;--paper:#14181d;--past:#a5afba;--guess:#6cb6ee}
.pgt-person svg{display:block;width:100%;height:auto;background:var(--paper)}
.pgt-person .map{border:1px solid var(--past)}
.pgt-person .past{fill:var(--past);fill-opacity:.4;stroke:var(--past)}
.pgt-person .guess{fill:none;stroke:var(--guess);stroke-width:3}
.pgt-person .last{fill:var(--ink);stroke:var(--paper);stroke-width:1.5}
.pgt-person text{font:600 14px system-ui,sans-serif;fill:var(--ink);paint-order:stroke;
stroke:var(--paper);stroke-width:3px}
@media (max-width:500px){.pgt-person text{font-size:22px;stroke-width:5px}}
.pgt-person .scale{stroke:var(--ink);stroke-width:2;fill:none}
.pgt-person .key{display:flex;flex-wrap:wrap;gap:2px 16px;padding:6px 0;font-size:14px}
.pgt-person .key span{display:flex;gap:6px;align-items:center}.pgt-person .key svg{width:16px}
.pgt-person table{border-collapse:collapse}.pgt-person :is(th,td){padding:2px 10px 2px 0;
text-align:left;overflow-wrap:anywhere}</style>"""
KEY = "".join(
    f'<span><svg aria-hidden="true" viewBox="-8 -8 16 16">{sign}</svg>{text}</span>'
    for sign, text in (
        ('<circle r="6" class="past"/>', "places of the past, as large as their share of visits"),
        ('<circle r="6" class="guess"/>', "guesses, as large as their probability"),
        ('<circle r="5" class="last"/>', "last visit"),
    )
)


@dataclass(frozen=True, repr=False)
class PersonMap(WebFigure):
    """A map of one person, for the notebook to display or to be saved as a page.

    Attributes
    ----------
    drawing : str
        SVG.
    table : DataFrame
        ``guess`` (its rank), ``place``, ``probability`` and ``visits``.
    title, caption : str
    """

    drawing: str
    table: pd.DataFrame
    title: str
    caption: str

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in self.table.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{safe_html(value)}</td>' for value in row)}</tr>"
            for row in self.table.itertuples(index=False)
        )
        return (
            f'<figure class="pgt-person">{STYLE}{self.drawing}<div class="key">{KEY}</div>'
            f"<figcaption>{safe_html(self.caption)}</figcaption><details><summary>The same as a "
            f"table</summary><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            "</details></figure>"
        )


def person_map(visits: pd.DataFrame, guesses: pd.DataFrame) -> PersonMap:
    """Draw a person's places and the guesses.

    Parameters
    ----------
    visits : DataFrame
        One person's, by time, with ``lon`` and ``lat`` in degrees; a column ``name`` names places.
    guesses : DataFrame
        What `pgt.NextLocation.predict` returns for this person.

    Returns
    -------
    PersonMap

    Raises
    ------
    DataError
        The visits have no coordinates.
    """
    if not {"lon", "lat"} <= set(visits.columns):
        raise DataError(
            "A map needs the columns 'lon' and 'lat' (degrees); add them to the visits, or take "
            "plot, which draws no map."
        )
    there = visits[visits.lon.notna() & visits.lat.notna()]
    if len(there) == 0:
        raise DataError("Nowhere in these visits do 'lon' and 'lat' hold numbers; fill them in.")
    named = there.assign(name=there["name"] if "name" in there.columns else there.location_id)
    places = named.groupby("location_id", sort=False).agg(
        lat=("lat", "last"), lon=("lon", "last"), name=("name", "last"), visits=("lat", "size")
    )
    places = places.sort_values("visits", ascending=False, kind="stable")
    places["name"] = places["name"].astype(str)
    last = there.location_id.iloc[-1]
    known = guesses[guesses.location_id.isin(places.index)].set_index("location_id")
    spot, shown, metres = _laid_out(places, {last, *known.index})
    marks = [
        _circle(spot[place], row.visits / len(visits), "past",
                f"{row['name']}: {row.visits} visit{'s' * (row.visits != 1)}")
        for place, row in places[shown].iterrows()
    ]  # fmt: skip
    for place, guess in known.iterrows():
        says = f"guess {guess['rank']}: {places['name'][place]}, {guess.probability:.0%}"
        marks.append(_circle(spot[place], guess.probability, "guess", says))
    marks.append(_circle(spot[last], 0.025, "last", f"last visit: {places['name'][last]}"))
    taken: list[tuple[float, float]] = []
    for place, guess in known.iterrows():
        marks.append(_label(spot[place], guess, places["name"][place], taken))
    whose, outside = visits.user_id.iloc[0], int((~shown).sum())
    table = _table(places, guesses)
    title = f"The places of {whose} and where they may go next"
    said = [f"The {len(places)} places of {whose}, and the likeliest next ones."]
    if len(guesses):
        said.append(f"The first guess is {table.place.iloc[0]}.")
        said.append(f"Somewhere new has {float(guesses.somewhere_new.iloc[0]):.0%}.")
    if outside:
        some = "1 place lies" if outside == 1 else f"{outside} places lie"
        said.append(f"{some} outside the map, and in the table.")
    caption = " ".join(said)
    drawing = (
        f'<svg class="map" role="img" aria-label="{safe_html(f"{title}. {caption}")}" '
        f'viewBox="0 0 {WIDE} {HIGH}">{"".join(marks)}{_scale(metres)}</svg>'
    )
    return PersonMap(drawing, table, title, caption)


def _laid_out(
    places: pd.DataFrame, needed: set[object]
) -> tuple[dict[object, tuple[float, float]], np.ndarray, float]:
    """Where each place is drawn, which are in view, and how many metres a pixel has."""
    lat, lon = np.radians(places.lat.to_numpy(float)), np.radians(places.lon.to_numpy(float))
    # Around the place with the most visits, so that people at the date line are in one piece.
    east = EARTH_RADIUS * math.cos(lat[0]) * ((lon - lon[0] + math.pi) % (2 * math.pi) - math.pi)
    north = EARTH_RADIUS * (lat - lat[0])
    before = places.visits.cumsum() - places.visits  # of the places with more visits
    shown = (before < IN_VIEW * places.visits.sum()).to_numpy() | places.index.isin(list(needed))
    x, y = east[shown], north[shown]
    metres = max(np.ptp(x) / (WIDE - 2 * EDGE), np.ptp(y) / (HIGH - 2 * EDGE), LEAST / HIGH)
    middle = (x.min() + x.max()) / 2, (y.min() + y.max()) / 2
    left = WIDE / 2 + (east - middle[0]) / metres
    down = HIGH / 2 - (north - middle[1]) / metres
    inside = shown | ((left > 0) & (left < WIDE) & (down > 0) & (down < HIGH))
    spot = {place: (float(a), float(b))
            for place, a, b in zip(places.index, left, down, strict=True)}  # fmt: skip
    return spot, inside, float(metres)


def _circle(at: tuple[float, float], share: float, kind: str, says: str) -> str:
    """A circle whose area is a share, with its meaning."""
    radius = max(3.0, LARGEST * math.sqrt(share))
    return (
        f'<circle class="{kind}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:.1f}">'
        f"<title>{safe_html(says)}</title></circle>"
    )


def _label(
    at: tuple[float, float], guess: pd.Series, name: str, taken: list[tuple[float, float]]
) -> str:
    """The rank and the name of a guess beside its ring; of two that meet, the likelier stays."""
    x, y = at
    if any(abs(y - other[1]) < 16 and abs(x - other[0]) < 150 for other in taken):
        return ""
    taken.append(at)
    away = max(3.0, LARGEST * math.sqrt(guess.probability)) + 5
    x, anchor = (x + away, "start") if x < WIDE / 2 else (x - away, "end")
    short = name if len(name) <= LONG else f"{name[: LONG - 1]}…"
    return (
        f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="{anchor}">'
        f"{int(guess['rank'])}. {safe_html(short)}</text>"
    )


def _scale(metres: float) -> str:
    """A bar of a round length, and how long it is."""
    exponent = math.floor(math.log10(150 * metres))
    length = max(step * 10**exponent for step in (1, 2, 5) if step * 10**exponent <= 150 * metres)
    wide = length / metres
    text = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    return (
        f'<path class="scale" d="M12 {HIGH - 18}v6h{wide:.1f}v-6"/>'
        f'<text x="{18 + wide:.1f}" y="{HIGH - 10}">{text}</text>'
    )


def _table(places: pd.DataFrame, guesses: pd.DataFrame) -> pd.DataFrame:
    """The guesses in order, then the other places by visits."""
    guessed = guesses.location_id.tolist()
    rows = [
        (f"{row.rank}", places["name"].get(row.location_id, row.location_id),
         f"{row.probability:.3f}", places.visits.get(row.location_id, 0))
        for row in guesses.itertuples()
    ]  # fmt: skip
    others = places[~places.index.isin(guessed)]
    rows += [("", row.name_, "", row.visits)
             for row in others.rename(columns={"name": "name_"}).itertuples()]  # fmt: skip
    return pd.DataFrame(rows, columns=["guess", "place", "probability", "visits"])
