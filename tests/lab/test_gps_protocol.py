"""The protocol of Hong et al.: each step equals a slow loop; every fix and person has one fate."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from lab.gps_protocol import (
    GpsResult,
    fixes_to_visits,
    generate_triplegs,
    staypoints_and_triplegs,
    tracks_to_visits,
)

from pgt.readers.gps import FIXES, clean_fixes, generate_staypoints
from pgt.readers.tables import read_fixes
from pgt.visits import check

from ..gps_helpers import METRE, commuter, wander


def slow_legs(fixes: pd.DataFrame, stays: pd.DataFrame, gap_minutes: float) -> list[list[int]]:
    """The rows of each tripleg, fix by fix."""
    inside = {
        i for row in stays.itertuples() for i in range(row.first_fix, row.first_fix + row.n_fixes)
    }
    legs: list[list[int]] = []
    before = None
    for i, (user, at) in enumerate(zip(fixes.user_id, fixes.tracked_at, strict=True)):
        if i not in inside:
            goes_on = (
                before is not None and i - 1 not in inside and user == before[0]
                and at - before[1] <= pd.Timedelta(minutes=gap_minutes)
            )  # fmt: skip
            if not goes_on:
                legs.append([])
            legs[-1].append(i)
        before = (user, at)
    place = list(zip(fixes.lon, fixes.lat, strict=True))
    return [leg for leg in legs if len({place[i] for i in leg}) > 1]


def test_triplegs_equal_a_slow_loop() -> None:
    n = 0
    for seed in range(10):
        parts = [clean_fixes(wander(seed + 100 * k, user=k))[0] for k in range(3)]
        fixes = pd.concat(parts, ignore_index=True)
        stays = generate_staypoints(fixes)
        for gap in (1.0, 15.0):
            expected = slow_legs(fixes, stays, gap)
            found = generate_triplegs(fixes, stays, gap_minutes=gap)
            assert found.n_fixes.tolist() == [len(leg) for leg in expected]
            assert found.user_id.tolist() == [fixes.user_id[leg[0]] for leg in expected]
            assert found.started_at.tolist() == [fixes.tracked_at[leg[0]] for leg in expected]
            assert found.finished_at.tolist() == [fixes.tracked_at[leg[-1]] for leg in expected]
            n += len(expected)
    assert n > 300


@pytest.fixture(scope="module")
def frames() -> pd.DataFrame:
    """Two commuters; one tracked for a month, one nowhere twice, one seen once, one broken."""
    nomad = commuter("nomad", days=100)
    nomad["lat"] = 40 + np.arange(len(nomad)) // 24 * 2000 * METRE
    broken = commuter("broken", days=1).assign(lat=400.17)
    again = commuter("bob", days=150).assign(lon=16.5)
    again = pd.concat([again, again[100:200], again[:3].assign(lat=np.nan)])
    parts = [
        commuter("ann"), nomad, again, commuter("cy", days=30), commuter("dot")[:1], broken,
        commuter("hub", days=90).iloc[[0, 144 * 80]], commuter("six", days=60),
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def journey(frames: pd.DataFrame) -> GpsResult:
    return fixes_to_visits(frames)


def n_of(journey: GpsResult, step: str) -> int:
    return int(journey.counts.set_index("step").n[step])


def test_commuters_visits_are_known(journey: GpsResult) -> None:
    ann = journey.visits[journey.visits.user_id == "ann"]
    # Home until nine, work until five, home; the last night has no end yet.
    assert len(ann) == 2 * 120 + 1
    assert ann.location_id.nunique() == 2
    work = ann[ann.lat > 48.205]
    assert (work.started_at.dt.hour == 9).all() and (work.finished_at.dt.hour == 17).all()
    pd.testing.assert_frame_equal(check(journey.visits), journey.visits)


def test_every_fix_is_counted(frames: pd.DataFrame, journey: GpsResult) -> None:
    read_in = n_of(journey, "fixes read")
    dropped = journey.counts[journey.counts.step.str.startswith("dropped")]
    assert read_in == len(frames)
    assert read_in == n_of(journey, "fixes kept") + dropped.n.sum()
    assert dropped.set_index("step").n.to_dict() == {
        "dropped: no position": 3, "dropped: latitude beyond ±90": 144,
        "dropped: the same fix again": 100,
    }  # fmt: skip
    assert journey.people.n_fixes.sum() == n_of(journey, "fixes kept")


# What the published pipeline gives on these fixes, step by step.
PUBLISHED = {
    "fixes read": (24_657_818, 182), "staypoints": (28_865, 177),
    "staypoints of people tracked long enough": (26_684, 92),
    "staypoints in locations": (19_579, 91), "locations": (2_048, pd.NA),
    "visits": (19_186, 91), "visits of people with windows in every split": (16_598, 45),
    "train windows": (7_424, 45), "valid windows": (3_334, 45), "test windows": (3_500, 45),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get(FIXES), reason=f"{FIXES} names no folder of fixes")
def test_geolife_gives_the_published_visits() -> None:
    tracks = staypoints_and_triplegs(read_fixes(os.environ[FIXES]))
    journey = tracks_to_visits(tracks, haversine_order="swapped")
    counts = journey.counts.set_index("step")
    # The reader keeps out the one fix at latitude 400.17 before it is counted here.
    assert counts.n["fixes read"] in (24_657_817, 24_657_818)
    for step, (n, people) in list(PUBLISHED.items())[1:]:
        assert counts.n[step] == n, step
        assert people is pd.NA or counts.people[step] == people, step
