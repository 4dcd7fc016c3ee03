"""The table of visits: what is checked, whose clocks count, how rows lie, and what is doubted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from wherenext import city

from pgt.errors import DataError
from pgt.plausibility import SEVERAL, doubts, zones_at
from pgt.visits import (
    FIRST,
    by_length,
    check,
    find_user,
    last_numbers,
    local_clock,
    local_day,
    local_minute,
    marks_of,
    person_rows,
    same_place,
    split_by_days,
    until,
)
from pgt.windows import FEATURES, encode, prepare

from .helpers import ZONE, at, random_visits, routine_visits


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
        (
            "finished_at",
            pd.Timestamp("2001-01-01", tz=ZONE),
            "'finished_at' lies before 'started_at'",
        ),
        ("lon", np.nan, "'lon' is empty"),
        ("lat", np.nan, "'lat' is empty"),
        ("lon", 180.5, "'lon' is 180.5"),
        ("lat", -90.5, "'lat' is -90.5"),
        ("split", "exam", "'split' is 'exam'"),
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


@pytest.mark.parametrize("name", ["started_at", "finished_at"])
def test_a_table_with_an_open_end_in_9999_is_refused(name: str) -> None:
    visits = random_visits(1, users=1, visits=3)
    for column in ("started_at", "finished_at"):  # seconds reach as far; nanoseconds do not
        visits[column] = visits[column].dt.as_unit("s")
    open_end = pd.Timestamp("9999-12-31").as_unit("s").tz_localize(visits.started_at.dt.tz)
    visits.loc[2, ["started_at", "finished_at"] if name == "started_at" else [name]] = open_end
    with pytest.raises(DataError, match=rf"'{name}' is in the year 9999 in row 2, outside 1678"):
        check(visits)


def test_visits_at_the_same_moment_keep_their_order() -> None:
    visits = random_visits(1, users=1, visits=3)
    visits["started_at"] = visits.started_at.iloc[0]
    visits["finished_at"] = visits.started_at
    visits["location_id"] = [3, 1, 2]
    assert check(visits).location_id.tolist() == [3, 1, 2]


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


# --- rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("names", [False, True])
def test_the_same_place_equals_a_loop(seed: int, names: bool) -> None:
    rng = np.random.default_rng(seed)
    user = pd.Series(np.sort(rng.integers(0, 5, 80)))
    place = rng.integers(-3, 6, 80)
    previous, number = same_place(user.map("user {}".format) if names else user, place)
    for row in range(80):
        own = [r for r in range(row) if user[r] == user[row] and place[r] == place[row]]
        assert previous[row] == (own[-1] if own else -1)
        assert number[row] == len(own) + 1


def test_people_stand_where_they_begin() -> None:
    person, begins = person_rows(pd.Series(["b", "b", "a", "c", "c", "c"]))
    assert person.tolist() == [0, 0, 1, 2, 2, 2]
    assert begins.tolist() == [0, 0, 2, 3, 3, 3]
    assert [len(part) for part in person_rows(pd.Series([], dtype=int))] == [0, 0]


@pytest.mark.parametrize("max_len", [None, 1, 3, 10**12])
def test_the_last_numbers_are_those_of_a_loop(max_len: int | None) -> None:
    length = np.array([4, 0, 1, 7], dtype=np.int32)
    shown = last_numbers(length, max_len)
    assert shown.dtype == torch.int64 and shown.shape[1] == min(max_len or 7, 7)
    for row, n in zip(shown.tolist(), length.tolist(), strict=True):
        expected = list(range(n))[max(n - (max_len or n), 0) :]
        assert row == expected + [-1] * (len(row) - len(expected))


def chunks(values: list[int], size: int) -> list[list[int]]:
    return [values[at : at + size] for at in range(0, len(values), size)]


@pytest.mark.parametrize("n", [0, 1, 8, 30])
@pytest.mark.parametrize("batch_size", [1, 4, 7])
def test_batches_hold_every_window_once_and_those_of_like_length_together(
    n: int, batch_size: int
) -> None:
    lengths = np.random.default_rng(n).integers(1, 9, n)
    plain = [part.tolist() for part in by_length(lengths, batch_size, None, 1)]
    assert plain == chunks(sorted(range(n), key=lambda i: (lengths[i], i)), batch_size)
    expected = chunks(sorted(lengths.tolist()), batch_size)
    # In one pool, batches of any order and any windows, but of the same lengths.
    for pool in (8, 100):
        parts = list(by_length(lengths, batch_size, np.random.default_rng(1), pool))
        assert sorted(i for part in parts for i in part.tolist()) == list(range(n))
        if pool * batch_size >= n:
            assert sorted(lengths[part].tolist() for part in parts) == sorted(expected)


def test_shuffled_batches_come_in_any_order_and_from_pools() -> None:
    lengths = np.arange(60)
    orders = set()
    for seed in range(4):
        parts = list(by_length(lengths, 5, np.random.default_rng(seed), 3))
        orders.add(tuple(int(part[0]) for part in parts))
        assert [len(part) for part in parts] == [5] * 12
        assert all((np.diff(lengths[part]) > 0).all() for part in parts)
        # The four pools are drawn from everywhere: no batch order sorts the lengths.
        assert sorted(lengths[part].tolist() for part in parts) != chunks(list(range(60)), 5)
        # Three batches of a pool follow each other in length, whatever their order here.
        by_start = sorted(parts, key=lambda part: part[0])
        follows = sum(one[-1] < two[0] for one in by_start for two in by_start)
        assert follows >= 4 * 3  # of each pool: first < second, first < third, second < third
    whole = [list(by_length(lengths, 5, np.random.default_rng(seed), 99)) for seed in range(4)]
    firsts = [[int(part[0]) for part in parts] for parts in whole]
    assert all(first != sorted(first) for first in firsts)
    assert len(orders) == 4


# --- people


def test_three_visits_tell_people_apart_and_later_ones_do_not() -> None:
    visits = check(random_visits(users=3, visits=20))
    marks = marks_of(visits)
    assert FIRST == 3 and len({*marks.values()}) == 3
    assert all(len(mark) == 12 and int(mark, 16) >= 0 for mark in marks.values())
    number = visits.groupby("user_id").cumcount()
    for row in range(5):
        other = visits.location_id.mask(number == row, visits.location_id + 1)
        changed = marks_of(visits.assign(location_id=other))
        assert (changed == marks) == (row >= 3)
        assert row >= 3 or not {*changed.values()} & {*marks.values()}


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(DataError, match=r"2024-05-01 09:00:00 has no time zone; write one"):
        until(check(random_visits()), pd.Timestamp("2024-05-01 09:00"))


def test_until_a_moment_visits_have_begun_and_end_by_then() -> None:
    start = at("2024-04-01 08:00", "2024-04-01 10:00", "2024-04-01 12:00")
    visits = pd.DataFrame({"user_id": 1, "location_id": [1, 2, 3], "started_at": start})
    visits["finished_at"] = visits.started_at + pd.Timedelta(hours=1)
    for clock, known, last in (("08:00", 1, "08:00"), ("10:59", 2, "10:59"), ("11:30", 2, "11:00"),
                               ("12:00", 3, "12:00"), ("20:00", 3, "13:00")):  # fmt: skip
        moment = at(f"2024-04-01 {clock}")[0]
        cut = until(visits, moment)
        assert cut.location_id.tolist() == [1, 2, 3][:known]
        assert cut.finished_at.iloc[-1] == at(f"2024-04-01 {last}")[0]
        assert cut.columns.equals(visits.columns) and cut.index.equals(pd.RangeIndex(known))
        assert until(visits, moment.tz_convert("Asia/Tokyo")).equals(cut)
    assert until(visits[1:], None).equals(visits[1:].reset_index(drop=True))


def test_people_are_found_by_how_they_are_written() -> None:
    visits = pd.DataFrame({"user_id": [3, 3, 7, 12, 40]})
    assert [find_user(visits, name) for name in (7, "7", "40")] == [7, 7, 40]
    with pytest.raises(DataError, match=r"no user '5' in the table \(it has 4: 3, 7, 12, …\)"):
        find_user(visits, 5)
    with pytest.raises(DataError, match=r"\(it has 3: 3, 7, 12\)"):
        find_user(visits[:-1], 5)


# --- clocks


def test_days_and_minutes_are_those_of_the_wall_clock() -> None:
    times = at("2024-03-31 01:59", "2024-03-31 03:00", "1969-12-31 23:59")
    assert local_minute(times).tolist() == [119, 180, 1439]
    assert local_day(times).tolist() == [19813, 19813, -1]


def test_a_visit_may_have_a_clock_of_its_own() -> None:
    home, away = check(random_visits(1, zone="Europe/Vienna")), check(random_visits(1, zone="UTC"))
    own = away.assign(
        started_at=home.started_at.dt.tz_convert("UTC"),
        finished_at=home.finished_at.dt.tz_convert("UTC"),
        utc_offset=[int(one.utcoffset().total_seconds() // 60) for one in home.started_at],
    )
    pd.testing.assert_series_equal(
        local_clock(own, "started_at"), home.started_at.dt.tz_localize(None)
    )
    vocabulary = prepare(home, days=1).vocabulary
    both = [encode(table, vocabulary) for table in (home, own)]
    known = [FEATURES.index(name) for name in ("time", "weekday", "duration", "start_day")]
    assert torch.equal(both[0][known], both[1][known])
    assert split_by_days(own).split.tolist() == split_by_days(home).split.tolist()


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_types_of_arrow_categories_and_nullable_ones_become_plain(backend: str) -> None:
    plain = check(random_visits(1)).assign(lon=1.5, lat=-2.5, note="kept")
    given = plain.convert_dtypes(dtype_backend=backend).astype({"user_id": "category"})
    pd.testing.assert_frame_equal(check(given), plain, check_dtype=False)
    prepare(given, days=1)


# --- doubts

VIENNA = (16.37, 48.2)


def some(*starts: str, user: object = "ann", place: object = "home") -> pd.DataFrame:
    """Visits that end when they begin."""
    begin = pd.to_datetime(list(starts), utc=True, format="ISO8601").tz_convert("Europe/Vienna")
    return check(pd.DataFrame(
        {"user_id": user, "location_id": place, "started_at": begin, "finished_at": begin}
    ))  # fmt: skip


def town(where: tuple[float, float] = VIENNA, zone: str = "Europe/Vienna") -> pd.DataFrame:
    """The simulated town, with its streets and clocks elsewhere."""
    table = city.load().visits
    table = table[table.user_id.isin(table.user_id.unique()[:9])].reset_index(drop=True)
    middle = {name: table[name] - table[name].mean() for name in ("lon", "lat")}
    moved = {name: middle[name] + at for name, at in zip(middle, where, strict=True)}
    return at_clocks(table, zone).assign(**moved)


def at_clocks(visits: pd.DataFrame, zone: str, *, utc: bool = False) -> pd.DataFrame:
    """The same wall clocks in another zone; as they are when UTC's are taken for them, if asked."""
    there = visits.copy()
    for name in ("started_at", "finished_at"):
        wall = there[name].dt.tz_localize(None)
        for _ in range(1 + utc):
            first = np.ones(len(wall), dtype=bool)
            moment = wall.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
            wall = moment.dt.tz_convert("UTC").dt.tz_localize(None)
        there[name] = moment
    return there


def test_a_good_table_raises_no_doubt() -> None:
    usual = [f"2024-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 28)]
    years = (f"{year}-05-01" for year in range(1990, 2025))
    here = town()
    one = here.copy()
    one.loc[: SEVERAL - 2, ["lon", "lat"]] = 0.0
    for table in (check(routine_visits(users=3, days=50)), city.load().visits, some(*usual),
                  some(*years), here, one, town((31.2, 30.0), "Africa/Cairo")):  # fmt: skip
        assert doubts(table) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna1", "anna1 "), ("a b", " a  b"), ("007", "7"), ("Straße", "STRASSE"),
     ("e\u0301a", "\u00e9a"), ("\uff11", "1")],
)  # fmt: skip
def test_ids_that_read_alike_are_named(one: str, other: str) -> None:
    table = pd.concat([some("2024-05-01", user=one), some("2024-05-02", user=other)])
    (note,) = doubts(check(table))
    assert note.startswith("2 ids in 'user_id' differ from another only by case")
    assert repr(one) in note and repr(other) in note


@pytest.mark.parametrize(
    ("stray", "says"),
    [("1970-01-01", "lie 10 years or more from the rest (user 'bob' on 1970-01-01)"),
     ("2017-01-01", "lie 6 years or more"), ("2199-01-01", "begin in the future (user 'bob'")],
)  # fmt: skip
def test_visits_years_from_the_rest_are_named(stray: str, says: str) -> None:
    usual = some(*(f"2024-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 28)))
    (note,) = doubts(check(pd.concat([usual, some(stray, user="bob")])))
    assert note.startswith("1 visit ") and says in note


def test_a_stay_in_pieces_is_named_and_checkins_are_not() -> None:
    begin = pd.date_range("2024-05-01", periods=40, freq="h", tz="Europe/Vienna")
    table = pd.DataFrame({"user_id": 1, "location_id": 5, "started_at": begin})
    pieces = table.assign(finished_at=begin + pd.Timedelta(minutes=55))
    assert "39 visits of 40 begin within 15 minutes" in doubts(check(pieces))[0]
    assert doubts(check(table.assign(finished_at=begin))) == []


def test_positions_that_are_empty_or_in_radians_are_named() -> None:
    table = town()
    third = np.arange(len(table)) % 3 == 0
    empty = table.assign(lon=table.lon.mask(third, 0.0), lat=table.lat.mask(third, 0.0))
    (note,) = doubts(empty)
    assert note.startswith(f"{third.sum():,} visits lie at longitude 0 and latitude 0 exactly")
    (note,) = doubts(table.assign(lon=np.radians(table.lon), lat=np.radians(table.lat)))
    assert "in radians" in note and "multiply them by 180/pi" in note


@pytest.mark.parametrize(
    ("lon", "lat", "zone"),
    [(16.37, 48.2, "Europe/Vienna"), (-74.0, 40.7, "America/New_York"),
     (-46.6, -23.5, "America/Sao_Paulo"), (-0.1, 51.5, "Europe/London"),
     (77.2, 28.6, "Asia/Kolkata")],
)  # fmt: skip
def test_swapped_coordinates_are_named(lon: float, lat: float, zone: str) -> None:
    here = town((lon, lat), zone)
    assert doubts(here) == []
    (note,) = doubts(here.assign(lon=here.lat, lat=here.lon))
    assert "lon and lat look swapped; swap the columns" in note
    third = np.arange(len(here)) % 3 == 0
    mixed = here.assign(lon=here.lon.mask(third, here.lat), lat=here.lat.mask(third, here.lon))
    (note,) = doubts(mixed)
    assert "would lie among the other visits of the same person with lon and lat swapped" in note


@pytest.mark.parametrize(
    ("lon", "lat", "zone", "off"),
    [(116.3, 39.9, "UTC", True), (-108.6, 50.9, "Europe/Vienna", True),
     (76.0, 39.5, "Asia/Shanghai", False), (-3.7, 40.4, "Europe/Madrid", False),
     (-176.5, -44.0, "Pacific/Auckland", False), (-0.1, 51.5, "UTC", False)],
)  # fmt: skip
def test_clocks_are_held_against_places_person_by_person(
    lon: float, lat: float, zone: str, off: bool
) -> None:
    mine = some("2024-05-01 10:00", "2024-05-02 10:00").assign(lon=lon, lat=lat)
    mine = mine.assign(**{name: mine[name].dt.tz_convert(zone)
                          for name in ("started_at", "finished_at")})  # fmt: skip
    assert bool(doubts(mine)) == off
    place = {"Europe/Vienna": (16.4, 48.2), "UTC": (-0.1, 51.5)}.get(zone)
    if off and place:  # among others who are right
        many = pd.concat([mine.assign(user_id=f"u{k}", lon=place[0], lat=place[1])
                          for k in range(9)] + [mine])  # fmt: skip
        assert "2 visits (1 people)" in doubts(check(many))[0]


@pytest.mark.parametrize(
    ("zone", "where"),
    [("Asia/Shanghai", (116.4, 39.9)), ("Asia/Kolkata", (77.2, 28.6)),
     ("America/Sao_Paulo", (-46.6, -23.5)), ("Europe/Istanbul", (29.0, 41.0))],
)  # fmt: skip
def test_utc_times_that_were_read_as_local_are_noticed(
    zone: str, where: tuple[float, float]
) -> None:
    everybody = city.load().visits.assign(lon=where[0], lat=where[1])
    assert doubts(at_clocks(everybody, zone)) == []
    wrong = at_clocks(everybody, zone, utc=True)
    (note,) = doubts(wrong)
    assert "would be at night if their times were in UTC" in note and "file_timezone='UTC'" in note
    assert doubts(wrong.drop(columns=["lon", "lat"])) == [note]


def test_zones_of_positions() -> None:
    lon, lat = pd.Series([16.4, 139.7, np.nan, 999.0]), pd.Series([48.2, 35.7, 1.0, 1.0])
    assert zones_at(lon, lat).fillna("").tolist() == ["Europe/Vienna", "Asia/Tokyo", "", ""]
