"""Files people have are read as what they are: one invented life, written in every form."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import pgt
from pgt.errors import DataError, DataNote
from pgt.readers.tables import fetch_geolife, load_city, read, read_fixes, read_visits, write
from pgt.visits import check, local_clock

from ..helpers import made, refusal, routine_visits

ZONE = "Europe/Vienna"
PLACES = {"home": (16.37, 48.21), "work": (16.403, 48.231), "shop": (16.358, 48.216)}


def life() -> pd.DataFrame:
    """A week of one person: home, work, shop, home; in which clocks go forward."""
    days = pd.date_range("2024-03-28", periods=7, freq="D")
    starts = [day + pd.Timedelta(hours=h) for day in days for h in (0, 8.5, 17, 18)]
    start = pd.Series(starts).dt.tz_localize(ZONE)
    table = pd.DataFrame({"user_id": "me", "location_id": ["home", "work", "shop", "home"] * 7,
                          "started_at": start})  # fmt: skip
    last = start.iloc[-1] + pd.Timedelta("5h")
    on_the_way = pd.Timedelta("5min")  # or home would be one stay over midnight
    table["finished_at"] = table.started_at.shift(-1, fill_value=last) - on_the_way
    table["lon"], table["lat"] = zip(*table.location_id.map(PLACES), strict=True)
    return table


def utc(times: pd.Series) -> list[str]:
    return times.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ").tolist()


def local(times: pd.Series) -> list[str]:
    return [one.isoformat() for one in times]


def rows() -> list[Any]:
    table = life()
    return list(table.assign(start=local(table.started_at), end=local(table.finished_at),
                             u=utc(table.started_at),
                             v=utc(table.finished_at)).itertuples())  # fmt: skip


def segments(place: Callable[[Any], dict[str, Any]]) -> list[dict[str, Any]]:
    """Google's, of a phone, with a stay in a stay and with ways between."""
    found: list[dict[str, Any]] = []
    for row in rows():
        visit = {"hierarchyLevel": 0, "topCandidate": place(row)}
        found.append({"startTime": row.start, "endTime": row.end, "visit": visit})
        found.append({"startTime": row.end, "endTime": row.end, "activity": {}})
    inner = {"hierarchyLevel": 1, "topCandidate": {"placeId": "counter"}}
    return [*found, {"startTime": rows()[2].start, "endTime": rows()[2].end, "visit": inner}]


def android() -> str:
    return json.dumps({"semanticSegments": segments(lambda row: {
        "placeId": row.location_id, "placeLocation": {"latLng": f"{row.lat}°, {row.lon}°"},
    }), "rawSignals": [], "userLocationProfile": {}})  # fmt: skip


def ios() -> str:
    return json.dumps(segments(lambda row: {
        "placeID": row.location_id, "placeLocation": f"geo:{row.lat},{row.lon}",
    })).replace('"hierarchyLevel": 0', '"hierarchyLevel": "0"')  # fmt: skip


def monthly() -> str:
    objects: list[dict[str, Any]] = []
    for row in rows():
        e7 = {"latitudeE7": round(row.lat * 1e7), "longitudeE7": round(row.lon * 1e7)}
        span = {"startTimestamp": row.u, "endTimestamp": row.v}
        objects += [{"placeVisit": {"location": {**e7, "placeId": row.location_id},
                                    "duration": span}},
                    {"activitySegment": {"duration": span}}]  # fmt: skip
    return json.dumps({"timelineObjects": objects})


def csv_of(table: pd.DataFrame, **how: Any) -> str:
    return str(table.to_csv(index=False, **how))


def ours(**changes: Any) -> pd.DataFrame:
    """The life with times as text."""
    table = life()
    texts = {name: local(table[name]) for name in ("started_at", "finished_at")}
    return table.assign(**(texts | changes))


def naive() -> pd.DataFrame:
    table = life()
    return table.assign(**{name: table[name].dt.tz_localize(None)
                           for name in ("started_at", "finished_at")})  # fmt: skip


def takeout(**files: str) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"Takeout/Location History/{name.replace('__', '/')}.json", text)
        archive.writestr("Takeout/archive_browser.html", "<html></html>")
    return found.getvalue()


NAMES = {"user_id": "uid", "location_id": "cluster", "started_at": "datetime",
         "finished_at": "leaving_datetime", "lon": "lng"}  # fmt: skip
POINTS = [f"POINT ({row.lon:.5f} {row.lat:.5f})" for row in rows()]
RECORDS = json.dumps({"locations": [
    {"timestamp": f"2024-05-06T0{h}:00:00.5Z", "latitudeE7": 482100000, "longitudeE7": 163700000,
     "accuracy": 20} for h in range(5)
]})  # fmt: skip

# File -> what it holds, and how it is read; all hold the life, some under numbers for names.
VISITS: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "ours.csv": (csv_of(ours()), {}),
    "naive.csv": (csv_of(naive()), {"timezone": ZONE}),
    "tabs.tsv": (csv_of(ours(), sep="\t"), {}),
    "commas.csv": (csv_of(ours(), sep=";", decimal=","), {}),
    "utf16.txt": (csv_of(ours()).encode("utf-16"), {}),
    "packed.csv.gz": (gzip.compress(csv_of(ours()).encode()), {}),
    "blank.csv": (csv_of(ours()).replace("\n", "\n\n"), {}),
    "records.json": (ours().to_json(orient="records"), {}),
    "lines.json": (ours().to_json(orient="records", lines=True), {}),
    "seconds.csv": (csv_of(ours(started_at=life().started_at.astype("int64") // 10**6,
                                finished_at=life().finished_at.astype("int64") // 10**6)), {}),
    "me.csv": (csv_of(ours().drop(columns="user_id")), {}),
    "skmob.csv": (csv_of(naive().rename(columns=NAMES)), {"timezone": ZONE}),
    "trackintel.csv": (csv_of(ours(geom=POINTS).drop(columns=["lon", "lat"])), {}),
    "Timeline.json": (android(), {"person": "me"}),
    "location-history.json": (ios(), {"person": "me"}),
    "2024_MARCH.json": (monthly(), {"person": "me"}),
    "takeout.zip": (takeout(**{"Semantic Location History__2024__2024_MARCH": monthly(),
                               "Records": RECORDS, "Settings": "{}"}), {"person": "me"}),
}  # fmt: skip


def told(call: Callable[[], pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = call()
    return table, [str(one.message) for one in said if issubclass(one.category, DataNote)]


def same_life(found: pd.DataFrame) -> None:
    expected = life()
    assert len(found) == len(expected)
    assert utc(found.started_at) == utc(expected.started_at)
    wall = expected.started_at.dt.tz_localize(None)
    assert local_clock(found, "started_at").tolist() == wall.tolist()
    assert utc(found.finished_at) == utc(expected.finished_at)
    np.testing.assert_allclose(found[["lon", "lat"]], expected[["lon", "lat"]], atol=1e-6)
    assert pd.factorize(found.location_id)[0].tolist() == [0, 1, 2, 0] * 7


@pytest.mark.parametrize("name", VISITS)
def test_the_same_life_in_every_form(name: str, tmp_path: Path) -> None:
    content, how = VISITS[name]
    found = read(made(tmp_path, name, content), **how)
    same_life(found)
    assert found.user_id.unique().tolist() == ["me"]
    pd.testing.assert_frame_equal(check(found), found)


# Published without a header: the first rows as they stand there, and the local hour of the first.
SETS = {
    "dataset_TSMC2014_NYC.txt": (
        "470\t49bbd6c0f964a520f4531fe3\t4bf58dd8d48988d127951735\tCaf\xe9\t40.719\t-74.002\t-240\t"
        "Tue Apr 03 18:00:09 +0000 2012\n979\t4a43c0aef964a520c6a61fe3\t4bf58dd8d48988d1df941735\t"
        "Bridge\t40.606\t-74.044\t-240\tTue Apr 03 18:00:25 +0000 2012\n", 14, -74.002),
    "dataset_TIST2015_Checkins.txt": (
        "50756\t4f5e3a72e4b053fd6a4313f6\tTue Apr 03 18:00:06 +0000 2012\t240\n"
        "50756\t4b4b87b5f964a5204a9f26e3\tTue Apr 03 18:00:07 +0000 2012\t180\n", 22, None),
    "Gowalla_totalCheckins.txt": (
        "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847\n"
        "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n", 17, -97.749395),
    "Brightkite_totalCheckins.txt": (
        "0\t2010-10-17T01:48:53Z\t39.747652\t-104.99251\t88c46bf20db295831bd2d1718ad7e6f5\n"
        "0\t2010-10-16T06:02:04Z\t39.891383\t-105.070814\t7a0f88982aa015062b95e3b4843f9ca2\n", 0,
        -105.070814),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_published_sets_as_they_are_published(name: str, tmp_path: Path) -> None:
    text, hour, lon = SETS[name]
    found = read(made(tmp_path, name, text.encode("latin-1")))
    assert len(found) == 2 and local_clock(found, "started_at").dt.hour[0] == hour
    assert (found.started_at == found.finished_at).all()
    assert lon is None or found.lon[0] == pytest.approx(lon)


def fixes(n: int = 5) -> pd.DataFrame:
    at = pd.date_range("2024-05-06 22:00", periods=n, freq="10min", tz="UTC")
    return pd.DataFrame({"tracked_at": at, "lon": 16.37 + np.arange(n) / 1e4,
                         "lat": -48.21 - np.arange(n) / 1e4})  # fmt: skip


def gpx(table: pd.DataFrame, encoding: str = "UTF-8") -> bytes:
    points = "".join(
        f'<trkpt lat="{row.lat}" lon="{row.lon}"><time>{row.tracked_at:%Y-%m-%dT%H:%M:%SZ}</time>'
        f"<hdop>1.5</hdop><extensions><speed>1</speed></extensions></trkpt>"
        for row in table.itertuples()
    )
    return (
        f'<?xml version="1.0" encoding="{encoding}"?><gpx version="1.1" creator="x" '
        f'xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="1" lon="2"/><trk><name>Café</name>'
        f"<trkseg>{points}</trkseg></trk></gpx>"
    ).encode(encoding)


def plt(table: pd.DataFrame) -> str:
    lines = [f"{row.lat:.6f},{row.lon:.6f},0,492,0,{row.tracked_at:%Y-%m-%d,%H:%M:%S}"
             for row in table.itertuples()]  # fmt: skip
    return "\r\n".join(["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3",
                        "0,2,255,My Track,0,0,2,8421376", "0", *lines, ""])  # fmt: skip


def rec(table: pd.DataFrame) -> str:
    lines = []
    for row in table.itertuples():
        said = {"_type": "location", "tst": int(row.tracked_at.timestamp()), "lat": row.lat,
                "lon": row.lon, "acc": 12, "topic": "owntracks/me/phone"}  # fmt: skip
        lines.append(f"{row.tracked_at:%Y-%m-%dT%H:%M:%SZ}\t*\t{json.dumps(said)}")
    return "\n".join([*lines, "2024-05-07T00:00:00Z\t*\t{}", "damaged"])


def e7(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"timestamp": utc(table.tracked_at),
                         "latitudeE7": (table.lat * 1e7).round().astype(int),
                         "longitudeE7": (table.lon * 1e7).round().astype(int),
                         "accuracy": 13})  # fmt: skip


F = fixes()
FIXES: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "me.gpx": (gpx(F), {}),
    "wide.gpx": (gpx(F, "UTF-16"), {}),
    "me.rec": (rec(F), {}),
    "Records.json": (json.dumps({"locations": e7(F).to_dict("records")}), {"person": "me"}),
    "takeout.zip": (takeout(Records=json.dumps({"locations": e7(F).to_dict("records")})), {}),
    "records.csv": (csv_of(e7(F)), {"person": "me"}),
    "UTC.csv": (csv_of(F.assign(tracked_at=F.tracked_at.dt.tz_localize(None)).rename(
        columns={"tracked_at": "UTC_time"})), {"timezone": "Africa/Nairobi"}),
    "file clock.csv": (csv_of(F.assign(tracked_at=F.tracked_at.dt.tz_localize(None))),
                       {"timezone": "Africa/Nairobi", "file_timezone": "UTC"}),
    "signs.csv": (csv_of(pd.DataFrame({
        "INDEX": range(5), "DATE": F.tracked_at.dt.strftime("%y%m%d"),
        "TIME": F.tracked_at.dt.strftime("%H%M%S"), "LATITUDE": -F.lat, "N/S": "S",
        "LONGITUDE": F.lon, "E/W": "E", "VALID": "SPS"})), {"file_timezone": "UTC"}),
    "movebank.csv": (csv_of(pd.DataFrame({
        "event-id": range(5), "visible": "true", "timestamp": utc(F.tracked_at),
        "location-long": F.lon, "location-lat": F.lat, "individual-local-identifier": "me"})), {}),
    "owner/Data/007/Trajectory/20240506.plt": (plt(F), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIXES)
def test_the_same_fixes_in_every_form(name: str, tmp_path: Path) -> None:
    content, how = FIXES[name]
    path = made(tmp_path, name, content)
    if name.startswith("owner"):
        path = tmp_path / "owner"
    found, notes = told(lambda: read_fixes(path, **how))
    assert found.tracked_at.tolist() == F.tracked_at.tolist()
    assert str(found.tracked_at.dtype) == "datetime64[us, UTC]"
    for column in ("lon", "lat"):
        np.testing.assert_allclose(found[column], F[column], atol=2e-7)
    assert [note for note in notes if not note.startswith("not read")] == []
    with pytest.raises(DataError, match=r"no column for the place.*pgt\.readers\.gps\.visits"):
        read_visits(path, **how)


def test_quality_is_read_and_a_fix_without_time_or_position_is_left_to_be_counted(
    tmp_path: Path,
) -> None:
    table = F.astype({"tracked_at": str, "lon": str})
    table = table.assign(hacc="12.5", HDOP="1.1", valid=["true", "FALSE", "1", "0", "no fix"])
    table.loc[1, "tracked_at"], table.loc[2, "lon"] = "never", "?"
    found = read(made(tmp_path, "v.csv", csv_of(table)))
    assert len(found) == 5 and found.tracked_at.isna().sum() == found.lon.isna().sum() == 1
    assert found.accuracy.tolist() == [12.5] * 5 and found.hdop.tolist() == [1.1] * 5
    assert sorted(found.valid) == [False, False, False, True, True]
    _, dropped = pgt.readers.gps.clean_fixes(found.drop(columns=["accuracy", "hdop", "valid"]))
    assert dropped["no time"] == dropped["no position"] == 1


def test_geolife_as_folder_and_as_archive(tmp_path: Path) -> None:
    for user, day in (("000", 1), ("000", 2), ("020", 1)):
        shifted = F.assign(tracked_at=F.tracked_at + pd.Timedelta(days=day))
        made(tmp_path, f"g/Data/{user}/Trajectory/2024050{day}.plt", plt(shifted))
    made(tmp_path, "g/Data/000/labels.txt", "walk")
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as archive:
        for file in sorted((tmp_path / "g").rglob("*.*")):
            archive.write(file, f"Geolife 1.3/{file.relative_to(tmp_path / 'g')}")
    for path in (tmp_path / "g", tmp_path / "g.zip", tmp_path / "g" / "Data"):
        found, notes = told(lambda path=path: read(path))
        assert found.user_id.value_counts().to_dict() == {0: 10, 20: 5}
        assert notes == [f"not read in {path.name}: 1 .txt."]


@pytest.mark.parametrize("kind", ["gpx", "csv"])
def test_days_of_one_person_in_many_files(kind: str, tmp_path: Path) -> None:
    for day in range(1, 7):
        own = F.assign(tracked_at=F.tracked_at + pd.Timedelta(days=day))
        content = gpx(own) if kind == "gpx" else csv_of(own)
        made(tmp_path, f"mine/2024-05-0{day}.{kind}", content)
    found, notes = told(lambda: read(tmp_path / "mine"))
    assert found.user_id.unique().tolist() == ["mine"] and len(found) == 30
    assert notes[0].startswith("the 6 files of mine (2024-05-01, …) look like one person's days")
    found, notes = told(lambda: read(tmp_path / "mine", person="ann"))
    assert found.user_id.unique().tolist() == ["ann"] and notes == []


def test_people_are_files_or_folders(tmp_path: Path) -> None:
    for day, name in enumerate(("ann.gpx", "bob.gpx", "cy/1.gpx", "cy/2.gpx")):
        own = F.assign(tracked_at=F.tracked_at + pd.Timedelta(days=day))
        made(tmp_path, f"all/{name}", gpx(own))
    assert read(tmp_path / "all").user_id.value_counts().to_dict() == {"ann": 5, "bob": 5, "cy": 10}
    _, notes = told(lambda: read(tmp_path / "all"))
    assert notes == ["the files of all are read as 3 people; if they are one person's, say "
                     "person='me' (--person me)."]  # fmt: skip
    assert told(lambda: read(tmp_path / "all", person="me"))[1] == []


def test_files_of_a_folder_that_were_not_read_are_counted(tmp_path: Path) -> None:
    made(tmp_path, "f/a.gpx", gpx(F))
    made(tmp_path, "f/b.gpx", gpx(F[:0]))
    made(tmp_path, "f/c.gpx", b"<gpx><trk>")
    for other in ("a.jpg", "b.jpg", "a.kml", "README", ".hidden", "__MACOSX/a.gpx"):
        made(tmp_path, f"f/{other}", "x")
    found, notes = told(lambda: read(tmp_path / "f"))
    assert found.user_id.unique().tolist() == ["a"]
    assert "1 of 3 files of f left out: b.gpx has no rows or track points" in " ".join(notes)
    assert "c.gpx cannot be read" in " ".join(notes)
    assert "not read in f: 2 .jpg, 1 without ending, 1 .kml." in notes


def test_a_folder_of_taxis(tmp_path: Path) -> None:
    for taxi in (1, 2):
        made(tmp_path, f"taxi/{taxi}.txt", f"{taxi},2008-02-02 15:36:08,116.51172,39.92123\n" * 2)
    found = read(tmp_path / "taxi", timezone="Asia/Shanghai")
    assert found.user_id.tolist() == [1, 1, 2, 2] and found.lon[0] == 116.51172
    assert found.tracked_at[0] == pd.Timestamp("2008-02-02 07:36:08", tz="UTC")


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    for number, (_, part) in enumerate(life().groupby("location_id")):
        path = tmp_path / "p" / f"day={number}" / "part-0.parquet"
        path.parent.mkdir(parents=True)
        part.to_parquet(path)
    made(tmp_path, "p/_SUCCESS", "")
    same_life(read(tmp_path / "p"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(("names", "people"), [
    (("anna", "ben"), ["anna", "ben"]),
    (("part-00000-3fa85f64-5717-4562-b3fc-2c963f66afa6-c000.snappy",
      "part-00001-3fa85f64-5717-4562-b3fc-2c963f66afa6-c000.snappy"), ["all"]),
    (("part_1", "part_2"), ["part_1", "part_2"]),  # who took part; a table's parts begin with 0
    (("part-0-anna", "part-1-ben"), ["part-0-anna", "part-1-ben"]),
    (("anna-1-of-1", "ben-1-of-1"), ["anna-1-of-1", "ben-1-of-1"]),
    (("part.0", "part.1"), ["all"]),  # dask
    (("data_0", "data_1"), ["all"]),  # DuckDB
    (("3fa85f6457174562b3fc2c963f66afa6-0", "3fa85f6457174562b3fc2c963f66afa6-1"), ["all"]),
    (("train-00000-of-00002", "train-00001-of-00002"), ["all"]),
    (("day=1/part-0", "day=2/part-0"), ["all"]),
    (("anna/part-0", "ben/part-0"), ["anna", "ben"]),
    (("user_id=007/data_0", "user_id=7/data_0"), ["007", "7"]),
    (("user_id=Anna%20K/year=2024/data_0", "user_id=Ben/year=2024/data_0"), ["Anna K", "Ben"]),
    (("part-0",), ["all"]),
])  # fmt: skip
def test_files_are_people_unless_they_are_parts_of_a_table(
    names: tuple[str, ...], people: list[str], ending: str, tmp_path: Path
) -> None:
    table = ours().drop(columns="user_id")
    for number, name in enumerate(names):
        part = table if people[1:] else table.iloc[number :: len(names)]
        content = csv_of(part).encode() if ending == "csv" else bytes(part.to_parquet())
        made(tmp_path / "all", f"{name}.{ending}", content)
    found, _ = told(lambda: read(tmp_path / "all"))
    assert found.user_id.value_counts().to_dict() == dict.fromkeys(people, len(table))
    positions = table.drop(columns=["location_id", "finished_at"])
    for number, name in enumerate(names):  # nor are parts devices, of which one is left out
        part = positions if people[1:] else positions.iloc[number :: len(names)]
        content = csv_of(part).encode() if ending == "csv" else bytes(part.to_parquet())
        made(tmp_path / "all", f"{name}.{ending}", content)
    found, _ = told(lambda: read(tmp_path / "all"))
    assert found.user_id.value_counts().to_dict() == dict.fromkeys(people, len(table))


def test_parquet_files_of_a_folder_have_columns_of_their_own(tmp_path: Path) -> None:
    """What the first file lacks is read of the others, by whatever name, and ids of any type."""
    first, second = ours().iloc[:14], ours().iloc[14:]
    for name, parts in {
        "names": (first, second.rename(columns={"location_id": "place"})),
        "kinds": (first.assign(user_id=1), second),
        "gap": (first.assign(location_id=None), second),
    }.items():
        for year, part in zip(("2023", "2024"), parts, strict=True):
            made(tmp_path / name, f"{year}.parquet", bytes(part.to_parquet()))
    same_life(read(tmp_path / "names"))
    assert read(tmp_path / "kinds").user_id.value_counts().to_dict() == {"1": 14, "me": 14}
    found, notes = told(lambda: read(tmp_path / "gap"))
    assert len(found) == 14 and "14 rows without a place are left out" in " ".join(notes)
    made(tmp_path / "names", "2023.parquet", bytes(first.drop(columns="finished_at").to_parquet()))
    assert "'finished_at' is empty in row 0" in refusal(lambda: read(tmp_path / "names"))


def _at(where: str | float, hour: int, **more: Any) -> dict[str, Any]:
    """A flat record of a visit, or of a position on some longitude."""
    place = {"place": where} if isinstance(where, str) else {"lon": where, "lat": 48.2}
    return {**place, "time": f"2024-05-06T{hour:02}:00:00Z", **more}


@pytest.mark.parametrize(("content", "expected", "says"), [
    ({"anna": [_at("home", 8), _at("work", 10)], "ben": [_at("cafe", 8)]},
     {"anna": 2, "ben": 1}, "the lists of v.json (anna, ben) are read as a person each"),
    ({"anna": [_at(16.4, 8), _at(16.5, 9)], "ben": [_at(16.4, 8, acc=5)]},
     {"anna": 2, "ben": 1}, "(anna, ben)"),
    ({"anna": [{"tst": 1714982400, "lat": 48.2, "lon": 16.4}], "ben": [
        {"tst": 1714982400, "lat": 48.2, "lon": 16.4}]}, {"anna": 1, "ben": 1}, "(anna, ben)"),
    ({"a": [_at("home", 8, uid="ben")], "b": [_at("home", 9, uid="ada")]},
     {"ada": 1, "ben": 1}, ""),
    ({"2023": [_at("home", 8)], "2024": [_at("work", 9)]}, {"v": 2}, ""),
    ({"user": "anna", "visits": [_at("home", 8)]}, {"anna": 1}, ""),
    ({"user": {"id": 7, "name": "Anna"}, "visits": [_at("home", 8)]}, {7: 1}, ""),
    ({"user": "anna", "visits": [_at("home", 8, user="ben")]}, {"ben": 1}, ""),
    ({"visits": [_at("home", 8)], "points": [_at(16.4, 8), _at(16.4, 9)]}, {"v": 1},
     "records left out of v.json: 2 of 'points'."),
    ({"locations": [], "visits": [_at("home", 8)]}, {"v": 1}, ""),
    ({"user": None, "visits": [_at("home", 8)]}, {"v": 1}, ""),
    ({"checkins": [_at("home", 8)], "stays": [
        _at("home", 8, end="2024-05-06T09:00Z"), _at("work", 9, end="2024-05-06T10:00Z")]},
     {"v": 2}, "records left out of v.json: 1 of 'checkins'."),
    ({"places": [{"id": 1}, {"id": 2}], "tags": ["a"] * 3, "visits": [_at("home", 8)], "more": []},
     {"v": 1}, "records left out of v.json: 2 of 'places'."),
])  # fmt: skip
def test_of_several_lists_of_json_none_is_lost(
    content: dict[str, Any], expected: dict[Any, int], says: str, tmp_path: Path
) -> None:
    found, notes = told(lambda: read(made(tmp_path, "v.json", json.dumps(content))))
    assert found.user_id.value_counts().to_dict() == expected
    assert says in " ".join(notes) if says else not notes


def test_the_town_as_folder_and_as_it_ships() -> None:
    visits = load_city()
    assert len(visits) == 16_977 and str(visits.started_at.dt.tz) == "America/Regina"
    pd.testing.assert_frame_equal(read(Path(__file__).parents[2] / "data" / "city"), visits)


def test_a_table_of_other_libraries_and_types(tmp_path: Path) -> None:
    import duckdb
    import pyarrow

    table = ours()
    sources = [table, table.convert_dtypes(dtype_backend="pyarrow"), table.astype("string"),
               pyarrow.Table.from_pandas(table), duckdb.from_df(table),
               life().convert_dtypes(dtype_backend="pyarrow"),
               table.astype({"location_id": "category"})]  # fmt: skip
    for source in sources:
        same_life(read(source))
    life().to_parquet(tmp_path / "v.parquet")
    assert str(read(tmp_path / "v.parquet").started_at.dt.tz) == str(read(life()).started_at.dt.tz)
    with pytest.raises(DataError, match="A list is no table"):
        read([1, 2])


def test_rows_without_a_place_are_left_out_and_counted(tmp_path: Path) -> None:
    table = ours(location_id=[0, 1, 2, 0] * 7, geom=POINTS).drop(columns=["lon", "lat"])
    table["location_id"] = table.location_id.astype("Int64")
    table.loc[[5, 9], "location_id"] = pd.NA
    found, notes = told(lambda: read(made(tmp_path, "v.csv", csv_of(table))))
    assert len(found) == 26 and found.location_id.dtype == "int64"
    assert notes[0] == "2 rows without a place are left out (line 7 (and 1 more))."


def test_clusters_of_several_people_are_each_ones_own(tmp_path: Path) -> None:
    mine = naive().assign(location_id=[0, 1, 2, 0] * 7).rename(columns=NAMES)
    both = pd.concat([mine, mine.assign(uid="you", lng=mine.lng + 1)])
    found = read(made(tmp_path, "v.csv", csv_of(both)), timezone=ZONE)
    assert found.location_id.nunique() == 6 and "you-0" in set(found.location_id)
    fixes_with_labels = F.assign(cluster=3, uid=1).rename(columns={"tracked_at": "datetime"})
    assert "location_id" not in read(fixes_with_labels).columns


@pytest.mark.parametrize(
    ("ids", "found"),
    [(("7", "-8", "0"), [7, -8, 0]), (("007", "8", "9"), ["007", "8", "9"]),
     (("+7", "8", "9"), ["+7", "8", "9"]), (("-0", "8", "9"), ["-0", "8", "9"]),
     ((" 7", "8", "9"), [7, 8, 9]), (("7", "8", "a"), ["7", "8", "a"])],
)  # fmt: skip
def test_an_id_is_a_number_only_if_no_character_is_lost(
    ids: tuple[str, ...], found: list[object], tmp_path: Path
) -> None:
    lines = [f"1,{name},2024-05-0{i}T09:00Z,2024-05-0{i}T10:00Z" for i, name in enumerate(ids, 1)]
    text = "\n".join(["user_id,location_id,started_at,finished_at", *lines])
    table = read(made(tmp_path, "v.csv", text))
    assert table.location_id.tolist() == found and table.user_id.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("text", "zone", "wall"),
    [("2024-05-01T09:00:00+0200", None, "09:00"), ("2024-05-01T09:00:00Z", None, "09:00"),
     ("2024-05-01 09:00:00.25+02:00", None, "09:00"), ("2024-05-01 09:00 +9", None, "09:00"),
     ("2024-05-01T09:00:00Z", "Asia/Shanghai", "17:00"),
     ("2024-05-01T09:00:00-0330", "UTC", "12:30"), ("2024-05-01T09:00:00+05:45", "UTC", "03:15"),
     ("2024/05/01 09:00", "Asia/Shanghai", "09:00"), ("2024-05-01", "Asia/Shanghai", "00:00"),
     ("Wed May 01 09:00:00 +0000 2024", "Asia/Shanghai", "17:00"),
     ("1714554000", "Asia/Shanghai", "17:00"), ("1714554000000", "Asia/Shanghai", "17:00")],
)  # fmt: skip
def test_times_are_read_with_their_offset(
    text: str, zone: str | None, wall: str, tmp_path: Path
) -> None:
    content = f"user_id,location_id,time\n1,2,{text}\n"
    found = read(made(tmp_path, "v.csv", content), timezone=zone)
    assert f"{local_clock(found, 'started_at')[0]:%H:%M}" == wall


def test_the_hour_that_comes_twice_and_the_one_that_never_comes(tmp_path: Path) -> None:
    lines = ["1,2,2024-10-27 02:30,2024-10-27 02:15", "1,3,2024-03-31 02:30,2024-03-31 02:45"]
    text = "\n".join(["user_id,location_id,started_at,finished_at", *lines])
    found = read(made(tmp_path, "v.csv", text), timezone=ZONE)
    assert local(found.started_at) == ["2024-03-31T03:00:00+02:00", "2024-10-27T02:30:00+02:00"]
    assert found.finished_at[1].isoformat() == "2024-10-27T02:15:00+01:00"


def test_each_visit_keeps_its_own_clock(tmp_path: Path) -> None:
    text = ("user_id,location_id,time,lat,lon\naki,h,2024-05-06T08:00:00+09:00,35.68,139.76\n"
            "bea,h,2024-05-06T08:00:00-04:00,40.73,-73.99\n")  # fmt: skip
    for how in (text, text.replace("T08:00:00+09:00", "T08:00:00+0900")):
        found = read(made(tmp_path, "v.csv", how))
        assert local_clock(found, "started_at").dt.hour.tolist() == [8, 8]
        assert found.utc_offset.tolist() == [540, -240]
    # In UTC, the zones are those of the places; a zone that is named is that of all.
    zulu = text.replace("T08:00:00+09:00", "T08:00:00Z").replace("T08:00:00-04:00", "T08:00:00Z")
    found, notes = told(lambda: read(made(tmp_path, "v.csv", zulu)))
    assert local_clock(found, "started_at").dt.hour.tolist() == [17, 4]
    assert notes == ["the times are in UTC; by the coordinates, local clocks are those of "
                     "Asia/Tokyo, America/New_York."]  # fmt: skip
    found = read(made(tmp_path, "v.csv", zulu), timezone="UTC")
    assert "utc_offset" not in found and found.started_at.dt.hour.tolist() == [8, 8]


def test_visits_that_stand_twice_are_read_once_and_counted(tmp_path: Path) -> None:
    table = pd.concat([ours(), ours().iloc[[3, 4]]])
    found, notes = told(lambda: read(made(tmp_path, "v.csv", csv_of(table))))
    same_life(found)
    assert notes == ["2 visits stand twice and are read once (line 30 (and 1 more))."]


STEADY = settings(derandomize=True, deadline=None, database=None, max_examples=40,
                  suppress_health_check=[HealthCheck.too_slow,
                                         HealthCheck.data_too_large])  # fmt: skip
EMPTY = "#N/A|#N/A N/A|#NA|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|")
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
WORDS = st.text(LETTERS, min_size=1, max_size=8).filter(
    lambda text: text.strip() == text and text not in EMPTY and not text[0].isdigit()
)


@settings(STEADY, max_examples=20)
@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 10**7), st.integers(0, 10**4)), min_size=1,
                max_size=6, unique_by=lambda row: row[2]))  # fmt: skip
@example([("=1+1", "a\nb", 5, 1), ("'x", 'q"', 7, 1)])
@pytest.mark.filterwarnings("ignore")
def test_any_names_are_read_as_they_were_written(rows: list[tuple[Any, ...]]) -> None:
    user, place, minute, lasts = zip(*rows, strict=True)
    start = pd.Timestamp("2010-01-01", tz="UTC") + pd.to_timedelta(minute, unit="min")
    table = check(pd.DataFrame({
        "user_id": user, "location_id": place, "started_at": start.tz_convert(ZONE),
        "finished_at": (start + pd.to_timedelta(lasts, unit="min")).tz_convert(ZONE),
    }))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "parquet"):
            path = Path(folder) / f"v.{ending}"
            write(table, path)
            found = read_visits(path, timezone=ZONE)
            for name in table.columns:
                assert found[name].tolist() == table[name].tolist()


WHOLE: dict[str, bytes] = {
    "v.csv": csv_of(ours()).encode(), "v.parquet": bytes(life().to_parquet()),
    "v.csv.gz": gzip.compress(csv_of(ours()).encode()), "f.gpx": gpx(F), "f.rec": rec(F).encode(),
    "Timeline.json": android()[:3000].encode(), "takeout.zip": takeout(Records=RECORDS),
    "f.csv": csv_of(F).encode(), "t.txt": SETS["Gowalla_totalCheckins.txt"][0].encode(),
}  # fmt: skip
ACCIDENTS = st.lists(
    st.tuples(st.integers(0, 2**20), st.sampled_from(["flip", "set", "cut", "insert", "remove"]),
              st.integers(0, 255)), min_size=1, max_size=4,
)  # fmt: skip


def damaged(whole: bytes, accidents: list[tuple[int, str, int]]) -> bytes:
    content = bytearray(whole)
    for where, act, value in accidents:
        at = where % max(len(content), 1)
        if act == "cut" or not content:
            del content[at:]
        elif act == "insert":
            content[at:at] = bytes([value]) * (1 + where % 3)
        elif act == "remove":
            del content[at : at + 1 + value % 8]
        else:
            content[at] = content[at] ^ 1 << value % 8 if act == "flip" else value
    return bytes(content)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    @STEADY
    @given(ACCIDENTS)
    @example([(0, "cut", 0)])
    def tried(accidents: list[tuple[int, str, int]]) -> None:
        path = made(tmp_path, name, damaged(WHOLE[name], accidents))
        assert "\n" not in refusal(lambda: read(path, timezone=ZONE))

    tried()


@pytest.mark.parametrize(
    ("name", "mode", "says"),
    [("../evil.csv", 0, "leads out of its folder"), ("/etc/evil.csv", 0, "has an absolute path"),
     ("C:/evil.csv", 0, "has an absolute path"), ("..\\evil.csv", 0, "leads out of its folder"),
     ("evil.csv", 0o120777, "is a link or a device")],
)  # fmt: skip
def test_an_archive_with_a_member_that_leads_elsewhere_is_refused(
    name: str, mode: int, says: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.writestr("v.csv", csv_of(ours()))
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match=f"its member .*{says}|{says}"):
        read(tmp_path / "v.zip")


def test_gpx_that_would_end_the_process_is_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE g [<!ENTITY a "aaaa">]><gpx><trk><name>&a;</name></trk></gpx>'
    with pytest.raises(DataError, match="it declares an entity, which no GPX needs"):
        read(made(tmp_path, "b.gpx", bomb))
    deep = gpx(F).replace(b"<speed>1</speed>", b"<x>" * 50_000 + b"</x>" * 50_000)
    assert len(read(made(tmp_path, "d.gpx", deep))) == 5


def test_geolife_is_fetched_once_and_its_hash_is_held(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as archive:
        archive.writestr("Geolife/Data/000/Trajectory/1.plt", plt(F))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(tmp_path))

        def log_message(self, *_: Any) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/g.zip"
        with pytest.raises(DataError, match=r"non-commercial use.*accept_terms=True"):
            fetch_geolife(tmp_path / "home", url=url)
        path = fetch_geolife(tmp_path / "home", accept_terms=True, url=url)
        assert len(read_fixes(path)) == 5
        with pytest.raises(ValueError, match="hash"):
            fetch_geolife(tmp_path / "new", accept_terms=True, url=url, known_hash="0" * 64)
        server.shutdown()
    assert fetch_geolife(tmp_path / "home", accept_terms=True, url=url) == path


def test_ids_in_names_of_folders_are_text(tmp_path: Path) -> None:
    """007 and 7 are two people, and 0x10 is not 16, also where a folder's name says who."""
    table = routine_visits(users=3, days=5)
    names = dict(zip(table.user_id.unique(), ("007", "7", "0x10"), strict=True))
    table = table.assign(user_id=table.user_id.map(names))
    table.to_parquet(tmp_path / "by_person", partition_cols=["user_id"], index=False)
    found = read(tmp_path / "by_person", timezone="Europe/Vienna")
    assert set(found.user_id) == set(names.values())
    assert found.user_id.value_counts().to_dict() == table.user_id.value_counts().to_dict()
    nobody = table.assign(user_id=table.user_id.where(table.user_id != "7"))
    nobody.to_parquet(tmp_path / "gap", partition_cols=["user_id"], index=False)
    assert "'user_id' is empty" in refusal(lambda: read(tmp_path / "gap"))


@pytest.mark.parametrize("first", [617700169958293503, 11529215046068469760])
def test_long_ids_keep_their_digits_beside_a_gap(first: int, tmp_path: Path) -> None:
    """A fraction holds 53 bits; cells of H3 have 63 and those of S2 64, which only text holds."""
    import duckdb
    import pyarrow.parquet

    rows = [{"user": first, "place_id": place, "start": f"2024-05-06T{hour}:00:00Z"}
            for place, hour in ((first, "08"), (first + 1, "10"), (None, "12"))]  # fmt: skip
    kind = pyarrow.int64() if first < 2**63 else pyarrow.uint64()
    numbers = {name: pyarrow.array([row[name] for row in rows], kind)
               for name in ("user", "place_id")}  # fmt: skip
    table = pyarrow.table({**numbers, "start": [row["start"] for row in rows]})
    pyarrow.parquet.write_table(table, tmp_path / "v.parquet")
    points = [{"type": "Feature", "properties": row,
               "geometry": {"type": "Point", "coordinates": [16.4, 48.2]}}
              for row in rows]  # fmt: skip
    text = "user,place_id,start\n" + "".join(
        f"{row['user']},{row['place_id'] or ''},{row['start']}\n" for row in rows
    )
    for source in (tmp_path / "v.parquet", table, duckdb.from_arrow(table),
                   table.to_pandas(types_mapper=pd.ArrowDtype), made(tmp_path, "v.csv", text),
                   made(tmp_path, "v.json", json.dumps(rows)),
                   made(tmp_path, "v.geojson", json.dumps({"features": points}))):  # fmt: skip
        found, _ = told(lambda source=source: read(source))
        assert [*map(int, found.location_id)] == [first, first + 1]
        assert {*map(int, found.user_id)} == {first}
    says = refusal(lambda: read(table.to_pandas()))
    assert "is 6.177e+17" in says or "is 1.15292e+19" in says
    assert "write it as text" in says


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_that_a_gap_made_fractions_of_are_the_same(ending: str, tmp_path: Path) -> None:
    """Pandas writes 1.0 for 1 in a column with a gap; versions such as 1.1 stay text."""
    parts = (ours(user_id=1, location_id=[3, 4] * 14).iloc[:14],
             ours(user_id=1.0, location_id=[3.0, 4.0, None, 3.0] * 7).iloc[14:])  # fmt: skip
    for name, part in zip(("a", "b"), parts, strict=True):
        content = csv_of(part).encode() if ending == "csv" else bytes(part.to_parquet())
        made(tmp_path / "f", f"{name}.{ending}", content)
    found, _ = told(lambda: read(tmp_path / "f"))
    assert set(found.user_id) == {1} and set(found.location_id) == {3, 4}
    versions = ours(location_id=["1.0", "1.1"] * 14)
    assert set(read(made(tmp_path, "v.csv", csv_of(versions))).location_id) == {"1.0", "1.1"}


@pytest.mark.parametrize("place", [
    {"id": 617700169958293503, "name": "home", "lat": 48.2, "lon": 16.4},
    {"id": 617700169958293503, "location": {"lat": 48.2, "lon": 16.4}}, ["home"],
])  # fmt: skip
@pytest.mark.parametrize("name", ["place", "location"])
def test_records_as_ids_are_read_in_every_form_and_lists_refused(
    name: str, place: Any, tmp_path: Path
) -> None:
    import pyarrow.parquet

    rows = [{"user": {"id": 7, "name": "Anna"}, name: where, "start": f"2024-05-06T{hour}:00Z"}
            for where, hour in ((place, "08"), (None, "09"))]  # fmt: skip
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, tmp_path / "v.parquet")
    for source in (made(tmp_path, "v.json", json.dumps(rows)), tmp_path / "v.parquet", table,
                   pd.DataFrame(rows)):  # fmt: skip
        if isinstance(place, list):
            assert f"'{name}' is ['home'] in row 0, and an id" in refusal(
                lambda source=source: read(source)
            )
            continue
        found, _ = told(lambda source=source: read(source))
        assert found.user_id.tolist() == [7] and found.location_id.tolist() == [place["id"]]
        assert found[["lon", "lat"]].to_numpy().tolist() == [[16.4, 48.2]]
