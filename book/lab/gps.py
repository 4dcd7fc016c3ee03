"""What the way from fixes to visits does to real recordings, for chapter 2.

No person, place or moment can be recognized in it: every count stands for all people together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pandas as pd

from lab import gps_protocol
from lab.data_sets import from_environment
from lab.reports import Report, Row
from pgt.readers.gps import FIXES, HaversineOrder
from pgt.readers.tables import read_fixes

ZONES = ("UTC", "Asia/Shanghai")
ORDERS: tuple[HaversineOrder, ...] = ("swapped", "right")


def measured(fixes: pd.DataFrame) -> Iterator[Row]:
    """All rows, from position fixes."""
    tracks = gps_protocol.staypoints_and_triplegs(fixes)
    for zone, order in product(ZONES, ORDERS):
        journey = gps_protocol.tracks_to_visits(tracks, timezone=zone, haversine_order=order)
        for step, n in zip(journey.counts.step, journey.counts.n, strict=True):
            yield {"table": "steps", "timezone": zone, "haversine_order": order, "step": step,
                   "n": int(n)}  # fmt: skip


def _rows() -> Iterator[Row]:
    yield from measured(read_fixes(from_environment(FIXES)))


def _data(rows: list[Row]) -> list[Row]:
    steps = {row["step"]: row["n"] for row in reversed(rows) if row["table"] == "steps"}
    windows = {split: steps[f"{split} windows"] for split in ("train", "valid", "test")}
    return [{"name": "geolife fixes", "fixes": steps["fixes read"], "windows": windows}]


REPORT = Report(
    question="What becomes of GeoLife's position fixes on the way to visits?",
    rows=_rows,
    data=_data,
)
