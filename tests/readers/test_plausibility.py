"""What is allowed in a table of visits and would yet spoil an answer is said, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from wherenext import city

from pgt.readers.plausibility import SEVERAL, data_checks
from pgt.visits import check

from ..helpers import routine_visits

VIENNA = (16.37, 48.2)


def some(*starts: str, user: object = "ann", place: object = "home") -> pd.DataFrame:
    """Visits that end when they begin."""
    begin = pd.to_datetime(list(starts), utc=True, format="ISO8601").tz_convert("Europe/Vienna")
    return check(pd.DataFrame(
        {"user_id": user, "location_id": place, "started_at": begin, "finished_at": begin}
    ))  # fmt: skip


def town(where: tuple[float, float] = VIENNA, zone: str = "Europe/Vienna") -> pd.DataFrame:
    """The simulated town, with its streets and clocks elsewhere."""
    table = city.load().visits
    table = table[table.user_id.isin(table.user_id.unique()[:9])].reset_index(drop=True)
    middle = {name: table[name] - table[name].mean() for name in ("lon", "lat")}
    moved = {name: middle[name] + at for name, at in zip(middle, where, strict=True)}
    return at_clocks(table, zone).assign(**moved)


def at_clocks(visits: pd.DataFrame, zone: str, *, utc: bool = False) -> pd.DataFrame:
    """The same wall clocks in another zone; as they are when UTC's are taken for them, if asked."""
    there = visits.copy()
    for name in ("started_at", "finished_at"):
        wall = there[name].dt.tz_localize(None)
        for _ in range(1 + utc):
            first = np.ones(len(wall), dtype=bool)
            moment = wall.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
            wall = moment.dt.tz_convert("UTC").dt.tz_localize(None)
        there[name] = moment
    return there


def test_a_good_table_raises_no_doubt() -> None:
    usual = [f"2024-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 28)]
    years = (f"{year}-05-01" for year in range(1990, 2025))
    here = town()
    one = here.copy()
    one.loc[: SEVERAL - 2, ["lon", "lat"]] = 0.0
    for table in (check(routine_visits(users=3, days=50)), city.load().visits, some(*usual),
                  some(*years), here, one, town((31.2, 30.0), "Africa/Cairo")):  # fmt: skip
        assert data_checks(table) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna1", "anna1 "), ("a b", " a  b"), ("007", "7"), ("Straße", "STRASSE"),
     ("e\u0301a", "\u00e9a"), ("\uff11", "1")],
)  # fmt: skip
def test_ids_that_read_alike_are_named(one: str, other: str) -> None:
    table = pd.concat([some("2024-05-01", user=one), some("2024-05-02", user=other)])
    (note,) = data_checks(check(table))
    assert note.startswith("2 ids in 'user_id' differ from another only by case")
    assert repr(one) in note and repr(other) in note


@pytest.mark.parametrize(
    ("stray", "says"),
    [("1970-01-01", "lie 10 years or more from the rest (user 'bob' on 1970-01-01)"),
     ("2017-01-01", "lie 6 years or more"), ("2199-01-01", "begin in the future (user 'bob'")],
)  # fmt: skip
def test_visits_years_from_the_rest_are_named(stray: str, says: str) -> None:
    usual = some(*(f"2024-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 28)))
    (note,) = data_checks(check(pd.concat([usual, some(stray, user="bob")])))
    assert note.startswith("1 visit ") and says in note


def test_a_stay_in_pieces_is_named_and_checkins_are_not() -> None:
    begin = pd.date_range("2024-05-01", periods=40, freq="h", tz="Europe/Vienna")
    table = pd.DataFrame({"user_id": 1, "location_id": 5, "started_at": begin})
    pieces = table.assign(finished_at=begin + pd.Timedelta(minutes=55))
    assert "39 visits of 40 begin within 15 minutes" in data_checks(check(pieces))[0]
    assert data_checks(check(table.assign(finished_at=begin))) == []


def test_positions_that_are_empty_or_in_radians_are_named() -> None:
    table = town()
    third = np.arange(len(table)) % 3 == 0
    empty = table.assign(lon=table.lon.mask(third, 0.0), lat=table.lat.mask(third, 0.0))
    (note,) = data_checks(empty)
    assert note.startswith(f"{third.sum():,} visits lie at longitude 0 and latitude 0 exactly")
    (note,) = data_checks(table.assign(lon=np.radians(table.lon), lat=np.radians(table.lat)))
    assert "in radians" in note and "multiply them by 180/pi" in note


@pytest.mark.parametrize(
    ("lon", "lat", "zone"),
    [(16.37, 48.2, "Europe/Vienna"), (-74.0, 40.7, "America/New_York"),
     (-46.6, -23.5, "America/Sao_Paulo"), (-0.1, 51.5, "Europe/London"),
     (77.2, 28.6, "Asia/Kolkata")],
)  # fmt: skip
def test_swapped_coordinates_are_named(lon: float, lat: float, zone: str) -> None:
    here = town((lon, lat), zone)
    assert data_checks(here) == []
    (note,) = data_checks(here.assign(lon=here.lat, lat=here.lon))
    assert "lon and lat look swapped; swap the columns" in note
    third = np.arange(len(here)) % 3 == 0
    mixed = here.assign(lon=here.lon.mask(third, here.lat), lat=here.lat.mask(third, here.lon))
    (note,) = data_checks(mixed)
    assert "would lie among the other visits of the same person with lon and lat swapped" in note


@pytest.mark.parametrize(
    ("lon", "lat", "zone", "off"),
    [(116.3, 39.9, "UTC", True), (-108.6, 50.9, "Europe/Vienna", True),
     (76.0, 39.5, "Asia/Shanghai", False), (-3.7, 40.4, "Europe/Madrid", False),
     (-176.5, -44.0, "Pacific/Auckland", False), (-0.1, 51.5, "UTC", False)],
)  # fmt: skip
def test_clocks_are_held_against_places_person_by_person(
    lon: float, lat: float, zone: str, off: bool
) -> None:
    mine = some("2024-05-01 10:00", "2024-05-02 10:00").assign(lon=lon, lat=lat)
    mine = mine.assign(**{name: mine[name].dt.tz_convert(zone)
                          for name in ("started_at", "finished_at")})  # fmt: skip
    assert bool(data_checks(mine)) == off
    place = {"Europe/Vienna": (16.4, 48.2), "UTC": (-0.1, 51.5)}.get(zone)
    if off and place:  # among others who are right
        many = pd.concat([mine.assign(user_id=f"u{k}", lon=place[0], lat=place[1])
                          for k in range(9)] + [mine])  # fmt: skip
        assert "2 visits (1 people)" in data_checks(check(many))[0]


@pytest.mark.parametrize(
    ("zone", "where"),
    [("Asia/Shanghai", (116.4, 39.9)), ("Asia/Kolkata", (77.2, 28.6)),
     ("America/Sao_Paulo", (-46.6, -23.5)), ("Europe/Istanbul", (29.0, 41.0))],
)  # fmt: skip
def test_utc_times_that_were_read_as_local_are_noticed(
    zone: str, where: tuple[float, float]
) -> None:
    everybody = city.load().visits.assign(lon=where[0], lat=where[1])
    assert data_checks(at_clocks(everybody, zone)) == []
    wrong = at_clocks(everybody, zone, utc=True)
    (note,) = data_checks(wrong)
    assert "would be at night if their times were in UTC" in note and "file_timezone='UTC'" in note
    assert data_checks(wrong.drop(columns=["lon", "lat"])) == [note]
