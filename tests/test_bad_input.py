"""The commonest mistakes get one sentence with a remedy, and every remedy is tried.

Each row: what is wrong, a file and what it holds, how it is read, words of the sentence, and what
the sentence says to do: another content, or another way to read it.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import importlib
import inspect
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pgt
from pgt import cli
from pgt.errors import DataError
from pgt.readers.tables import read, read_visits
from pgt.visits import check

from .helpers import ROOT, made, random_visits

H = "user_id,location_id,started_at,finished_at"
A = "ann,home,2024-05-01T09:00+02:00,2024-05-01T10:00+02:00"
B = "ann,work,2024-05-02T09:00+02:00,2024-05-02T10:00+02:00"
GOOD = f"{H}\n{A}\n{B}\n"
FIXES = "user_id,time,lat,lon\nann,2024-05-01T09:00Z,48.2,16.4\n"
GPX = '<gpx><trk><trkseg><trkpt lat="1" lon="2"><time>2024-05-01T09:00:00Z</time></trkpt>'
NAIVE = GOOD.replace("+02:00", "")
Z = {"timezone": "Europe/Vienna"}


def csv(*lines: str) -> str:
    return "\n".join([*lines, ""])


# name, file, content, how, words, and the remedy: content, how
ROWS: list[tuple[str, str, str | bytes, dict[str, Any], tuple[str, ...], Any, dict[str, Any]]] = [
    # what it is
    ("empty", "v.csv", "", {}, ("v.csv is empty", "header line"), GOOD, {}),
    ("Excel", "v.csv", b"\xd0\xcf\x11\xe0", {}, ("an old Excel file", "save the sheet as CSV"),
     GOOD, {}),
    ("web page", "v.csv", "<!DOCTYPE html>", {}, ("a page of the web", "download the file itself"),
     GOOD, {}),
    ("xz", "v.csv", b"\xfd7zXZ\x00abc", {}, ("packed with xz", "xz -d"), GOOD, {}),
    ("SQLite", "v.gpkg", b"SQLite format 3\0", {}, ("SQLite", "export the table as CSV"), GOOD, {}),
    ("KML", "v.kml", "<?xml version='1.0'?><kml></kml>", {},
     ("v.kml is KML, which is not read", "export it as GPX"), None, {}),
    ("TCX", "v.tcx", "<?xml version='1.0'?><TrainingCenterDatabase>", {},
     ("TCX", "Strava: Export GPX"), None, {}),
    ("Takeout of settings", "Settings.json", '{"deviceSettings": [], "historyEnabled": true}', {},
     ("Takeout has held none since 2024", "Android: Settings"), None, {}),
    ("other JSON", "v.json", '{"a": 1}', {}, ("neither a Google export, nor GeoJSON, nor a list",),
     '[{"user": 1, "place": "h", "time": "2024-05-01T09:00Z"}]', {}),
    ("no GPX after all", "v.gpx", "<gpx><trk>", {},
     ("v.gpx cannot be read", "export it again as GPX"),
     GPX + "</trkseg></trk></gpx>", {}),
    ("GPX of waypoints", "v.gpx", '<gpx><wpt lat="1" lon="2"/></gpx>', {},
     ("no rows or track points", "waypoints and routes are no fixes", "with recorded tracks"),
     GPX + "</trkseg></trk></gpx>", {}),
    ("GPX without times", "v.gpx", re.sub("<time>.*</time>", "", GPX) + "</trkseg></trk></gpx>", {},
     ("None of the 1 track points of v.gpx has a time", "export the recording with its times"),
     GPX + "</trkseg></trk></gpx>", {}),
    ("only names", "v.csv", csv(H), {}, ("v.csv has no rows", "positions or visits"), GOOD, {}),
    ("spaces between fields", "v.txt", A.replace(",", " "), {},
     ("no commas, semicolons, tabs or bars between fields", "'ann home 2024-05", "names above"),
     GOOD, {}),
    ("not UTF-8", "v.csv", GOOD.replace("home", "Café").encode("latin-1"), {},
     ("line 2 is not UTF-8", "iconv -f WINDOWS-1252 -t UTF-8"),
     GOOD.replace("home", "Café").encode(), {}),
    ("no header line", "v.csv", f"{A}\n{B}\n", {}, ("no header line", "write one above it"),
     f"{H}\n{A}\n{B}\n", {}),
    # columns
    ("a column twice", "v.csv", csv(f"{H},user_id", f"{A},ann"), {},
     ("Column 'user_id' appears twice in v.csv", "keep one"), GOOD, {}),
    ("more fields than names", "v.csv", csv(H, f"9,{A}", f"9,{B}"), {},
     ("more fields than the header line", "name every column"), csv(f"n,{H}", f"9,{A}"), {}),
    ("more fields in one line", "v.csv", csv(H, A, f"{B},x"), {}, ("line 3 has more fields",), GOOD,
     {}),
    ("unknown names", "v.csv", csv("who,spot,since", "ann,home,2024-05-01T09:00Z"), {},
     ("No column of v.csv says where (it has who, spot, since)", "columns={'location_id': ...}"),
     None, {"columns": {"user_id": "who", "location_id": "spot", "started_at": "since"}}),
    ("nothing says when", "v.csv", csv("user,place", "ann,home"), {},
     ("No column of v.csv says when (it has user, place)", "--columns started_at="),
     csv("user,place,time", "ann,home,2024-05-01T09:00Z"), {}),
    ("stays without a place", "v.csv", csv("uid,lat,lng,start,end", "a,48,16,2024-05-01T09:00Z,"
     "2024-05-01T10:00Z"), {}, ("has stays and no column for the place", "gps.generate_loc"),
     csv("uid,lat,lng,start,end,place", "a,48,16,2024-05-01T09:00Z,2024-05-01T10:00Z,h"), {}),
    ("two candidates", "v.csv", csv("user,place,time,timestamp", "a,h,2024-05-01T09:00Z,x"), {},
     ("Both 'time' and 'timestamp' could be started_at", "columns={'started_at': 'time'}"), None,
     {"columns": {"started_at": "time"}}),
    ("a name that is not there", "v.csv", GOOD, {"columns": {"user_id": "uid"}},
     ("Column 'uid' is not in v.csv (it has user_id, location_id",), None, {}),
    ("a name that is taken", "v.csv", csv(f"{H},uid", f"{A},7"), {"columns": {"user_id": "uid"}},
     ("already has a column 'user_id' beside 'uid'", "drop one"), None, {}),
    ("a person for a table that says who", "v.csv", GOOD, {"person": "me"},
     ("Column 'user_id' of v says who; leave person (--person) out",), None, {}),
    ("a position in one column only", "v.csv", csv(f"{H},lon", f"{A},16"), {},
     ("Column 'lon' needs 'lat' beside it",), csv(f"{H},lon,lat", f"{A},16,48"), {}),
    # ids and positions
    ("an empty user", "v.csv", csv(H, A, B.replace("ann", "")), {},
     ("'user_id' is empty in line 3", "fill it in or drop the row"), GOOD, {}),
    ("latitude 400", "v.csv", csv(f"{H},lng,lat", f"{A},16.4,48.2", f"{B},16.4,400.17"), {},
     ("'lat' is 400.17 in line 3, outside ±90", "swapped"),
     csv(f"{H},lng,lat", f"{A},16.4,48.2", f"{B},16.4,48.2"), {}),
    ("an empty longitude", "v.csv", csv(f"{H},lng,lat", f"{A},16.4,48.2", f"{B},,48.2"), {},
     ("'lng' is empty in line 3", "drop both"), GOOD, {}),
    ("a longitude in words", "v.csv", csv(f"{H},lng,lat", f"{A},far,48.2"), {},
     ("Column 'lng' holds text", "degrees, as numbers"),
     csv(f"{H},lng,lat", f"{A},16.4,48.2"), {}),
    ("degrees with two points", "f.csv", FIXES.replace("48.2", "48.209.500"), {},
     ("'lat' is '48.209.500' in line 2", "one decimal sign"), FIXES, {}),
    # times
    ("no zone", "v.csv", NAIVE, {}, ("Times in 'started_at' have no time zone",
     "timezone='Asia/Shanghai'", "file_timezone='UTC'"), None, Z),
    ("an unknown zone", "v.csv", NAIVE, {"timezone": "Wien"},
     ("'Wien' is no known time zone", "Europe/Vienna"), None, Z),
    ("a zone in some rows", "v.csv", csv(H, A, B.replace("+02:00", "")), {},
     ("'started_at' has a time zone in some rows and none in line 3", "the same way"), GOOD, {}),
    ("day first", "v.csv", GOOD.replace("2024-05-01T", "01/05/2024 "), {},
     ("'started_at' is '01/05/2024 09:00+02:00' in line 2", "day and month cannot be told apart",
      "ISO 8601"), GOOD, {}),
    ("no time", "v.csv", GOOD.replace("2024-05-02T09:00+02:00", "tomorrow"), {},
     ("'started_at' is 'tomorrow' in line 3", "no ISO 8601 time"), GOOD, {}),
    ("an end before its start", "v.csv", csv("uid,place,start,end", A, B.replace("T10", "T08")), {},
     ("'end' lies before 'start' in line 3", "swap the two or drop the row"), GOOD, {}),
    ("an open end", "v.csv", GOOD.replace("2024-05-02T10", "9999-12-31T10"), {},
     ("'finished_at' is in the year 9999 in line 3", "the start of the visit"), GOOD, {}),
    ("a comma of decimals or of thousands", "v.csv", csv("user;place;start;duration_s",
     "a;h;2024-05-01T09:00Z;3,600"), {}, ("'duration_s' is '3,600' in line 2", "may be that of"),
     csv("user;place;start;duration_s", "a;h;2024-05-01T09:00Z;3600"), {}),
    ("a zone beside some times", "v.csv", csv("user,place,time,tz", "a,h,2024-05-01 09:00,+02:00",
     "a,h,2024-05-02 09:00,"), {}, ("'tz' is empty in line 3", "timezone= (--timezone)"), None, Z),
    ("no zone beside a time", "v.csv", csv("user,place,time,tz", "a,h,2024-05-01 09:00,+02:00",
     "a,h,2024-05-02 09:00,JST"), Z, ("'tz' is 'JST' in line 3", "no offset (+01:00)"),
     csv("user,place,time,tz", "a,h,2024-05-02 09:00,+09:00"), {}),
    ("an unknown split", "v.csv", csv(f"{H},split", f"{A},exam"), {},
     ("'split' is 'exam' in line 2", "train, valid, test"), csv(f"{H},split", f"{A},val"), {}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
@pytest.mark.filterwarnings("ignore")
def test_a_mistake_gets_one_sentence_whose_remedy_works(row: Any, tmp_path: Path) -> None:
    _, name, content, how, words, mended, then = row
    path = made(tmp_path, name, content)
    with pytest.raises(DataError) as refusal:
        read(path, **how)
    said = str(refusal.value)
    assert "\n" not in said and len(said) < 450
    for part in words:
        assert part in said
    if mended is not None:
        path = made(tmp_path, name, mended)
    if mended is not None or then or (how and name == "v.csv"):
        assert len(read(path, **then))


@pytest.mark.parametrize(
    ("path", "says"),
    [("none.csv", "There is no file .*none.csv; check the path"),
     ("*.csv", r"There is no file .*; check the path \(one file, or one folder\)"),
     ("s3://bucket/v.csv", "is an address, and only local files are read; download it"),
     (".", "holds nothing that is read .*give GPX, GeoLife")],
)  # fmt: skip
def test_paths_that_are_nothing(path: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=says):
        read(path if "://" in path else tmp_path / path)


def test_what_a_folder_or_an_archive_holds_is_said(tmp_path: Path) -> None:
    (tmp_path / "ride.kml").write_text("<kml/>")
    with pytest.raises(DataError, match=r"holds KML, which is not read; export it as GPX"):
        read(tmp_path)
    with zipfile.ZipFile(tmp_path / "sheet.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    with pytest.raises(DataError, match=r"sheet.xlsx is an Excel file; save the sheet as CSV"):
        read(tmp_path / "sheet.xlsx")


def good() -> pd.DataFrame:
    return random_visits(1, users=2, visits=10).assign(lon=16.4, lat=48.2)


def changed(**columns: Any) -> Callable[[], pd.DataFrame]:
    return lambda: good().assign(**columns)


# A table in memory: how it is made, and words of the sentence.
TABLES: list[tuple[str, Callable[[], Any], tuple[str, ...]]] = [
    ("no end", lambda: good().drop(columns="finished_at"),
     ("Column 'finished_at' is missing", "set finished_at = started_at")),
    ("no user", lambda: good().drop(columns="user_id"),
     ("Column 'user_id' is missing (the table has location_id", "--columns user_id=uid")),
    ("no rows", lambda: good().head(0), ("no visits", "check the file")),
    ("no pandas", lambda: {"user_id": [1]}, ("A dict is no table of pandas", "pgt.read_visits")),
    ("fractions for ids", changed(user_id=1.5), ("floating-point", ".astype(int)")),
    ("ids of two types", changed(location_id=pd.Series([1, "a"] * 10, dtype=object)),
     ("Column 'location_id' mixes types", ".astype(str)")),
    ("times in words", lambda: good().assign(started_at=good().started_at.astype(str)),
     ("Column 'started_at' holds ", ", not times", "pgt.read_visits(table) reads them")),
    ("times without zone", lambda: good().assign(started_at=good().started_at.dt.tz_localize(None)),
     ("Times in 'started_at' have no time zone", "timezone='Asia/Shanghai'")),
    ("two zones", lambda: good().assign(finished_at=good().finished_at.dt.tz_convert("UTC")),
     ("different time zones", ".dt.tz_convert")),
    ("twice", lambda: pd.concat([good(), good().iloc[[4]]], ignore_index=True),
     ("The same visit stands twice, again in row 20", "visits.drop_duplicates()")),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLES, ids=[row[0] for row in TABLES])
def test_a_table_that_cannot_be_gets_one_sentence(row: Any) -> None:
    _, make, words = row
    with pytest.raises(DataError) as refusal:
        check(make())
    for part in words:
        assert part in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(DataError):
        pgt.prepare(make())


def test_the_remedies_for_tables_work() -> None:
    table = good()
    assert len(check(table.drop(columns="finished_at").assign(finished_at=table.started_at))) == 20
    twice = pd.concat([table, table.iloc[[4]]], ignore_index=True)
    assert len(check(twice.drop_duplicates())) == 20
    text = table.assign(started_at=table.started_at.astype(str))
    assert len(read_visits(text.assign(finished_at=table.finished_at))) == 20
    local = table.assign(finished_at=table.finished_at.dt.tz_convert("UTC"))
    assert len(check(local.assign(started_at=local.started_at.dt.tz_convert("UTC")))) == 20


def test_a_recording_is_no_table_of_visits_and_the_remedy_makes_one(tmp_path: Path) -> None:
    at = pd.date_range("2024-05-01", periods=300, freq="10min", tz="UTC")
    fixes = pd.DataFrame({"time": at.astype(str), "lat": 48.2 + 0.01 * (at.hour // 6 % 2),
                          "lon": 16.4})  # fmt: skip
    path = made(tmp_path, "mine.csv", fixes.to_csv(index=False))
    with pytest.raises(DataError, match=r"pgt\.readers\.gps\.visits\(pgt\.read_fixes\(\.\.\.\)\)"):
        read_visits(path)
    table = pgt.readers.gps.visits(pgt.read_fixes(path), timezone="Europe/Vienna")
    assert table.user_id.unique().tolist() == ["mine"] and table.location_id.nunique() == 2
    with pytest.raises(DataError, match=r"holds visits, not fixes; read it with pgt\.read_visits"):
        pgt.read_fixes(made(tmp_path, "v.csv", GOOD))


def test_lines_are_counted_as_an_editor_counts(tmp_path: Path) -> None:
    bad = csv(H, "", A, 'ann,"two\nlines",2024-05-02T09:00+02:00,2024-05-02T10:00+02:00', "",
              "ann,work,2024-05-03T09:00+02:00,2024-05-03T08:00+02:00")  # fmt: skip
    with pytest.raises(DataError, match="in line 7;"):
        read(made(tmp_path, "v.csv", bad))
    with pytest.raises(DataError, match="in line 7;"):
        read(made(tmp_path, "v.csv.gz", gzip.compress(bad.encode())))


# --- what a message says to do exists ----------------------------------------------------------


def sentences() -> list[tuple[str, str]]:
    """Every text of the package that is no docstring: its module, and what it says."""
    held = []
    for path in sorted((ROOT / "pgt").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        firsts = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented)]
        notes = {id(first.value) for first in firsts if isinstance(first, ast.Expr)}
        for node in ast.walk(tree):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [part.value if isinstance(part, ast.Constant) else "…" for part in parts]
            if id(node) not in notes and all(isinstance(text, str) for text in texts):
                held.append((path.name, "".join(texts)))
    return held


def test_what_a_message_names_exists() -> None:
    said, checked = sentences(), set()
    options = {name for command in commands() for action in command._actions
               for name in action.option_strings}  # fmt: skip
    for where, text in said:
        for option in re.findall(r"(?<![\w-])--(?!pgt-)[a-z][a-z-]*", text):
            assert option in options or tool_of(text) is not None, (where, text)
            checked.add(option)
        for name in re.findall(r"\bpgt(?:\.[a-zA-Z_]\w*)+", text):
            if not name.endswith((".py", ".csv")):
                thing = pgt
                for part in name.split(".")[1:]:
                    thing = getattr(thing, part, None) or found_module(thing, part)
                    assert thing is not None, (where, name)
                checked.add(name)
        for command in re.findall(r"python -m pgt ([a-z]+)", text):
            assert command in {one.prog.split()[-1] for one in commands()}, (where, text)
            checked.add(command)
    assert {"--person", "--visits", "--file-timezone", "visits", "pgt.read_visits"} <= checked


def found_module(thing: Any, part: str) -> Any:
    return importlib.import_module(f"{thing.__name__}.{part}") if inspect.ismodule(thing) else None


def commands() -> list[argparse.ArgumentParser]:
    top = cli.parser()
    subs = next(one for one in top._actions if isinstance(one, argparse._SubParsersAction))
    return [top, *subs.choices.values()]


# Commands of other programs that messages name: each is run below.
TOOLS = ("iconv", "xz", "gunzip", "unzip", "gpsbabel", "pip", "conda", "git", "curl", "ogr2ogr")
RUN = {"iconv", "xz", "gunzip"}


def tool_of(text: str) -> str | None:
    return next((tool for tool in TOOLS if re.search(rf"\b{tool} -", text)), None)


def test_a_program_that_a_message_names_was_run(tmp_path: Path) -> None:
    named = {tool for _, text in sentences() for tool in TOOLS
             if re.search(rf"\b(with {tool}\b|{tool} -)", text)}  # fmt: skip
    assert named == RUN
    made(tmp_path, "v.csv", GOOD.replace("home", "Café").encode("cp1252"))
    acts = {
        "iconv": "iconv -f WINDOWS-1252 -t UTF-8 v.csv > utf8.csv",
        "xz": "xz -k v.csv && mv v.csv.xz x.csv.xz && xz -d x.csv.xz",
        "gunzip": "gzip -c v.csv > z.csv.gz && gunzip z.csv.gz",
    }
    for tool, act in acts.items():
        if shutil.which(tool):
            subprocess.run(act, shell=True, cwd=tmp_path, check=True)
    if shutil.which("iconv"):
        assert "Café" in set(read(tmp_path / "utf8.csv").location_id)
