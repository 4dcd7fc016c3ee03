"""Troubles that people have with their files: each invented life comes back as it was lived."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pgt
from pgt import cli
from pgt.errors import DataError
from pgt.readers import clocks
from pgt.readers.tables import read, read_fixes, read_visits, visits_of, write
from pgt.visits import check, local_clock

from ..helpers import made
from .lives import ZONE, gpx, iso, phone, positions, records, resting, stays, timeline, told, zulu

LIFE = stays()
N = len(LIFE)
FIXES = positions(LIFE)


def as_lived(table: pd.DataFrame, life: pd.DataFrame = LIFE, slack: int = 0) -> None:
    """The same number of stays at five places, begun at the same times of the local day."""
    assert len(table) == len(life) and table.location_id.nunique() == 5
    assert table.user_id.nunique() == 1
    wall = local_clock(table, "started_at").reset_index(drop=True)
    apart = (wall - life.started_at.dt.tz_localize(None)).abs()
    assert apart.max() <= pd.Timedelta(minutes=slack)


def found_in(path: Path, **how: Any) -> pd.DataFrame:
    return visits_of(path, **how).table


def ours(**more: Any) -> pd.DataFrame:
    table = LIFE.assign(
        user_id=1, started_at=iso(LIFE.started_at), finished_at=iso(LIFE.finished_at)
    )
    return table.assign(**more)


def csv(table: pd.DataFrame, **how: Any) -> str:
    return str(table.to_csv(index=False, **how))


def fixes(**more: Any) -> pd.DataFrame:
    table = pd.DataFrame({"time": zulu(FIXES["at"]), "lat": FIXES.lat, "lon": FIXES.lon})
    return table.assign(**more)


# --- person, device, file ----------------------------------------------------------------------


def test_a_tablet_at_home_hides_no_life(tmp_path: Path) -> None:
    path = made(tmp_path, "Records.json", records(t111=FIXES, t222=resting()))
    table, notes = told(lambda: found_in(path))
    as_lived(table, slack=10)
    left = next(note for note in notes if "left out" in note)
    assert f"{len(resting()):,} fixes of 222" in left and "--columns user_id=deviceTag" in left
    each = found_in(path, columns={"user_id": "deviceTag"})
    assert each.user_id.value_counts().to_dict() == {111: N, 222: 1}


def test_an_old_phone_and_a_new_one_of_an_account_are_one_life(tmp_path: Path) -> None:
    half = len(FIXES) // 2
    path = made(tmp_path, "Records.json", records(t1=FIXES[:half], t2=FIXES[half:]))
    as_lived(found_in(path), slack=10)


def test_a_file_a_device_of_one_person(tmp_path: Path) -> None:
    for name, table in (("phone", FIXES), ("tablet", resting())):
        made(tmp_path, f"all/lena/{name}.gpx", gpx(x=table))
    table, notes = told(lambda: found_in(tmp_path / "all" / "lena", person="me"))
    as_lived(table, slack=10)
    assert any("fixes of tablet are left out" in note for note in notes)
    made(tmp_path, "all/ben/phone.gpx", gpx(x=FIXES.assign(lon=FIXES.lon + 0.2)))
    both = found_in(tmp_path / "all")
    assert both.user_id.value_counts().to_dict() == {"lena": N, "ben": N}


def test_rides_beside_one_another_are_no_devices(tmp_path: Path) -> None:
    rides = {f"2025-03-03T{number:02}": FIXES[4 * number : 4 * number + 4] for number in range(20)}
    for name, ride in rides.items():
        made(tmp_path, f"rides/{name}.gpx", gpx(x=ride))
    one = made(tmp_path, "one.gpx", gpx(**{f"ride {name}": ride for name, ride in rides.items()}))
    for path in (tmp_path / "rides", one):
        table, notes = told(lambda path=path: read(path, person="me"))
        assert len(table) == 80 and not any("left out" in note for note in notes)


def test_devices_of_owntracks_are_told_apart_by_the_topic(tmp_path: Path) -> None:
    lines = []
    for device, table in (("phone", FIXES), ("tablet", resting())):
        for row in table.itertuples():
            message = {"_type": "location", "tst": int(row.at.timestamp()), "lat": row.lat,
                       "lon": row.lon, "acc": 12, "topic": f"owntracks/lena/{device}"}  # fmt: skip
            lines.append(f"2025-03-03T00:00:00Z\t*\t{json.dumps(message)}")
    path = made(tmp_path, "lena.rec", "\n".join(lines))
    table, notes = told(lambda: found_in(path))
    as_lived(table, slack=10)
    assert table.user_id.unique().tolist() == ["lena"] and any("of tablet" in one for one in notes)


def test_tracks_that_overlap_are_people_and_tracks_in_a_row_are_not(tmp_path: Path) -> None:
    other = FIXES.assign(lon=FIXES.lon + 0.2)
    path = made(tmp_path, "session.gpx", gpx(anna=FIXES, ben=other))
    table, notes = told(lambda: found_in(path))
    assert table.user_id.value_counts().to_dict() == {"anna": N, "ben": N}
    assert any("2 tracks of session overlap in time" in note for note in notes)
    both = read(path, person="me")
    assert both.user_id.unique().tolist() == ["me"] and len(both) == len(FIXES)
    half = len(FIXES) // 2
    rides = made(tmp_path, "rides.gpx", gpx(monday=FIXES[:half], tuesday=FIXES[half:]))
    as_lived(found_in(rides), slack=10)


def test_a_sub_folder_is_a_person_and_a_year_is_not(tmp_path: Path) -> None:
    ben = stays(seed=1).assign(lon=LIFE.lon + 0.1)
    for name, life in (("anna", LIFE), ("ben", ben)):
        made(tmp_path, f"family/{name}/Timeline.json", phone(life))
        made(tmp_path, f"flat/Timeline_{name}.json", phone(life))
    for folder in ("family", "flat"):
        table, notes = told(lambda folder=folder: read(tmp_path / folder))
        assert table.user_id.value_counts().tolist() == [N, N]
        assert any("read as 2 people" in note for note in notes)
    middle = N // 2
    for year, part in (("2024", LIFE[:middle]), ("2025", LIFE[middle:])):
        made(tmp_path, f"years/Semantic Location History/{year}/{year}_MARCH.json", phone(part))
        made(tmp_path, f"tracks/{year}/{year}-03-03.gpx", gpx(**{f"t{year}": positions(part)}))
    as_lived(read(tmp_path / "years"))
    as_lived(found_in(tmp_path / "tracks"), slack=10)
    assert read(tmp_path / "family", person="us").user_id.unique().tolist() == ["us"]


@pytest.mark.parametrize("name", ["{month}-{who}", "{who}_{day}", "{day}T00-00 {who}",
                                  "{day}_00-00_{name}_{who}"])  # fmt: skip
def test_dated_files_of_several_people(name: str, tmp_path: Path) -> None:
    for who, east in (("anna", 0), ("user002", 0.2)):
        local = FIXES["at"].dt.tz_convert(ZONE)
        for day in sorted(set(local.dt.day)):
            month = f"2025-{1 + day % 12:02}-{day:02}"
            weekday = f"{pd.Timestamp(2025, 3, day):%a}"
            path = name.format(who=who, day=f"202503{day:02}", month=month, name=weekday) + ".csv"
            rows = (local.dt.day == day).to_numpy()
            made(tmp_path, f"all/{path}", csv(fixes(lon=FIXES.lon + east)[rows]))
    table = found_in(tmp_path / "all")
    assert table.user_id.value_counts().to_dict() == {"anna": N, "user002": N}


def test_files_named_by_months_are_one_persons(tmp_path: Path) -> None:
    for month in (3, 4):
        part = FIXES.assign(at=FIXES["at"] + pd.Timedelta(days=28 * (month - 3)))
        text = csv(pd.DataFrame({"time": zulu(part["at"]), "lat": part.lat, "lon": part.lon}))
        made(tmp_path, f"mine/2025-{month:02}.csv", text)
    table, notes = told(lambda: read(tmp_path / "mine"))
    assert table.user_id.unique().tolist() == ["mine"] and len(table) == 2 * len(FIXES)
    assert any("look like one person's days" in note for note in notes)


def test_weekdays_in_names_are_nobody(tmp_path: Path) -> None:
    days = FIXES["at"].dt.tz_convert(ZONE).dt.normalize()
    for day in days.unique():  # as OsmAnd names its recordings
        made(tmp_path, f"rec/{day:%Y-%m-%d_%H-%M_%a}.gpx", gpx(me=FIXES[days == day]))
    as_lived(found_in(tmp_path / "rec"), slack=10)


def test_who_is_called_like_a_weekday_is_somebody(tmp_path: Path) -> None:
    days = FIXES["at"].dt.tz_convert(ZONE).dt.normalize()
    for day in days.unique():
        for who in ("Mon", "Anna"):
            made(tmp_path, f"all/{day:%Y-%m-%d}_{who}.gpx", gpx(me=FIXES[days == day]))
    found, _ = told(lambda: found_in(tmp_path / "all"))
    assert set(found.user_id) == {"Mon", "Anna"}


def test_person_overrides_a_guess_and_ids_in_a_row_are_noted(tmp_path: Path) -> None:
    phones = np.where(np.arange(len(FIXES)) < 2000, "pixel-6", "pixel-9")
    path = made(tmp_path, "gps.csv", csv(fixes(device_id=phones)))
    table, notes = told(lambda: found_in(path))
    assert set(table.user_id) == {"pixel-6", "pixel-9"}
    follow = [note for note in notes if "follow one another in time" in note]
    assert len(follow) == 1 and "--person me" in follow[0]
    table, notes = told(lambda: found_in(path, person="me"))
    as_lived(table, slack=10)
    assert not any("follow" in note for note in notes)
    with pytest.raises(DataError, match="'device_id' of gps says who; leave person"):
        read(path, person="me", columns={"user_id": "device_id"})
    people = csv(pd.concat([fixes(user="a"), fixes(user="b", lon=FIXES.lon + 1)]))
    _, notes = told(lambda: read(made(tmp_path, "two.csv", people)))
    assert not any("follow" in note for note in notes)


def test_people_whom_no_known_column_tells_apart_are_doubted(tmp_path: Path) -> None:
    both = [fixes(member=name, lon=FIXES.lon + east) for name, east in (("ann", 0.0), ("bo", 0.2))]
    path = made(tmp_path, "gps.csv", csv(pd.concat(both).sort_values("time")))
    doubts = [note for note in told(lambda: found_in(path))[1] if "several people's" in note]
    assert len(doubts) == 1 and "--columns user_id=" in doubts[0]
    table, notes = told(lambda: found_in(path, columns={"user_id": "member"}))
    assert table.user_id.value_counts().to_dict() == {"ann": N, "bo": N}
    assert not any("several people's" in note for note in notes)


def test_tracks_without_a_name_are_doubted_and_files_tell_them_apart(tmp_path: Path) -> None:
    east = FIXES.assign(lon=FIXES.lon + 0.2)
    nameless = gpx(a=FIXES, b=east).replace("<name>a</name>", "").replace("<name>b</name>", "")
    _, notes = told(lambda: found_in(made(tmp_path, "both.gpx", nameless)))
    assert any("write each one's into a file" in note for note in notes)
    for name, table in (("ann", FIXES), ("bo", east)):
        made(tmp_path, f"all/{name}.gpx", gpx(x=table))
    assert found_in(tmp_path / "all").user_id.value_counts().to_dict() == {"ann": N, "bo": N}


def test_an_old_phone_that_went_on_beside_the_new_one(tmp_path: Path) -> None:
    half = len(FIXES) // 2
    both = pd.concat([fixes(device_id="p6")[: half + 200], fixes(device_id="p9")[half - 200 :]])
    path = made(tmp_path, "gps.csv", csv(both.sort_values("time")))
    _, notes = told(lambda: found_in(path))
    assert any("follow one another in time" in note for note in notes)
    table, notes = told(lambda: found_in(path, person="me"))
    as_lived(table, slack=10)
    assert any(note.startswith("400 fixes of p") for note in notes)


def test_devices_without_a_person_are_doubted(tmp_path: Path) -> None:
    tablet = resting()
    other = pd.DataFrame({"time": zulu(tablet["at"]), "lat": tablet.lat, "lon": tablet.lon})
    both = pd.concat([fixes(device="phone"), other.assign(device="tablet")])
    path = made(tmp_path, "gps.csv", csv(both))
    assert sum("read as people" in note for note in told(lambda: found_in(path))[1]) == 1
    table, notes = told(lambda: found_in(path, person="me"))
    as_lived(table, slack=10)
    assert not any("read as people" in note for note in notes)


def test_the_folders_of_a_recorder_are_a_person_and_a_device(tmp_path: Path) -> None:
    half = len(FIXES) // 2
    parts = {"phone/2025-03": FIXES[:half], "phone/2025-04": FIXES[half:],
             "tablet/2025-03": resting()}  # fmt: skip
    for name, table in parts.items():
        lines = [json.dumps({"_type": "location", "tst": int(row.at.timestamp()), "lat": row.lat,
                             "lon": row.lon}) for row in table.itertuples()]  # fmt: skip
        made(tmp_path, f"rec/lena/{name}.rec", "\n".join("x\t*\t" + line for line in lines))
    table, notes = told(lambda: found_in(tmp_path / "rec"))
    as_lived(table, slack=10)
    assert table.user_id[0] == "lena" and any("fixes of tablet" in note for note in notes)


def owntracks(**changes: Any) -> str:
    """The life as a recorder writes it; every 40th position far off, and said to be poor."""
    messages = [{"_type": "location", "tst": at, "lat": row.lat + far, "lon": row.lon,
                 "acc": 2500 if far else 8}
                for row, at, far in zip(FIXES.itertuples(), UNIX,
                                        0.05 * (np.arange(len(UNIX)) % 40 == 39),
                                        strict=True)]  # fmt: skip
    for number, change in changes.items():
        messages[int(number[1:])] |= change
    lines = [{name: value for name, value in message.items() if value is not None}
             for message in messages]  # fmt: skip
    return "\n".join(f"2025-03-03T00:00:00Z\t*\t{json.dumps(line)}" for line in lines)


@pytest.mark.parametrize("change", [{}, {"acc": None}, {"topic": "owntracks/lena/phone"}])
def test_what_one_message_of_owntracks_lacks_or_has_is_of_that_message(
    change: dict[str, Any], tmp_path: Path
) -> None:
    table, notes = told(lambda: found_in(made(tmp_path, "lena.rec", owntracks(n5=change))))
    as_lived(table, slack=20)
    poor = len(FIXES) // 40
    assert table.user_id[0] == "lena" and any(f"{poor} accuracy worse" in n for n in notes)


def test_a_region_that_somebody_drew_is_no_position(tmp_path: Path) -> None:
    region = {"_type": "waypoint", "lat": 10.0, "lon": 10.0, "acc": None, "rad": 50}
    crossed = {"_type": "transition", "event": "leave", "wtst": 1}
    path = made(tmp_path, "lena.rec", owntracks(n5=region, n500=region, n600=crossed))
    fixes_, notes = told(lambda: read_fixes(path))
    assert len(fixes_) == len(FIXES) - 2 and fixes_.lat.min() > 40
    assert any("2 messages that say nobody's position" in note for note in notes)


def test_ids_stay_text_across_files(tmp_path: Path) -> None:
    rows = "user_id,location_id,started_at\n{},{},2024-05-0{}T09:00Z\n"
    for number, (user, place) in enumerate((("7", "479123"), ("007", "47e6651")), 1):
        made(tmp_path, f"all/{number}.csv", rows.format(user, place, number))
    table = read(tmp_path / "all")
    assert set(table.location_id) == {"479123", "47e6651"} and set(table.user_id) == {"7", "007"}
    frames = [pd.DataFrame({"uid": 7, "place": [place], "time": ["2024-05-01T09:00Z"]})
              for place in (5, "47e6651")]  # fmt: skip
    for number, frame in enumerate(frames):
        made(tmp_path, f"p{number}", "")
        (tmp_path / "json").mkdir(exist_ok=True)
        frame.to_json(tmp_path / "json" / f"{number}.json", orient="records")
    assert set(read(tmp_path / "json", person="me").location_id) == {"5", "47e6651"}


# --- clocks ------------------------------------------------------------------------------------

TOKYO = stays(zone="Asia/Tokyo").assign(lon=139.70, lat=LIFE["lat"] - 12.6,
                                       location_id=LIFE.location_id + "-t")  # fmt: skip


def trip(*, stated: bool) -> pd.DataFrame:
    """Four weeks in Vienna and four in Tokyo, every offset that of the phone on the last day."""
    later = TOKYO.assign(**{name: TOKYO[name] + pd.Timedelta(days=35)
                            for name in ("started_at", "finished_at")})  # fmt: skip
    both = [part.assign(offset=[int(one.utcoffset().total_seconds() / 60)
                                for one in part.started_at]) for part in (LIFE, later)]  # fmt: skip
    return pd.concat([part.assign(**{name: part[name].dt.tz_convert(ZONE)
                                     for name in ("started_at", "finished_at")})
                      for part in both], ignore_index=True)  # fmt: skip


@pytest.mark.parametrize("stated", [True, False])
def test_a_traveller_works_by_day(stated: bool, tmp_path: Path) -> None:
    life = trip(stated=stated)
    more = {"startTimeTimezoneUtcOffsetMinutes": life.offset.tolist()} if stated else {}
    for path in (made(tmp_path, "Timeline.json", phone(life, **more)),
                 made(tmp_path, "t.csv", csv(life.assign(
                     user_id=1, started_at=iso(life.started_at), finished_at=iso(life.finished_at)
                 ).drop(columns="offset")))):  # fmt: skip
        table = read(path)
        work = table.location_id.str.startswith("work")
        assert local_clock(table, "started_at")[work].dt.hour.unique().tolist() == [8]
        assert set(table.utc_offset) == {60, 120, 540}


@pytest.mark.parametrize(
    ("column", "first"),
    [(["+09:00", "-04:00"], [540, -240]), ([9, -4], [540, -240]), ([540, -240], [540, -240]),
     ([32400, -14400], [540, -240]), (["Asia/Tokyo", "America/New_York"], [540, -240]),
     (["+0900", "-0330"], [540, -210]), ([32_400_000, -14_400_000], [540, -240]),
     (["09:00", "UTC"], [540, 0])],
)  # fmt: skip
def test_an_offset_beside_the_times_is_used(column: list[Any], first: list[int]) -> None:
    table = pd.DataFrame({"user": ["a", "b"], "place": "h", "time": ["2024-05-06T08:00Z"] * 2,
                          "utc_offset": column})  # fmt: skip
    assert read(table).utc_offset.tolist() == first


@pytest.mark.parametrize(
    "beside", [["Europe/Vienna", "Asia/Tokyo"], ["+02:00", "+09:00"], [120, 540], [2, 9]]
)
def test_a_local_time_is_by_the_zone_beside_it(beside: list[Any], tmp_path: Path) -> None:
    table = pd.DataFrame({"user": 1, "place": ["home", "hotel"], "tz": beside,
                          "local_time": ["2024-05-06 08:00", "2024-07-01 22:00"]})  # fmt: skip
    moments = pd.to_datetime(["2024-05-06 06:00Z", "2024-07-01 13:00Z"]).tolist()
    placed = table.assign(lat=48.2, lon=16.4)
    for source in (table, placed, made(tmp_path, "v.csv", csv(table))):
        found, notes = told(lambda source=source: read(source))
        assert found.started_at.tolist() == found.finished_at.tolist() == moments
        assert found.utc_offset.tolist() == [120, 540]
        assert sum("by the clocks of 'tz'; if it is in UTC" in note for note in notes) == 1
        assert read(source, timezone=ZONE).started_at.dt.hour.tolist() == [8, 15]
        as_utc = read(source, file_timezone="UTC")
        assert as_utc.started_at.dt.hour.tolist() == [8, 22]
    fixes_ = read(placed.drop(columns="place"), timezone=ZONE)
    assert fixes_.tracked_at.tolist() == moments
    utc = read(table.rename(columns={"local_time": "utc_time"}))
    assert utc.started_at.dt.hour.tolist() == [8, 22] and utc.utc_offset.tolist() == [120, 540]
    empty = table.assign(tz=[*beside[:1], None])
    assert read(empty, timezone="Asia/Tokyo").started_at.dt.hour.tolist() == [15, 22]


@pytest.mark.parametrize("name", ["timezoneOffset", "timezone_offset", "tzOffset", "tz_offset"])
def test_an_offset_that_may_count_backwards_reads_no_local_time(name: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"user": 1, "place": "h", "time": ["2024-05-06 08:00"], name: -120})
    for source in (table, made(tmp_path, "v.csv", csv(table)),
                   made(tmp_path, "v.json", table.to_json(orient="records"))):  # fmt: skip
        assert read(source, timezone=ZONE).started_at.dt.hour.tolist() == [8]
        with pytest.raises(DataError, match="no time zone"):
            read(source)
    assert read(table.assign(**{name: "+02:00"})).started_at[0] == pd.Timestamp("2024-05-06T06Z")


@pytest.mark.parametrize(
    ("zones", "zone"),
    [(["CET", "CEST"], ZONE), (["EST", "EDT"], "America/New_York"),
     (["GMT", "BST"], "Europe/London"), (["EST", "EST"], "America/New_York"),
     (["MST", None], "America/Denver")],
)  # fmt: skip
def test_abbreviations_read_no_local_time(zones: list[Any], zone: str) -> None:
    table = pd.DataFrame({"user": 1, "time": ["2024-01-08 08:00", "2024-07-08 08:00"], "tz": zones})
    moments = table.time.astype("datetime64[us]").dt.tz_localize(zone)
    visits, positions = table.assign(place="h"), table.assign(lat=48.2, lon=16.4)
    for source, at in ((visits, "started_at"), (positions, "tracked_at")):
        assert (read(source, timezone=zone)[at] == moments).all()
        with pytest.raises(DataError, match=r"no time zone.*\(--timezone"):
            read(source)


def test_a_fix_without_the_zone_beside_it_is_asked_for() -> None:
    table = pd.DataFrame({"user": 1, "time": ["2024-07-08 08:00"] * 2, "tz": [ZONE, None],
                          "lat": 48.2, "lon": 16.4})  # fmt: skip
    with pytest.raises(DataError, match="'tz' is empty in row 1"):
        read(table)
    assert read(table, timezone="Asia/Tokyo").tracked_at.dt.hour.tolist() == [23, 6]


def test_a_time_that_no_clock_showed_is_the_same_by_the_zone_beside_it() -> None:
    table = pd.DataFrame({"user": 1, "place": "h", "time": ["2024-03-31 02:30"]})
    beside = read(table.assign(tz=ZONE)).started_at
    assert beside[0] == read(table, timezone=ZONE).started_at[0] == pd.Timestamp("2024-03-31T01Z")


@pytest.mark.parametrize(
    "name", ["time (UTC+2)", "Zeit (GMT+1)", "time_utc+02:00", "timestamp [UTC +2]", "UTC+2 time",
             "time (UTC\u22123)"])  # fmt: skip
def test_a_name_with_an_offset_is_not_utc(name: str) -> None:
    table = pd.DataFrame({"user": 1, "place": "h", name: ["2024-05-06 08:00"]})
    named = {"started_at": name}
    assert read(table, columns=named, timezone=ZONE).started_at.dt.hour.tolist() == [8]
    with pytest.raises(DataError, match="have no time zone"):
        read(table, columns=named)
    at_utc = read(table.rename(columns={name: "time (UTC+00:00)"}),
                  columns={"started_at": "time (UTC+00:00)"}, timezone=ZONE)  # fmt: skip
    assert at_utc.started_at.dt.hour.tolist() == [10]


def test_an_end_in_the_hour_that_comes_twice_is_by_the_zone_beside_it() -> None:
    table = pd.DataFrame({"user": 1, "place": "h", "start": ["2024-10-27 02:30"], "tz": ZONE,
                          "end": "2024-10-27 02:10"})  # fmt: skip
    assert (read(table).finished_at - read(table).started_at).item() == pd.Timedelta(minutes=40)


def test_an_offset_that_nobody_can_read_is_no_utc() -> None:
    table = ours(started_at=zulu(LIFE.started_at), finished_at=zulu(LIFE.finished_at),
                 timezone="W. Europe Standard Time")  # fmt: skip
    as_lived(read(table))  # by its places
    nowhere = table.drop(columns=["lon", "lat"])
    with pytest.raises(DataError, match="'timezone' is 'W"):
        read(nowhere)
    as_lived(read(nowhere, timezone=ZONE))


def test_minutes_behind_utc_are_told_by_the_places() -> None:
    ahead = LIFE.started_at.map(lambda at: at.utcoffset().total_seconds() // 60)
    table = ours(started_at=zulu(LIFE.started_at), finished_at=zulu(LIFE.finished_at))
    as_lived(read(table.assign(timezoneOffset=-ahead)))  # as JavaScript counts them
    as_lived(read(table.assign(timezoneOffset=ahead)))


@pytest.mark.parametrize(
    "zone", ["UTC", "Etc/UTC", "GMT", "Etc/GMT", "Zulu", "UCT", "Universal", "GMT0",
             "Etc/Greenwich", "Etc/Zulu"])  # fmt: skip
def test_other_names_of_utc_are_utc(zone: str) -> None:
    table = LIFE.assign(user_id=1, **{name: LIFE[name].dt.tz_convert(zone)
                                      for name in ("started_at", "finished_at")})  # fmt: skip
    found, notes = told(lambda: read_visits(table))
    as_lived(found)
    assert any("the times are in UTC" in note for note in notes)


def test_zones_of_every_library_are_read_by_name() -> None:
    import datetime
    import zoneinfo

    dateutil = pytest.importorskip("dateutil.tz")

    class Pytz:
        """Of a library that may be missing, what counts: a zone is its text."""

        def __str__(self) -> str:
            return ZONE

    for zone in (zoneinfo.ZoneInfo(ZONE), dateutil.gettz(ZONE), Pytz()):
        assert clocks.zone_name(zone) == ZONE
    hour = datetime.timezone(datetime.timedelta(hours=1))
    for zone in (zoneinfo.ZoneInfo("Etc/UTC"), dateutil.tzutc(), datetime.UTC, hour, None):
        assert clocks.zone_name(zone) is None


@pytest.mark.parametrize(
    ("shape", "floor"),
    [("%Y%m%d%H%M%S", "s"), ("%Y%m%d%H%M", "min"), ("%Y%m%d%H", "h"),
     ("%Y%m%dT%H%M%S", "s"), ("%Y-%m-%d %H:%M:%S", "s"), ("%Y/%m/%d %H:%M", "min")],
)  # fmt: skip
def test_digits_that_are_a_date_are_that_date(shape: str, floor: str, tmp_path: Path) -> None:
    times = {name: LIFE[name].dt.strftime(shape) for name in ("started_at", "finished_at")}
    table = ours(**times)
    digits = all(text.isdecimal() for text in times["started_at"])
    numbers = table.astype(dict.fromkeys(times, "int64")) if digits else table
    for source in (made(tmp_path, "v.csv", csv(table)), table, numbers):
        found = read(source, timezone=ZONE)
        expected = LIFE.started_at.dt.tz_localize(None).dt.floor(floor)
        assert sorted(found.started_at.dt.tz_localize(None)) == sorted(expected)


@pytest.mark.parametrize("shape", ["%y%m%d%H%M", "%y%m%d%H%M%S", "%Y.%m.%d %H:%M"])
def test_years_of_two_digits_and_points_between(shape: str) -> None:
    times = {name: LIFE[name].dt.strftime(shape) for name in ("started_at", "finished_at")}
    as_lived(read(ours(**times), timezone=ZONE))


@pytest.mark.parametrize("order", ["%y%m%d", "%d%m%y", "%m%d%y"])
def test_a_date_of_six_digits_is_read_by_all_of_them(order: str, tmp_path: Path) -> None:
    table = ours(date=LIFE.started_at.dt.strftime(order),
                 time=LIFE.started_at.dt.strftime("%H%M%S"))  # fmt: skip
    table = table.drop(columns=["started_at", "finished_at"])
    as_lived(read(made(tmp_path, "v.csv", csv(table)), timezone=ZONE))
    with pytest.raises(DataError, match="where day and year cannot be told apart"):
        read(table.head(2).assign(date=["060524", "050624"]), timezone=ZONE)
    for date, doubts in (("240506", 0), ("060524", 1), ("120524", 1)):  # as loggers write it
        one = table.head(1).assign(date=date)
        found, notes = told(lambda one=one: read(one, timezone=ZONE))
        assert found.started_at[0].strftime("%y%m%d") == date
        assert sum(f"{date} are read as year, month and day" in note for note in notes) == doubts


def test_a_day_in_digits_is_that_day() -> None:
    table = pd.DataFrame({"started_at": [20250303, 20251231]})
    at, _ = clocks.read_times(table, "started_at", "UTC", strict=True)
    assert at.dt.strftime("%Y-%m-%d").tolist() == ["2025-03-03", "2025-12-31"]


@pytest.mark.parametrize("factor", [1, 10**3, 10**6])
def test_unix_times_are_not_taken_for_dates(factor: int) -> None:
    seconds = LIFE.started_at.dt.as_unit("s").astype("int64")
    table = ours(started_at=seconds * factor).drop(columns="finished_at")
    assert read(table).started_at.tolist() == LIFE.started_at.tolist()


@pytest.mark.parametrize(
    ("digits", "factor", "step"),
    [(5, 1000, "10,000"), (5, 1, "10,000"), (8, 1000, "10"), (9, 1, ""), (12, 1000, "")],
)  # fmt: skip
def test_unix_times_that_a_spreadsheet_rounded_are_doubted(
    digits: int, factor: int, step: str, tmp_path: Path
) -> None:
    text = [f"{factor * int(at.timestamp()):.{digits}E}" for at in LIFE.started_at]
    table = ours(started_at=text).drop(columns="finished_at")
    for source in (table, made(tmp_path, "v.csv", csv(table))):
        notes = told(lambda source=source: read(source))[1]
        said = {note for note in notes if "'started_at' are rounded to" in note}
        assert len(said) == bool(step) and all(f"to {step} seconds" in note for note in said)


@pytest.mark.parametrize("texts", [["1.7149536E9"], ["1.71495E9", "1.714953612E9"]])
def test_unix_times_that_end_in_zeros_are_not_doubted(texts: list[str]) -> None:
    table = pd.DataFrame({"user": 1, "place": "h", "time": texts})
    assert not any("are rounded" in note for note in told(lambda: read(table))[1])


@pytest.mark.parametrize(
    ("since", "factor"),
    [("2001-01-01", 1), ("0001-01-01", 10**7), ("1601-01-01", 10**6), ("1601-01-01", 10**7)],
)
def test_times_since_another_year_are_not_taken_for_unix_times(since: str, factor: int) -> None:
    days = (np.datetime64("1970-01-01") - np.datetime64(since)).astype(int)
    numbers = [(int(at.timestamp()) + 86400 * int(days)) * factor for at in LIFE.started_at]
    with pytest.raises(DataError, match="'started_at' is"):
        read(ours(started_at=numbers, finished_at=numbers))


@pytest.mark.parametrize(
    "shape",
    ["%Y-%m-%d %I:%M:%S %p", "%b %d, %Y, %I:%M:%S %p", "%d %B %Y %H:%M", "%d-%b-%Y %H:%M:%S",
     "%a %b %d %H:%M:%S %Y", "%A, %d %B %Y %H:%M", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M",
     "%m/%d/%Y %I:%M %p", "%d-%m-%Y %H:%M", "%m-%d-%Y %H:%M:%S", "%a, %d %b %Y %H:%M:%S %z",
     "%a %b %d %Y %H:%M:%S GMT%z (Central European Standard Time)", "%Y-%m-%d %H:%M:%S %Z"],
)  # fmt: skip
def test_times_as_people_write_them(shape: str, tmp_path: Path) -> None:
    zone = {} if "%z" in shape.lower() else {"timezone": ZONE}
    times = {name: LIFE[name].dt.strftime(shape) for name in ("started_at", "finished_at")}
    as_lived(read(made(tmp_path, "v.csv", csv(ours(**times))), **zone))


@pytest.mark.parametrize("shape", [" {}", "[{}]"])
def test_the_name_of_a_zone_behind_a_time_is_its_clock(shape: str, tmp_path: Path) -> None:
    both = trip(stated=False).drop(columns=["lon", "lat"])
    zones = np.where(both.location_id.str.endswith("-t"), "Asia/Tokyo", ZONE)
    for name in ("started_at", "finished_at"):
        own = [at.tz_convert(zone) for at, zone in zip(both[name], zones, strict=True)]
        both[name] = [at.strftime("%Y-%m-%d %H:%M" + "%z" * (shape[0] == "[")) + shape.format(zone)
                      for at, zone in zip(own, zones, strict=True)]  # fmt: skip
    table = read(made(tmp_path, "v.csv", csv(both.assign(user_id=1))))
    work = local_clock(table, "started_at")[table.location_id.str.startswith("work")]
    assert work.dt.hour.unique().tolist() == [8]


def test_a_day_and_a_month_that_nothing_tells_apart_are_refused() -> None:
    rows = pd.DataFrame({"user": 1, "place": "h"}, index=range(2))
    for days in (("03/04/2025", "05/06/2025"), ("13/04/2025", "04/13/2025"),
                 ("03-04-2025", "05-06-2025"), ("13.04.25", "14.04.25")):  # fmt: skip
        with pytest.raises(DataError, match="where day and month cannot be told apart"):
            read(rows.assign(time=[f"{day} 09:00" for day in days]), timezone=ZONE)
    for odd in ("Mar 2025 09:00", "2025-03-03 09:00 EST", "Mon 03.04.2025 09:00", "noon"):
        with pytest.raises(DataError, match="is no ISO 8601 time"):
            read(rows.assign(time=odd), timezone=ZONE)


def test_days_of_a_spreadsheet_are_days(tmp_path: Path) -> None:
    days = {name: (LIFE[name].dt.tz_localize(None) - pd.Timestamp("1899-12-30"))
            / pd.Timedelta(days=1) for name in ("started_at", "finished_at")}  # fmt: skip
    as_lived(read(made(tmp_path, "v.csv", csv(ours(**days))), timezone=ZONE))


LASTS = LIFE.finished_at - LIFE.started_at
SECONDS = LASTS.dt.total_seconds().astype(int)
DURATIONS = {
    "duration": [f"PT{one // 3600}H{one % 3600 // 60}M" for one in SECONDS], "staytime": LASTS,
    "duration_min": SECONDS // 60, "durationSeconds": SECONDS, "Dauer (h)": SECONDS / 3600,
    "dwell_time_ms": 1000 * SECONDS, "dwelltime": [f"PT{one}S" for one in SECONDS],
    "durée": [f"{one // 3600}:{one % 3600 // 60:02}:00" for one in SECONDS],
}  # fmt: skip


@pytest.mark.parametrize("name", DURATIONS)
def test_a_duration_beside_a_start_makes_the_end(name: str, tmp_path: Path) -> None:
    table = ours(**{name: DURATIONS[name]}).drop(columns="finished_at")
    for source in (table, made(tmp_path, "v.csv", csv(table))):
        found = read(source)
        as_lived(found)
        assert found.finished_at.tolist() == LIFE.finished_at.tolist() and "duration" not in found
    ended = read(ours(duration_min=1))
    assert ended.finished_at.tolist() == LIFE.finished_at.tolist()


@pytest.mark.parametrize(
    ("name", "texts", "minutes"),
    [("Dauer (h)", ["1,5", "0,75", "2"], [90, 45, 120]), ("duration_min", ["90,5"], [90.5]),
     ("duration_s", ["3,600", "75.3"], [60, 1.255]), ("duration_s", ["3,600", "0,6"], [0.06, 0.01]),
     ("duration_min", ["1,5", "0.750"], [1.5, 0.75]),
     ("duration_s", ["1.800,0", "3.600"], [30, 60]), ("duration_s", ["3,600.0", "1,800"], [60, 30]),
     ("duration", ["1,5 h", "PT0,5H"], [90, 30]), ("duration_s", ["1,209,600", "60"], [20160, 1]),
     ("duration_s", ["1 800", "60"], [30, 1]), ("duration_s", ["1\u202f209\u00a0600"], [20160]),
     ("duration_s", ["1\u2009800,0", "3 600 s"], [30, 60]), ("duration_min", ["1 000,5"], [1000.5]),
     ("duration_min", ["8,", "9,5", ",5"], [8, 9.5, 0.5]), ("duration_min", ["8."], [8]),
     ("duration", ["1 day 02:00:00", "1 day, 2:00:00"], [1560, 1560])],
)  # fmt: skip
def test_a_comma_in_a_duration_is_decimal_or_parts_thousands(
    name: str, texts: list[str], minutes: list[float]
) -> None:
    start = pd.date_range("2024-05-06", periods=len(texts), freq="30D", tz=ZONE)
    found = read(pd.DataFrame({"user": 1, "place": "h", "start": start, name: texts}))
    lasts = (found.finished_at - found.started_at).dt.total_seconds()
    assert lasts.tolist() == pytest.approx([60 * one for one in minutes])


def test_a_duration_that_is_negative_or_has_no_unit_in_one_row_is_named() -> None:
    table = pd.DataFrame({"user": 1, "place": "h", "start": ["2024-05-06T08:00Z"] * 3})
    with pytest.raises(DataError, match="'stay_min' is -30 in row 1, which is negative"):
        read(table.assign(stay_min=[30, -30, 30]))
    with pytest.raises(DataError, match="'stay' is '1 30' in row 2, which is no duration"):
        read(table.assign(stay=["1 h", "30 min", "1 30"]))


def test_a_duration_that_nobody_can_read_is_said() -> None:
    table = ours(duration=SECONDS).drop(columns="finished_at")
    found, notes = told(lambda: read(table))
    assert (found.started_at == found.finished_at).all()
    assert any("'duration' is not used" in note and "duration_min" in note for note in notes)
    text = DURATIONS["duration"]
    with pytest.raises(DataError, match="'duration' is 'long' in row 0"):
        read(table.assign(duration=["long", *text[1:]]))
    assert len(read(table.assign(duration="long"))) == N
    empty = read(table.assign(duration=[None, *text[1:]]))
    assert empty.finished_at[0] == empty.started_at[0]


def test_an_end_that_is_missing_is_called_empty(tmp_path: Path) -> None:
    table = ours()
    table.loc[N - 1, "finished_at"] = ""
    with pytest.raises(DataError, match=rf"'finished_at' is empty in line {N + 1}; .*the start"):
        read(made(tmp_path, "v.csv", csv(table)))


@pytest.mark.parametrize(
    ("odd", "year"),
    [(1714989600000, 56315), ("9999-12-31T23:30", 9999), ("9999-12-31T23:30Z", 9999)],
)
@pytest.mark.parametrize("zone", [ZONE, "America/New_York"])
def test_a_time_in_no_year_of_ours_is_said_with_every_zone(odd: Any, year: int, zone: str) -> None:
    if isinstance(odd, int):
        usual: list[Any] = [1714975200 + 10_000 * hour for hour in range(4)]
    else:
        usual = [f"2024-05-06T0{hour}:00{odd[16:]}" for hour in range(4)]
    table = pd.DataFrame({"user": 1, "place": "h", "start": [*usual[:2], odd, *usual[2:]]})
    with pytest.raises(DataError, match=f"'start' is in the year {year} in row 2"):
        read(table, timezone=zone)
    found = read(table.assign(place=None, lat=48.2, lon=16.4), kind="fixes", timezone=zone)
    assert found.tracked_at.isna().tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("empty", [None, pd.NaT, np.nan])
def test_an_end_that_no_row_has_is_as_if_it_was_not_there(empty: Any, tmp_path: Path) -> None:
    table = ours(finished_at=empty)
    for source in (table, made(tmp_path, "v.csv", csv(table))):
        assert (read(source).finished_at == LIFE.started_at).all()
    lasting = read(table.assign(stay=LASTS), columns={"finished_at": "finished_at"})
    assert lasting.finished_at.tolist() == LIFE.finished_at.tolist()
    for nowhen in (ours(started_at=empty), fixes(time=empty, user=1)):
        with pytest.raises(DataError, match=r"is empty in row 0 \(and \d+ more\); fill it in"):
            read(nowhen)


def test_an_offset_whose_side_nothing_tells_is_doubted() -> None:
    table = pd.DataFrame({"user": 1, "place": "h", "time": ["2025-03-03T08:00Z"],
                          "timezoneOffset": -60})  # fmt: skip
    assert any("as JavaScript does" in note for note in told(lambda: read(table))[1])
    beside = table.rename(columns={"timezoneOffset": "utc_offset"})
    for other in (beside, table.assign(lon=14.3, lat=48.3), table.assign(timezoneOffset=0)):
        assert not any("JavaScript" in note for note in told(lambda other=other: read(other))[1])


def test_a_day_ends_at_24() -> None:
    for text in ("2024-05-01 24:00", "2024-05-01T24:00:00", "20240501240000"):
        table = pd.DataFrame({"user": 1, "place": "h", "start": ["2024-05-01 20:00"], "end": text})
        assert read(table, timezone=ZONE).finished_at[0] == pd.Timestamp("2024-05-02", tz=ZONE)


def test_a_table_of_one_day_is_doubted() -> None:
    at = pd.date_range("1976-06-02", periods=40, freq="5min", tz=ZONE)
    table = pd.DataFrame({"user": 1, "place": np.arange(40) % 3, "start": at, "end": at})
    assert any("begin within one day (1976-06-02)" in note for note in told(lambda: read(table))[1])


def test_dates_without_a_time_of_day_are_doubted(tmp_path: Path) -> None:
    day = FIXES["at"].dt.tz_convert(ZONE).dt.strftime("%Y-%m-%d")
    path = made(tmp_path, "f.csv", csv(fixes(time=day)))
    visited = ours(started_at=LIFE.started_at.dt.strftime("%Y-%m-%d")).drop(columns="finished_at")
    for source in (path, visited):
        _, notes = told(lambda source=source: read(source, timezone=ZONE))
        assert sum("are midnights" in note for note in notes) == 1
    assert not any("midnights" in note for note in told(lambda: read(ours()))[1])


@pytest.mark.parametrize("name", ["utc_time", "Time (UTC)", "GMTTime", "UTC DATE"])
@pytest.mark.parametrize("clock", [{}, {"timezone": ZONE}, {"timezone": "America/New_York"}])
def test_a_check_in_by_utc_ends_when_it_begins(name: str, clock: dict[str, Any]) -> None:
    text = LIFE.started_at.dt.tz_convert("UTC").dt.strftime("%Y-%m-%d %H:%M")
    table = ours(**{name: text}).drop(columns=["started_at", "finished_at"])
    if name == "UTC DATE":
        table = table.assign(**{name: text.str[:10], "UTC TIME": text.str[11:]})
    found = read(table, columns={"started_at": name}, **clock)
    assert (found.started_at == LIFE.started_at).all()
    assert (found.finished_at == LIFE.started_at).all()


def test_date_and_time_of_one_clock_belong_together(tmp_path: Path) -> None:
    local = FIXES["at"].dt.tz_convert(ZONE)
    table = pd.DataFrame({
        "INDEX": range(len(FIXES)), "UTC DATE": FIXES["at"].dt.strftime("%Y/%m/%d"),
        "UTC TIME": FIXES["at"].dt.strftime("%H:%M:%S"),
        "LOCAL DATE": local.dt.strftime("%Y/%m/%d"), "LOCAL TIME": local.dt.strftime("%H:%M:%S"),
        "LATITUDE": FIXES.lat, "N/S": "N", "LONGITUDE": FIXES.lon, "E/W": "E",
    })  # fmt: skip
    path = made(tmp_path, "qstarz.csv", csv(table))
    as_lived(found_in(path), slack=10)
    mine = read(path, columns={"tracked_at": "LOCAL TIME"}, timezone=ZONE)
    assert mine.tracked_at.tolist() == FIXES["at"].tolist()
    two = pd.DataFrame({"user": 1, "place": LIFE.location_id,
                        "start_date": LIFE.started_at.dt.strftime("%Y-%m-%d"),
                        "start_time": LIFE.started_at.dt.strftime("%H:%M"),
                        "end_date": LIFE.finished_at.dt.strftime("%Y%m%d"),
                        "end_time": LIFE.finished_at.dt.strftime("%H%M%S")})  # fmt: skip
    found = read(made(tmp_path, "two.csv", csv(two)), timezone=ZONE)
    as_lived(found)
    assert found.finished_at.tolist() == LIFE.finished_at.tolist()


# --- kinds and units ---------------------------------------------------------------------------


def test_a_few_places_among_fixes_make_no_visits(tmp_path: Path) -> None:
    place = [f"P{number}" if number % 200 == 0 else "" for number in range(len(FIXES))]
    path = made(tmp_path, "f.csv", csv(fixes(placeId=place)))
    table, notes = told(lambda: found_in(path))
    as_lived(table, slack=10)
    assert any("read as position fixes, and 'placeId'" in note for note in notes)
    assert len(found_in(path, kind="visits")) == sum(map(bool, place))
    assert len(read_fixes(path)) == len(FIXES)


def test_a_position_in_words_is_no_place(tmp_path: Path) -> None:
    words = [f"{row.lat:.5f}, {row.lon:.5f}" for row in FIXES.itertuples()]
    as_lived(found_in(made(tmp_path, "f.csv", csv(fixes(location=words)))), slack=10)
    alone = fixes(location=words).drop(columns=["lon", "lat"])
    as_lived(found_in(made(tmp_path, "alone.csv", csv(alone))), slack=10)


def test_what_could_be_both_is_asked_and_the_options_answer(tmp_path: Path) -> None:
    stay = np.searchsorted(LIFE.started_at, FIXES["at"], side="right") - 1
    path = made(tmp_path, "f.csv", csv(fixes(place=LIFE.location_id.to_numpy()[stay])))
    with pytest.raises(DataError, match=r"--visits or --fixes"):
        read(path)
    assert "location_id" in read(path, kind="visits") and "location_id" in read_visits(path)
    for kind in ({"kind": "fixes"}, {}):
        assert "tracked_at" in (read(path, **kind) if kind else read_fixes(path))
    out = tmp_path / "o.csv"
    assert cli.main(["visits", str(path), "--fixes", "--out", str(out)]) == 0
    assert len(pd.read_csv(out)) == N
    with pytest.raises(DataError, match="must be fixes or visits"):
        read(path, kind="stays")


def test_check_ins_with_positions_stay_visits() -> None:
    table = ours().drop(columns="finished_at")
    assert len(read(table)) == N and "location_id" in read(table)


@pytest.mark.parametrize(
    ("names", "factor"),
    [(("lat", "lon"), 1e6), (("lat", "lon"), 1e7), (("lat_e5", "lon_e5"), 1e5),
     (("latitudeE6", "longitudeE6"), 1e6), (("latE7", "lonE7"), 1e7)],
)  # fmt: skip
def test_parts_of_a_degree_are_told(names: tuple[str, str], factor: float, tmp_path: Path) -> None:
    table = ours(lat=(LIFE["lat"] * factor).round().astype(int),
                 lon=(LIFE.lon * factor).round().astype(int))  # fmt: skip
    table = table.rename(columns={"lat": names[0], "lon": names[1]})
    found = read(made(tmp_path, "v.csv", csv(table)))
    np.testing.assert_allclose(found[["lon", "lat"]], LIFE[["lon", "lat"]], atol=1e-5)


def parts_of(degrees: float, sides: str, shape: str) -> str:
    size = abs(degrees)
    minutes = size % 1 * 60
    return shape.format(d=int(size), m=int(minutes), s=minutes % 1 * 60, f=minutes, x=size,
                        side=sides[degrees < 0])  # fmt: skip


@pytest.mark.parametrize(
    "shape", ["{d}°{m}'{s:.3f}\"{side}", "{side} {d} {f:.5f}", "{d}° {f:.5f}′ {side}",
              "{d}:{m}:{s:.3f} {side}", "{x:.6f}° {side}"])  # fmt: skip
def test_degrees_minutes_and_seconds(shape: str) -> None:
    for east, north in ((0.0, 0.0), (-80.0, -90.0)):
        lon, lat = LIFE.lon + east, LIFE["lat"] + north
        text = {"lon": [parts_of(one, "EW", shape) for one in lon],
                "lat": [parts_of(one, "NS", shape) for one in lat]}  # fmt: skip
        tables = [ours(**text)]
        if shape.endswith("{side}"):  # as maps show a point
            pairs = [f"{one[0]}, {one[1]}" for one in zip(text["lat"], text["lon"], strict=True)]
            tables.append(ours(coords=pairs).drop(columns=["lon", "lat"]))
        for table in tables:
            found = read(table)
            np.testing.assert_allclose(found.lon, lon, atol=1e-5)
            np.testing.assert_allclose(found["lat"], lat, atol=1e-5)


@pytest.mark.parametrize(
    "names",
    [
        ("lat", "lng", "lat_dir", "lng_dir"),
        ("N/S", "E/W"),
        ("latitude", "longitude", "Latitude Ref", "Longitude Ref"),
    ],
)
@pytest.mark.parametrize("sides", ["SW", ("South", "west")])
def test_the_side_of_the_earth_in_a_column_beside(names: tuple[str, ...], sides: Any) -> None:
    lat, lon = names[:2] if len(names) == 4 else ("lat", "lon")
    for sign in (1, -1):  # with a sign as well, the south stays the south
        table = ours().rename(columns={"lat": lat, "lon": lon})
        table = table.assign(**{lat: sign * table[lat], lon: sign * table[lon]})
        found = read(table.assign(**dict(zip(names[-2:], sides, strict=True))))
        np.testing.assert_allclose(found[["lon", "lat"]], -LIFE[["lon", "lat"]])


def test_32_bits_without_a_sign_are_a_longitude_in_the_west(tmp_path: Path) -> None:
    rows = [{"timestampMs": str(1000 * at), "latitudeE7": 407_000_000, "activity": [{}],
             "longitudeE7": 2**32 - 740_000_000} for at in UNIX[:9]]  # fmt: skip
    found = read(made(tmp_path, "Records.json", json.dumps({"locations": rows})))
    np.testing.assert_allclose(found.lon, -74)
    assert found.tracked_at.tolist() == FIXES["at"][:9].tolist()


def test_metres_and_what_could_be_two_units_are_refused() -> None:
    metres = ours(lat=5_350_000.5 + LIFE["lat"], lon=600_000.25 + LIFE.lon)
    with pytest.raises(DataError, match="metres of a map and not degrees"):
        read(metres)
    with pytest.raises(DataError, match=r"degrees times .*or metres of a map\? .*lon_e6"):
        read(ours(lat=5_350_000, lon=600_000))
    # 39.9 N 116.4 E in millionths is 4.0 N 11.6 E in ten-millionths: both on land.
    with pytest.raises(DataError, match="or degrees times"):
        read(ours(lat=39_900_000, lon=116_400_000))


def test_columns_that_are_swapped_are_told_and_the_remedy_works() -> None:
    table = ours(lon=LIFE["lat"], lat=LIFE.lon + 125)
    with pytest.raises(DataError, match=r"look swapped: .*--columns lon=lat,lat=lon"):
        read(table)
    found = read(table, columns={"lon": "lat", "lat": "lon"}, timezone=ZONE)
    np.testing.assert_allclose(found.lon, LIFE.lon + 125)


def test_thousands_are_no_minutes() -> None:
    with pytest.raises(DataError, match="'lon'"):
        read(ours(lon=[f"{round(1e7 * one):,}" for one in LIFE.lon]))
    with pytest.raises(DataError, match="'lon'"):
        read(ours(lon="14 75.5 E"))


def test_places_in_the_sea_are_doubted() -> None:
    table = ours(started_at=zulu(LIFE.started_at), finished_at=zulu(LIFE.finished_at))
    notes = told(lambda: read(table.assign(lat=-40.0, lon=-30.0)))[1]
    assert any("lie in the sea" in note for note in notes)
    assert not any("sea" in note for note in told(lambda: read(table))[1])


# --- what cannot be used is counted ------------------------------------------------------------


def test_one_bad_visit_costs_one_visit(tmp_path: Path) -> None:
    segments = timeline(LIFE)
    del segments[20]["visit"]["topCandidate"]["placeLocation"]
    table, notes = told(lambda: read(made(tmp_path, "Timeline.json", json.dumps(segments))))
    as_lived(table)
    assert table.lon.tolist() == LIFE.lon.tolist() and any(
        "where their place is: 1" in n for n in notes
    )
    segments = timeline(LIFE)
    segments[30]["endTime"], segments[40]["startTime"] = segments[3]["endTime"], None
    segments[50]["visit"]["topCandidate"], segments[51]["visit"] = None, None
    segments[52]["endTime"] = "9999-12-31T00:00:00Z"
    table, notes = told(lambda: read(made(tmp_path, "Timeline.json", json.dumps(segments))))
    assert len(table) == N - 5 and {"lon", "lat"} <= {*table.columns}
    count = next(note for note in notes if note.startswith("left out of Timeline.json"))
    assert "2 visits without a time" in count and "1 visits that end before they begin" in count
    assert "1 visits that name no place" in count


def test_a_stay_whose_outer_one_is_missing_is_kept(tmp_path: Path) -> None:
    inner = timeline(LIFE.assign(location_id="counter"))
    for segment in inner:
        segment["visit"]["hierarchyLevel"] = 1
    whole = [part for number, both in enumerate(zip(timeline(LIFE), inner, strict=True))
             for part in both[number == 9 :]]  # fmt: skip
    table = read(made(tmp_path, "Timeline.json", json.dumps(whole)))
    lived = ["counter" if row == 9 else place for row, place in enumerate(LIFE.location_id)]
    assert table.location_id.tolist() == lived


def test_a_visit_at_0_0_lies_where_its_place_does() -> None:
    nowhere = np.arange(N) == 20
    table = ours(lon=LIFE.lon.where(~nowhere, 0), lat=LIFE.lat.where(~nowhere, 0))
    found, notes = told(lambda: read(table))
    as_lived(found)
    assert found.lon.min() > 14
    assert any("put where their place is: 1 (row 20)" in note for note in notes)


def test_states_that_are_no_places_do_not_end_a_stay(tmp_path: Path) -> None:
    rows = []
    for number, row in enumerate(LIFE.itertuples()):
        rows.append((row.location_id, row.started_at))
        if number % 3 == 0:
            again = row.started_at + pd.Timedelta(minutes=9)
            rows += [("unavailable", again), ("unknown", again + pd.Timedelta(minutes=1)),
                     (row.location_id, again + pd.Timedelta(minutes=2))]  # fmt: skip
        rows.append(("not_home", row.finished_at))
    states, since = zip(*rows, strict=True)
    log = pd.DataFrame({"entity_id": "person.lena", "state": states,
                        "last_changed": zulu(pd.Series(since))})  # fmt: skip
    path = made(tmp_path, "history.csv", csv(log))
    named = {"user_id": "entity_id", "location_id": "state", "started_at": "last_changed"}
    for columns in ({}, named):
        table, notes = told(lambda columns=columns: read(path, timezone=ZONE, columns=columns))
        as_lived(table)
        assert table.finished_at.tolist() == LIFE.finished_at.tolist()
        assert not any("touch" in note for note in notes)
        gone = int(log.state.isin(["unavailable", "unknown"]).sum())
        assert any(note.startswith(f"{gone} rows of no place") for note in notes)


def test_of_a_household_in_home_assistant_people_are_read(tmp_path: Path) -> None:
    log = pd.DataFrame({"entity_id": "person.lena", "last_changed": zulu(LIFE.started_at),
                        "state": LIFE.location_id})  # fmt: skip
    phone_ = log.assign(entity_id="device_tracker.pixel")
    warm = log.assign(entity_id="sensor.warmth", state="21.3")
    path = made(tmp_path, "history.csv", csv(pd.concat([warm, phone_, log])))
    table, notes = told(lambda: read(path, timezone=ZONE))
    as_lived(table)
    assert any(note.startswith(f"{2 * N} states of other entities") for note in notes)
    assert read(path, columns={"user_id": "entity_id"}).user_id.nunique() == 3
    trackers = made(tmp_path, "trackers.csv", csv(pd.concat([warm, phone_])))
    as_lived(read(trackers, timezone=ZONE))


def test_a_place_may_be_called_na(tmp_path: Path) -> None:
    for word in ("NA", "None", "null", "nan"):
        table = ours(location_id=LIFE.location_id.replace({"home": word}), user_id=word)
        write(read_visits(table), tmp_path / "v.csv")
        again, notes = told(lambda: read_visits(tmp_path / "v.csv", timezone=ZONE))
        as_lived(again)
        assert word in set(again.location_id) and set(again.user_id) == {word}
        assert not any("left out" in note for note in notes)
        assert sum("is read as an id like any other" in note for note in notes) == 2
        excel = "sep=,\n" + (tmp_path / "v.csv").read_text()
        assert word in set(read(made(tmp_path, "x.csv", excel), timezone=ZONE).location_id)
    empty = ours(location_id=LIFE.location_id.replace({"gym": ""}))
    assert any("without a place are left out" in note
               for note in told(lambda: read(made(tmp_path, "e.csv", csv(empty))))[1])  # fmt: skip


# --- formats -----------------------------------------------------------------------------------


def features(about: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "Feature", "properties": own,
             "geometry": {"type": "Point", "coordinates": [row.lon, row.lat, 260.0]}}
            for row, own in zip(FIXES.itertuples(), about, strict=True)]  # fmt: skip


UNIX = [int(one.timestamp()) for one in FIXES["at"]]
TEXT = zulu(FIXES["at"])
COLLECTION = "FeatureCollection"
APPS: dict[str, Any] = {
    "dawarich.geojson": {"type": COLLECTION, "features": features(
        [{"timestamp": at, "accuracy": 12, "tracker_id": "AR"} for at in UNIX])},
    "gpslogger.geojson": {"type": COLLECTION, "features": features(
        [{"time": at, "provider": "gps", "time_long": 1000 * unix, "accuracy": 4.5}
         for at, unix in zip(TEXT, UNIX, strict=True)])},
    "overland.json": {"locations": features(
        [{"timestamp": at, "horizontal_accuracy": 5, "motion": ["driving"], "device_id": "x"}
         for at in TEXT])},
    "owntracks.geojson": {"type": COLLECTION, "features": features(
        [{"tst": at, "acc": 9, "topic": "owntracks/lena/phone"} for at in UNIX])},
    "owntracks.json": {"count": len(UNIX), "data": [
        {"_type": "location", "tst": at, "acc": 9, "lon": row.lon, "lat": row.lat,
         "topic": "owntracks/lena/phone"}
        for row, at in zip(FIXES.itertuples(), UNIX, strict=True)]},
    "line.geojson": {"type": "Feature", "properties": {"coordTimes": TEXT}, "geometry": {
        "type": "LineString", "coordinates": FIXES[["lon", "lat"]].to_numpy().tolist()}},
    "lines.geojson": {"type": "Feature", "geometry": {"type": "MultiLineString", "coordinates": [
        FIXES[["lon", "lat"]].to_numpy().tolist()[start : start + 900]
        for start in range(0, len(TEXT), 900)]}, "properties": {"coordinateProperties": {
            "times": [TEXT[start : start + 900] for start in range(0, len(TEXT), 900)]}}},
    "path.json": {"semanticSegments": [{"startTime": TEXT[0], "endTime": TEXT[-1], "timelinePath": [
        {"point": f"{row.lat}°, {row.lon}°", "time": at}
        for row, at in zip(FIXES.itertuples(), TEXT, strict=True)]}]},
    "signals.json": {"semanticSegments": [], "rawSignals": [{"position": {
        "LatLng": f"{row.lat}°, {row.lon}°", "accuracyMeters": 12, "timestamp": at}}
        for row, at in zip(FIXES.itertuples(), TEXT, strict=True)]},
}  # fmt: skip


def test_records_inside_records_are_read(tmp_path: Path) -> None:
    app = [{"timestamp": 1000 * at, "coords": {"latitude": row.lat, "longitude": row.lon}}
           for row, at in zip(FIXES.itertuples(), UNIX, strict=True)]  # fmt: skip
    as_lived(found_in(made(tmp_path, "app.json", json.dumps(app))), slack=10)
    items = [{"id": str(number), "createdAt": at, "lat": row.lat, "lng": row.lon,
              "venue": {"id": f"v{row.location_id}", "name": "x"}}
             for number, (row, at) in enumerate(zip(LIFE.itertuples(), zulu(LIFE.started_at),
                                                    strict=True))]  # fmt: skip
    path = made(tmp_path, "checkins1.json", json.dumps({"count": N, "items": items}))
    as_lived(found_in(path))
    for name in ("visits", "points"):
        text = json.dumps({"who": "me", name: items, "places": ["here"]})
        as_lived(found_in(made(tmp_path, "app.json", text)))
    other = made(tmp_path, "x.json", json.dumps({"who": "me", "when": {"a": 1}}))
    alone = made(tmp_path, "folder/x.json", other.read_text())
    for source in (other, alone.parent):
        with pytest.raises(DataError, match="write its records as a CSV"):
            read(source)


@pytest.mark.parametrize("edges", [("start", "end"), ("begin", "departure"), ("end", "start")])
def test_records_inside_records_do_not_overwrite_each_other(
    edges: tuple[str, str], tmp_path: Path
) -> None:
    times = ["2024-05-06T08:00Z", "2024-05-06T09:00Z"][:: 1 if edges[1] != "start" else -1]
    first, second = ({"time": at, "lat": lat, "lon": 16.3}
                     for at, lat in zip(times, (48.2, 48.3), strict=True))  # fmt: skip
    visit = {"user": "a", "place": "h", edges[0]: first, edges[1]: second}
    path = made(tmp_path, "v.json", json.dumps([visit]))
    found = read(path)
    assert found.started_at.dt.strftime("%H:%M%z").tolist() == ["10:00+0200"]
    assert found.finished_at.dt.hour.tolist() == [11] and found.lat.tolist() == [48.2]


@pytest.mark.parametrize("name", APPS)
def test_positions_of_many_apps(name: str, tmp_path: Path) -> None:
    path = made(tmp_path, name, json.dumps(APPS[name]))
    table = read_fixes(path)
    assert table.tracked_at.tolist() == FIXES["at"].tolist()
    assert ("accuracy" in table) is (name not in ("line.geojson", "lines.geojson", "path.json"))
    as_lived(found_in(path), slack=10)


@pytest.mark.parametrize("name", ["locations", "features"])
def test_collections_a_line_and_a_box_around_few_features(name: str, tmp_path: Path) -> None:
    points = APPS["overland.json"]["locations"]
    batches = [{"type": COLLECTION, "bbox": [14, 48, 15, 49], name: points[start : start + 900]}
               for start in range(0, len(points), 900)]  # fmt: skip
    lines = made(tmp_path, "all.jsonl", "\n".join(map(json.dumps, [*batches, {name: []}])))
    assert read_fixes(lines).tracked_at.tolist() == FIXES["at"].tolist()
    assert len(read_fixes(made(tmp_path, "list.json", json.dumps(batches)))) == len(FIXES)
    few = made(tmp_path, "few.geojson", json.dumps(batches[0] | {name: points[:2]}))
    assert len(read_fixes(few)) == 2
    whose = [{name: []}, *(batch | {"user": who} for batch in batches for who in ("ada", "ben"))]
    found = read_fixes(made(tmp_path, "two.jsonl", "\n".join(map(json.dumps, whose))))
    assert found.user_id.value_counts().to_dict() == {"ada": len(FIXES), "ben": len(FIXES)}


def test_points_of_lines_without_a_time_are_counted(tmp_path: Path) -> None:
    line = APPS["line.geojson"] | {"properties": {"coordTimes": TEXT[:3000]}}
    path = made(tmp_path, "line.geojson", json.dumps(line))
    table, notes = told(lambda: read_fixes(path))
    assert len(table) == 3000
    assert any(f"{len(TEXT) - 3000} points of lines without a time" in note for note in notes)


def test_a_feature_that_is_no_point_is_a_visit_or_counted(tmp_path: Path) -> None:
    ring = {"type": "Polygon", "coordinates": [[[16, 48], [17, 48], [17, 49], [16, 48]]]}
    point = {"type": "Point", "coordinates": [16.3, 48.2]}
    items = [{"type": "Feature", "geometry": geometry, "properties": {
        "user": "a", "place": place, "start": f"2024-05-06T{hour:02}:00Z"}}
        for hour, (place, geometry) in enumerate(
            [("h", point), ("w", point), ("h", ring), ("w", None), ("x", {"type": "Point"})])
    ]  # fmt: skip
    zone = {"type": "Feature", "geometry": ring, "properties": {"name": "town"}}
    path = made(tmp_path, "v.geojson", json.dumps({"type": COLLECTION, "features": [*items, zone]}))
    table, notes = told(lambda: read(path))
    assert table.location_id.tolist() == ["h", "w", "h", "w"]
    assert any("1 features that are no point or line" in note for note in notes)
    assert any("without a position, left out: 1" in note for note in notes)


def test_a_path_of_an_iphone_counts_minutes(tmp_path: Path) -> None:
    path = [{"point": f"geo:48.2{number},14.3", "durationMinutesOffsetFromStartTime": str(number)}
            for number in range(5)]  # fmt: skip
    one = [{"startTime": "2025-03-03T08:00:00+01:00", "endTime": "2025-03-03T09:00:00+01:00",
            "timelinePath": path}]  # fmt: skip
    table = read_fixes(made(tmp_path, "location-history.json", json.dumps(one)))
    assert table.tracked_at.dt.minute.tolist() == [0, 1, 2, 3, 4]


def test_arc_names_visits(tmp_path: Path) -> None:
    items = [{"isVisit": True, "startDate": start, "endDate": end, "place": {
        "name": row.location_id, "center": {"longitude": row.lon, "latitude": row.lat}}}
        for row, start, end in zip(LIFE.itertuples(), zulu(LIFE.started_at), zulu(LIFE.finished_at),
                                   strict=True)]  # fmt: skip
    text = json.dumps({"timelineItems": [*items, {"isVisit": False, "samples": []}]})
    as_lived(read(made(tmp_path, "2025-03.json", text)))


def test_the_editor_of_arc_names_visits(tmp_path: Path) -> None:
    spans = zip(LIFE.itertuples(), zulu(LIFE.started_at), zulu(LIFE.finished_at), strict=True)
    items = [{"base": {"id": "x", "isVisit": True, "startDate": start, "endDate": end},
              "visit": {"placeId": row.location_id, "longitude": row.lon, "latitude": row.lat}}
             for row, start, end in spans]  # fmt: skip
    way = {"base": {"isVisit": False}, "trip": {}}
    as_lived(read(made(tmp_path, "2025-03.json", json.dumps([*items, way]))))


def test_home_assistants_interface_and_positions(tmp_path: Path) -> None:
    log = [{"entity_id": "person.lena", "state": state, "last_changed": at,
            "attributes": {"latitude": row.lat, "longitude": row.lon}}
           for row in LIFE.itertuples() for state, at in (
               (row.location_id, row.started_at.isoformat()),
               ("not_home", row.finished_at.isoformat()))]  # fmt: skip
    found = read(made(tmp_path, "history.json", json.dumps([log])))
    as_lived(found)
    assert found.finished_at.tolist() == LIFE.finished_at.tolist()
    table = fixes(entity_id="device_tracker.pixel").rename(columns={"time": "last_updated"})
    found = found_in(made(tmp_path, "tracker.csv", csv(table)))
    as_lived(found, slack=10)
    assert found.user_id[0] == "device_tracker.pixel"


def test_short_answers_of_home_assistants_interface(tmp_path: Path) -> None:
    logs = []
    for who in ("lena", "tom"):
        edges = [(state, at.isoformat()) for row in LIFE.itertuples()
                 for state, at in ((row.location_id, row.started_at),
                                   ("not_home", row.finished_at))]  # fmt: skip
        log: list[dict[str, Any]] = [{"state": state, "last_changed": at} for state, at in edges]
        log[0] |= {"entity_id": f"person.{who}", "attributes": {"latitude": 48, "longitude": 14}}
        logs.append(log)
    path = made(tmp_path, "history.json", json.dumps([*logs, []]))
    table, notes = told(lambda: read(path, timezone=ZONE))
    assert table.user_id.value_counts().to_dict() == {"person.lena": N, "person.tom": N}
    as_lived(table[table.user_id == "person.tom"])
    assert not any("left out" in note for note in notes)


def test_a_folder_of_lines_of_json(tmp_path: Path) -> None:
    for day in range(3, 31):
        rows = [{"type": "Feature", "properties": {"timestamp": f"{at:%Y-%m-%dT%H:%M:%SZ}"},
                 "geometry": {"type": "Point", "coordinates": [row.lon, row.lat]}}
                for row, at in zip(FIXES.itertuples(), FIXES["at"], strict=True)
                if at.month == 3 and at.day == day]  # fmt: skip
        made(tmp_path, f"overland/2025-03-{day:02}.jsonl", "\n".join(map(json.dumps, rows)))
    as_lived(found_in(tmp_path / "overland"), slack=70)


@pytest.mark.parametrize("names", [
    {"user_id": "Person", "location_id": "Ort", "started_at": "Beginn", "finished_at": "Ende",
     "lon": "Längengrad", "lat": "Breitengrad"},
    {"user_id": "personne", "location_id": "lieu", "started_at": "début", "finished_at": "fin",
     "lon": "longitude", "lat": "latitude"},
])  # fmt: skip
def test_columns_in_german_and_in_french(names: dict[str, str], tmp_path: Path) -> None:
    table = ours().rename(columns=names)
    as_lived(read(made(tmp_path, "v.csv", csv(table, sep=";", decimal=","))))
    start = LIFE.started_at
    split = table.drop(columns=[names["started_at"], names["finished_at"]])
    for date, clock, day, hour in (("Datum", "Uhrzeit", "%d.%m.%Y", "%H:%M"),
                                   ("date", "heure", "%Y%m%d", "%H%M")):  # fmt: skip
        both = split.assign(**{date: start.dt.strftime(day), clock: start.dt.strftime(hour)})
        as_lived(read(made(tmp_path, "s.csv", csv(both, sep=";", decimal=",")), timezone=ZONE))


def test_a_takeout_of_settings_says_where_the_visits_are(tmp_path: Path) -> None:
    made(tmp_path, "Takeout/Timeline/Settings.json", '{"deviceSettings": []}')
    made(tmp_path, "Takeout/Timeline/Timeline Edits.json", '{"timelineEdits": []}')
    for path in (tmp_path, tmp_path / "Takeout/Timeline/Timeline Edits.json"):
        with pytest.raises(
            DataError, match="Takeout has held none since 2024, they are on the phone"
        ):
            read(path)


@pytest.mark.parametrize("kind", ["plain", "big", "height", "reference", "hexadecimal"])
def test_points_in_well_known_binary(kind: str, tmp_path: Path) -> None:
    def blob(row: Any) -> Any:
        order = ">" if kind == "big" else "<"
        what = {"height": 1001, "reference": 0x20000001}.get(kind, 1)
        head = struct.pack(f"{order}BI", order == "<", what)
        head += struct.pack("<I", 4326) if kind == "reference" else b""
        point = head + struct.pack(f"{order}2d", row.lon, row.lat)
        point += struct.pack("<d", 260.0) if kind == "height" else b""
        return point.hex().upper() if kind == "hexadecimal" else point

    table = LIFE.assign(user_id=1, geometry=[blob(row) for row in LIFE.itertuples()])
    table = table.drop(columns=["lon", "lat"])
    path = tmp_path / "v.parquet"
    table.to_parquet(path)
    found = read(path)
    as_lived(found)
    np.testing.assert_allclose(found[["lon", "lat"]], LIFE[["lon", "lat"]])


def test_a_geometry_that_is_no_point_is_left_alone(tmp_path: Path) -> None:
    table = LIFE.assign(user_id=1, geometry=struct.pack("<BII", 1, 2, 0)).drop(
        columns=["lon", "lat"]
    )
    table.to_parquet(tmp_path / "v.parquet")
    assert len(read(tmp_path / "v.parquet")) == N


@pytest.mark.parametrize("kind", ["record", "list", "tuple", "text", "names"])
def test_points_as_pairs(kind: str, tmp_path: Path) -> None:
    where = list(zip(LIFE.lon, LIFE["lat"], strict=True))
    held: dict[str, list[Any]] = {
        "record": [{"x": lon, "y": lat} for lon, lat in where], "list": [[*one] for one in where],
        "tuple": [(lat, lon) for lon, lat in where], "text": [f"[{a}, {b}]" for a, b in where],
        "names": [{"lat": lat, "lng": lon} for lon, lat in where],
    }  # fmt: skip
    name = "geometry" if kind in ("record", "list") else "point"
    table = ours(**{name: held[kind]}).drop(columns=["lon", "lat"])
    sources: list[Any] = [table]
    if kind in ("record", "list"):  # as GeoParquet has points of its own
        sources.append(tmp_path / "v.parquet")
        table.to_parquet(sources[1])
    for source in sources:
        found, notes = told(lambda source=source: read(source))
        as_lived(found)
        np.testing.assert_allclose(found[["lon", "lat"]], LIFE[["lon", "lat"]])
        assert any("'point' are read as" in n for n in notes) is (kind in ("tuple", "text"))


def test_days_and_minutes_of_the_literature(tmp_path: Path) -> None:
    wall = {name: LIFE[name].dt.tz_localize(None) for name in ("started_at", "finished_at")}
    day = {
        name: (at.dt.normalize() - pd.Timestamp("2025-03-01")).dt.days for name, at in wall.items()
    }
    minute = {name: at.dt.hour * 60 + at.dt.minute for name, at in wall.items()}
    table = pd.DataFrame({
        "id": range(N), "user_id": 0, "location_id": pd.factorize(LIFE.location_id)[0],
        "start_day": day["started_at"], "end_day": day["finished_at"],
        "start_min": minute["started_at"], "end_min": minute["finished_at"],
        "weekday": wall["started_at"].dt.weekday,
        "duration": (wall["finished_at"] - wall["started_at"]).dt.total_seconds() // 60,
    })  # fmt: skip
    path = made(tmp_path, "dataSet.csv", csv(table))
    for source in (
        path,
        made(tmp_path, "short.csv", csv(table.drop(columns=["end_day", "end_min"]))),
    ):
        for zone in ({}, {"timezone": ZONE}):
            found = read(source, **zone)
            for name, at in wall.items():
                local = local_clock(found, name)
                assert local.dt.weekday.tolist() == at.dt.weekday.tolist()
                assert (local - local[0]).tolist() == (at - at[0]).tolist() or "timezone" in zone
            assert found.started_at.dt.hour.tolist() == wall["started_at"].dt.hour.tolist()


def test_half_hours_on_a_grid(tmp_path: Path) -> None:
    table = pd.DataFrame({"uid": 3, "d": [0, 0, 2], "t": [0, 47, 17], "x": [5, 5, 120],
                          "y": [9, 9, 77]})  # fmt: skip
    masked = table.iloc[[2, 2]].assign(d=[3, 4], x=-999, y=-999)  # which are to be predicted
    path = made(tmp_path, "yjmob100k-dataset1.csv", csv(pd.concat([table, masked])))
    found, notes = told(lambda: read(path))
    assert any(note.startswith("2 rows whose cell is hidden") for note in notes)
    assert found.location_id.tolist() == ["5-9", "5-9", "120-77"]
    assert found.started_at.dt.strftime("%d %H:%M").tolist() == ["01 00:00", "01 23:30", "03 08:30"]
    assert (found.finished_at - found.started_at == pd.Timedelta(minutes=30)).all()


@pytest.mark.parametrize("sign", [";", ",", "\\t"])
def test_a_line_for_excel_is_no_header(sign: str, tmp_path: Path) -> None:
    text = f"sep={sign}\n" + csv(ours(), sep=sign.replace("\\t", "\t"))
    as_lived(read(made(tmp_path, "v.csv", text)))
    bad = text.replace(iso(LIFE.started_at)[1], "later")
    with pytest.raises(DataError, match="is 'later' in line 4"):
        read(made(tmp_path, "bad.csv", bad))


def tarred(path: Path, **members: Any) -> Path:
    with tarfile.open(path, "w:gz" if path.suffix in (".tgz", ".gz") else "w") as archive:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if info is content else content.encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["life.tgz", "life.tar.gz", "life.tar"])
def test_a_tar_archive_is_read_as_a_zip_is(name: str, tmp_path: Path) -> None:
    as_lived(read(tarred(tmp_path / name, **{"Takeout/Timeline.json": phone(LIFE)})))
    link = tarfile.TarInfo("evil.csv")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    for member, says in ((link, "is a link or a device"), ("../evil.csv", "leads out"),
                         ("/etc/evil.csv", "has an absolute path")):  # fmt: skip
        info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
        with pytest.raises(DataError, match=says):
            read(tarred(tmp_path / name, **{"v.csv": csv(ours()), "evil": info}))
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 3])
    with pytest.raises(DataError, match=r"is no complete tar archive"):
        read(tmp_path / name)


def test_a_tar_archive_that_would_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgt.readers.recordings.UNPACKED", 1000)
    monkeypatch.setattr("pgt.readers.recordings.TIMES_PACKED", 1)
    with pytest.raises(DataError, match="would unpack to more than"):
        read(tarred(tmp_path / "b.tgz", **{"v.csv": "a" * 100_000}))


def test_accuracy_is_a_number_whatever_stands_behind_it(tmp_path: Path) -> None:
    far = np.arange(len(FIXES)) % 8 == 7
    for poor, fine in (("2000 m", "12,5 m"), ("2000", "12.5"), ("2000.0m", "")):
        table = fixes(accuracy=np.where(far, poor, fine), lat=FIXES.lat + 0.02 * far)
        found, notes = told(lambda table=table: found_in(made(tmp_path, "f.csv", csv(table))))
        as_lived(found, slack=30)
        assert any("accuracy worse than 200 m" in note for note in notes)


def test_accuracy_in_extensions_of_gpx(tmp_path: Path) -> None:
    inside = "<extensions><x:accuracy>13.5</x:accuracy></extensions>"
    found = read(made(tmp_path, "f.gpx", gpx(inside.replace("x:", ""), me=FIXES[:9])))
    assert found.accuracy.tolist() == [13.5] * 9


# --- tables in memory --------------------------------------------------------------------------


def test_an_index_says_nothing_or_is_columns() -> None:
    one, two = LIFE.assign(user_id=1), LIFE.assign(user_id=2, lon=LIFE.lon + 125, lat=35.7)
    fresh = read_visits(pd.concat([one, two], ignore_index=True))
    for table in (pd.concat([one, two]), pd.concat({"a": one, "b": two}),
                  pd.concat([one, two]).set_index("user_id", drop=False)):  # fmt: skip
        pd.testing.assert_frame_equal(read_visits(table), fresh)
        assert len(check(table)) == 2 * N
    for levels in (["user_id"], ["user_id", "started_at"], ["location_id", "finished_at"]):
        indexed = pd.concat([one, two]).set_index(levels)
        pd.testing.assert_frame_equal(read_visits(indexed)[fresh.columns], fresh)
        assert pgt.prepare(indexed.drop(columns=["lon", "lat"]), protocol="exact")
    renamed = one.rename(columns={"started_at": "t"}).set_index("t")
    assert len(read_visits(renamed)) == len(read_visits(renamed.rename_axis(None))) == N
    bad = pd.concat([one, two])
    bad.iloc[100, bad.columns.get_loc("lat")] = 400.0
    with pytest.raises(DataError, match="'lat' is 400 in row 100"):
        read_visits(bad)


def test_the_bytes_of_a_file_are_loaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, loaded, load = made(tmp_path, "v.csv", csv(ours())), [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: loaded.append(self) or load(self))
    as_lived(read(path))
    assert loaded == [path]


def test_columns_may_be_named_one_by_one(tmp_path: Path) -> None:
    table = ours().rename(columns={"location_id": "spot", "user_id": "who"})
    path, out = made(tmp_path, "v.csv", csv(table)), tmp_path / "out.csv"
    named = ["--columns", "location_id=spot", "--columns", "user_id=who"]
    assert cli.main(["visits", str(path), *named, "--out", str(out)]) in (0, None)
    as_lived(read(out))


def test_an_answer_says_by_which_clock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(made(tmp_path, "v.csv", csv(ours())))
    for zone, says in (((), f"({ZONE})"), (("--timezone", ZONE), "")):
        assert cli.main(["predict", path, *zone]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert first.endswith(f"{LIFE.started_at.iloc[-1]:%Y-%m-%d %H:%M} {says}".rstrip())
    life = trip(stated=True)
    more = {"startTimeTimezoneUtcOffsetMinutes": life.offset.tolist()}
    assert cli.main(["predict", str(made(tmp_path, "Timeline.json", phone(life, **more)))]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    local = life.started_at.iloc[-1].tz_convert("Asia/Tokyo")
    assert first.endswith(f"{local:%Y-%m-%d %H:%M} (UTC+09:00)")


def test_a_diary_of_days_with_times_from_and_until(tmp_path: Path) -> None:
    path = tmp_path / "diary.csv"
    path.write_text("Datum;von;bis;Ort\n04.03.2024;08:00;16:30;work\n14.03.2024;22:30;07:15;home\n")
    found = read_visits(path, timezone="Europe/Vienna")
    assert found.finished_at.dt.strftime("%d %H:%M").tolist() == ["04 16:30", "15 07:15"]
    assert found.location_id.tolist() == ["work", "home"]


@pytest.mark.parametrize(
    ("day", "von", "bis", "start", "end"),
    [("2024-05-06", "08:15 AM", "05:30 PM", "06 08:15", "06 17:30"),
     ("2024-05-06", "12:40 PM", "1:30 PM", "06 12:40", "06 13:30"),
     ("2024-05-06", "10:40 PM", "6:30 AM", "06 22:40", "07 06:30"),
     ("2024-05-06", "00:00", "24:00", "06 00:00", "07 00:00"),
     ("2024-05-06", "08:00", "08:00", "06 08:00", "06 08:00"),
     ("2024-03-30", "22:00", "06:00", "30 22:00", "31 06:00"),  # the clock goes forward
     ("2024-10-26", "22:00", "06:00", "26 22:00", "27 06:00"),  # and back
     (20240506, "0815", "1730", "06 08:15", "06 17:30"),
     ("06.05.2024", 815, 700, "06 08:15", "07 07:00"),
     ("2024-05-06 00:00:00", "22:00", "06:00", "06 22:00", "07 06:00")],
)  # fmt: skip
def test_a_diary_says_what_the_clock_showed(
    day: Any, von: Any, bis: Any, start: str, end: str, tmp_path: Path
) -> None:
    table = pd.DataFrame({"Datum": [day], "Von": [von], "Bis": [bis], "Ort": "home"})
    for source in (made(tmp_path, "me.csv", csv(table)), table.assign(user=1)):
        found = read(source, timezone=ZONE)
        assert found.started_at[0].strftime("%d %H:%M") == start
        assert found.finished_at[0].strftime("%d %H:%M") == end
        assert "Von" not in found and "Datum" not in found


def test_a_diary_without_ends_or_with_times_that_nobody_can_read_is_said() -> None:
    diary = pd.DataFrame({"user": 1, "Datum": "2024-05-06", "Von": ["08:00", "10:00"],
                          "Bis": ["09:00", None], "Ort": ["home", "work"]})  # fmt: skip
    with pytest.raises(DataError, match="'Bis' is empty in row 1; fill it in"):
        read(diary, timezone=ZONE)
    named = {"started_at": "Von", "finished_at": "Bis"}
    assert len(read(diary.head(1), timezone=ZONE, columns=named)) == 1
    open_ = read(diary.assign(Bis=None), timezone=ZONE)
    assert open_.finished_at.dt.hour.tolist() == [8, 10]
    for day in ("May 13 2024", "45425"):
        with pytest.warns(UserWarning, match="write 'Datum' as 2024-05-06"), pytest.raises(
            DataError, match="'Datum' is"
        ):  # fmt: skip
            read(diary.head(1).assign(Datum=day), timezone=ZONE)
    odd = diary.assign(Von=["8.15", "10.30"], Bis=["9.00", "11.45"])
    assert any("write them as 08:15" in said for said in told(lambda: read(odd, timezone=ZONE))[1])
