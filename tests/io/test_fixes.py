"""Position fixes are read from every known layout; what is no fix is counted, not lost."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pgt.io import fixes_columns, fixes_table
from pgt.io.fixes import read_fixes
from pgt.io.fixes_base import NO_POSITION, NO_TIME, Report

from pgt.errors import DataError

from ..helpers import stop_the_calendar

HEADER = (
    b"Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
    b"0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
)
START = pd.Timestamp("2008-10-23 02:53:04", tz="UTC")


def some_fixes(users: tuple[Any, ...] = (0, 3), n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Made-up fixes with two trajectories a person; coordinates of six decimals, whole seconds."""
    rng = np.random.default_rng(seed)
    parts = []
    for user in users:
        seconds = np.cumsum(rng.integers(0, 9, n))  # now and then two in one second
        parts.append(
            pd.DataFrame(
                {
                    "user_id": user,
                    "tracked_at": START + pd.to_timedelta(seconds, unit="s"),
                    "lon": np.round(rng.uniform(16, 17, n), 6),
                    "lat": np.round(rng.uniform(48, 49, n), 6),
                    "trajectory": np.where(np.arange(n) < n // 2, "20081023025304", "20081024"),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    table["tracked_at"] = table.tracked_at.astype("datetime64[us, UTC]")
    return table


def plt(fixes: pd.DataFrame) -> bytes:
    """The fixes as the body of a .plt file."""
    days = fixes.tracked_at.astype("int64") / 86_400e6 + 25_569
    lines = [
        f"{lat:.6f},{lon:.6f},0,-777,{day:.10f},{t:%Y-%m-%d,%H:%M:%S}\r\n"
        for lat, lon, day, t in zip(fixes.lat, fixes.lon, days, fixes.tracked_at, strict=True)
    ]
    return HEADER + "".join(lines).encode()


def geolife(folder: Path, table: pd.DataFrame) -> Path:
    """Write the official layout."""
    for (user, name), part in table.groupby(["user_id", "trajectory"], sort=False):
        home = folder / "Data" / f"{user:03d}" / "Trajectory"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{name}.plt").write_bytes(plt(part))
        (home.parent / "labels.txt").write_text("Start Time\tEnd Time\tTransportation Mode\n")
    return folder


def zipped(folder: Path, path: Path) -> Path:
    """Zip a folder the way the official archive is."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, f"Geolife Trajectories 1.3/{file.relative_to(folder).as_posix()}")
    return path


def together(frames: Iterator[pd.DataFrame]) -> pd.DataFrame:
    """All people in one table, names as plain text."""
    table = pd.concat(list(frames), ignore_index=True)
    if "trajectory" in table:
        table["trajectory"] = table.trajectory.astype("str")
    return table


def assert_same(frames: Iterator[pd.DataFrame], table: pd.DataFrame, *, users: bool = True) -> None:
    """Assert that these frames are that table, value for value."""
    found = together(frames)
    if not users:
        found, table = found.drop(columns="user_id"), table.drop(columns="user_id")
    pd.testing.assert_frame_equal(found, table, check_exact=True)


def write_csv(table: pd.DataFrame, path: Path, **names: str) -> Path:
    table.rename(columns=names).to_csv(path, index=False)
    return path


# Layouts


def test_geolife_is_read_the_same_from_a_folder_and_from_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = some_fixes()
    folder = geolife(tmp_path / "g", table)
    archive = zipped(folder, tmp_path / "g.zip")
    for path in (folder, folder / "Data", tmp_path, archive):  # the archive beside it is left alone
        report = Report()
        frames = list(read_fixes(path, report=report))
        assert [frame.user_id.unique().tolist() for frame in frames] == [[0], [3]]
        assert frames[0].tracked_at.dtype == "datetime64[us, UTC]"
        assert_same(iter(frames), table)
        assert (report.n_users, report.n_files, report.n_fixes, report.n_bad) == (2, 4, 80, 0)
        assert (report.first, report.last) == (table.tracked_at.min(), table.tracked_at.max())
    monkeypatch.chdir(folder / "Data/003")
    assert_same(read_fixes("."), table[table.user_id == 3].reset_index(drop=True))
    before = {file.name for file in tmp_path.rglob("*")}
    list(read_fixes(tmp_path / "g.zip"))
    assert before == {file.name for file in tmp_path.rglob("*")}  # nothing is unpacked


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "parts"])
def test_tables_are_read_in_bounded_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, shuffled: bool
) -> None:
    monkeypatch.setattr(fixes_columns, "BATCH_ROWS", 60)
    monkeypatch.setattr(fixes_columns, "BATCH_BYTES", 4000)
    table = some_fixes((5, 1, 2), n=100)
    rows = table.sample(frac=1, random_state=1) if shuffled else table
    # Fixes of one second stay in file order, so the order of the file decides among them.
    expected = pd.concat(
        rows[rows.user_id == user].sort_values("tracked_at", kind="stable")
        for user in rows.user_id.drop_duplicates()
    ).reset_index(drop=True)
    path = tmp_path / f"fixes.{kind}"
    if kind == "parquet":
        rows.to_parquet(path, index=False)
    elif kind == "parts":
        path.mkdir()
        for i in range(3):
            rows[i * 100 : (i + 1) * 100].to_parquet(path / f"part-{i}.parquet", index=False)
    else:
        rows.to_csv(path, index=False)
    largest = 0
    taken = fixes_table.Table._fixes

    def watched(self: Any, file: Any, batch: pa.RecordBatch) -> pa.Table:
        nonlocal largest
        largest = max(largest, len(batch))
        return taken(self, file, batch)

    monkeypatch.setattr(fixes_table.Table, "_fixes", watched)
    assert_same(read_fixes(path), expected)
    assert largest < 90  # a batch, not a person


def test_only_a_shuffled_table_costs_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a sorted table needs no temporary file")

    table = some_fixes()
    sorted_, mixed = tmp_path / "a.csv", tmp_path / "b.csv"
    write_csv(table, sorted_)
    write_csv(table.sort_values("tracked_at", kind="stable"), mixed)
    monkeypatch.setattr(fixes_table, "_by_person", refuse)
    assert_same(read_fixes(sorted_), table)
    with pytest.raises(AssertionError):
        list(read_fixes(mixed))


def test_the_usual_names_units_and_zones_are_understood(tmp_path: Path) -> None:
    table = some_fixes().drop(columns="trajectory")
    seconds = table.tracked_at.astype("int64") // 10**6
    names = {"user_id": "uid", "lon": "Longitude", "lat": "Latitude", "tracked_at": "timestamp"}
    local = table.tracked_at.dt.tz_convert("Asia/Shanghai")
    variants: list[tuple[pd.Series, dict[str, Any]]] = [
        (seconds, {}),
        (seconds * 1000, {"time_unit": "ms"}),
        (local.map(lambda t: t.isoformat()), {}),
        (local.dt.strftime("%Y-%m-%d %H:%M:%S"), {"timezone": "Asia/Shanghai"}),
        (table.tracked_at.dt.strftime("%Y-%m-%dT%H:%M:%S.000Z"), {"timezone": "Europe/Vienna"}),
    ]
    for times, options in variants:
        write_csv(table.assign(tracked_at=times), tmp_path / "f.csv", **names)
        assert_same(read_fixes(tmp_path / "f.csv", **options), table)
    fractions = pd.Series(np.arange(len(table)) * 12_345)
    for times in (local, local.dt.tz_localize(None), seconds, seconds + fractions / 1e6):
        table.assign(tracked_at=times).to_parquet(tmp_path / "f.parquet", index=False)
        fraction = fractions if times.dtype == float else 0 * fractions
        expected = table.assign(tracked_at=table.tracked_at + pd.to_timedelta(fraction, "us"))
        assert_same(read_fixes(tmp_path / "f.parquet", timezone="Asia/Shanghai"), expected)
    mine = {"user_id": "who", "lat": "y"}
    write_csv(table, tmp_path / "f.csv", **mine)
    assert_same(read_fixes(tmp_path / "f.csv", columns=mine), table)


def test_coordinates_in_ten_millionths_of_a_degree(tmp_path: Path) -> None:
    table = some_fixes()
    scaled = {name: (table[name] * 1e7).round().astype("int64") for name in ("lon", "lat")}
    path = tmp_path / "f.parquet"
    plain = pa.Table.from_pandas(table.assign(**scaled), preserve_index=False)
    pq.write_table(plain, path)
    with pytest.raises(DataError, match=r"'lon' in f\.parquet holds integers; store degrees"):
        read_fixes(path)
    notes = {"lon": "1e-7 degrees WGS84", "lat": "1e-7 degrees WGS84"}
    pq.write_table(plain.replace_schema_metadata(notes), path)
    assert_same(read_fixes(path), table)
    named = table.assign(**scaled).rename(columns={"lon": "longitudeE7", "lat": "latitudeE7"})
    for name in ("e7.parquet", "e7.csv"):
        save = named.to_parquet if name.endswith("parquet") else named.to_csv
        save(tmp_path / name, index=False)
        assert_same(read_fixes(tmp_path / name), table)


def test_ids_stay_what_they_are(tmp_path: Path) -> None:
    for users, expected in (
        (("7", "12"), [7, 12]),
        (("007", "12"), ["007", "12"]),
        (("ann", "12"), ["ann", "12"]),
        ((" 7", "12 "), [7, 12]),
        (("--5", "12"), ["--5", "12"]),
        (("-5", "12"), [-5, 12]),
        (("18446744073709551615", "12"), [2**64 - 1, 12]),
        (("18446744073709551616", "12"), ["18446744073709551616", "12"]),
        (("9" * 5000, "12"), ["9" * 5000, "12"]),
    ):
        write_csv(some_fixes(users), tmp_path / "f.csv")
        found = [f.user_id.iloc[0] for f in read_fixes(tmp_path / "f.csv")]
        assert found == expected
        assert [f.user_id.iloc[0] for f in read_fixes(tmp_path / "f.csv", users=expected[1:])] == (
            expected[1:]
        )
    some_fixes(("7", "12")).to_parquet(tmp_path / "f.parquet")
    assert [f.user_id.iloc[0] for f in read_fixes(tmp_path / "f.parquet")] == ["7", "12"]
    geolife(tmp_path / "g", some_fixes((10, 2)))
    assert [f.user_id.iloc[0] for f in read_fixes(tmp_path / "g")] == [2, 10]
    (tmp_path / "g/Data/010").rename(tmp_path / "g/Data/anna")
    assert [f.user_id.iloc[0] for f in read_fixes(tmp_path / "g")] == ["002", "anna"]


GPX = """<?xml version="1.0"?>
<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="1" lon="2"><time>2008-10-23T02:53:04Z</time></wpt><trk><trkseg>{}</trkseg></trk></gpx>"""


def gpx(path: Path, table: pd.DataFrame, times: str = "%Y-%m-%dT%H:%M:%SZ") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    points = "".join(
        f'<trkpt lat="{lat}" lon="{lon}"><time>{t.strftime(times)}</time></trkpt>'
        for lat, lon, t in zip(table.lat, table.lon, table.tracked_at, strict=True)
    )
    path.write_text(GPX.format(points))


def test_gpx_a_file_or_a_folder_is_a_person(tmp_path: Path) -> None:
    table = some_fixes(("ann", "bob"), n=10)
    ann, bob = (table[table.user_id == name] for name in ("ann", "bob"))
    later = bob[5:].assign(tracked_at=bob.tracked_at[5:] + pd.Timedelta(hours=2))
    gpx(tmp_path / "x/ann.gpx", ann)
    gpx(tmp_path / "x/bob/2008/one.gpx", later, "%Y-%m-%dT%H:%M:%S.000+02:00")
    gpx(tmp_path / "x/bob/two.GPX", bob[:5], "%Y-%m-%dT%H:%M:%S")
    report = Report()
    found = list(read_fixes(tmp_path / "x", report=report))
    assert [set(frame.trajectory) for frame in found] == [{"ann"}, {"bob/2008/one", "bob/two"}]
    columns = ["user_id", "tracked_at", "lon", "lat"]
    pd.testing.assert_frame_equal(together(iter(found))[columns], table[columns])
    assert (report.n_users, report.n_files) == (2, 3)
    only = together(read_fixes(tmp_path / "x/ann.gpx"))
    pd.testing.assert_frame_equal(only[columns], ann[columns])
    # A point without a time is no fix.
    first = f"<time>{ann.tracked_at.iloc[0]:%Y-%m-%dT%H:%M:%SZ}</time></trkpt>"
    text = (tmp_path / "x/ann.gpx").read_text().replace(first, "</trkpt>", 1)
    (tmp_path / "x/ann.gpx").write_text(text)
    report = Report()
    assert len(together(read_fixes(tmp_path / "x/ann.gpx", report=report))) == 9
    assert report.examples == {NO_TIME: ["ann.gpx, point 1"]}


def test_hidden_files_are_not_read(tmp_path: Path) -> None:
    table = some_fixes((1,))
    folder = geolife(tmp_path / "g", table)
    (folder / "Data/001/Trajectory/._20081024.plt").write_bytes(bytes(99))
    assert_same(read_fixes(folder), table)
    assert_same(read_fixes(zipped(folder, tmp_path / "g.zip")), table)
    write_csv(table, tmp_path / "t.csv").rename(folder / "t.csv")
    (folder / "Data").rename(tmp_path / "Data")
    for name in ("._t.csv", ".a.gpx", ".b/c.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(bytes(99))
    assert_same(read_fixes(folder), table)


def test_what_spreadsheets_and_data_frames_leave(tmp_path: Path) -> None:
    table = some_fixes(("a", "b"), n=20)
    text = table.to_csv(index=False, lineterminator="\r\n", quoting=1)
    (tmp_path / "f.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert_same(read_fixes(tmp_path / "f.csv"), table)
    folder = tmp_path / "parts"
    folder.mkdir()
    # Categories, an index, and a part without trajectories in the middle of a person.
    table.iloc[:9].astype({"user_id": "category"}).to_parquet(folder / "1.parquet")
    table.iloc[9:].drop(columns="trajectory").to_parquet(folder / "2.parquet", index=False)
    found = together(read_fixes(folder))
    pd.testing.assert_frame_equal(
        found.drop(columns="trajectory"), table.drop(columns="trajectory")
    )
    assert found.trajectory.notna().sum() == 9
    mixed = table.sample(frac=1, random_state=0)
    mixed.iloc[:20].to_parquet(folder / "1.parquet")
    mixed.iloc[20:].drop(columns="trajectory").to_parquet(folder / "2.parquet")
    assert together(read_fixes(folder)).trajectory.notna().sum() == 20


# Bad lines


def test_bad_lines_of_a_trajectory_are_counted_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_the_calendar(monkeypatch, "2024-05-31 12:00")
    table = some_fixes()
    folder = geolife(tmp_path, table)
    file = folder / "Data/003/Trajectory/20081024.plt"
    lines = file.read_bytes().split(b"\r\n")[:-1]
    good = lines[6]
    bad = {
        8: good.replace(b"48.", b"400.", 1),
        9: good.replace(b",16.", b",-181."),
        10: good.rsplit(b",", 1)[0],
        11: good[: len(good) // 2],
        12: good.replace(b"48.", b"x", 1),
        13: good.replace(b"48.", b"nan,", 1),
        14: good.rsplit(b",", 1)[0] + b",02:61:00",
        15: good.replace(b"2008-", b"1970-"),
        16: good.replace(b"2008-", b"2908-"),
        17: b"",
        18: b"\xff\x00",
        19: good.replace(b"48.", b"1e999 ", 1),
    }
    for line, text in sorted(bad.items()):
        lines.insert(line - 1, text)
    file.write_bytes(b"\r\n".join(lines) + b"\r\n")
    report = Report()
    assert_same(read_fixes(folder, report=report), table)  # everything else is there
    place = "003/Trajectory/20081024.plt:{}".format
    assert report.examples == {
        "with other than seven fields": [place(i) for i in (10, 11, 13)],
        "with a latitude outside ±90 degrees": [place(8)],
        "with a longitude outside ±180 degrees": [place(9)],
        NO_POSITION: [place(12), place(19)],
        NO_TIME: [place(14)],
        "with a time before 1980-01-06": [place(15)],
        "with a time after 2024-06-01": [place(16)],
    }
    assert report.bad["with other than seven fields"] == 4 and report.n_bad == 11
    text = str(report)
    assert text.startswith("Read 80 fixes of 2 people from 4 files (2008-10-23 to 2008-10-23, UTC)")
    assert "kept out 11: 4 with other than seven fields (003/Traj" in text
    assert text.count(". ") == 0 and text.endswith(".")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b",2008-10-23,", b",,", NO_TIME),
        (b",02:5", b",2:6", NO_TIME),
        (b"\r\n48.", b"\r\nnan", NO_POSITION),
        (b"\r\n48.", b"\r\n95.", "with a latitude outside ±90 degrees"),
        (b",16.", b",,", "with other than seven fields"),
        (b",16.", b",216.", "with a longitude outside ±180 degrees"),
    ],
)
def test_a_single_bad_line_among_good_ones(
    tmp_path: Path, old: bytes, new: bytes, reason: str
) -> None:
    folder = geolife(tmp_path, some_fixes())
    file = folder / "Data/000/Trajectory/20081024.plt"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[8] = (b"\r\n" + lines[8]).replace(old, new)[2:]
    file.write_bytes(b"".join(lines))
    report = Report()
    assert len(together(read_fixes(folder, report=report))) == 79
    assert report.examples == {reason: ["000/Trajectory/20081024.plt:9"]}


def test_bad_lines_of_a_csv_are_counted_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixes_columns, "BATCH_BYTES", 200)
    head, when = "user_id,tracked_at,lat,lon", "2024-05-01T09:00:00Z"
    for mixed in (False, True):
        lines = [
            head,
            f"1,{when},48,16",
            "1,2024-05-01T09:00:00Z,48",  # 3
            "",
            f"1,{when},,16",  # 5
            f",{when},48,16",  # 6
            f"1,{when},48,16,9",  # 7
            "1,noon,48,16",  # 8
            "1,,48,16",  # 9
            f"2,{when},91,16",  # 10
            f"2,{when},north,16",  # 11
            f"2,{when},48,16",
            f"{1 if mixed else 3},{when},48,16",
        ]
        (tmp_path / "f.csv").write_text("\n".join(lines))
        report = Report()
        people = {f.user_id.iloc[0]: len(f) for f in read_fixes(tmp_path / "f.csv", report=report)}
        assert people == ({1: 2, 2: 1} if mixed else {1: 1, 2: 1, 3: 1})
        assert report.examples == {
            "with more or fewer fields than the header": ["f.csv:3", "f.csv:7"],
            "without a user_id": ["f.csv:6"],
            NO_POSITION: ["f.csv:5", "f.csv:11"],
            NO_TIME: ["f.csv:8", "f.csv:9"],
            "with a latitude outside ±90 degrees": ["f.csv:10"],
        }
        assert (report.n_fixes, report.n_bad, report.n_files) == (3, 8, 1)


def test_bad_rows_of_parquet_are_counted_with_their_place(tmp_path: Path) -> None:
    table = some_fixes(("a",), n=10)
    table.loc[2, "lat"], table.loc[3, "tracked_at"], table.loc[4, "user_id"] = -95.0, pd.NaT, None
    table.loc[5, "lon"] = np.inf
    table.to_parquet(tmp_path / "f.parquet", index=False)
    report = Report()
    assert_same(
        read_fixes(tmp_path / "f.parquet", report=report),
        table.drop([2, 3, 4, 5]).reset_index(drop=True),
    )
    assert report.examples == {
        "with a latitude outside ±90 degrees": ["f.parquet, row 2"],
        NO_TIME: ["f.parquet, row 3"],
        "without a user_id": ["f.parquet, row 4"],
        NO_POSITION: ["f.parquet, row 5"],
    }


def test_what_was_kept_out_is_said_even_if_nobody_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = some_fixes()
    write_csv(table, tmp_path / "f.csv")
    list(read_fixes(tmp_path / "f.csv"))
    assert capsys.readouterr() == ("", "")
    table.loc[7, "lat"] = 95
    write_csv(table, tmp_path / "f.csv")
    list(read_fixes(tmp_path / "f.csv"))
    said = capsys.readouterr()
    assert said.out == (
        "Read 79 fixes of 2 people from 1 file (2008-10-23 to 2008-10-23, UTC); kept out 1: "
        "1 with a latitude outside ±90 degrees (f.csv:9).\n"
    )
    list(read_fixes(tmp_path / "f.csv", progress=True, report=Report()))
    said = capsys.readouterr()
    assert "2/2" in said.out and "kept out 1" in said.out and said.err == ""


def test_since_and_until_cut(tmp_path: Path) -> None:
    table = some_fixes((1,))
    write_csv(table, tmp_path / "f.csv")
    low, high = table.tracked_at.iloc[9], table.tracked_at.iloc[30]
    report = Report()
    found = together(read_fixes(
        tmp_path / "f.csv", since=low, until=high.strftime("%Y-%m-%d %H:%M:%S"), report=report
    ))  # fmt: skip
    inside = table.tracked_at.between(low, high)
    assert len(found) == inside.sum() and report.n_bad == (~inside).sum()


def test_cut_off_trajectories_are_counted_and_empty_ones_allowed(tmp_path: Path) -> None:
    table = some_fixes((1,))
    folder = geolife(tmp_path, table)
    home = folder / "Data/001/Trajectory"
    (home / "1.plt").write_bytes(b"")
    (home / "2.plt").write_bytes(HEADER[:30])
    (home / "3.plt").write_bytes(HEADER)
    whole = (home / "20081024.plt").read_bytes()
    (home / "20081024.plt").write_bytes(whole[:-2])  # no line end after the last fix
    report = Report()
    assert_same(read_fixes(folder, report=report), table)
    assert report.examples == {
        "in a file that ends within its six header lines": [
            "001/Trajectory/1.plt", "001/Trajectory/2.plt",
        ]
    }  # fmt: skip
    (home / "20081024.plt").write_bytes(whole[:-8])  # cut off within the last time
    report = Report()
    assert_same(read_fixes(folder, report=report), table.iloc[:-1])
    assert report.examples[NO_TIME] == ["001/Trajectory/20081024.plt:26"]


# Wholly wrong


def file(name: str, content: bytes | str) -> Callable[[Path], Path]:
    """Make a function that writes a file."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def tree(*makes: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Make a function that writes several files and gives their folder."""

    def make(folder: Path) -> Path:
        for each in makes:
            each(folder)
        return folder

    return make


CSV = "user_id,tracked_at,lat,lon\n"
GOOD_PLT = plt(some_fixes((0,)))
AT = "000/Trajectory/1.plt"
REFUSED: dict[str, tuple[Callable[[Path], Path], dict[str, Any], str]] = {
    "no path": (lambda f: f / "gone", {}, "There is no file .*gone; check the path"),
    "empty folder": (lambda f: f, {}, "is not known as fixes; give GeoLife"),
    "other file": (file("a.doc", "x"), {}, "is not known as fixes; give GeoLife"),
    "one trajectory": (file("a.plt", GOOD_PLT), {}, "is not known as fixes; give GeoLife"),
    "mixed": (
        tree(file("a.gpx", GPX), file(f"Data/{AT}", GOOD_PLT)), {}, "mixes kinds of files"),
    "options": (tree(file(AT, GOOD_PLT)), {"timezone": "UTC"}, "is no table; columns, timezone"),
    "nobody": (tree(file(AT, GOOD_PLT)), {"users": [4]}, r"no person 4 in .* \(it has 0\)"),
    "since": (tree(file(AT, GOOD_PLT)), {"since": "soon"}, "since is 'soon', which is no time"),
    "no zip": (file("g.zip", "<html>"), {}, "no complete zip archive .* download it again"),
    "half zip": (file("g.zip", b"PK\3\4" + bytes(99)), {}, "no complete zip archive"),
    "plt without header": (
        tree(file(AT, GOOD_PLT[len(HEADER):])), {},
        "1.plt does not begin with the line 'Geolife trajectory'.* unpack the archive again"),
    "plt of zeros": (tree(file(AT, bytes(999))), {}, "does not begin with the line 'Geolife"),
    "plt of text": (
        tree(file(AT, HEADER + b"to be\nor not\n")), {},
        r"No line of 000/Trajectory/1.plt is a fix \(latitude.* remove it, or unpack"),
    "swapped": (
        tree(file(AT, GOOD_PLT.replace(b"\n48.", b"\n148."))), {},
        "There is no usable fix in .*kept out 40.*lon and lat not swapped"),
    "no gpx": (file("a.gpx", "<gpx><trk>"), {}, "a.gpx is no GPX that can be read .*; repair it"),
    "gpx in UTF-16": (file("a.gpx", GPX.encode("utf-16")), {}, "a.gpx is no GPX that can be read"),
    "gpx without a track": (file("a.gpx", GPX.format("")), {}, "a.gpx has no track points"),
    "gpx twice": (
        tree(file("ann.gpx", GPX), file("ann/b.gpx", GPX)), {}, "would both be person 'ann'"),
    "empty csv": (file("f.csv", ""), {}, "f.csv is empty; it needs a header line"),
    "header only": (file("f.csv", CSV), {}, "There are no fixes in f.csv"),
    "no user": (file("f.csv", "time,lat,lon\n1,2,3\n"), {},
        "f.csv has no column for user_id .*it has time, lat, lon"),
    "two candidates": (
        file("f.csv", "uid,time,timestamp,lat,lon\n"), {},
        "Both 'time' and 'timestamp' in f.csv could be tracked_at; say which with columns="),
    "wrong column": (file("f.csv", CSV), {"columns": {"lat": "y"}}, "Column 'y' is not in f.csv"),
    "strange column": (file("f.csv", CSV), {"columns": {"z": "y"}}, "columns names 'z'"),
    "doubled": (file("f.csv", "uid,time,lat,lon,lat\n"), {}, "Column 'lat' appears twice"),
    "no zone": (
        file("f.csv", CSV + "1,2024-05-01 09:00,48,16\n"), {},
        "Times in 'tracked_at' of f.csv have no time zone; name it with timezone="),
    "bad zone": (
        file("f.csv", CSV + "1,2024-05-01 09:00,48,16\n"), {"timezone": "Vienna"},
        "'Vienna' is no known time zone"),
    "milliseconds": (
        file("f.csv", CSV + "1,1714554000000,48,16\n"), {}, "if they are milliseconds, say time_"),
    "unit": (file("f.csv", CSV), {"time_unit": "us"}, "time_unit is 'us'; it must be 's' or 'ms'"),
    "latin": (file("f.csv", CSV.encode() + b"J\xf6rg,1714554000,48,16\n"), {},
        r"f.csv cannot be read \(line 2 is not UTF-8: .*save it as UTF-8"),
    "text named gz": (file("f.csv.gz", CSV), {}, "There are no fixes in f.csv.gz"),
    "no gzip": (file("f.csv.gz", b"\x1f\x8b" + bytes(30)), {}, "f.csv.gz cannot be read"),
    "no parquet": (file("f.parquet", "x"), {}, "f.parquet cannot be read .* must be Parquet"),
    "semicolons": (file("f.csv", "uid;time;lat\n"), {}, "no column for lon .*has uid, time, lat"),
    "useless": (file("f.csv", CSV + "1,never,48,16\n"), {}, "no usable fix in .*1 without a time"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_wholly_wrong_source_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    make, options, message = REFUSED[name]
    with pytest.raises(DataError, match=message) as refusal:
        list(read_fixes(make(tmp_path), **options))
    assert "\n" not in str(refusal.value)


def test_text_and_number_ids_in_one_folder_are_refused(tmp_path: Path) -> None:
    some_fixes((1,)).to_parquet(tmp_path / "a.parquet")
    for text in ("7", "b"):
        some_fixes((text,)).to_parquet(tmp_path / "b.parquet")
        with pytest.raises(DataError, match="user_id is text in some files"):
            read_fixes(tmp_path)
    (tmp_path / "b.parquet").unlink()
    write_csv(some_fixes(("b",)), tmp_path / "b.csv")
    with pytest.raises(DataError, match="user_id is text in some files"):
        read_fixes(tmp_path)
    write_csv(some_fixes((2,)), tmp_path / "b.csv")
    assert [frame.user_id.iloc[0] for frame in read_fixes(tmp_path)] == [1, 2]
    some_fixes((1.5,)).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"user_id in b\.parquet holds double"):
        read_fixes(tmp_path)


# Archives


def entry(name: str, mode: int = stat.S_IFREG | 0o644, size: int | None = None) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (entry("../1/Trajectory/x.plt"), "leads out of its folder"),
        (entry("Data/../../x.plt"), "leads out of its folder"),
        (entry("Data\\..\\..\\x.plt"), "leads out of its folder"),
        (entry("/etc/Trajectory/x.plt"), "has an absolute path"),
        (entry("C:/Trajectory/x.plt"), "has an absolute path"),
        (entry("Data/link", stat.S_IFLNK | 0o777), "is a link or a device"),
        (entry("Data/pipe", stat.S_IFIFO | 0o644), "is a link or a device"),
        (entry("Data/000/Trajectory/20081023025304.plt"), "stands in it twice"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_one_unsafe_member_is_refused(
    tmp_path: Path, info: zipfile.ZipInfo, message: str
) -> None:
    path = tmp_path / "g.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Data/000/Trajectory/20081023025304.plt", GOOD_PLT)
        archive.writestr(info, GOOD_PLT)
    with pytest.raises(DataError, match=f"is not safe to read: its member .* {message}; delete"):
        read_fixes(path)


def test_a_damaged_or_absurd_member_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"Data/{AT}", GOOD_PLT)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"16.", b"17.", 1))
    with pytest.raises(DataError, match=r"1\.plt in .* is damaged .*download it again"):
        list(read_fixes(path))
    path.write_bytes(whole)
    assert len(list(read_fixes(path))) == 1
    monkeypatch.setattr("pgt.io.archive.LARGEST", 1000)
    with pytest.raises(DataError, match="would unpack to"):
        read_fixes(path)
    monkeypatch.undo()
    at = whole.rindex(b"PK\1\2")
    path.write_bytes(whole[: at + 8] + b"\1" + whole[at + 9 :])
    with pytest.raises(DataError, match="is encrypted"):
        read_fixes(path)


# The cache


def test_an_interrupted_read_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = some_fixes((0, 1, 2))
    table.loc[3, "lat"] = 99  # somebody's bad line must be told again from the cache
    good = table.drop(3).reset_index(drop=True)
    folder, cache = geolife(tmp_path / "g", table), tmp_path / "cache"
    opened: list[str] = []
    plain = Path.read_bytes

    def watched(self: Path) -> bytes:
        opened.append(self.parent.parent.name)
        return plain(self)

    monkeypatch.setattr(Path, "read_bytes", watched)
    first = read_fixes(folder, cache=cache)
    next(first), next(first)
    first.close()  # type: ignore[attr-defined]
    assert set(opened) == {"000", "001"}
    assert sorted(f.name for f in cache.iterdir()) == ["int-0.parquet", "int-1.parquet"]
    opened.clear()
    report, fresh = Report(), Report()
    assert_same(read_fixes(folder, cache=cache, report=report), good)
    assert set(opened) == {"002"}
    assert_same(read_fixes(folder, report=fresh), good)
    assert report == fresh and report.n_bad == 1
    opened.clear()
    assert_same(read_fixes(folder, cache=cache), good)
    assert opened == []
    # Changed files, a damaged copy and other limits are read anew, each for itself.
    file = folder / "Data/001/Trajectory/20081024.plt"
    os.utime(file, ns=(1, 1))
    (cache / "int-2.parquet").write_bytes(b"PAR1")
    assert_same(read_fixes(folder, cache=cache), good)
    assert set(opened) == {"001", "002"}
    opened.clear()
    list(read_fixes(folder, cache=cache, users=[1], since="2008-01-01"))
    assert set(opened) == {"001"}
    # Damage within a copy shows only when it is read.
    copy = cache / "int-0.parquet"
    content = bytearray(plain(copy))
    content[4:400] = bytes(396)  # the fixes, not the notes at the end
    copy.write_bytes(content)
    opened.clear()
    assert_same(read_fixes(folder, cache=cache, users=[0]), good[good.user_id == 0])
    assert set(opened) == {"000"}


def test_a_cached_table_is_not_converted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = some_fixes(("a/b", "..", "7"))
    table.loc[[4, 70], "lat"] = 99, -99
    good = table.drop([4, 70]).reset_index(drop=True)
    write_csv(table, tmp_path / "f.csv")
    fresh, report = Report(), Report()
    assert_same(read_fixes(tmp_path / "f.csv", cache=tmp_path / "c", report=fresh), good)
    assert len(list((tmp_path / "c").iterdir())) == 3
    with monkeypatch.context() as patch:
        patch.setattr(fixes_table.Table, "_fixes", None)
        frames = read_fixes(tmp_path / "f.csv", cache=tmp_path / "c", report=report)
        assert_same(frames, good)
    assert report == fresh and report.n_bad == 2
    (tmp_path / "c/str-...parquet").unlink()
    assert_same(read_fixes(tmp_path / "f.csv", cache=tmp_path / "c"), good)
    table.loc[4, "lat"] = 48.5  # another file of the same size
    write_csv(table, tmp_path / "f.csv")
    again = together(read_fixes(tmp_path / "f.csv", cache=tmp_path / "c"))
    assert len(again) == len(good) + 1


# The whole of GeoLife, where it is at hand

GEOLIFE = os.environ.get("PGT_GEOLIFE_FIXES", "")


@pytest.mark.slow
@pytest.mark.skipif(not GEOLIFE, reason="PGT_GEOLIFE_FIXES names no GeoLife")
def test_all_of_geolife() -> None:
    report = Report()
    assert sum(len(frame) for frame in read_fixes(GEOLIFE, report=report)) > 24_000_000
    assert report.n_users == 182 and report.n_bad < 10
