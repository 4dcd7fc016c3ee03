"""The table of visits: checked, read and written without losing anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pgt.io.tables import REQUIRED, read, write

from pgt import files as files
from pgt.errors import DataError
from pgt.visits import check, overlaps, require_near, split_by_days

from .helpers import ZONE, at, random_visits

HEADER = "user_id,location_id,started_at,finished_at\n"


def test_check_only_sorts() -> None:
    visits = random_visits(1).assign(note="kept")
    mixed = visits.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(check(mixed), visits)
    pd.testing.assert_frame_equal(check(check(mixed)), check(mixed))


@pytest.mark.parametrize("rows", [[5], [5, 7]])
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("user_id", None, "'user_id' is empty"),
        ("location_id", None, "'location_id' is empty"),
        ("started_at", pd.NaT, "'started_at' is empty"),
        ("finished_at", pd.NaT, "'finished_at' is empty"),
        ("finished_at", pd.Timestamp("2001-01-01", tz=ZONE), "finished_at lies before started_at"),
        ("lon", np.nan, "'lon' is empty"),
        ("lat", np.nan, "'lat' is empty"),
        ("lon", 180.5, "'lon' is 180.5"),
        ("lat", -90.5, "'lat' is -90.5"),
        ("split", "exam", "split is 'exam'"),
    ],
)
def test_one_bad_row_among_good_ones_is_named(
    name: str, value: object, says: str, rows: list[int]
) -> None:
    visits = random_visits(1, users=1, visits=9).astype({"user_id": str, "location_id": str})
    visits = visits.assign(lon=180.0, lat=-90.0, split="train")
    visits.loc[3, "split"] = None  # left out of all windows
    check(visits)
    visits.loc[rows, name] = value
    more = r" \(and 1 more\)" if len(rows) > 1 else r"(?! \()"
    with pytest.raises(DataError, match=f"{says}.* in row 5{more}"):
        check(visits)


def test_a_visit_that_stands_twice_is_refused_and_what_only_begins_alike_is_not() -> None:
    visits = random_visits(1, users=2, visits=6)
    alike = visits.iloc[[4]].assign(location_id=99)
    assert len(check(pd.concat([visits, alike], ignore_index=True))) == 13
    with pytest.raises(DataError, match="twice, again in row 12"):
        check(pd.concat([visits, visits.iloc[[4]]], ignore_index=True))


def test_years_are_near_from_the_first_to_the_last_that_fit() -> None:
    for year, near in ((1677, False), (1678, True), (2024, True), (2261, True), (2262, False)):
        times = pd.Series(pd.to_datetime([f"{year}-01-01", f"{year}-12-31"]).as_unit("s"))
        if near:
            require_near(times, "started_at")
        else:
            with pytest.raises(DataError, match=rf"started_at is in the year {year} in row 0 \("):
                require_near(times, "started_at")


@pytest.mark.parametrize("name", ["started_at", "finished_at"])
def test_a_table_with_an_open_end_in_9999_is_refused(name: str) -> None:
    visits = random_visits(1, users=1, visits=3)
    for column in ("started_at", "finished_at"):  # seconds reach as far; nanoseconds do not
        visits[column] = visits[column].dt.as_unit("s")
    open_end = pd.Timestamp("9999-12-31").as_unit("s").tz_localize(visits.started_at.dt.tz)
    visits.loc[2, ["started_at", "finished_at"] if name == "started_at" else [name]] = open_end
    with pytest.raises(DataError, match=rf"{name} is in the year 9999 in row 2, outside 1678"):
        check(visits)


def test_visits_at_the_same_moment_keep_their_order() -> None:
    visits = random_visits(1, users=1, visits=3)
    visits["started_at"] = visits.started_at.iloc[0]
    visits["finished_at"] = visits.started_at
    visits["location_id"] = [3, 1, 2]
    assert check(visits).location_id.tolist() == [3, 1, 2]


def test_overlaps_are_counted_by_person() -> None:
    start = at("2024-04-01 08:00", "2024-04-01 08:30", "2024-04-01 08:45", "2024-04-01 10:00")
    visits = pd.DataFrame({"user_id": [1, 1, 2, 1], "started_at": start})
    visits["finished_at"] = visits.started_at + pd.Timedelta(hours=1)
    assert overlaps(visits) == 1
    assert overlaps(visits.sample(frac=1, random_state=1)) == 1


def test_a_visit_that_begins_when_the_last_one_ends_is_no_overlap() -> None:
    start = at("2024-04-01 08:00", "2024-04-01 09:00", "2024-04-01 10:00")
    visits = pd.DataFrame({"user_id": 1, "location_id": 5, "started_at": start})
    visits["finished_at"] = visits.started_at + pd.Timedelta(hours=1)
    assert overlaps(visits) == 0
    assert overlaps(visits.assign(finished_at=visits.finished_at + pd.Timedelta(seconds=1))) == 2


def test_overlaps_are_those_of_a_loop() -> None:
    visits = random_visits(8, users=3, visits=50)
    visits["finished_at"] += pd.to_timedelta(np.arange(len(visits)) % 5 * 3, unit="h")
    expected = sum(
        own.started_at.iloc[i] < own.finished_at.iloc[i - 1]
        for _, own in visits.groupby("user_id")
        for i in range(1, len(own))
    )
    assert 0 < overlaps(visits) == expected < len(visits)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_written_and_read_again(tmp_path: Path, suffix: str) -> None:
    visits = check(random_visits(2, zone="Asia/Tokyo")).assign(lon=1.5, lat=-2.5, split="train")
    path = tmp_path / "deep" / f"v.{suffix}"
    write(visits, path)
    back = read(path, timezone="Asia/Tokyo")
    pd.testing.assert_frame_equal(back, visits, check_dtype=False)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_crash_while_writing_leaves_the_old_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.csv"
    write(random_visits(1), path)
    before = path.read_bytes()
    monkeypatch.setattr(files.os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(random_visits(2), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["v.csv"]


def csv(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "v.csv"
    path.write_text(header + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("text", "zone", "wall"),
    [
        ("2024-05-01T09:00:00+02:00", None, "09:00"),
        ("2024-05-01T09:00:00+0200", None, "09:00"),
        ("2024-05-01T09:00:00+02", None, "09:00"),  # the hour alone is an offset, too
        ("2024-05-01T09:00:00-03", None, "09:00"),
        ("2024-05-01T09:00:00Z", None, "09:00"),
        ("2024-05-01 09:00:00.25+02:00", None, "09:00"),
        ("2024-05-01T09:00:00Z", "Asia/Shanghai", "17:00"),
        ("2024-05-01T09:00:00+02", "Asia/Shanghai", "15:00"),
        ("2024-05-01 09:00", "Asia/Shanghai", "09:00"),
        ("2024-05-01", "Asia/Shanghai", "00:00"),  # the last "-01" is no offset
    ],
)
def test_times_are_read_with_their_offset(
    tmp_path: Path, text: str, zone: str | None, wall: str
) -> None:
    visits = read(csv(tmp_path, f"1,2,{text},{text}"), timezone=zone)
    assert f"{visits.started_at[0]:%H:%M}" == wall
    offset = text[-3:] if text[-3] in "+-" else None
    if zone is None and offset and "T" in text:
        assert visits.started_at[0].utcoffset() == pd.Timedelta(hours=int(offset))


def test_the_hour_that_comes_twice_and_the_one_that_never_comes(tmp_path: Path) -> None:
    path = csv(
        tmp_path,
        "1,2,2024-10-27 02:30,2024-10-27 02:45",
        "1,3,2024-03-31 02:30,2024-03-31 02:45",
    )
    visits = read(path, timezone=ZONE)
    assert visits.started_at.tolist() == [
        pd.Timestamp("2024-03-31 03:00+02:00"),
        pd.Timestamp("2024-10-27 02:30+02:00"),
    ]


def test_ids_keep_their_zeros(tmp_path: Path) -> None:
    moments = "2024-05-01T09:00Z,2024-05-01T10:00Z"
    visits = read(csv(tmp_path, f"007,1,{moments}", f"7,2,{moments}", f"012,3,{moments}"))
    assert visits.user_id.tolist() == ["007", "012", "7"]
    assert visits.location_id.dtype == np.int64
    renamed = csv(tmp_path, f"007,1,{moments}", header=HEADER.replace("user_id", "uid"))
    assert read(renamed, columns={"user_id": "uid"}).user_id.tolist() == ["007"]


def test_checkins_end_when_they_begin(tmp_path: Path) -> None:
    path = csv(tmp_path, "1,2,2024-05-01T09:00Z", header="user_id,location_id,started_at\n")
    visits = read(path, checkins=True)
    assert (visits.started_at == visits.finished_at).all()


def test_other_column_names(tmp_path: Path) -> None:
    path = csv(tmp_path, "1,2,2024-05-01T09:00Z,2024-05-01T10:00Z", header="uid,place,from,to\n")
    names = dict(zip(REQUIRED, ("uid", "place", "from", "to"), strict=True))
    assert read(path, columns=names).columns.tolist() == list(REQUIRED)


def test_split_by_days_is_60_20_20_of_each_persons_calendar() -> None:
    visits = check(random_visits(3, users=3, visits=80))
    split = split_by_days(visits)
    pd.testing.assert_frame_equal(split.drop(columns="split"), visits)
    for _, own in split.groupby("user_id"):
        dates = own.started_at.dt.date
        day = [(d - dates.min()).days for d in dates]
        last = max(day)
        expected = [
            "train" if d < 0.6 * last else "valid" if d < 0.8 * last else "test" for d in day
        ]
        assert own.split.tolist() == expected
        assert own.split.unique().tolist() == ["train", "valid", "test"]
    with pytest.raises(DataError, match="fractions"):
        split_by_days(visits, (0.8, 0.6))


def test_a_part_begins_with_the_first_day_that_is_no_longer_before_it() -> None:
    start = pd.Series(pd.date_range("2024-04-01 12:00", periods=11, freq="D", tz=ZONE))
    visits = pd.DataFrame({"user_id": 1, "location_id": 5, "started_at": start})
    visits["finished_at"] = visits.started_at
    # The last day's number is 10, and 6 is not less than 60 % of it.
    assert split_by_days(visits).split.tolist() == ["train"] * 6 + ["valid"] * 2 + ["test"] * 3
    halves = split_by_days(visits, (0.25, 0.5)).split
    assert halves.value_counts(sort=False).tolist() == [3, 2, 6]
    for wrong in ((0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (-0.1, 0.5), (0.5, 1.2)):
        with pytest.raises(DataError, match="fractions"):
            split_by_days(visits, wrong)


def test_ids_may_be_objects_of_one_type() -> None:
    visits = random_visits()
    for kind in (int, str):
        ids = visits.location_id.map(kind).astype(object)
        assert check(visits.assign(location_id=ids)).location_id.map(type).eq(kind).all()
