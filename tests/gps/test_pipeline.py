"""From fixes to visits: nobody is lost unsaid, and GeoLife gives the published counts."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pgt.cli.parser import main
from pgt.io.fixes import read_fixes
from pgt.io.sources import GEOLIFE
from pgt.io.tables import read

from pgt.errors import DataError
from pgt.gps import FIXES, GpsResult, fixes_to_visits, staypoints_and_triplegs, tracks_to_visits
from pgt.visits import check
from pgt.windows import prepare

from ..gps_helpers import METRE, commuter, fixes_at, wander


@pytest.fixture(scope="module")
def frames() -> list[pd.DataFrame]:
    """Two commuters; one tracked for a month, one nowhere twice, one seen once, one broken."""
    nomad = commuter("nomad", days=100)
    nomad["lat"] = 40 + np.arange(len(nomad)) // 24 * 2000 * METRE
    broken = commuter("broken", days=1).assign(lat=400.17)
    again = commuter("bob", days=150).assign(lon=16.5)
    again = pd.concat([again, again[100:200], again[:3].assign(lat=np.nan)])
    return [
        commuter("ann"), nomad, again, commuter("cy", days=30), commuter("dot")[:1], broken,
        commuter("hub", days=90).iloc[[0, 144 * 80]], commuter("six", days=60),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def journey(frames: list[pd.DataFrame]) -> GpsResult:
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


def test_everybody_has_one_fate(frames: list[pd.DataFrame], journey: GpsResult) -> None:
    left = journey.people.set_index("user_id")["left"].to_dict()
    assert left == {
        "ann": "", "bob": "", "nomad": "no location", "cy": "tracked for 50 days or less",
        "dot": "no staypoint", "hub": "no staypoint", "broken": "no fix that can be used",
        "six": "tracked for less than 10 weeks",
    }  # fmt: skip
    assert set(journey.visits.user_id) == {who for who, why in left.items() if why == ""}
    assert len(journey.people) == len(frames)


def test_every_fix_is_counted(frames: list[pd.DataFrame], journey: GpsResult) -> None:
    read_in = n_of(journey, "fixes read")
    dropped = journey.counts[journey.counts.step.str.startswith("dropped")]
    assert read_in == sum(len(frame) for frame in frames)
    assert read_in == n_of(journey, "fixes kept") + dropped.n.sum()
    assert dropped.set_index("step").n.to_dict() == {
        "dropped: no position": 3, "dropped: latitude beyond ±90": 144,
        "dropped: the same fix again": 100,
    }  # fmt: skip
    assert journey.people.n_fixes.sum() == n_of(journey, "fixes kept")


def test_counts_are_those_of_the_tables(journey: GpsResult) -> None:
    assert n_of(journey, "staypoints") == len(journey.staypoints)
    located = journey.staypoints.location_id.notna()
    assert n_of(journey, "staypoints in locations") == located.sum()
    assert n_of(journey, "locations") == len(journey.locations)
    assert n_of(journey, "visits") == len(journey.all_visits) == journey.people.n_visits.sum()
    for name, n in prepare(journey.visits).counts().items():
        assert n_of(journey, f"{name} windows") == n > 0


def test_one_frame_many_frames_any_order(frames: list[pd.DataFrame], journey: GpsResult) -> None:
    for other in (pd.concat(frames).sample(frac=1, random_state=1), frames[::-1], iter(frames)):
        again = fixes_to_visits(other)
        pd.testing.assert_frame_equal(again.visits, journey.visits)
        pd.testing.assert_frame_equal(again.counts, journey.counts)
        pd.testing.assert_frame_equal(again.people, journey.people)


def test_only_one_frame_is_in_memory() -> None:
    alive: list[weakref.ref[pd.DataFrame]] = []

    def one_by_one() -> Iterator[pd.DataFrame]:
        for user in range(5):
            assert not any(ref() is not None for ref in alive), "the one before is still there"
            frame = commuter(user, days=2)
            alive.append(weakref.ref(frame))
            yield frame
            del frame

    assert len(staypoints_and_triplegs(one_by_one()).people) == 5


def test_time_zone_moves_days_not_moments(frames: list[pd.DataFrame]) -> None:
    tracks = staypoints_and_triplegs(frames)
    utc = tracks_to_visits(tracks, everybody=True).visits
    beijing = tracks_to_visits(tracks, everybody=True, timezone="Asia/Shanghai").visits
    assert str(beijing.started_at.dt.tz) == str(beijing.finished_at.dt.tz) == "Asia/Shanghai"
    assert (beijing.started_at.to_numpy() == utc.started_at.to_numpy()).all()
    with pytest.raises(DataError, match="'Mars' is no known time zone"):
        tracks_to_visits(tracks, timezone="Mars")


def test_everybody_keeps_whoever_has_a_visit(frames: list[pd.DataFrame]) -> None:
    journey = fixes_to_visits(frames, everybody=True)
    assert set(journey.visits.user_id) == {"ann", "bob", "cy", "six"}
    assert journey.all_visits.split.notna().all()


def test_a_person_with_one_visit_works() -> None:
    fixes = fixes_at([0, 3600], 16.4, 48.2)
    journey = fixes_to_visits(fixes, everybody=True, min_samples=1)
    assert len(journey.visits) == 1
    assert journey.visits.n_staypoints.tolist() == [1]
    assert prepare(journey.visits).counts() == {"train": 0, "valid": 0, "test": 0}


def test_the_last_filter_keeps_an_empty_split(frames: list[pd.DataFrame]) -> None:
    # A month of visits, then none until the last day: windows in train, none in the others.
    rare = commuter("rare", days=100).iloc[[*range(144 * 30), *range(14_200, 14_400)]]
    journey = fixes_to_visits([*frames, rare])
    fate = journey.people.set_index("user_id").loc["rare"]
    assert fate["left"] == "no window in some split" and fate.n_visits > 0
    assert "rare" not in set(journey.visits.user_id)
    theirs = journey.all_visits[journey.all_visits.user_id == "rare"]
    assert len(theirs) == fate.n_visits and theirs.split.isna().all()


def test_frames_in_several_zones_and_units() -> None:
    one, two = commuter("a"), commuter("b").assign(lon=16.5)
    expected = fixes_to_visits([one, two])
    two["tracked_at"] = two.tracked_at.dt.tz_convert("Asia/Shanghai").dt.as_unit("ns")
    found = fixes_to_visits([one, two])
    pd.testing.assert_frame_equal(found.visits, expected.visits, check_dtype=False)


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        ([], "There are no position fixes"),
        ([commuter(1)[:0]], "There are no position fixes"),
        ([commuter(1).assign(lat=400.0)], r"None .* \(latitude beyond ±90: 17280\)"),
        ([commuter(1), commuter(2), commuter(1)], "user 1 come in two frames"),
        ([commuter(1), commuter(1).assign(lat=400.0)], "user 1 come in two frames"),
        ([commuter(1).assign(lat=400.0), commuter(1)], "user 1 come in two frames"),
        ([commuter(1), commuter("1")], "mixes text and numbers"),
        ([commuter(1, days=20)], "longest tracking is 19 days.*--everybody"),
        ([commuter(1)[:1]], "none of 1 people has a staypoint"),
        ([fixes_at([0, 3600], 1.0, 2.0), wander(1, user=2)[:0]], "longest tracking is 0 days"),
        ([commuter(1).drop(columns="lat")], "'lat' is missing"),
    ],
)
def test_when_nothing_is_left_it_says_why(frames: list[pd.DataFrame], says: str) -> None:
    with pytest.raises(DataError, match=says):
        fixes_to_visits(frames)


def test_no_remedy_is_named_that_was_taken_or_cannot_help() -> None:
    for everybody in (True, False):
        with pytest.raises(DataError, match="give longer recordings") as refusal:
            fixes_to_visits([commuter(1)[:1]], everybody=everybody)
        assert "--everybody" not in str(refusal.value)


def test_wrong_settings_are_refused_before_the_work() -> None:
    def never() -> Iterator[pd.DataFrame]:
        raise AssertionError("the fixes were read")
        yield

    wrong: list[dict[str, object]] = [
        {"timezone": "Mars"}, {"eps": -1}, {"min_samples": 0}, {"haversine_order": "left"},
    ]  # fmt: skip
    for settings in wrong:
        with pytest.raises(DataError):
            fixes_to_visits(never(), **settings)
    with pytest.raises(TypeError, match="epsilon"):
        fixes_to_visits(never(), epsilon=20)


def test_no_location_and_no_window_say_why() -> None:
    with pytest.raises(DataError, match="None of 1 staypoints has 1 more within 20 m"):
        fixes_to_visits(fixes_at([0, 3600], 1.0, 2.0), everybody=True)
    with pytest.raises(DataError, match="None of 1 people with visits has a window"):
        fixes_to_visits(commuter(1, days=100).iloc[[*range(200), *range(14_000, 14_200)]])


def test_the_command_reads_writes_and_counts(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    frames: list[pd.DataFrame],
    journey: GpsResult,
) -> None:
    table = pd.concat(frames).assign(tracked_at=lambda f: f.tracked_at.dt.tz_localize(None))
    table.to_csv(tmp_path / "fixes.csv", index=False)
    out = tmp_path / "visits.csv"
    assert main(["visits", str(tmp_path / "fixes.csv"), "--out", str(out), "--timezone", "UTC",
                 "--quiet"]) == 0  # fmt: skip
    said = capsys.readouterr().out
    assert "tracked for 50 days or less" in said and f"{len(journey.visits):,}" in said
    found = read(out)
    pd.testing.assert_frame_equal(found, journey.visits, check_dtype=False)


def test_the_command_refuses_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("no.csv", "v.csv"), ("no.csv", "v.txt")):
        assert main(["visits", str(tmp_path / arguments[0]), "--out", arguments[1]]) == 2
        assert capsys.readouterr().err.count("\n") == 1


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
    assert len(journey.all_visits) == 19_186
    # The reader keeps out the one fix at latitude 400.17 before it is counted here.
    assert counts.n["fixes read"] in (24_657_817, 24_657_818)
    for step, (n, people) in list(PUBLISHED.items())[1:]:
        assert counts.n[step] == n, step
        assert people is pd.NA or counts.people[step] == people, step
    if os.environ.get(GEOLIFE):
        reference = pd.read_parquet(os.environ[GEOLIFE])
        ours = journey.all_visits
        for name in ("user_id", "location_id", "started_at", "finished_at"):
            assert (ours[name].to_numpy() == reference[name].to_numpy()).all(), name
        for name in ("lon", "lat"):
            np.testing.assert_allclose(ours[name], reference[name], rtol=0, atol=1e-9)
        split = reference.split.replace({"val": "valid"})
        assert ours.split.fillna("").tolist() == split.fillna("").tolist()
    right = tracks_to_visits(tracks).counts.set_index("step")
    assert right.people["visits of people with windows in every split"] == 42
    beijing = tracks_to_visits(tracks, haversine_order="swapped", timezone="Asia/Shanghai")
    assert beijing.visits.user_id.nunique() == 46
