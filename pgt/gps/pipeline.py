"""From position fixes to visits: every step of the published protocol, and what each one keeps.

The steps are in modules of their own (`pgt.gps.cleaning`, `pgt.gps.generate_staypoints`,
`pgt.gps.tracking_quality`, `pgt.gps.generate_locations`) and can be taken one by one;
`fixes_to_visits` takes them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import pandas as pd

from pgt.errors import DataError
from pgt.gps.locations import HaversineOrder, generate_locations, merge_staypoints, require_settings
from pgt.gps.tracking_quality import tracking_quality
from pgt.gps.tracks import Tracks, in_zone, staypoints_and_triplegs
from pgt.visits import SPLITS, check, split_by_days
from pgt.windows import prepare

# The environment variable that names a folder of GeoLife's position fixes as Parquet files.
FIXES = "PGT_GEOLIFE_FIXES"


@dataclass(frozen=True)
class GpsResult:
    """The visits that came out, and what became of everything that went in.

    Attributes
    ----------
    visits : DataFrame
        As `pgt.visits.check` returns them, with ``split``: the people who remain.
    counts : DataFrame
        One row per step: ``step``, ``n``, and ``people`` (Int64; empty where nobody is counted).
    people : DataFrame
        One row per person: ``user_id``, ``n_fixes`` (kept), ``n_staypoints``, ``days`` (tracked),
        ``n_visits`` and ``left``, the reason why the person is not in `merge_staypoints` ("" if
        they are).
    staypoints : DataFrame
        Everybody's, with ``location_id`` (empty: no location, or the person was left out before).
    locations : DataFrame
        As `pgt.gps.locations.generate_locations` returns them.
    all_visits : DataFrame
        The visits before the last filter, with an empty ``split`` for the people it removes.
    """

    visits: pd.DataFrame
    counts: pd.DataFrame
    people: pd.DataFrame
    staypoints: pd.DataFrame
    locations: pd.DataFrame
    all_visits: pd.DataFrame


def fixes_to_visits(
    frames: pd.DataFrame | Iterable[pd.DataFrame],
    *,
    distance: float = 200.0,
    minutes: float = 30.0,
    gap_minutes: float = 24 * 60,
    now: pd.Timestamp | None = None,
    **protocol: Any,
) -> GpsResult:
    """Turn position fixes into visits by the protocol of Hong et al. (2023).

    Parameters
    ----------
    frames, distance, minutes, gap_minutes, now
        See `pgt.gps.tracks.staypoints_and_triplegs`.
    **protocol
        See `tracks_to_visits`; above all ``timezone`` and ``haversine_order``.

    Returns
    -------
    GpsResult

    Examples
    --------
    A person at two places in turn, recorded every ten minutes for four months:

    >>> at = pd.date_range("2024-01-01", "2024-04-30", freq="10min", tz="UTC")
    >>> fixes = pd.DataFrame({"user_id": "ann", "tracked_at": at, "lon": 16.37,
    ...                       "lat": 48.2 + 0.01 * (at.hour // 6 % 2)})
    >>> journey = fixes_to_visits(fixes, timezone="Europe/Vienna")
    >>> len(journey.locations), len(journey.visits)
    (2, 480)
    """
    require_protocol(**protocol)
    tracks = staypoints_and_triplegs(
        frames, distance=distance, minutes=minutes, gap_minutes=gap_minutes, now=now
    )
    return tracks_to_visits(tracks, **protocol)


def require_protocol(**protocol: Any) -> None:
    """Refuse settings of `tracks_to_visits` that cannot be, before the long work."""
    given = signature(tracks_to_visits).bind(None, **protocol)
    given.apply_defaults()
    in_zone(pd.DataFrame(columns=["started_at", "finished_at"]), given.arguments["timezone"])
    require_settings(*(given.arguments[name] for name in ("eps", "min_samples", "haversine_order")))


def tracks_to_visits(
    tracks: Tracks,
    *,
    timezone: str = "UTC",
    haversine_order: HaversineOrder = "right",
    everybody: bool = False,
    min_days: int = 50,
    quality_weeks: int = 10,
    activity_minutes: float = 25.0,
    eps: float = 20.0,
    min_samples: int = 2,
    per_user: bool = False,
    merge_minutes: float = 1.0,
    days: int = 7,
    min_visits: int = 3,
) -> GpsResult:
    """Take the steps after the fixes, which are quick: other settings need no second reading.

    Parameters
    ----------
    tracks : Tracks
        As `pgt.gps.tracks.staypoints_and_triplegs` returns them.
    timezone : str
        The local zone, which decides where days begin. The published figures rest on "UTC".
    haversine_order : {"right", "swapped"}
        See `pgt.gps.locations.generate_locations`. The published figures rest on "swapped".
    everybody : bool
        Keep people however briefly they were tracked: no filter by days, quality or windows.
    min_days, quality_weeks : int
        People stay who were tracked for more than ``min_days`` days, with at least one window of
        ``quality_weeks`` weeks (`pgt.gps.tracking_quality.tracking_quality`).
    eps, min_samples, per_user
        See `pgt.gps.locations.generate_locations`.
    activity_minutes, merge_minutes
        See `pgt.gps.locations.merge_staypoints`.
    days, min_visits : int
        See `pgt.windows.prepare`. People stay who have such a window in all three splits.

    Returns
    -------
    GpsResult

    Raises
    ------
    DataError
        Nobody or nothing is left after some step; the sentence says which and why.
    """
    stays, legs = in_zone(tracks.staypoints, timezone), in_zone(tracks.triplegs, timezone)
    tally = _Tally(tracks)
    tally.step("staypoints", stays)
    quality = tracking_quality(stays, legs, weeks=quality_weeks).set_index("user_id")
    tally.tracked(quality)
    if not everybody:
        people = tally.people
        tally.leave(people.days <= min_days, f"tracked for {min_days} days or less")
        tally.leave(people.windows == 0, f"tracked for less than {quality_weeks} weeks")
        tally.step("staypoints of people tracked long enough", tally.remaining(stays))
    tracked = tally.remaining(stays)
    if tracked.empty:
        raise DataError(_nobody(tally.people, min_days, quality_weeks))
    lasting = tracked.finished_at - tracked.started_at > pd.Timedelta(minutes=activity_minutes)
    active = tracked[lasting]
    tally.step(f"staypoints of more than {activity_minutes:g} minutes", active)
    found, places = generate_locations(
        active, eps=eps, min_samples=min_samples, haversine_order=haversine_order,
        per_user=per_user,
    )  # fmt: skip
    here = found[found.location_id.notna()]
    tally.step("staypoints in locations", here)
    tally.leave(~tally.people.index.isin(here.user_id), "no location")
    if here.empty:
        raise DataError(
            f"None of {len(found)} staypoints has {min_samples - 1} more within {eps:g} m, "
            "so there is no location; raise eps or lower min_samples."
        )
    tally.step("locations", places)
    table = split_by_days(
        check(
            merge_staypoints(
                here, places, activity_minutes=activity_minutes, merge_minutes=merge_minutes
            )
        )
    )
    tally.step("visits", table)
    tally.count("n_visits", table)
    data = prepare(table, days=days, min_visits=min_visits)
    if not everybody:
        full = set.intersection(*(set(getattr(data, name).users) for name in SPLITS))
        tally.leave(~tally.people.index.isin(full), "no window in some split")
        tally.step("visits of people with windows in every split", tally.remaining(table))
    final = tally.remaining(table)
    if final.empty:
        raise DataError(
            f"None of {table.user_id.nunique()} people with visits has a window of {days} days in "
            "every split; give longer tracks, or keep everybody (on the command line: --everybody)."
        )
    data = prepare(final, days=days, min_visits=min_visits)
    for name, n in data.counts().items():
        tally.steps.append((f"{name} windows", n, len(set(getattr(data, name).users))))
    key = ["user_id", "first_fix"]
    return GpsResult(
        visits=final,
        counts=tally.counts(),
        people=tally.people.drop(columns="windows").reset_index(),
        staypoints=stays.merge(found[[*key, "location_id"]], "left", key),
        locations=places,
        all_visits=table.assign(split=table.split.where(table.user_id.isin(final.user_id))),
    )


def _nobody(people: pd.DataFrame, min_days: int, quality_weeks: int) -> str:
    """Why nobody is left who was tracked, and what helps."""
    n = int((people.n_staypoints > 0).sum())
    if n == 0:  # then nobody can be kept, whatever is asked for
        return (
            f"Nobody is left: none of {len(people)} people has a staypoint (a stay of half an hour "
            "within 200 m, unless you set it otherwise); give longer recordings, or check the "
            "times and coordinates."
        )
    return (
        f"Nobody is left: of {len(people)} people {n} have staypoints, and the longest tracking "
        f"is {people.days.max()} days; more than {min_days}, and {quality_weeks} weeks, are asked "
        "for. Lower min_days and quality_weeks, or keep everybody (on the command line: "
        "--everybody)."
    )


@dataclass
class _Tally:
    """The steps so far, and who has left at which."""

    tracks: Tracks
    people: pd.DataFrame = field(init=False)
    steps: list[tuple[str, int, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the fixes."""
        people, dropped = self.tracks.people, self.tracks.dropped
        self.people = people.assign(days=0, windows=0, n_visits=0, left="")
        kept = int(people.n_fixes.sum())
        self.steps.append(("fixes read", kept + int(dropped.sum()), len(people)))
        self.steps += [(f"dropped: {reason}", int(n), None) for reason, n in dropped.items() if n]
        self.steps.append(("fixes kept", kept, int((people.n_fixes > 0).sum())))
        self.leave(people.n_fixes == 0, "no fix that can be used")
        self.leave(people.n_staypoints == 0, "no staypoint")

    def tracked(self, quality: pd.DataFrame) -> None:
        """Note the days and windows of tracking; those without a record have none."""
        for name in ("days", "windows"):
            values = quality[name].reindex(self.people.index, fill_value=0)
            self.people[name] = values.astype("int64")

    def step(self, name: str, table: pd.DataFrame) -> None:
        """Count the rows of a table, and the people if it says who."""
        people = table.user_id.nunique() if "user_id" in table.columns else None
        self.steps.append((name, len(table), people))

    def count(self, name: str, table: pd.DataFrame) -> None:
        """Count each person's rows of a table."""
        self.people[name] = table.user_id.value_counts().reindex(self.people.index, fill_value=0)

    def leave(self, who: Any, why: str) -> None:
        """Say why these people (a mask) are out, unless they already were."""
        self.people.loc[who & (self.people["left"] == ""), "left"] = why

    def remaining(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of those who are still in."""
        stay = self.people.index[self.people["left"] == ""]
        return table[table.user_id.isin(stay)].reset_index(drop=True)

    def counts(self) -> pd.DataFrame:
        """The steps as a table."""
        table = pd.DataFrame(self.steps, columns=["step", "n", "people"])
        return table.astype({"people": "Int64"})
