"""Hostile recordings: each is understood rightly, or refused in one sentence with the remedy."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pgt.cli.parser import main
from pgt.io.fixes import people_in, read_fixes
from pgt.io.fixes_base import NO_TIME, Report
from pgt.io.tables import write
from pgt.scale.fixes import fixes_to_visits as on_engine

from pgt.errors import DataError

from ..gps_helpers import commuter
from ..helpers import mutated, refusal
from .test_fixes import geolife, gpx, plt, some_fixes, together, zipped

CSV = "user_id,tracked_at,lat,lon\n"
UTC = {"timezone": "UTC"}


def at(*times: str) -> str:
    return CSV + "".join(f"7,{time},48.2,16.4\n" for time in times)


ONE = at("2024-05-01T09:00:00Z")

# name -> file's name, its content, options, the first fix's time in UTC
UNDERSTOOD: dict[str, tuple[str, str | bytes, dict[str, Any], str]] = {
    "offset after a space": ("f.csv", at("2024-05-01 09:00 +02:00"), UTC, "07"),
    "offset of one digit": ("f.csv", at("2024-05-01T09:00+9"), UTC, "00"),
    "offset of one digit and minutes": ("f.csv", at("2024-05-01T09:00+9:00"), {}, "00"),
    "trailing blank": ("f.csv", at("2024-05-01T09:00Z "), {"timezone": "Asia/Shanghai"}, "09"),
    "small z": ("f.csv", at("2024-05-01T09:00z"), {}, "09"),
    "UTC by name": ("f.csv", at("2024-05-01 09:00:00 UTC"), {}, "09"),
    "local with a blank": ("f.csv", at("2024-05-01 17:00 "), {"timezone": "Asia/Shanghai"}, "09"),
    "semicolons": ("f.csv", ONE.replace(",", ";"), {}, "09"),
    "decimal commas": ("f.csv", ONE.replace(",", ";").replace(".", ","), {}, "09"),
    "tabs": ("f.tsv", ONE.replace(",", "\t"), {}, "09"),
    "txt": ("f.txt", ONE, {}, "09"),
    "UTF-16": ("f.csv", ONE.encode("utf-16"), {}, "09"),
    "UTF-8 with its mark": ("f.csv", ONE.encode("utf-8-sig"), {}, "09"),
    "gzip named .csv": ("f.csv", gzip.compress(ONE.encode()), {}, "09"),
    "text named .csv.gz": ("f.csv.gz", ONE, {}, "09"),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_it_is_understood(name: str, tmp_path: Path) -> None:
    file, content, options, hour = UNDERSTOOD[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (frame,) = read_fixes(path, **options)
    fix = frame.iloc[0]
    assert fix.tracked_at == pd.Timestamp(f"2024-05-01T{hour}:00", tz="UTC")
    assert (fix.user_id, fix.lon, fix.lat) == (7, 16.4, 48.2)


REFUSED: dict[str, tuple[str, str | bytes, dict[str, Any], str]] = {
    "now": ("f.csv", at("now", "today"), UTC, "no usable fix .* 2 without a time that can be"),
    "some without offset":
        ("f.csv", at("2024-05-01 09:00 +2", "2024-05-01 09:00"), UTC, "in some rows and none in"),
    "xz": ("f.csv", lzma.compress(ONE.encode()), {}, "packed with xz.* xz -d"),
    "bzip2": ("f.csv", bz2.compress(ONE.encode()), {}, "packed with bzip2"),
    "a page": ("f.csv", "<html>404</html>", {}, "page of the web.*download the file"),
    "cut gzip": ("f.csv.gz", gzip.compress(ONE.encode() * 99)[:-20], {}, "cannot be read"),
    "gzip of rubbish": ("f.csv.gz", b"\x1f\x8b\x08" + bytes(30), {}, "cannot be read"),
    "Latin-1 far below":
        ("f.csv", (ONE * 3000).encode() + b"J\xf6rg,1,2,3\n", {}, "line 6001 is not UTF-8"),
    "UTF-16 without its mark": ("f.csv", ONE.encode("utf-16-le"), {}, "UTF-16.*iconv"),
    "cut Parquet": ("f.parquet", b"PAR1" + bytes(99), {}, "cannot be read.*must be Parquet"),
    "empty since": ("f.csv", ONE, {"since": ""}, "since is '', which is no time such as"),
    "since now": ("f.csv", ONE, {"until": "now"}, "until is 'now', which is no time such as"),
    "a person of a table": ("f.csv", ONE, {"person": "me"}, "is for GPX, leave it out"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    file, content, options, says = REFUSED[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=says) as refusal:
        list(read_fixes(path, **options))
    assert "\n" not in str(refusal.value)


def test_a_word_for_a_time_is_kept_out_among_good_times(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(at("2024-05-01T09:00Z", "now", "2024-05-01T09:01Z", "today"))
    report = Report()
    assert len(together(read_fixes(tmp_path / "f.csv", report=report))) == 2
    assert report.examples == {NO_TIME: ["f.csv:3", "f.csv:5"]}


def test_an_address_is_no_path() -> None:
    with pytest.raises(DataError, match="only local files are read; download it first"):
        read_fixes("https://example.org/f.gpx")


# Two folders of GeoLife that would be one person


@pytest.mark.parametrize(
    ("one", "other"),
    [("Data/000", "Data/0"), ("Data/010", "Data/10"), ("a/000", "b/000"), ("a/ann", "b/ann")],
)
def test_two_folders_never_become_one_person(one: str, other: str, tmp_path: Path) -> None:
    for folder in (one, other):
        home = tmp_path / "g" / folder / "Trajectory"
        home.mkdir(parents=True)
        (home / "20081024.plt").write_bytes(plt(some_fixes((0,))))
    for path in (tmp_path / "g", zipped(tmp_path / "g", tmp_path / "g.zip")):
        with pytest.raises(DataError, match=f"{min(one, other)} and {max(one, other)} of .* both"):
            people_in(path)


def test_a_second_folder_without_trajectories_does_no_harm(tmp_path: Path) -> None:
    folder = geolife(tmp_path / "g", some_fixes((0, 3)))
    (folder / "Data/3/Trajectory").mkdir(parents=True)
    assert people_in(folder) == [0, 3]


# GPX files of one person


@pytest.mark.parametrize(
    "names",
    [("2024-05-01", "2024-05-02"), ("20240501", "20240502"), ("Morning run 2024-05-01 08.00",
     "Morning run 2024-05-02 08.12"), ("9876543210", "9876543777"), ("track_20240501_120000",
     "track_20240502_3")],
)  # fmt: skip
def test_daily_files_are_refused_until_it_is_said_whose_they_are(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    days = [some_fixes((0,), n=10), some_fixes((0,), n=10, seed=1)]
    days[1]["tracked_at"] += pd.Timedelta(days=1)
    for name, day in zip(names, days, strict=True):
        gpx(tmp_path / "me" / f"{name}.gpx", day)
    with pytest.raises(DataError, match=r"me holds 2 GPX files such as .* \(--person me\)"):
        people_in(tmp_path / "me")
    found = list(read_fixes(tmp_path / "me", person="ann"))
    assert [frame.user_id.iloc[0] for frame in found] == ["ann"]
    assert found[0].tracked_at.tolist() == pd.concat(days).tracked_at.tolist()
    (tmp_path / "me").rename(tmp_path / "x")
    (tmp_path / "all").mkdir()
    (tmp_path / "x").rename(tmp_path / "all/ann")
    assert people_in(tmp_path / "all") == ["ann"]


@pytest.mark.parametrize("names", [("ann", "bob"), ("1", "2"), ("user_000123", "user_000124")])
def test_files_with_names_of_people_are_people(names: tuple[str, ...], tmp_path: Path) -> None:
    for name in names:
        gpx(tmp_path / f"{name}.gpx", some_fixes((0,), n=10))
    assert people_in(tmp_path) == list(names)


def test_people_who_read_alike_are_noted(tmp_path: Path) -> None:
    table = some_fixes(("Anna1", "anna1"))
    table.to_csv(tmp_path / "f.csv", index=False)
    report = Report()
    assert len(list(read_fixes(tmp_path / "f.csv", report=report))) == 2
    assert "Note 1 of 1: 2 ids in 'user_id' differ from another only by case" in str(report)
    assert Report.from_dict(report.as_dict()) == report


def test_the_command_names_the_person_and_the_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixes = commuter(days=30)
    for day, part in fixes.groupby(fixes.tracked_at.dt.strftime("%Y-%m-%d")):
        gpx(tmp_path / "me" / f"{day}.gpx", part)
    out = str(tmp_path / "v.csv")
    line = ["visits", str(tmp_path / "me"), "--out", out, "--quiet", "--everybody"]
    assert main(line) == 2
    assert "(--person me)" in capsys.readouterr().err
    assert main([*line, "--person", "me", "--timezone", "Europe/Vienna"]) == 0
    expected = pd.read_csv(out)
    assert set(expected.user_id) == {"me"}
    journey = on_engine(tmp_path / "me", person="me", timezone="Europe/Vienna", everybody=True)
    write(journey.visits, tmp_path / "engine.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "engine.csv"), expected)
    milliseconds = fixes.assign(
        user_id="me", tracked_at=fixes.tracked_at.astype("datetime64[ms, UTC]").astype("int64")
    )
    milliseconds.to_csv(tmp_path / "ms.csv", index=False)
    line[1] = str(tmp_path / "ms.csv")
    assert main([*line, "--timezone", "Europe/Vienna"]) == 2
    assert "--time-unit ms" in capsys.readouterr().err
    assert main([*line, "--timezone", "Europe/Vienna", "--time-unit", "ms"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv(out), expected)
    # Without the zone the clocks of the visits are doubted, and the note is counted.
    swapped = milliseconds.rename(columns={"lon": "lat", "lat": "lon"})
    swapped.to_csv(tmp_path / "ms.csv", index=False)
    capsys.readouterr()
    assert main([*line, "--timezone", "Europe/Vienna", "--time-unit", "ms"]) == 0
    assert "note 1 of 1: " in (said := capsys.readouterr().out) and "look swapped" in said


def _mutable(folder: Path) -> dict[str, bytes]:
    table = some_fixes((0, 3), n=12)
    table.to_csv(folder / "f.csv", index=False)
    table.to_parquet(folder / "f.parquet")
    gpx(folder / "f.gpx", table)
    home = geolife(folder / "g", table)
    with zipfile.ZipFile(folder / "g.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(home.rglob("*.plt")):
            archive.write(file, file.relative_to(home).as_posix())
    names = ("f.csv", "f.parquet", "f.gpx", "g.zip")
    found = {name: (folder / name).read_bytes() for name in names}
    return found | {"f.csv.gz": gzip.compress(found["f.csv"])}


@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz", "f.parquet", "f.gpx", "g.zip"])
@pytest.mark.filterwarnings("ignore")
def test_whatever_happens_to_a_file_it_is_read_or_refused(name: str, tmp_path: Path) -> None:
    whole = _mutable(tmp_path)[name]
    rng = random.Random(name)
    (tmp_path / "x").mkdir()
    path = tmp_path / "x" / name
    said = []
    for _ in range(50):
        path.write_bytes(mutated(whole, rng))
        said.append(refusal(lambda: list(read_fixes(path, report=Report()))))
    assert any(said)
    assert not any("\n" in message for message in said)


def test_a_line_that_is_no_utf8_is_never_lost_silently(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    for line in (
        b"J\xf6rg,2024-05-01T09:01Z,48,16\n",
        b"J\xf6rg,2024-05-01T09:01Z,48\n",
        b"\xf6\n",
    ):
        path.write_bytes(ONE.encode() + line)
        with pytest.raises(DataError, match="line 3 is not UTF-8"):
            list(read_fixes(path))
