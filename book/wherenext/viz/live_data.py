"""What the live model's page gets: places, people with their moments, and the ground."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from pgt.config import PARTS
from pgt.errors import DataError
from pgt.model import PointerGeneratorTransformer
from pgt.units import local_day, local_minute
from pgt.windows import FEATURES, Windows
from wherenext.ground import UNIT
from wherenext.weights_json import ONE_LAYER

MOST_PEOPLE = 100  # in one page; those with the most windows or visits
MONDAY = 4  # 1970-01-05, as days since 1970-01-01


def places_of(windows: Windows, places: pd.DataFrame | None) -> dict[str, Any]:
    """Names and spots by vocabulary id, ``known`` (the last known id), and the map's ``shrink``.

    Parameters
    ----------
    windows : Windows
    places : DataFrame, optional
        ``location_id``, perhaps ``name``, ``lon`` and ``lat`` (degrees). Places that it lacks are
        called by their id and stay off the map.

    Returns
    -------
    dict
        A spot is [east, north] in units of 1e-5 degree from the south-west corner, or None.
    """
    vocabulary = windows.vocabulary
    table = pd.DataFrame({"location_id": list(vocabulary.locations)})
    if places is not None:
        columns = [c for c in ("location_id", "name", "lon", "lat") if c in places.columns]
        known = places[columns].drop_duplicates("location_id")
        table = table.merge(known, on="location_id", how="left")
    titles = table.location_id.astype(str)
    if "name" in table.columns:
        titles = table["name"].where(table["name"].notna(), titles).astype(str)
    names: list[str | None] = [None, None, *_distinct(titles.tolist())]
    spots: list[list[int] | None] = [None] * len(names)
    corner, shrink = [0.0, 0.0], 1.0
    if "lon" in table.columns and "lat" in table.columns and table.lon.notna().any():
        corner = [float(table.lon.min()), float(table.lat.min())]
        shrink = math.cos(math.radians(float(table.lat.mean())))
        east, north = (table.lon - corner[0]) / UNIT, (table.lat - corner[1]) / UNIT
        for i in np.flatnonzero(table.lon.notna() & table.lat.notna()):
            spots[i + 2] = [round(float(east[i])), round(float(north[i]))]
    known_ids = 1 + vocabulary.n_known
    return {
        "names": names, "spots": spots, "known": known_ids, "corner": corner,
        "shrink": round(shrink, 5),
    }  # fmt: skip


def _distinct(names: list[str]) -> list[str]:
    """Number names that stand twice, so that a name leads to one place."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def people_of(windows: Windows, roles: pd.Series | None = None) -> list[dict[str, Any]]:
    """Everybody's visits and moments.

    Parameters
    ----------
    windows : Windows
    roles : Series, optional
        By ``user_id``, what to add to a person's name.

    Returns
    -------
    list of dict
        ``name``; ``user`` (vocabulary id); ``monday`` (days since 1970 of the Monday from which
        ``at`` counts); ``visits`` ([place, at, stay] each, in minutes); ``moments`` ([first visit,
        target] each, as rows of ``visits``).
    """
    counts = pd.Series(windows.users).value_counts().head(MOST_PEOPLE)
    table = windows.visits
    day = local_day(table.started_at).to_numpy()
    minute = local_minute(table.started_at).to_numpy()
    stay = (table.finished_at - table.started_at).dt.total_seconds().floordiv(60).to_numpy()
    features = windows.features.numpy()[:, 1:]
    people = []
    for user in sorted(counts.index):
        mine = np.flatnonzero(windows.users == user)
        low, high = int(windows.first[mine].min()), int(windows.target[mine].max()) + 1
        monday = int(day[low] - (day[low] - MONDAY) % 7)
        at = (day[low:high] - monday) * 1440 + minute[low:high]
        place = features[FEATURES.index("location"), low:high]
        role = "" if roles is None or user not in roles.index else f", {roles[user]}"
        people.append(
            {
                "name": f"Person {user}{role}",
                "user": int(features[FEATURES.index("user"), low]),
                "monday": monday,
                "visits": [
                    [int(p), int(a), int(s)]
                    for p, a, s in zip(place, at, stay[low:high], strict=True)
                ],
                "moments": [
                    [int(windows.first[i]) - low, int(windows.target[i]) - low] for i in mine
                ],
            }
        )
    return people


def start_of(windows: Windows, i: int) -> list[int]:
    """Which person and which of their moments window ``i`` is."""
    users = sorted(pd.Series(windows.users).value_counts().head(MOST_PEOPLE).index)
    user = windows.users[i]
    if user not in users:
        raise DataError(f"Window {i} is of a person whom the page leaves out; choose another one.")
    return [users.index(user), int((windows.users[:i] == user).sum())]


def switches_of(model: PointerGeneratorTransformer) -> list[str]:
    """The parts that a model has, and that can so be switched off."""
    config = model.config
    both = config.has("pointer") and config.has("generator")
    parts = [part for part in PARTS if config.has(part)]
    alone = {"pointer", "generator", "gate"}
    parts = [part for part in parts if both or part not in alone]
    if not config.has("pointer"):
        parts = [part for part in parts if part != "position_bias"]
    return parts + ([ONE_LAYER] if config.n_layers > 1 else [])
