"""Coordinates that look like a mistake are named, and those that do not are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from pgt.doubts.places import PEOPLE, SEVERAL, looks_like_utc
from pgt.doubts.visits import doubts
from pgt.io.sources import GEOLIFE, NEW_YORK, from_environment, has_data, read_visits
from wherenext import city

from pgt.errors import DataNote
from pgt.visits import check

from .test_visits import visits

VIENNA = (16.37, 48.2)


def town(where: tuple[float, float] = VIENNA, zone: str = "Europe/Vienna") -> pd.DataFrame:
    """The simulated town, with its streets and clocks elsewhere."""
    table = city.load().visits
    table = table[table.user_id.isin(table.user_id.unique()[:9])].reset_index(drop=True)
    for name in ("started_at", "finished_at"):
        table[name] = (
            table[name]
            .dt.tz_localize(None)
            .dt.tz_localize(
                zone, ambiguous=np.ones(len(table), dtype=bool), nonexistent="shift_forward"
            )
        )
    at = {name: table[name] - table[name].mean() + centre
          for name, centre in zip(("lon", "lat"), where, strict=True)}  # fmt: skip
    return table.assign(**at)


def with_third(table: pd.DataFrame, lon: pd.Series | float, lat: pd.Series | float) -> pd.DataFrame:
    """A third of the rows somewhere else."""
    third = np.arange(len(table)) % 3 == 0
    return table.assign(lon=table.lon.mask(third, lon), lat=table.lat.mask(third, lat))


@pytest.mark.parametrize(
    ("lon", "lat", "zone", "what"),
    [
        (16.37, 48.2, "Europe/Vienna", None),
        (48.2, 16.37, "Europe/Vienna", "look swapped"),
        (40.7, -74.0, "America/New_York", "look swapped"),
        (-23.5, -46.6, "America/Sao_Paulo", "look swapped"),
        (51.5, -0.1, "Europe/London", "look swapped"),
        (28.6, 77.2, "Asia/Kolkata", "are lon and lat swapped?"),
        (77.2, 28.6, "Asia/Kolkata", None),
        (116.3, 39.9, "UTC", "are these local times?"),
        (116.3, 39.9, "Asia/Urumqi", None),
        (-3.7, 40.4, "Europe/Madrid", None),
        (-149.9, 61.2, "America/Anchorage", None),
        (36.8, -1.3, "Africa/Nairobi", None),
        (151.2, -33.9, "Australia/Sydney", None),
    ],
)
def test_coordinates_are_held_against_the_clock(
    lon: float, lat: float, zone: str, what: str | None
) -> None:
    table = visits("2024-05-01 10:00", "2024-05-02 10:00")
    table = check(table.assign(
        lon=lon, lat=lat, started_at=table.started_at.dt.tz_convert(zone),
        finished_at=table.finished_at.dt.tz_convert(zone),
    ))  # fmt: skip
    notes = doubts(table)
    assert bool(notes) == bool(what), notes
    if what:
        assert what in notes[0] and notes[0].startswith("2 visits lie around")


ZONES = {
    "Asia/Shanghai": 116.4, "Asia/Kolkata": 77.2, "Asia/Dubai": 55.3, "Asia/Tehran": 51.4,
    "Europe/Istanbul": 29.0, "Africa/Maputo": 32.6, "America/Sao_Paulo": -46.6,
    "America/Puerto_Rico": -66.1, "America/Regina": -104.6,
}  # fmt: skip


def at_clocks(visits: pd.DataFrame, zone: str, *, utc: bool = False) -> pd.DataFrame:
    """The same wall clocks in another zone; as they are when UTC's are taken for them, if asked."""
    there = visits.copy()
    for name in ("started_at", "finished_at"):
        wall = there[name].dt.tz_localize(None)
        for _ in range(1 + utc):
            at = wall.dt.tz_localize(
                zone, ambiguous=np.ones(len(wall), dtype=bool), nonexistent="shift_forward"
            )
            wall = at.dt.tz_convert("UTC").dt.tz_localize(None)
        there[name] = at
    return there


@pytest.mark.parametrize("zone", ZONES)
def test_utc_times_that_were_read_as_local_are_noticed(zone: str) -> None:
    town = city.load().visits.assign(lon=ZONES[zone], lat=30.0)
    assert doubts(at_clocks(town, zone)) == []
    wrong = at_clocks(town, zone, utc=True)
    (note,) = doubts(wrong)
    assert "at night, if their times were in UTC" in note
    assert note.startswith(f"{len(town):,} visits are rarest from ")
    assert doubts(wrong.drop(columns=["lon", "lat"])) == []  # nothing to hold it against


def test_the_note_names_the_hours_that_would_be_night() -> None:
    town = at_clocks(city.load().visits, "Europe/Istanbul", utc=True).assign(lon=29.0, lat=41.0)
    (note,) = doubts(town)
    assert "from 21 to 2 o'clock in Europe/Istanbul, and would be from 0 to 5, at night" in note


def test_of_a_few_people_a_night_that_is_hours_off_is_their_own() -> None:
    wrong = at_clocks(city.load().visits, "Europe/Istanbul", utc=True).assign(lon=29.0, lat=41.0)
    people = wrong.user_id.unique()
    assert doubts(wrong[wrong.user_id.isin(people[:PEOPLE])])
    assert doubts(wrong[wrong.user_id.isin(people[: PEOPLE - 1])]) == []
    # No night lies by day, even that of a few.
    wrong = at_clocks(city.load().visits, "Asia/Shanghai", utc=True).assign(lon=116.0, lat=40.0)
    assert doubts(wrong[wrong.user_id.isin(people[: PEOPLE - 1])])


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Istanbul", "America/Sao_Paulo"])
def test_tables_without_nights_raise_no_doubt(zone: str) -> None:
    town = at_clocks(city.load().visits, zone).assign(lon=ZONES[zone], lat=30.0)
    n = len(town)
    at = town.started_at.iloc[0].floor("D") + pd.to_timedelta(np.arange(n) * 31, unit="min")
    assert not looks_like_utc(town.assign(started_at=at))


REAL = {GEOLIFE: "Asia/Shanghai", NEW_YORK: None}  # a table in UTC, and windows by local clocks


@pytest.mark.parametrize("name", [name for name in REAL if has_data(name)])
def test_right_times_of_real_people_raise_no_doubt(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        table = read_visits(from_environment(name))
    if zone := REAL[name]:
        table = table.assign(
            started_at=table.started_at.dt.tz_convert(zone),
            finished_at=table.finished_at.dt.tz_convert(zone),
        )
        assert doubts(table) == []
    for zone in ZONES:
        assert not looks_like_utc(at_clocks(table, zone)), zone
        if abs(offset := pd.Timestamp("2024-01-01", tz=zone).utcoffset().total_seconds()) > 11_000:
            assert looks_like_utc(at_clocks(table, zone, utc=True)), (zone, offset)


def test_positions_that_are_empty_are_counted() -> None:
    table = town()
    assert doubts(table) == []
    (note,) = doubts(with_third(table, 0.0, 0.0))
    assert note.startswith(f"{-(-len(table) // 3):,} visits lie at longitude 0 and latitude 0 ")
    few = table.copy()
    few.loc[: SEVERAL - 2, ["lon", "lat"]] = 0.0
    assert doubts(few) == []
    (note,) = doubts(table.assign(lon=0.0, lat=0.0))
    assert note.startswith(f"{len(table):,} visits lie at longitude 0")
    # On the equator or on the meridian lives somebody.
    assert doubts(town((0.0, 51.5), "Europe/London").assign(lon=0.0)) == []


@pytest.mark.parametrize(
    ("where", "zone"),
    [(VIENNA, "Europe/Vienna"), ((-74.0, 40.7), "America/New_York"),
     ((36.8, -1.3), "Africa/Nairobi"), ((31.2, 30.0), "Africa/Cairo")],
)  # fmt: skip
def test_rows_of_which_some_are_swapped_are_counted(where: tuple[float, float], zone: str) -> None:
    table = town(where, zone)
    assert doubts(table) == []
    mixed = with_third(table, table.lat, table.lon)
    found = doubts(mixed)
    if zone == "Africa/Cairo":  # with longitude for latitude it is in Egypt still
        assert found == []
        return
    (note,) = found
    n = -(-len(table) // 3)
    told = int(note.split()[0].replace(",", ""))
    assert 0.98 * n < told <= n and "with lon and lat swapped" in note
    one = table.copy()
    one.loc[5, ["lon", "lat"]] = one.loc[5, ["lat", "lon"]].tolist()
    assert doubts(one) == []


def test_somebody_elses_places_are_no_sign_of_a_swap() -> None:
    here = town(VIENNA)
    there = town(VIENNA[::-1], "Europe/Vienna").assign(user_id=lambda table: table.user_id + 10_000)
    both = pd.concat([here, here.assign(user_id=here.user_id + 20_000), there])
    assert not any("the same person" in note for note in doubts(both))


@pytest.mark.parametrize(
    ("where", "zone"), [(VIENNA, "Europe/Vienna"), ((116.4, 39.9), "Asia/Shanghai"),
                        ((-179.9, -89.0), "UTC")],
)  # fmt: skip
def test_radians_are_told_from_degrees(where: tuple[float, float], zone: str) -> None:
    table = town(where, zone)
    (note,) = doubts(table.assign(lon=np.radians(table.lon), lat=np.radians(table.lat)))
    assert note.startswith(f"{len(table):,} visits lie within") and "in radians?" in note


def test_places_near_the_origin_are_no_radians() -> None:
    for where, zone in (((-0.19, 5.6), "Africa/Accra"), ((6.7, 0.3), "Africa/Sao_Tome")):
        assert doubts(town(where, zone)) == []


@pytest.mark.parametrize(
    ("lon", "lat", "noted"),
    [(28.98, 41.0, True), (24.9, 60.2, True), (37.6, 55.8, True), (-38.5, -3.7, True),
     (-0.1, 51.5, False), (-22.0, 64.1, False), (-28.0, 38.5, False), (13.4, 52.5, False),
     (-1.5, 12.4, False)],
)  # fmt: skip
def test_utc_is_doubted_where_no_clock_shows_it(lon: float, lat: float, noted: bool) -> None:
    notes = doubts(town((lon, lat), "UTC"))
    assert [("the clocks of UTC" in note) for note in notes] == [True] * noted
