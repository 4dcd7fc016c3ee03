"""The predictor live: a page in which somebody drops a file of visits, and the networks answer.

They compute in plain JavaScript (`predictor_*.js`), so the file stays where it is. The answers are
those of `pgt.NextLocation.predict` for that person alone; only for somebody with more than twice
`PAST` visits, what speaks is weighed by the latest windows, and there by some drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from pgt import files
from pgt.baselines import ContextKernel
from pgt.predictor.contextual import MEMORY, OLDER, ContextualPointer
from pgt.predictor.pool import KERNELS, LEAST, PAST, RIDGE
from pgt.predictor.predictor import NextLocation
from pgt.predictor.questions import RECENT
from pgt.readers.columns import ALIASES
from pgt.readers.recordings import MAGIC
from pgt.visits import REQUIRED
from wherenext import city as towns
from wherenext.live import MOST_PEOPLE, Playground
from wherenext.weights_json import pack

SAMPLE = 5  # of the simulated town, the person of chapter 24
SHEETS = ("page_parts.css", "live.css", "predictor.css")
SCRIPTS = (
    "page_parts.js", "live.js", "predictor_model.js", "predictor_read.js", "live_map.js",
    "predictor_draw.js", "predictor_page.js",
)  # fmt: skip
TITLE = "The model trained on nobody, live: drop a file of visits and see where they go next"
MAP = "Map of this person's places, and where they may go next; the panel beside it says the same"
CAPTION = (
    "The model trained on nobody, computed in this page. The person it begins with is simulated."
)
HOLDS = (
    "The model computes in this page. The page holds visits, with places and hours: think before "
    "you share those of real people."
)


def live(predictor: NextLocation, visits: pd.DataFrame | None = None) -> Playground:
    """The networks of a predictor in a page that begins with these visits, or simulated ones."""
    if visits is not None:  # of those who have the most
        most = visits.user_id.value_counts().head(MOST_PEOPLE).index
        visits = visits[visits.user_id.isin(most)]
    networks = {name: list(part.experts) for name, part in predictor.experts.items()}
    every = [network for part in networks.values() for network in part]
    model = {name: [packed(network) for network in part] for name, part in networks.items()} | {
        "knots": {name: feature.knots for network in every
                  for name, feature in network.scorer.known.items()},
        "facts": {network.config.target_time: list(network.scorer.facts) for network in every},
        "memory": MEMORY, "older": OLDER, "recent": RECENT,
        "past": PAST, "ridge": RIDGE, "least": LEAST,
        "kernels": [{name: getattr(kernel, name) for name in ContextKernel.GRID}
                    for kernel in KERNELS],
        "novelty": dict(zip(("mean", "strength"), predictor.novelty, strict=True)),
    }  # fmt: skip
    data = {
        "id": "pgt-live-nobody", "kind": "predictor", "model": model,
        "reading": {"columns": {ours: [ours.replace("_", ""), *" ".join(ALIASES[ours]).split()]
                                for ours in (*REQUIRED, "lon", "lat")},
                    "others": [[magic.decode("latin-1"), *words] for magic, *words in _others()]},
        "sample": visits is None, "name": "a simulated person" if visits is None else "your visits",
        "table": as_text(sample() if visits is None else visits),
    }  # fmt: skip
    return Playground(data, TITLE, CAPTION if visits is None else HOLDS,
                      "predictor.html", SHEETS, SCRIPTS, (MAP, "Show what is likely"))  # fmt: skip


def packed(network: ContextualPointer) -> dict[str, Any]:
    """One network, of features alone, as plain values with the features that it uses."""
    found = pack(network)
    kept = ("n_components", "scaled", "target_time")
    found["config"] = {name: found["config"][name] for name in kept}
    found["config"]["used_features"] = list(network.config.used_features)
    return found


def sample() -> pd.DataFrame:
    """The person whom the page begins with: a simulated one, with places by their names."""
    town = towns.load()
    names = town.places.set_index("location_id").name
    mine = town.visits[town.visits.user_id == SAMPLE]
    named = mine.location_id.map(names)
    return mine.assign(user_id="a simulated person of Larkmere", location_id=named)


def as_text(visits: pd.DataFrame) -> str:
    """Visits as CSV with local times and their offset, which the page reads as it reads a file."""
    columns = [name for name in (*REQUIRED, "lon", "lat") if name in visits.columns]
    table = visits[columns].copy()
    for name in ("started_at", "finished_at"):
        table[name] = [time.isoformat() for time in table[name]]
    return files.write_csv(table)


def _others() -> Iterable[tuple[Any, ...]]:
    """How files begin that are no table of text; the page reads no Parquet."""
    yield b"PK\x03\x04", "a zip archive (so is .xlsx)", "unpack it, or save the sheet as CSV"
    yield from MAGIC
    yield from ((sign, "JSON", "write the table as CSV") for sign in (b"{", b"["))
    yield b"<?xml", "XML", "write the table as CSV"
    yield b"PAR1", "Parquet", "write the table as CSV"
    yield b"\x1f\x8b", "packed with gzip", "unpack it"
