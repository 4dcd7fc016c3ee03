"""A recording of positions is told from a table of visits by names alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pandas as pd
import pytest
from pgt.io.forms import tables_of
from pgt.io.recordings import is_recording
from wherenext import city


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("user_id,tracked_at,lon,lat", True),
        ("UID;Timestamp;Latitude;Longitude", True),
        ("time,lat,lon", True),  # the reader of fixes says that nobody is named
        ("user,time,timestamp,lat,lon", True),  # and that there are two times
        ("user_id,location_id,time,lon,lat", False),
        ("User ID,Venue ID,time,lon,lat", False),
        ("user_id,time,end time,lon,lat", False),
        ("user_id,started_at,finished_at,lon,lat", False),
        ("user_id,location_id,started_at,finished_at", False),
        ("user_id,time,lon", False),
        ("", False),
    ],
)
def test_columns_tell(header: str, expected: bool, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(header + "\n")
    assert is_recording(file) is expected
    assert is_recording(tmp_path) is expected
    if header and ";" not in header:
        parquet = tmp_path / "table.parquet"
        pd.DataFrame(columns=header.split(","), dtype=str).to_parquet(parquet)
        assert is_recording(parquet) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.gpx", True),
        ("anna/1.GPX", True),
        ("Data/000/Trajectory/1.plt", True),
        (".hidden.gpx", False),
        ("notes.md", False),
    ],
)
def test_names_tell(name: str, expected: bool, tmp_path: Path) -> None:
    file = tmp_path / "folder" / name
    file.parent.mkdir(parents=True)
    file.touch()
    assert is_recording(tmp_path / "folder") is expected
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(file, name)
    assert is_recording(tmp_path / "all.zip") is name.endswith(".plt")


def test_a_town_is_none_whatever_lies_in_it(tmp_path: Path) -> None:
    city.save(city.load(), tmp_path)
    (tmp_path / "a.gpx").touch()
    assert not is_recording(tmp_path)


def test_what_cannot_be_read_is_left_to_who_says_why(tmp_path: Path) -> None:
    for name in ("a.zip", "a.parquet", "a.csv"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 and no more")
        assert not is_recording(tmp_path / name)
    assert not is_recording(tmp_path / "none.gpx")


def test_tables_of_a_folder_are_sorted_and_not_hidden(tmp_path: Path) -> None:
    for name in ("b.csv", "a.parquet", ".c.csv", "read.txt"):
        (tmp_path / name).touch()
    assert [file.name for file in tables_of(tmp_path)] == ["a.parquet", "b.csv"]
