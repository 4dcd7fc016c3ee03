"""Places clustered anew every night see the past alone, and may join two places of it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from lab.traps_gps import nightly, refitted

from pgt.baselines import ContextKernel
from pgt.metrics import evaluate
from pgt.windows import prepare

METRE = 360 / 40_030_000  # degrees
# Metres east. Places reach 20 metres, so only a stay at the door joins the two homes. In order of
# time it belongs to the nearer one.
HOME, DOOR, ALSO_HOME, OFFICE = 0.0, 16.0, 30.0, 5_000.0
BEFORE = [HOME, OFFICE, ALSO_HOME] * 18  # eighteen days: training and validation
AWAY = [OFFICE, ALSO_HOME, OFFICE] * 9  # nine days of the test without the first home


def journey(test: Sequence[float]) -> Any:
    """One person, three stays a day."""
    spots = [*BEFORE, *test]
    start = pd.to_datetime("2024-01-01 01:00", utc=True)
    begun = start + pd.to_timedelta([8 * i for i in range(len(spots))], unit="h")
    stays = pd.DataFrame(
        {"user_id": 1, "started_at": begun, "finished_at": begun + pd.Timedelta(hours=7),
         "lon": [spot * METRE for spot in spots], "lat": 0.0,
         "location_id": pd.array([0] * len(spots), dtype="Int64")}
    )  # fmt: skip
    half = len(BEFORE) // 2
    split = np.repeat(["train", "valid", "test"], [half, half, len(test)])
    return SimpleNamespace(staypoints=stays, visits=stays.assign(split=split))


def every_night(test: Sequence[float]) -> pd.DataFrame:
    return pd.concat(nightly(journey(test), ContextKernel()), ignore_index=True)


def test_a_stay_joins_two_places_of_the_past_from_the_next_night_on() -> None:
    back = [HOME, OFFICE, ALSO_HOME]
    without, with_door = ([*AWAY, spot, OFFICE, OFFICE, *back] for spot in (OFFICE, DOOR))
    at = pd.to_datetime("2024-01-29 01:00", utc=True)  # the first home, in nobody's last week
    for test, seen in ((without, False), (with_door, True)):
        ranks = every_night(test).set_index("started_at")
        assert bool(ranks.in_window[at]) is seen
    data = prepare(refitted(journey(with_door), growing=True), protocol="exact")
    begun = data.test.visits.started_at.iloc[data.test.target].array
    in_order = evaluate(ContextKernel().fit(data.train), data.test)
    assert not in_order.in_window[begun == at].any(), "places that come in order join nothing"
