"""What is allowed but looks like a mistake is named in a note that is counted."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pgt.cli.parser import main
from pgt.doubts.visits import APART, ENOUGH, FAR, doubts, note
from pgt.io.sources import read_visits
from pgt.io.tables import write
from pgt.predictor.frames import as_visits
from wherenext import city

import pgt
from pgt.errors import DataNote
from pgt.visits import check

from ..helpers import routine_visits, stop_the_calendar

Said = pytest.CaptureFixture[str]


def visits(*starts: str, user: object = "ann", place: object = "home") -> pd.DataFrame:
    at = pd.to_datetime(list(starts), utc=True, format="ISO8601").tz_convert("Europe/Vienna")
    return pd.DataFrame(
        {"user_id": user, "location_id": place, "started_at": at, "finished_at": at}
    )


def test_a_good_table_raises_no_doubt() -> None:
    assert doubts(check(routine_visits(users=3, days=50))) == []
    town = city.load().visits
    assert doubts(town) == []
    assert doubts(town.head(0)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna1", "anna1 "), ("a b", " a  b"), ("007", "7"), ("Straße", "STRASSE"),
     ("e\u0301a", "\u00e9a"), ("\uff11", "1")],
)  # fmt: skip
def test_ids_that_read_alike_are_named(one: str, other: str) -> None:
    table = pd.concat([
        visits("2024-05-01", user=one), visits("2024-05-02", user=other),
        visits("2024-05-03", user="bob"),
    ])  # fmt: skip
    (note,) = doubts(check(table))
    assert note.startswith("2 ids in 'user_id' differ from another only by case")
    assert repr(one) in note and repr(other) in note
    places = table.rename(columns={"user_id": "location_id", "location_id": "user_id"})
    (note,) = doubts(check(places))
    assert "'location_id'" in note


def test_a_stray_space_is_named_even_alone() -> None:
    (note,) = doubts(check(visits("2024-05-01", user="ann ")))
    assert "1 id in 'user_id' begins or ends with a space ('ann ')" in note


@pytest.mark.parametrize("stray", ["1970-01-01", "1984-06-01", "2012-01-01"])
def test_a_lone_visit_far_from_the_rest_is_named(stray: str) -> None:
    usual = [f"2024-05-{day:02}" for day in range(1, 30)]
    (note,) = doubts(check(visits(stray, *usual)))
    assert note.startswith(f"1 visit lies 10 years or more from the rest (user 'ann' on {stray})")
    # Of somebody who has no other visit, or who has many elsewhere in time.
    others = pd.concat([visits(*usual), visits(stray, user="bob")])
    (note,) = doubts(check(others))
    assert "user 'bob'" in note
    two = pd.concat([visits(*usual), visits(stray, *usual, user="bob"),
                     visits("2013-01-01", stray, user="eve")])  # fmt: skip
    assert any("user 'bob'" in note for note in doubts(check(two)))


def test_years_of_visits_are_no_stray_ones() -> None:
    long = visits(*(f"{year}-05-01" for year in range(1990, 2025)))
    assert doubts(check(long)) == []


def test_the_future_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_the_calendar(monkeypatch, "2024-06-01")
    table = check(visits("2024-05-01", "2024-07-11", "2024-07-12"))
    (note,) = doubts(table)
    assert note.startswith("2 visits begin in the future (user 'ann' on ")
    assert ", …)" in note


def test_few_visits_years_from_all_others_are_named() -> None:
    usual = [f"2024-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 28)]
    (note,) = doubts(check(visits("2017-01-01", *usual)))
    assert note.startswith("1 visit lies 6 years or more from the rest (user 'ann' on 2017-01-01)")
    both = pd.concat([visits("2017-01-01", user="bob"), visits(*usual)])
    assert "user 'bob' on 2017-01-01" in doubts(check(both))[0]
    # A pause within a long history, another year of it, and a handful of visits are no mistakes.
    years = [f"{year}-05-{day:02}" for year in range(2010, 2017) for day in range(1, 28)]
    assert doubts(check(visits("2018-06-01", *years))) == []
    assert doubts(check(visits(*usual, *(one.replace("2024", "2018") for one in usual)))) == []
    assert doubts(check(visits("2017-01-01", "2024-05-01", "2024-05-02"))) == []


@pytest.mark.parametrize(("days", "usual", "years"), [(FAR, 2, 10), (APART, 2 * ENOUGH, 1)])
def test_a_gap_is_long_from_one_day_on(days: int, usual: int, years: int) -> None:
    first = pd.Timestamp("2010-05-01 12:00", tz="Europe/Vienna")
    many = [str(first - pd.Timedelta(hours=hour)) for hour in range(usual)]
    for gap, named in ((days - 1, False), (days, True)):
        table = visits(*many, str(first + pd.Timedelta(days=gap)))
        found = any(f"{years} years or more from the rest" in note for note in doubts(check(table)))
        assert found == named


def test_notes_show_ids_as_they_are() -> None:
    (note,) = doubts(check(visits("1970-01-01", "2024-05-01", user=np.int64(1))))
    assert "(user 1 on 1970-01-01)" in note


def test_notes_are_warned_of_kept_and_printed(tmp_path: Path, capsys: Said) -> None:
    usual = [f"2024-05-{day:02} 09:00" for day in range(1, 30)]
    table = pd.concat([visits("1970-01-01", *usual), visits(*usual, user="Ann ")])
    write(table, tmp_path / "v.parquet")
    with pytest.warns(DataNote, match="10 years or more") as caught:
        read = read_visits(tmp_path / "v.parquet")
    notes = read.attrs["notes"]
    assert [str(one.message) for one in caught] == notes
    assert len(notes) == 2
    pd.testing.assert_frame_equal(read, check(table))
    out = str(tmp_path / "o.parquet")
    assert main(["prepare", str(tmp_path / "v.parquet"), out]) == 0
    said = capsys.readouterr()
    assert re.findall(r"^note (\d) of (\d): ", said.out, re.MULTILINE) == [("1", "2"), ("2", "2")]
    assert said.err == ""
    assert "notes" not in pd.read_parquet(out).attrs
    main(["train", out, "--out", str(tmp_path / "m.pt")])
    main(["evaluate", out, str(tmp_path / "none.safetensors")])
    assert "note" not in capsys.readouterr().out


def test_other_commands_say_notes_beside_their_answer(tmp_path: Path, capsys: Said) -> None:
    table = routine_visits(users=2, days=30)
    table["location_id"] = np.where(table.location_id == 1, "Home", "home ")
    write(table.head(3), tmp_path / "v.parquet")
    words = ["--out", f"{tmp_path}/m.safetensors", "--model", "pgt"]
    assert main(["train", f"{tmp_path}/v.parquet", *words]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("pgt: note: ")
    assert err[-1].startswith("pgt: ") and "windows" in err[-1]


def test_a_table_that_no_file_held_is_doubted_too() -> None:
    usual = [f"2024-05-{day:02} {hour:02}:00" for day in range(1, 29) for hour in (8, 12, 18)]
    table = visits("1970-01-01", *usual)
    with pytest.warns(DataNote, match="10 years or more from the rest"):
        pgt.prepare(table)
    with pytest.warns(DataNote, match="10 years or more from the rest"):
        pgt.NextLocation.pretrained().predict(table)


def test_a_doubt_is_named_once(tmp_path: Path) -> None:
    usual = [f"2024-05-{day:02} {hour:02}:00" for day in range(1, 29) for hour in (8, 12, 18)]
    write(check(visits("1970-01-01", *usual)), tmp_path / "v.parquet")
    with pytest.warns(DataNote):
        table = pgt.read_visits(tmp_path / "v.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNote)
        pgt.prepare(table)
    later = pd.concat([table, visits("1950-01-01", user="bob")], ignore_index=True)
    with pytest.warns(DataNote, match="2 visits lie"):
        pgt.prepare(later)
    later.to_parquet(tmp_path / "later.parquet")  # with the notes on an older table
    with pytest.warns(DataNote, match="2 visits lie"):
        pgt.read_visits(tmp_path / "later.parquet")
    later.attrs["notes"] = 7
    with pytest.warns(DataNote, match="2 visits lie"):
        pgt.prepare(later)


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "live"])
def test_a_note_is_said_once(command: str, tmp_path: Path, capsys: Said) -> None:
    table = routine_visits(users=2, days=40)
    write(table.assign(user_id=table.user_id.map({0: "Ann", 1: "ann"})), tmp_path / "v.parquet")
    more = {"explain": ["--user", "ann"], "live": ["--out", f"{tmp_path}/x.html"]}.get(command, [])
    if command == "live":
        write(table.assign(user_id=table.user_id.map({0: "Ann", 1: "ann"}), lon=16.4, lat=48.2),
              tmp_path / "v.parquet")  # fmt: skip
    assert main([command, f"{tmp_path}/v.parquet", *more]) == 0
    assert capsys.readouterr().err.count("ids in 'user_id' differ") == 1


def test_a_note_goes_with_what_it_is_about() -> None:
    table = pd.concat([visits("2024-05-01", user="Ann"), visits("2024-05-02", user="ann")])
    with pytest.warns(DataNote):
        noted = note(check(table))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNote)
        assert as_visits(noted).attrs["notes"] == noted.attrs["notes"]
        assert "notes" not in as_visits(noted[noted.user_id == "ann"]).attrs
