"""Known files become visits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pgt.io.sources import NEW_YORK, is_windows_folder, read_visits, read_windows_folder
from pgt.io.tables import write
from wherenext import city

from pgt.errors import DataError
from pgt.visits import SPLITS, check, split_by_days
from pgt.windows import prepare

from ..helpers import random_visits


def windows_folder(folder: Path, visits: pd.DataFrame) -> None:
    """Write visits the way the published pipeline leaves them."""
    visits = split_by_days(check(visits))
    start = visits.started_at
    day = start.dt.tz_localize(None).dt.normalize()
    first = day.groupby(visits.user_id).transform("min")
    rows = pd.DataFrame(
        {
            "id": np.arange(len(visits)),
            "user_id": visits.user_id,
            "location_id": visits.location_id,
            "duration": (visits.finished_at - start).dt.total_seconds() // 60,
            "start_day": (day - first).dt.days,
            "end_day": (day - first).dt.days,
            "start_min": start.dt.hour * 60 + start.dt.minute,
            "end_min": 0,
            "weekday": start.dt.day_of_week,
            "split": visits.split,
        }
    )
    for name in SPLITS:
        rows[rows.split == name].drop(columns="split").to_csv(folder / f"{name}.csv", index=False)


def test_a_windows_folder_gives_the_same_windows_as_the_visits(tmp_path: Path) -> None:
    visits = random_visits(8, users=3, visits=100, zone="UTC")
    windows_folder(tmp_path, visits)
    assert is_windows_folder(tmp_path)
    table = read_visits(tmp_path)
    pd.testing.assert_frame_equal(table, read_windows_folder(tmp_path))
    one, two = prepare(visits), prepare(table)
    for name in SPLITS:
        a, b = getattr(one, name), getattr(two, name)
        assert a.first.tolist() == b.first.tolist()
        assert a.target.tolist() == b.target.tolist()
        x, y = a.batch(np.arange(len(a))), b.batch(np.arange(len(b)))
        for field in ("location", "time", "weekday", "duration", "days_ago", "gap_days", "target"):
            assert getattr(x, field).tolist() == getattr(y, field).tolist(), field


@pytest.mark.parametrize("name", SPLITS)
def test_a_file_of_windows_without_rows_is_refused_for_that(name: str, tmp_path: Path) -> None:
    windows_folder(tmp_path, random_visits(8, users=3, visits=100, zone="UTC"))
    file = tmp_path / f"{name}.csv"
    file.write_text(file.read_text().splitlines()[0] + "\n")
    with pytest.raises(DataError, match=rf"^{name}\.csv of .* has a header and no rows"):
        read_visits(tmp_path)


def test_a_windows_folder_without_durations_holds_checkins(tmp_path: Path) -> None:
    visits = random_visits(8, users=3, visits=100, zone="UTC")
    visits["finished_at"] = visits.started_at
    windows_folder(tmp_path, visits)
    for name in SPLITS:
        path = tmp_path / f"{name}.csv"
        part = pd.read_csv(path).drop(columns=["duration", "end_day", "end_min"])
        # Some check in twice within a minute; both are visits.
        part.loc[part.index.repeat(1 + (part.index % 7 == 0))].to_csv(path, index=False)
    table = read_visits(tmp_path)
    assert (table.finished_at == table.started_at).all()
    assert len(table) > len(visits)
    assert not table.duplicated(["user_id", "location_id", "started_at"]).any()
    minutes = table.drop_duplicates(["user_id", "location_id"], ignore_index=True)
    assert set(minutes.location_id) == set(visits.location_id)
    part.assign(duration=5).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match="have a column 'duration' and some have not"):
        read_visits(tmp_path)


def test_a_folder_that_is_not_one_set_is_refused(tmp_path: Path) -> None:
    windows_folder(tmp_path, random_visits(8, zone="UTC"))
    raw = pd.read_csv(tmp_path / "test.csv")
    raw.assign(weekday=(raw.weekday + 1) % 7).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match="weekday and start_day disagree"):
        read_visits(tmp_path)
    raw.drop(columns="start_min").to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match=r"'start_min' is missing in test\.csv"):
        read_visits(tmp_path)
    with pytest.raises(DataError, match="for tables"):
        read_visits(tmp_path, timezone="UTC")


@pytest.mark.parametrize(
    ("column", "change", "says"),
    [
        ("weekday", lambda n: n + 1, r"'weekday' is 7 in row \d+.* of test.csv; .* 0 \(Monday\)"),
        ("weekday", lambda n: n - 1, r"'weekday' is -1 in row"),
        ("start_min", lambda n: n + 500, r"'start_min' is \d+ in row .* from 0 to 1439"),
        ("start_min", lambda n: n - 1440, r"'start_min' is -\d+ in row"),
        ("start_min", lambda n: n + 0.5, r"'start_min' is .*\.5 in row"),
        ("start_min", lambda n: n.where(n.index != 3), r"'start_min' is nan in row 3 of test.csv"),
        ("start_min", lambda n: n.astype(str) + "m", "'start_min' holds text in test.csv"),
        ("start_day", lambda n: n - 100_000, "'start_day' is -.* counts a person's days from 0"),
        ("start_day", lambda n: n + 10**7, "'start_day' is 1e"),
        ("duration", lambda n: n - 10**5, "'duration' is -.* it must be minutes, 0 or more"),
        ("duration", lambda n: n + 10**12, "'duration' is 1e"),
    ],
)
def test_numbers_that_the_format_has_not_are_refused(
    column: str, change: Callable[[pd.Series], pd.Series], says: str, tmp_path: Path
) -> None:
    windows_folder(tmp_path, random_visits(8, users=3, visits=100, zone="UTC"))
    raw = pd.read_csv(tmp_path / "test.csv")
    raw.assign(**{column: change(raw[column])}).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match=says):
        read_visits(tmp_path)


def test_weekdays_from_1_to_7_in_all_files_are_refused(tmp_path: Path) -> None:
    windows_folder(tmp_path, random_visits(8, users=3, visits=100, zone="UTC"))
    for name in SPLITS:  # so they agree with each other and with the days
        raw = pd.read_csv(tmp_path / f"{name}.csv")
        raw.assign(weekday=raw.weekday + 1).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(DataError, match=r"'weekday' is 7 .* of train.csv"):
        read_visits(tmp_path)


def test_a_folders_duplicates_are_dropped_when_asked(tmp_path: Path) -> None:
    visits = random_visits(8, users=3, visits=100, zone="UTC")
    windows_folder(tmp_path, visits)
    expected = read_visits(tmp_path)
    raw = pd.read_csv(tmp_path / "test.csv")
    pd.concat([raw, raw.tail(3)]).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match="--drop-duplicates"):
        read_visits(tmp_path)
    pd.testing.assert_frame_equal(read_visits(tmp_path, drop_duplicates=True), expected)


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    windows_folder(tmp_path, random_visits(8, zone="UTC"))
    (tmp_path / "valid.csv").write_bytes(b"\x1f\x8b" + bytes(40))
    with pytest.raises(DataError, match=r"valid\.csv cannot be read"):
        read_visits(tmp_path)
    (tmp_path / "valid.csv").write_bytes("id,straße\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"valid\.csv cannot be read \(line 1 is not UTF-8"):
        read_visits(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("city.json", b"{"), ("city.json", b"[]"), ("city.json", b"\xff"), ("visits.csv", b""),
     ("visits.csv", b"user_id\n1\n"), ("places.csv", b"a;b\n"), ("base.geojson", b"no"),
     ("visits.csv", b"\x1f\x8b\0")],
)  # fmt: skip
def test_a_damaged_city_is_one_sentence(name: str, content: bytes, tmp_path: Path) -> None:
    city.save(city.load(), tmp_path / "town")
    (tmp_path / "town" / name).write_bytes(content)
    with pytest.raises(DataError, match=r"town is no city that can be read .* python -m pgt city"):
        read_visits(tmp_path / "town")


def test_folders_that_are_no_source_are_named_for_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give a table of visits"):
        read_visits(tmp_path)
    (tmp_path / "day=1").mkdir()
    write(check(random_visits(9)), tmp_path / "day=1" / "part-0.csv")
    with pytest.raises(DataError, match="with python -m pgt prepare --engine process"):
        read_visits(tmp_path)
    (tmp_path / "metadata").mkdir()
    with pytest.raises(DataError, match="looks like an Iceberg table"):
        read_visits(tmp_path)


def test_any_table_is_read(tmp_path: Path) -> None:
    visits = check(random_visits(9))
    for name in ("v.parquet", "v.csv", "v.csv.gz"):
        path = tmp_path / name
        if name.endswith("gz"):
            visits.to_csv(path, index=False)
        else:
            write(visits, path)
        read = read_visits(path, timezone="Europe/Vienna")
        pd.testing.assert_frame_equal(read, visits, check_dtype=False)


def test_windows_of_new_york_are_those_of_the_literature() -> None:
    folder = os.environ.get(NEW_YORK)
    if not folder:
        pytest.skip(f"{NEW_YORK} names no folder of windows")
    data = prepare(read_visits(folder))
    assert data.counts() == {"train": 48_606, "valid": 11_510, "test": 12_141}
    assert len(data.vocabulary.users) == 535
