"""What the way from fixes to visits does to real recordings, for chapter 2.

No person, place or moment can be recognized in it: every count stands for all people together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from lab import gps_protocol
from lab.data_sets import from_environment
from lab.reports import Report, Row
from pgt import gps
from pgt.datasets import read_fixes
from pgt.gps import FIXES, HaversineOrder
from pgt.visits import microseconds

ZONES = ("UTC", "Asia/Shanghai")
ORDERS: tuple[HaversineOrder, ...] = ("swapped", "right")


def silence(fixes: pd.DataFrame) -> Row:
    """The share of the hours of staypoints that lie in silences of more than an hour."""
    silent = stayed = 0.0
    for _, own in gps.clean_fixes(fixes)[0].groupby("user_id"):
        at = microseconds(own.tracked_at) / 1e6
        stays = gps.generate_staypoints(own.reset_index(drop=True))
        stayed += (stays.finished_at - stays.started_at).dt.total_seconds().sum()
        for first, n in zip(stays.first_fix, stays.n_fixes, strict=True):
            pauses = np.diff(at[first : first + n + 1])  # the fix that ends it included
            silent += pauses[pauses > 3600].sum()
    return {"table": "silence", "what": "staypoint hours in silences above an hour, %",
            "value": 100 * silent / stayed}  # fmt: skip


def measured(fixes: pd.DataFrame) -> Iterator[Row]:
    """All rows, from position fixes."""
    yield silence(fixes)
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
