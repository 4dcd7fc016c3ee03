"""Bad input gets one clear sentence, or a documented way of coping that loses nothing.

Each row of `REFUSED` is a name, what is done, and what the sentence must say: what, where, and
the remedy. What is coped with follows below, each with the proof that nothing is lost.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pgt.cli.parser import main
from pgt.io.tables import read, write
from pgt.scale.buckets import bucket
from pgt.scale.preparing import prepare as prepare_buckets
from safetensors.torch import save_file

from pgt.checkpoint import save_model
from pgt.config import TrainConfig, WindowConfig
from pgt.errors import DataError
from pgt.predict import predict
from pgt.train import fit
from pgt.visits import check, overlaps
from pgt.windows import prepare

from ..helpers import MONDAY, model_of, random_visits, routine_visits, tiny_config

HEADER = "user_id,location_id,started_at,finished_at"
ROW = "1,2,2024-05-01T09:00+02:00,2024-05-01T10:00+02:00"


def good() -> pd.DataFrame:
    return random_visits(1, users=2, visits=10).assign(lon=16.4, lat=48.2)


def changed(**columns: Any) -> Callable[[Path], object]:
    """Check a good table with other columns."""
    return lambda _: check(good().assign(**columns))


def at_row(row: int, column: str, value: Any) -> Callable[[Path], object]:
    """Check a good table with one other value."""

    def act(_: Path) -> object:
        table = good()
        table.loc[row, column] = value
        return check(table)

    return act


def csv(*lines: str, **options: Any) -> Callable[[Path], object]:
    """Read a CSV of these lines."""

    def act(folder: Path) -> object:
        (folder / "v.csv").write_text("\n".join(lines) + "\n" if lines else "")
        return read(folder / "v.csv", **options)

    return act


def file(name: str, content: bytes) -> Callable[[Path], object]:
    """Read a file of these bytes."""

    def act(folder: Path) -> object:
        (folder / name).write_bytes(content)
        return read(folder / name)

    return act


def doubled_frame(_: Path) -> object:
    table = good()
    return check(pd.concat([table, table[["location_id"]]], axis=1))


def repeated(_: Path) -> object:
    return check(pd.concat([good(), good().iloc[[4]]], ignore_index=True))


REFUSED: list[tuple[str, Callable[[Path], object], tuple[str, ...]]] = [
    # columns
    ("missing user", lambda _: check(good().drop(columns="user_id")),
     ("Column 'user_id' is missing", "the table has location_id", "rename", "--columns")),
    ("missing end", lambda _: check(good().drop(columns="finished_at")),
     ("Column 'finished_at' is missing", "check-ins", "--checkins")),
    ("doubled column in a CSV", csv(f"{HEADER},user_id", f"{ROW},1"),
     ("Column 'user_id' appears twice in v.csv", "keep one")),
    ("doubled column in a table", doubled_frame,
     ("Column 'location_id' appears twice", "keep one")),
    ("more fields than names", csv(HEADER, f"9,{ROW}"),
     ("rows of v.csv have more fields", "name every column")),
    ("more fields in one row", csv(HEADER, ROW, f"9,{ROW}"), ("v.csv cannot be read", "line 3")),
    ("renamed column that is not there", csv(HEADER, ROW, columns={"user_id": "uid"}),
     ("Column 'uid' is not in v.csv", "user_id, location_id")),
    ("renamed onto a column that is there",
     csv(f"{HEADER},uid", f"{ROW},1", columns={"user_id": "uid"}),
     ("already has a column 'user_id' beside 'uid'", "drop one")),
    ("lon without lat", lambda _: check(good().drop(columns="lat")),
     ("Column 'lon' needs 'lat'", "drop 'lon'")),
    ("lat without lon", lambda _: check(good().drop(columns="lon")),
     ("Column 'lat' needs 'lon'", "drop 'lat'")),
    # nothing there
    ("empty table", lambda _: check(good().head(0)), ("no visits", "check the file")),
    ("table of nothing", lambda _: check(pd.DataFrame()), ("'user_id' is missing", "no columns")),
    ("empty file", csv(), ("v.csv cannot be read", "CSV in UTF-8 with a header")),
    ("header only", csv(HEADER), ("no visits",)),
    ("missing file", lambda folder: read(folder / "none.csv"),
     ("There is no file", "check the path")),
    # ids
    ("float ids", changed(user_id=1.0), ("Column 'user_id'", "floating-point", ".astype(int)")),
    ("empty location", at_row(3, "location_id", None), ("'location_id' is empty in row 3", "drop")),
    ("NaN users", changed(user_id=np.nan), ("'user_id' is empty in row 0 (and 19 more)",)),
    ("empty id in a CSV", csv(HEADER, ROW, ROW.replace("1,2", "1,", 1)),
     ("'location_id' is empty in row 1",)),
    ("ids of mixed types", changed(location_id=pd.Series([1, "a"] * 10, dtype=object)),
     ("Column 'location_id' mixes types", ".astype(str)")),
    ("ids that are times", lambda _: check(good().assign(location_id=good().started_at)),
     ("Column 'location_id' holds datetime64", ".astype(str)")),
    ("ids that are categories",
     lambda _: check(good().assign(location_id=good().location_id.astype("category"))),
     ("Column 'location_id' holds category", ".astype(str)")),
    ("ids that are true or false", changed(user_id=True), ("Column 'user_id' holds bool",)),
    # coordinates
    ("latitude 400.17", at_row(7, "lat", 400.17), ("'lat' is 400.17 in row 7", "±90", "swapped")),
    ("longitude -200", at_row(7, "lon", -200.0), ("'lon' is -200 in row 7", "±180")),
    ("infinite latitude", at_row(7, "lat", np.inf), ("'lat' is inf in row 7", "drop")),
    ("NaN longitude", at_row(2, "lon", np.nan), ("'lon' is empty in row 2", "drop both")),
    ("coordinates as text", changed(lat="48.2"), ("Column 'lat' holds text", "numbers")),
    # times
    ("end before start",
     lambda _: check(good().assign(finished_at=lambda t: t.started_at - pd.Timedelta(1, "min"))),
     ("finished_at lies before started_at in row 0 (and 19 more)", "swap or drop")),
    ("naive times",
     lambda _: check(good().assign(started_at=lambda t: t.started_at.dt.tz_localize(None))),
     ("Times in 'started_at' have no time zone", "--timezone")),
    ("naive times in a CSV", csv(HEADER, ROW.replace("+02:00", "")),
     ("Times in 'started_at' have no time zone", "timezone='Asia/Shanghai'")),
    ("zone in some rows only", csv(HEADER, ROW, "1,2,2024-05-02T09:00,2024-05-02T10:00"),
     ("started_at has a time zone in some rows and none in row 1", "the same way")),
    ("hour-only offset in some rows", csv(HEADER, ROW.replace(":00+02:00", ":00:00+02"),
     "1,2,2024-05-02T09:00,2024-05-02T10:00"),
     ("started_at has a time zone in some rows and none in row 1",)),
    ("several offsets", csv(HEADER, ROW, "1,2,2024-12-01T09:00+01:00,2024-12-01T10:00+01:00"),
     ("several UTC offsets (+02:00, +01:00", "--timezone", "Europe/Vienna")),
    ("two time zones",
     lambda _: check(good().assign(finished_at=lambda t: t.finished_at.dt.tz_convert("UTC"))),
     ("different time zones", "tz_convert")),
    ("unknown zone", csv(HEADER, ROW, timezone="Mars/Olympus"),
     ("'Mars/Olympus' is no known time zone", "Europe/Vienna")),
    ("half a zone", csv(HEADER, ROW, timezone="Europe"), ("'Europe' is no known time zone",)),
    ("empty zone", csv(HEADER, ROW, timezone=" "), ("' ' is no known time zone",)),
    ("numbers for times", csv(HEADER, "1,2,1714546800,1714550400"),
     ("Column 'started_at' holds numbers", "ISO 8601")),
    ("numbers for times in a table", changed(started_at=1714546800),
     ("Column 'started_at' holds int64, not times", "pandas.to_datetime")),
    ("broken date", csv(HEADER, ROW, ROW.replace("05-01T10", "13-41T10")),
     ("finished_at is '2024-13-41T10:00+02:00' in row 1", "correct it or drop")),
    ("American dates", csv(HEADER, "1,2,5/1/2024 9:00,5/1/2024 10:00"),
     ("started_at is '5/1/2024 9:00' in row 0", "ISO 8601")),
    ("empty time", csv(HEADER, ROW, "1,2,,2024-05-01T10:00+02:00"),
     ("started_at is nan in row 1",)),
    ("missing time in a table", at_row(3, "finished_at", pd.NaT),
     ("'finished_at' is empty in row 3",)),
    # rows
    ("the same visit twice", repeated,
     ("same visit stands twice, again in row 20", "--drop-duplicates")),
    ("strange split", changed(split="holdout"),
     ("split is 'holdout' in row 0 (and 19 more)", "train, valid, test or empty")),
    # files
    ("neither CSV nor Parquet", file("v.xlsx", b"PK"),
     ("v.xlsx is neither .csv nor .parquet", "convert")),
    ("garbage for Parquet", file("v.parquet", bytes(range(256))),
     ("v.parquet cannot be read", "must be Parquet")),
    ("garbage for CSV", file("v.csv", b"\xff\x00\xfe\x80" * 9), ("v.csv cannot be read", "UTF-8")),
    ("cut-off gzip", file("v.csv.gz", gzip.compress(HEADER.encode() * 99)[:-20]),
     ("v.csv.gz cannot be read",)),
    ("a folder for a table", lambda folder: (folder / "d.csv").mkdir() or read(folder / "d.csv"),
     ("d.csv cannot be read",)),
    ("written under a strange name", lambda folder: write(good(), folder / "v.txt"),
     ("Cannot write v.txt", ".csv or .parquet")),
    # windows
    ("no days of history", lambda _: prepare(good(), days=0), ("days=0", "at least 1")),
]  # fmt: skip


@pytest.mark.parametrize(("act", "says"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused_with_one_sentence(
    act: Callable[[Path], object], says: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        act(tmp_path)
    message = str(caught.value)
    for part in says:
        assert part in message
    assert "\n" not in message
    assert message[-1] in "."


def test_there_are_enough_cases() -> None:
    assert len(REFUSED) >= 25
    assert len({name for name, _, _ in REFUSED}) == len(REFUSED)


# --- the command line: the same sentences, exit status 2, no traceback


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, a model of it, and files that are neither."""
    folder = tmp_path_factory.mktemp("trained")
    visits = routine_visits(users=3, days=50)
    write(visits, folder / "v.parquet")
    data = prepare(visits)
    model = model_of(tiny_config(data)).float()
    save_model(folder / "m.safetensors", model, data.vocabulary, windows=data.config)
    content = (folder / "m.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(content[: len(content) // 2])
    save_file({"x": torch.ones(2)}, folder / "other.safetensors")
    write(visits.assign(location_id=visits.location_id + 1000), folder / "elsewhere.parquet")
    write(visits.groupby("user_id").head(2), folder / "short.parquet")
    (folder / "raw.csv").write_text(f"{HEADER}\n{ROW.replace('+02:00', '')}\n")
    (folder / "d.safetensors").mkdir()
    visits.rename(columns={"user_id": "wer"}).to_csv(folder / "wer.csv", index=False)
    visits.to_csv(folder / "own.csv", index=False)
    (folder / "gps.csv").write_text("user_id,tracked_at,lon,lat\n1,2024-05-01T09:00Z,16.4,48.2\n")
    (folder / "town").mkdir()
    (folder / "town" / "visits.csv").write_text(f"{HEADER}\n{ROW}\n")
    bucket([str(folder / "v.parquet")], str(folder / "buckets"))
    prepare_buckets(str(folder / "buckets"))
    return folder


COMMANDS: list[tuple[str, str, tuple[str, ...]]] = [
    ("no table", "prepare {f}/none.csv {f}/o.parquet", ("There is no file",)),
    ("strange output", "prepare {f}/v.parquet {f}/o.xlsx", ("must end in .parquet",)),
    ("unknown folder", "prepare {f}/d.safetensors {f}/o.parquet",
     ("is a folder without train.csv",)),
    ("no zone", "prepare {f}/raw.csv {f}/o.parquet", ("no time zone", "--timezone")),
    ("no zone elsewhere", "train {f}/raw.csv --out {f}/x.safetensors",
     ("no time zone", "--timezone")),
    ("no zone for the book's model", "train {f}/raw.csv --out {f}/x.safetensors --model pgt",
     ("no time zone", "--timezone")),
    ("short histories", "train {f}/short.parquet --out {f}/x.safetensors --quiet --model pgt",
     ("no train windows", "min_visits")),
    ("strange model name", "train {f}/v.parquet --out {f}/x.pt", ("must end in .safetensors",)),
    ("a folder for a model", "train {f}/v.parquet --out {f}/d.safetensors", ("is a folder",)),
    ("one name for two",
     "train {f}/v.parquet --out {f}/x.safetensors --checkpoint {f}/x.safetensors",
     ("--out and --checkpoint are both",)),
    ("finished model as a run", "train {f}/v.parquet --out {f}/x.safetensors --quiet --device cpu "
     "--checkpoint {f}/m.safetensors", ("m.safetensors", "another model|finished model")),
    ("no model", "evaluate {f}/v.parquet {f}/none.safetensors", ("There is no checkpoint",)),
    ("table as a model", "evaluate {f}/v.parquet {f}/v.parquet", ("cut short or damaged",)),
    ("truncated model", "evaluate {f}/v.parquet {f}/cut.safetensors",
     ("cut.safetensors is cut short or damaged", "copy it again")),
    ("other safetensors file", "evaluate {f}/v.parquet {f}/other.safetensors",
     ("no checkpoint of pgt",)),
    ("another vocabulary", "evaluate {f}/elsewhere.parquet {f}/m.safetensors",
     ("None of the table's", "another vocabulary", "train on this one")),
    ("prediction elsewhere", "predict {f}/elsewhere.parquet {f}/m.safetensors",
     ("another vocabulary",)),
    ("no test windows", "evaluate {f}/short.parquet {f}/m.safetensors",
     ("no test windows", "--split")),
    ("absent user", "predict {f}/v.parquet {f}/m.safetensors --user 99",
     ("no user '99' in the table", "0, 1, 2")),
    ("before everything", "predict {f}/v.parquet {f}/m.safetensors --at 1999-01-01",
     ("Nobody in the table has a visit before 1999-01-01", "later moment")),
    # what is read is not written over
    ("guesses over visits", "predict {f}/own.csv --out {f}/own.csv", ("what this command reads",)),
    ("visits over fixes", "visits {f}/gps.csv --out {f}/gps.csv", ("what this command reads",)),
    ("visits among fixes", "visits {f}/town --out {f}/town/new.csv", ("among the recordings",)),
    ("a table over itself", "prepare {f}/v.parquet {f}/v.parquet", ("what this command reads",)),
    ("scores over visits", "evaluate {f}/v.parquet {f}/m.safetensors --json {f}/v.parquet",
     (r"Cannot write .*v\.parquet", r"must end in \.json")),
    ("scores into a folder", "evaluate {f}/v.parquet {f}/m.safetensors --json {f}",
     (r"must end in \.json",)),
    ("a town over visits", "city {f}/town", ("visits.csv that no simulated town wrote",)),
    # remedies that exist
    ("strange column", "predict {f}/wer.csv --timezone UTC", ("--columns", "'prepare'")),
    ("strange column of the book's model", "evaluate {f}/wer.csv {f}/m.safetensors",
     ("--columns", "'prepare'")),
    ("a zone for buckets", "predict {f}/buckets {f}/m.safetensors --timezone UTC",
     ("leave --timezone out",)),
    ("a zone for buckets of training", "train {f}/buckets --out {f}/x.safetensors --timezone UTC",
     ("leave --timezone out",)),
    ("processes without an engine", "predict {f}/v.parquet --workers 3",
     ("--workers goes with --engine",)),
    ("a zone without visits", "live --out {f}/x.html --timezone UTC", ("--timezone needs VISITS",)),
    ("somebody else before everything", "predict {f}/v.parquet --user 1 --at 1999-01-01",
     ("User 1 has no visit before 1999-01-01",)),
    ("user before everything", "predict {f}/v.parquet {f}/m.safetensors --user 1 --at 1999-01-01",
     ("User 1 has no visit before 1999-01-01",)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "says"), [c[1:] for c in COMMANDS], ids=[c[0] for c in COMMANDS])
def test_a_command_says_one_line_and_exits_with_2(
    line: str, says: tuple[str, ...], trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p.name: p.stat().st_mtime_ns for p in trained.iterdir()}
    assert main(line.format(f=trained).split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("pgt: ")
    assert captured.err.count("\n") == 1
    for part in says:
        assert re.search(part, captured.err), captured.err
    assert {p.name: p.stat().st_mtime_ns for p in trained.iterdir()} == before  # nothing is left


# --- coped with: allowed on purpose, and nothing is lost


def test_overlapping_visits_are_kept_and_counted() -> None:
    table = good().assign(finished_at=lambda t: t.started_at + pd.Timedelta(days=2))
    checked = check(table)
    pd.testing.assert_frame_equal(checked, table)
    assert overlaps(checked) > 5
    data = prepare(table.assign(split="train"), days=1, min_visits=1)
    assert len(data.train.visits) == len(table)


def test_duplicates_are_dropped_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("\n".join([HEADER, ROW, ROW, ROW.replace("1,2", "1,3")]))
    assert read(path, drop_duplicates=True).location_id.tolist() == [2, 3]


def test_a_user_of_one_visit_yields_no_window_but_stays_in_the_table() -> None:
    visits = routine_visits(users=2, days=40)
    alone = visits.head(1).assign(user_id=77, location_id=5)
    data = prepare(pd.concat([visits, alone]))
    parts = [data.train, data.valid, data.test]
    assert sum(len(p.visits) for p in parts) == len(visits) + 1
    assert all(77 not in p.users for p in parts)
    without = prepare(visits)
    assert data.counts() == without.counts()


def test_visits_without_a_split_stay_out_of_windows_and_others_do_not_change() -> None:
    visits = routine_visits(users=2, days=40).assign(split="train")
    visits.loc[visits.user_id == 1, "split"] = None
    data = prepare(visits)
    assert set(data.train.users) == {0}
    assert data.vocabulary.users == (0,)
    assert check(visits).split.isna().sum() == (visits.user_id == 1).sum()


def test_unknown_people_and_places_are_predicted(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pgt.checkpoint import load_model

    model, vocabulary = load_model(trained / "m.safetensors")
    visits = routine_visits(users=3, days=50)
    stranger = visits[visits.user_id == 0].head(1).assign(user_id=500, location_id=12345)
    table = pd.concat([visits, stranger])
    answer = predict(model, vocabulary, table, windows=WindowConfig())
    known = answer[answer.user_id != 500].reset_index(drop=True)
    pd.testing.assert_frame_equal(known, predict(model, vocabulary, visits, windows=WindowConfig()))
    own = answer[answer.user_id == 500]
    assert not own.known_user.any()
    assert known.known_user.all()
    assert len(own) == 5
    assert own.location_id.isna().sum() == 1  # the place itself, which has no name here
    assert own.copied[own.location_id.isna()].iloc[0] > 0
    write(table, trained / "more.parquet")
    assert main(["predict", f"{trained}/more.parquet", f"{trained}/m.safetensors",
                 "--user", "500"]) == 0  # fmt: skip
    said = capsys.readouterr().out
    (trained / "more.parquet").unlink()
    assert "user 500 (not seen in training: predicted as an unseen person)" in said
    assert "a place not seen in training" in said


def test_a_window_longer_than_the_model_is_cut_and_trained_on() -> None:
    visits = routine_visits(users=2, days=40)
    data = prepare(visits)
    model = model_of(tiny_config(data, max_len=5)).float()
    assert data.train.lengths.min() > 5
    history = fit(
        model, data.train, data.valid, TrainConfig(max_epochs=1), progress=False, device="cpu"
    )
    assert np.isfinite(history.rows[0]["valid_loss"])
    batch = data.test.batch([0, 1])
    torch.testing.assert_close(
        model.scores(batch), model.scores(batch.most_recent(5)), rtol=0, atol=0
    )


def test_places_on_the_rim_of_the_world_are_places() -> None:
    table = good().assign(lon=[180.0, -180.0] * 10, lat=[90.0, -90.0] * 10)
    pd.testing.assert_frame_equal(check(table), table)


def test_visits_without_length_are_visits() -> None:
    table = pd.DataFrame({"user_id": 1, "location_id": [1, 2], "started_at": MONDAY})
    table["finished_at"] = table.started_at
    assert len(check(table)) == 2
