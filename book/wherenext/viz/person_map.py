"""One person on a map: the places of the past, and the guesses where they go next.

The visits may be anybody's, anywhere, so there is no ground to draw them on: tiles would need a
network.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from pgt.errors import DataError
from wherenext.viz.basemap import CROSS, SOLID, UNIT, MapFigure, dot, map_figure

IN_VIEW = 0.95  # of the visits, so that one far journey does not make a dot of the town
LEGEND = (
    (dot("past"), "places of the past, as large as their share of visits"),
    (SOLID, "guesses, as large as their probability"),
    (CROSS, "last visit"),
)


def person_map(visits: pd.DataFrame, guesses: pd.DataFrame) -> MapFigure:
    """Draw a person's places and the guesses.

    Parameters
    ----------
    visits : DataFrame
        One person's, by time, with ``lon`` and ``lat`` in degrees; a column ``name`` names places.
    guesses : DataFrame
        What `pgt.NextLocation.predict` returns for this person.

    Returns
    -------
    MapFigure
        Its table has ``guess`` (the rank), ``place``, ``probability`` and ``visits``.

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
    number = pd.Series(range(len(places)), index=places.index)
    last = int(number[there.location_id.iloc[-1]])
    known = guesses[guesses.location_id.isin(places.index)]
    drawn = number[known.location_id].tolist()
    before = (places.visits.cumsum() - places.visits).to_numpy()  # of the places with more visits
    shown = before < IN_VIEW * places.visits.sum()
    shown[[last, *drawn]] = True
    page = _laid_out(places) | {
        "names": places["name"].tolist(), "visits": places.visits.tolist(), "all": len(visits),
        "last": last,
        "guesses": [[place, int(guess["rank"]), round(float(guess.probability), 5)]
                    for place, (_, guess) in zip(drawn, known.iterrows(), strict=True)],
        "view": np.flatnonzero(shown).tolist(),
    }  # fmt: skip
    whose, outside = visits.user_id.iloc[0], int((~shown).sum())
    table = _table(places, guesses)
    said = [f"The {len(places)} places of {whose}, and the likeliest next ones."]
    if len(guesses):
        said.append(f"The first guess is {table.place.iloc[0]}.")
        said.append(f"Somewhere new has {float(guesses.somewhere_new.iloc[0]):.0%}.")
    if outside:
        some = "1 place may lie" if outside == 1 else f"{outside} places may lie"
        said.append(f"{some} outside the map at first.")
    return map_figure(
        page, "map_person.js", title=f"The places of {whose} and where they may go next",
        caption=" ".join(said), table=table, legend=LEGEND,
    )  # fmt: skip


def _laid_out(places: pd.DataFrame) -> dict[str, object]:
    """Where the places lie, in units around the one with the most visits."""
    # Counted from there, people at the date line are in one piece.
    east = (places.lon - places.lon.iloc[0] + 180) % 360 - 180
    north = places.lat - places.lat.iloc[0]
    spots = np.rint(np.column_stack([east, north]) / UNIT).astype(int)
    shrink = round(math.cos(math.radians(places.lat.iloc[0])), 5)
    return {"spots": spots.tolist(), "shrink": max(0.01, shrink)}


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
