"""The live model: a trained model in a page of its own, without server or network.

It computes in plain JavaScript (`live.js`); `live_page.js` has the state, `live_draw.js` and
`live_map.js` show it. A notebook shows the page as an output, `Playground.save` writes a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, Literal

import numpy as np
import pandas as pd

from pgt.checkpoint import load_model, shipped
from pgt.config import PARTS
from pgt.errors import DataError
from pgt.model import PointerGeneratorTransformer
from pgt.visits import local_day, local_minute
from pgt.windows import ENCODED_FIELDS, Windows, prepare
from wherenext import city as towns
from wherenext.ground import UNIT, ground_of
from wherenext.page_text import safe_html
from wherenext.walkthrough import story
from wherenext.web_figure import WebFigure, scripted, web
from wherenext.weights_json import ONE_LAYER, pack

Small = Literal["pointer", "gate"]
SCRIPTS = ("page_parts.js", "live.js", "live_map.js", "live_draw.js", "live_page.js")
TITLES = {
    "full": "The live model: a town, its people, and where they go next",
    "pointer": "A live pointer: change the visits and see where it points",
    "gate": "A live gate: change the visits or the gate and see what the mixture becomes",
}
CAPTIONS = {
    "full": "The trained model, computed in this page. Places, people and visits are simulated.",
    "pointer": "The trained pointer, computed in this page. Delete, change or add visits.",
    "gate": "The trained model, computed in this page. The gate is its own, until you set it.",
}
LABEL = "Map of the places. Arrow keys move it, plus and minus zoom; names below add places."
# Switches that a small version keeps.
KEPT = {
    "pointer": ("position_bias", "time", "recency", "position_from_end", "sinusoid"),
    "gate": ("pointer", "generator", "gate"),
}
MOST_PEOPLE = 100  # in one page; those with the most windows or visits
# Signs for a legend: SVG in a box from -8 to 8.
SIGNS = {
    "disc": '<circle r="6" class="attention"/>',
    "solid": '<circle r="6" class="solid"/>',
    "ring": '<circle r="6" pathLength="100" class="solid" stroke-dasharray="50 100"/>'
    '<circle r="6" pathLength="100" class="dashed" stroke-dasharray="0 50 9 8 9 8 9 8"/>',
    "cross": '<path d="M-5-5L5 5M5-5L-5 5" class="here"/>',
    "diamond": '<path d="M0-7L7 0 0 7-7 0z" class="truth"/>',
    "path": '<path d="M-7 5L0-4 7 4" class="path"/>',
}


@dataclass(frozen=True, repr=False)
class Playground(WebFigure):
    """A live model, for the notebook to display or to be saved as a page."""

    data: dict[str, Any]
    title: str
    caption: str
    name: str = "live.html"
    sheets: Sequence[str] = ("page_parts.css", "live.css")
    scripts: Sequence[str] = SCRIPTS
    map: tuple[str, str] = (LABEL, "Show all visits")  # what it is called, and its button

    def _repr_html_(self) -> str:
        label, everything = map(safe_html, self.map)
        body = Template(web(self.name)).substitute(
            SIGNS, id=self.data["id"], kind=self.data["kind"],
            title=safe_html(self.title), caption=safe_html(self.caption),
            open=" open" if self.data["kind"] == "full" else "",
            frame=Template(web("live_map.html").rstrip()).substitute(label=label, all=everything),
        )  # fmt: skip
        return scripted(body, self.data, self.sheets, self.scripts)


def playground(*, small: Small | None = None, window: int | None = None) -> Playground:
    """The shipped model of the town, live, beginning with one of the test windows.

    ``small``: with one person and the part that a chapter is about.
    """
    model, vocabulary = load_model(shipped("city"))
    town = towns.load()
    windows = prepare(town.visits, vocabulary=vocabulary).test
    return build(
        model, windows, places=town.places, ground=town.base["features"],
        roles=town.people.set_index("user_id").role, small=small,
        window=story(windows) if window is None else window,
    )  # fmt: skip


def build(
    model: PointerGeneratorTransformer, windows: Windows, *, places: pd.DataFrame | None = None,
    ground: Sequence[dict[str, Any]] = (), roles: pd.Series | None = None,
    small: Small | None = None, window: int = 0,
) -> Playground:  # fmt: skip
    """Any trained model with windows of its own vocabulary, live; see `playground`.

    ``places``: ``location_id``, ``name``, ``lon``, ``lat``; ``ground`` (GeoJSON features) lies
    below them; ``roles``, by ``user_id``, add to a person's name.
    """
    _require_live(model, windows, window)
    here: list[int] | None = None
    if small is not None:  # only the windows of the person whose window it is
        mine = np.flatnonzero(windows.users == windows.users[window])
        windows, window = windows.subset(mine), int(np.searchsorted(mine, window))
    users, user = _whose(windows), windows.users[window]
    if user not in users:
        raise DataError(f"The page leaves out the person of window {window}; choose another one.")
    before = (windows.users[:window] == user).sum()
    people = people_of(windows, roles)
    rows: dict[str, Any] = {}
    if small is not None:
        here = sorted({0, 1, *(place for place, _, _ in people[0]["visits"])})
        rows = {"location": here, "user": [0, people[0]["user"]]}
    leave_out = ("generator", "gate") if small == "pointer" else ()
    pointer_alone = bool(leave_out) or model.generator is None
    about = places_of(windows, places)
    if small == "pointer":  # nothing else can be named
        keep = set(here or ())
        for part in ("names", "spots"):
            about[part] = [one if i in keep else None for i, one in enumerate(about[part])]
    corner, on_map = about.pop("corner"), any(spot is not None for spot in about["spots"])
    kind = small or "full"
    data = {
        "id": f"pgt-live-{kind}", "kind": kind, "start": [users.index(user), int(before)],
        "people": people, **about, "here": here,
        "ground": ground_of(ground, corner) if on_map else None,
        "switches": [part for part in _switches(model) if part in KEPT.get(kind, (part,))],
        "rings": not pointer_alone,
        "has_both": not pointer_alone and model.pointer is not None,
        "model": pack(model, rows={f"embeddings.tables.{k}.weight": v for k, v in rows.items()},
                      leave_out=leave_out),
    }  # fmt: skip
    return Playground(data, TITLES[kind], CAPTIONS[kind])


def _require_live(
    model: PointerGeneratorTransformer, windows: Windows, window: int
) -> None:  # fmt: skip
    """Refuse what the page could not show."""
    if model.config.n_locations != windows.vocabulary.n_locations:
        raise DataError("The windows have other places; make them with the model's vocabulary.")
    if model.config.target_time == "day":
        raise DataError("The page cannot ask for the next visit's day, which this model reads.")
    if not 0 <= window < len(windows):
        raise DataError(f"There is no window {window}; there are {len(windows)}, from 0.")


def _switches(model: PointerGeneratorTransformer) -> list[str]:
    """The parts that the page can switch off."""
    has = model.config.has
    missing = set() if has("pointer") and has("generator") else {"pointer", "generator", "gate"}
    missing |= set() if has("pointer") else {"position_bias"}
    parts = [part for part in PARTS if has(part) and part not in missing]
    return parts + ([ONE_LAYER] if model.config.n_layers > 1 else [])


def places_of(windows: Windows, places: pd.DataFrame | None) -> dict[str, Any]:
    """Names, spots ([east, north] in `UNIT` or None), the last known id, the map's ``shrink``."""
    vocabulary = windows.vocabulary
    table = pd.DataFrame({"location_id": list(vocabulary.locations)})
    if places is not None:
        columns = [c for c in ("location_id", "name", "lon", "lat") if c in places.columns]
        unique = places[columns].drop_duplicates("location_id")
        table = table.merge(unique, on="location_id", how="left")
    titles = table.location_id.astype(str)
    if "name" in table.columns:
        titles = table["name"].where(table["name"].notna(), titles).astype(str)
    # Names that stand twice are numbered, so that a name leads to one place.
    again = titles.groupby(titles).cumcount()
    titles = titles.where(again == 0, titles + " (" + (again + 1).astype(str) + ")")
    spots: list[list[int] | None] = [None] * (len(titles) + 2)
    corner, shrink = np.zeros(2), 1.0
    if {"lon", "lat"} <= set(table.columns) and table.lon.notna().any():
        corner = table[["lon", "lat"]].min().to_numpy()
        shrink = math.cos(math.radians(float(table.lat.mean())))
        for i, spot in enumerate((table[["lon", "lat"]].to_numpy() - corner) / UNIT, start=2):
            spots[i] = None if np.isnan(spot).any() else np.rint(spot).astype(int).tolist()
    return {
        "names": [None, None, *titles], "spots": spots, "known": 1 + vocabulary.n_known,
        "corner": corner, "shrink": round(shrink, 5),
    }  # fmt: skip


def _whose(windows: Windows) -> list[Any]:
    """Whose visits a page holds: the `MOST_PEOPLE` people with the most windows."""
    return sorted(pd.Series(windows.users).value_counts().head(MOST_PEOPLE).index)


def people_of(windows: Windows, roles: pd.Series | None = None) -> list[dict[str, Any]]:
    """Whose ``visits`` (place, at, stay; minutes from a Monday) and ``moments`` (rows of them)."""
    table = windows.visits
    day, minute = (f(table.started_at).to_numpy() for f in (local_day, local_minute))
    stay = (table.finished_at - table.started_at).dt.total_seconds().floordiv(60).to_numpy()
    features = dict(zip(ENCODED_FIELDS, windows.features.numpy()[:, 1:], strict=True))
    people = []
    for user in _whose(windows):
        mine = np.flatnonzero(windows.users == user)
        low, high = int(windows.first[mine].min()), int(windows.target[mine].max()) + 1
        monday = int(day[low] - (day[low] - 4) % 7)  # 1970-01-05 was one, and day 4
        at = (day[low:high] - monday) * 1440 + minute[low:high]
        visits = np.stack([features["location"][low:high], at, stay[low:high]], axis=1)
        moments = np.stack([windows.first[mine], windows.target[mine]], axis=1) - low
        role = "" if roles is None or user not in roles.index else f", {roles[user]}"
        people.append(
            {"name": f"Person {user}{role}", "user": int(features["user"][low]),
             "visits": visits.astype(int).tolist(), "moments": moments.tolist()}
        )  # fmt: skip
    return people
