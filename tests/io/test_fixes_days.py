"""A flat folder of recordings: one person's days are noted, people who overlap are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pgt.io import fixes_days
from pgt.io.fixes import people_in, read_fixes
from pgt.io.fixes_base import Report
from pgt.io.fixes_days import FEWEST, one_after_another
from pgt.scale.engines import engine
from pgt.scale.fixes import fixes_to_visits

from pgt.errors import DataError

HEAD = '<?xml version="1.0"?><gpx version="1.1" creator="x" '
HEAD += 'xmlns="http://www.topografix.com/GPX/1/1"><metadata><time>2030-01-01T00:00:00Z</time>'
POINT = '<trkpt lat="48.2" lon="16.37"><time>{}</time></trkpt>'
NAMES = (
    "activity_10%05d.gpx", "Morning_Run (%d).gpx", "Track %d.gpx", "track_%04d.gpx", "%d.gpx",
    "2405%02d.gpx", "%02d.5.24.GPX", "May %d.gpx", "%d-May-2024.gpx",
)  # fmt: skip


def gpx(file: Path, start: str | pd.Timestamp, hours: float = 1, points: int = 61) -> None:
    """A recording of so many hours, spread evenly."""
    file.parent.mkdir(parents=True, exist_ok=True)
    times = pd.date_range(start, periods=points, freq=pd.Timedelta(hours=hours / (points - 1)))
    body = "".join(POINT.format(f"{at:%Y-%m-%dT%H:%M:%SZ}") for at in times)
    file.write_text(f"{HEAD}</metadata><trk><trkseg>{body}</trkseg></trk></gpx>")


def daily(folder: Path, names: str, days: int = 6) -> Path:
    for day in range(1, days + 1):
        gpx(folder / (names % day), f"2024-05-{day:02} 09:00")
    return folder


def notes(folder: Path, **options: str) -> list[str]:
    report = Report()
    list(read_fixes(folder, report=report, **options))  # type: ignore[arg-type]
    return report.notes


@pytest.mark.parametrize("names", NAMES)
def test_the_days_of_one_person_are_noted(names: str, tmp_path: Path) -> None:
    folder = daily(tmp_path / "tracks", names)
    (note,) = notes(folder)
    assert note.startswith("the 6 GPX files of tracks (") and "are read as 6 people" in note
    assert "--person me" in note and "\n" not in note
    assert notes(folder, person="me") == []


def test_dates_that_are_recognised_are_refused_as_before(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="look like recordings of one person"):
        read_fixes(daily(tmp_path, "2024-05-%02d.gpx"))


def test_the_note_is_counted_and_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    list(read_fixes(daily(tmp_path, "Track %d.gpx")))
    assert " Note 1 of 1: the 6 GPX files of " in capsys.readouterr().out


def test_an_engine_looks_and_notes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr("pgt.scale.fixes.PEOPLE", 2)
    monkeypatch.setattr("pgt.io.fixes_gpx.doubt", lambda f: looks.append(f) or fixes_days.doubt(f))
    folder, report = daily(tmp_path, "Track %d.gpx"), Report()
    with engine("process", 1) as running:
        fixes_to_visits(folder, report=report, engine=running, everybody=True, min_samples=1)
    assert len(looks) == 1
    assert report.notes == notes(folder)
    people_in(folder, report=(again := Report()))
    assert again.notes == report.notes


def test_people_who_overlap_are_not_noted(tmp_path: Path) -> None:
    for number in range(8):
        start = pd.Timestamp("2024-05-01") + pd.Timedelta(days=3 * number)
        gpx(tmp_path / "a" / f"{number}.gpx", start, hours=24 * 10)  # somebody always joins
        gpx(tmp_path / "b" / f"{number}.gpx", "2024-05-01 09:00", hours=number + 1)
    assert notes(tmp_path / "a") == notes(tmp_path / "b") == []
    assert notes(tmp_path) == []  # folders are people


def test_few_files_tell_nothing(tmp_path: Path) -> None:
    assert notes(daily(tmp_path / "few", "Track %d.gpx", FEWEST - 1)) == []
    folder = daily(tmp_path / "more", "Track %d.gpx", FEWEST)
    assert len(notes(folder)) == 1
    gpx(folder / "Track 1.gpx", "2024-05-02 09:30")
    assert notes(folder) == []  # two of five overlap


def test_only_the_times_of_points_count(tmp_path: Path) -> None:
    for day in range(1, 7):  # what else has a time says when the file was written
        gpx(tmp_path / f"Track {day}.gpx", f"2024-05-{day:02} 09:00", points=2)
    assert len(notes(tmp_path)) == 1


def test_a_wrong_clock_at_the_start_does_not_hide_it(tmp_path: Path) -> None:
    folder = daily(tmp_path, "Track %d.gpx")
    file = folder / "Track 5.gpx"
    file.write_text(file.read_text().replace("2024-05-05T09:00:00Z", "1999-08-22T00:00:00Z", 1))
    assert len(notes(folder)) == 1


def test_files_without_times_tell_nothing(tmp_path: Path) -> None:
    folder = daily(tmp_path, "Track %d.gpx")
    for number in (1, 2):
        file = folder / f"Track {number}.gpx"
        file.write_text(file.read_text().replace("09:", "nine "))
    report = Report()
    people_in(folder, report=report)
    assert report.notes == []  # four are left
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("time>", "name>"))
    people_in(folder, report=report)
    assert report.notes == []


def test_the_order_of_files_does_not_matter() -> None:
    start = np.random.default_rng(0).permutation(20)
    assert one_after_another(start, start + 1)
    assert not one_after_another(start, start + 1.5)
    twice = np.r_[start, 3.2, 7.2]  # a watch and a telephone
    assert one_after_another(twice, twice + 0.5)
    long = np.where(start == 0, 30.0, start + 0.5)  # one who overlaps all
    assert not one_after_another(start, long)
