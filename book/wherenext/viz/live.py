"""The live model: a trained model in a page of its own, without server or network.

The model computes in plain JavaScript (`live.js`, its forward pass). `ground.js` draws the map
and `live_draw.js` the rest; `live_page.js` has the state and what changes it. All of it and the
weights stand in one piece of HTML, which a notebook shows as an output and `Playground.save` writes
as a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Any, Literal

import numpy as np
import pandas as pd

from pgt.checkpoint import load_model, shipped
from pgt.config import WindowConfig
from pgt.errors import DataError
from pgt.look import story
from pgt.model import PointerGeneratorTransformer
from pgt.refusals.sizes import require_same_places
from pgt.vocabulary import Vocabulary
from pgt.windows import Windows, prepare
from wherenext import city as towns
from wherenext.ground import CROSS, DIAMOND, DISC, PATH, RING, frame, svg_ground
from wherenext.viz.live_data import people_of, places_of, start_of, switches_of
from wherenext.viz.page_text import safe_html
from wherenext.viz.web_figure import WebFigure, scripted, web
from wherenext.weights_json import pack

Small = Literal["pointer", "gate", "bias"]
SMALL = ("pointer", "gate", "bias")
SHEETS = ("page_parts.css", "ground.css", "live.css")
SCRIPTS = (
    "page_parts.js", "live.js", "ground.js", "live_map.js",
    "live_light.js", "live_draw.js", "live_page.js",
)  # fmt: skip
TITLES = {
    "full": "The live model: a town, its people, and where they go next",
    "pointer": "A live pointer: change the visits and see where it points",
    "gate": "A live gate: change the visits or the gate and see what the mixture becomes",
    "bias": "A live position bias: multiply it and see what the pointer does",
}
CAPTIONS = {
    "full": "The trained model, computed in this page. Places, people and their visits are "
    "simulated.",
    "pointer": "The trained pointer, computed in this page. Delete a visit, change its hour, or "
    "add one by clicking a place.",
    "gate": "The trained model, computed in this page. The gate is the model's, until you set it "
    "by hand.",
    "bias": "The trained pointer, computed in this page. The bias can be multiplied; its keys "
    "and queries stay as they are.",
}
LABEL = (
    "Map of the places. Arrow keys move it, plus and minus zoom; places can be added by name below."
)
# Switches that a small version keeps.
KEPT = {
    "pointer": ("position_bias", "time", "recency", "position_from_end", "sinusoid"),
    "gate": ("pointer", "generator", "gate"),
    "bias": ("position_bias", "recency", "position_from_end", "sinusoid"),
}


@dataclass(frozen=True, repr=False)
class Playground(WebFigure):
    """A live model, for the notebook to display or to be saved as a page.

    Attributes
    ----------
    data : dict
        What the page shows.
    title, caption : str
        For screen readers and for those who see it.
    """

    data: dict[str, Any]
    title: str
    caption: str

    def _repr_html_(self) -> str:
        body = Template(web("live.html")).substitute(
            id=safe_html(self.data["id"]), kind=self.data["kind"],
            title=safe_html(self.title), caption=safe_html(self.caption),
            open=" open" if self.data["kind"] == "full" else "",
            frame=frame(LABEL, "Show all visits"),
            disc=DISC, ring=RING, cross=CROSS, diamond=DIAMOND, path=PATH,
        )  # fmt: skip
        return scripted(body, self.data, SHEETS, SCRIPTS)


def playground(
    *, small: Small | None = None, window: int | None = None, state: str = ""
) -> Playground:
    """The shipped model of the simulated town, live.

    Parameters
    ----------
    small : {"pointer", "gate", "bias"}, optional
        A small version, with one person and the part that a chapter is about.
    window : int, optional
        Of the test windows (protocol "exact"), the one to begin with; by default the book's story
        window (`pgt.look.story`).
    state : str
        A shared state, as the page's button "Share this state" gives it.

    Examples
    --------
    >>> shown = playground(small="pointer")
    >>> shown.data["kind"], len(shown.data["people"])
    ('pointer', 1)
    """
    model, vocabulary = load_model(shipped("city"))
    return of_town(model, vocabulary, towns.load(), small=small, window=window, state=state)


def of_town(
    model: PointerGeneratorTransformer,
    vocabulary: Vocabulary,
    town: towns.City,
    *,
    small: Small | None = None,
    window: int | None = None,
    state: str = "",
    config: WindowConfig | None = None,
) -> Playground:
    """Any model that was trained on a simulated town, live in it; see `playground`.

    ``config`` is that of the windows on which it was trained.
    """
    windows = prepare(town.visits, vocabulary=vocabulary, config=config).test
    return build(
        model, windows, places=town.places, ground=town.base["features"],
        roles=town.people.set_index("user_id").role, small=small,
        window=story(windows) if window is None else window, state=state,
    )  # fmt: skip


def build(
    model: PointerGeneratorTransformer,
    windows: Windows,
    *,
    places: pd.DataFrame | None = None,
    ground: list[dict[str, Any]] | None = None,
    roles: pd.Series | None = None,
    small: Small | None = None,
    window: int = 0,
    state: str = "",
    title: str = "",
    caption: str = "",
) -> Playground:
    """Any trained model with windows of its own vocabulary, live.

    Parameters
    ----------
    model : PointerGeneratorTransformer
    windows : Windows
        The moments to choose from.
    places : DataFrame, optional
        ``location_id``, ``name``, ``lon``, ``lat``; without spots there is no map.
    ground : list of GeoJSON features, optional
        A base map below the places.
    roles : Series, optional
        By ``user_id``, what to add to a person's name.
    small : {"pointer", "gate", "bias"}, optional
        A small version, see `playground`.
    window : int
        Which of the windows to begin with.
    state : str
        A shared state.
    title, caption : str
        Instead of those of the simulated town.

    Raises
    ------
    DataError
        Model and windows do not fit together, or the model lacks what a small version shows.
    """
    vocabulary = windows.vocabulary
    require_same_places(model, vocabulary)
    if small is not None and small not in SMALL:
        raise DataError(f"small is {small!r}; choose of {', '.join(SMALL)}.")
    if small is not None and model.pointer is None:
        raise DataError("This model has no pointer, which every small version shows.")
    if len(windows) == 0:
        raise DataError("There is no window to show; the live model needs at least one.")
    if not 0 <= window < len(windows):
        raise DataError(f"There is no window {window}; there are {len(windows)}, from 0.")
    # How `playground` is called for this page, without the state.
    call = "" if small is None else f'small="{small}", window={window}, '
    rows: dict[str, Any] = {}
    here: list[int] | None = None
    if small is not None:
        windows, window = _of_one_person(windows, window)
        ids = windows.features[0].numpy()[1:]
        low, high = int(windows.first.min()), int(windows.target.max()) + 1
        here = sorted({0, 1, *np.unique(ids[low:high]).tolist()})
        rows = {"embeddings.tables.location.weight": here}
    people = people_of(windows, roles)
    if small is not None:
        rows["embeddings.tables.user.weight"] = [0, people[0]["user"]]
    leave_out = ("generator", "gate") if small in ("pointer", "bias") else ()
    pointer_alone = bool(leave_out) or model.generator is None
    about = places_of(windows, places)
    if small in ("pointer", "bias"):  # nothing else can be named
        keep = set(here or ())
        about["names"] = [n if i in keep else None for i, n in enumerate(about["names"])]
        about["spots"] = [s if i in keep else None for i, s in enumerate(about["spots"])]
    drawn = any(spot is not None for spot in about["spots"])
    corner = about.pop("corner")
    kind = small or "full"
    switches = [part for part in switches_of(model) if small is None or part in KEPT[small]]
    data = {
        "id": f"pgt-live-{kind}", "kind": kind, "fingerprint": vocabulary.fingerprint()[:6],
        "call": call, "state": state, "start": start_of(windows, window),
        "people": people, **about, "here": here,
        "ground": svg_ground(ground or [], corner) if drawn else None,
        "switches": switches, "rings": not pointer_alone,
        "has_both": not pointer_alone and model.pointer is not None,
        "model": pack(model, rows=rows, leave_out=leave_out),
    }  # fmt: skip
    return Playground(data, title or TITLES[kind], caption or CAPTIONS[kind])


def _of_one_person(windows: Windows, window: int) -> tuple[Windows, int]:
    """Only the windows of the person whose ``window`` is, and its number among them."""
    mine = np.flatnonzero(windows.users == windows.users[window])
    return windows.subset(mine), int(np.searchsorted(mine, window))
