"""Buckets: everybody is in one, nothing is lost, and what is whole is not written again."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from pgt.errors import DataError
from pgt.io import tables
from pgt.io.sources import read_visits
from pgt.scale import buckets
from pgt.scale.buckets import bucket, bucket_of, visits_name
from pgt.scale.duck import Reading
from pgt.scale.storage import Folder
from pgt.visits import split_by_days

from ..helpers import random_visits, run_python

ORDER = ["user_id", "started_at"]


def all_of(folder: str, numbers: list[int]) -> pd.DataFrame:
    """All buckets as one table, sorted as `check` sorts."""
    parts = [Folder(folder).read_table(visits_name(number)) for number in numbers]
    return pd.concat(parts).sort_values(ORDER, kind="stable", ignore_index=True)


def memory() -> str:
    return f"memory://{uuid.uuid4().hex}"


@pytest.fixture
def table() -> pd.DataFrame:
    return random_visits(3, users=9, visits=40)


def test_buckets_hold_the_table_as_it_is_read_in_memory(
    tmp_path: Path, table: pd.DataFrame
) -> None:
    # The order within one moment is that of the files, so some visits begin together.
    table.loc[10:20, "started_at"] = table.started_at[10]
    table["finished_at"] = table[["started_at", "finished_at"]].max(axis=1)
    table = table.drop_duplicates().sample(frac=1, random_state=0).assign(lon=16.4, lat=48.2)
    table.to_parquet(tmp_path / "it's [1].parquet", index=False)
    numbers = bucket([str(tmp_path / "it's [1].parquet")], str(tmp_path / "b"), n_buckets=4)
    assert len(numbers) > 1
    whole = split_by_days(read_visits(tmp_path / "it's [1].parquet"))
    pd.testing.assert_frame_equal(
        all_of(str(tmp_path / "b"), numbers)[whole.columns], whole, check_dtype=True
    )
    for number in numbers:
        part = Folder(str(tmp_path / "b")).read_table(visits_name(number))
        assert {bucket_of(user, 4) for user in part.user_id} == {number}
        pd.testing.assert_frame_equal(part, part.sort_values(ORDER, ignore_index=True))
    assert not (tmp_path / "b" / "found").exists()


@pytest.mark.parametrize("ids", ["number", "text", "zeros"])
@pytest.mark.parametrize("times", ["offset", "naive", "several"])
def test_csv_is_read_as_in_memory(
    tmp_path: Path, table: pd.DataFrame, ids: str, times: str
) -> None:
    if ids != "number":
        table["user_id"] = table.user_id.map({"text": "p{}é'", "zeros": "00{}"}[ids].format)
    if times == "naive":
        for name in ("started_at", "finished_at"):
            table[name] = table[name].dt.tz_localize(None)
    elif times == "offset":
        for name in ("started_at", "finished_at"):
            table[name] = table[name].dt.tz_convert("+02:00")
    zone = {"naive": "Europe/Vienna", "offset": None, "several": "Asia/Tokyo"}[times]
    names = {"user_id": "User ID", "location_id": "where", "started_at": "from"}
    table.rename(columns=names).iloc[:100].to_csv(tmp_path / "a.csv", index=False)
    table.rename(columns=names).iloc[100:].to_csv(tmp_path / "b.csv.gz", index=False)
    table.rename(columns=names).to_csv(tmp_path / "whole", index=False)
    (tmp_path / "whole").rename(tmp_path / "whole.csv")
    options: dict[str, Any] = {
        "timezone": zone,
        "columns": {"location_id": "where", "started_at": "from"},
    }
    folder = str(tmp_path / "buckets")
    numbers = bucket([f"{tmp_path}/[ab].csv*"], folder, n_buckets=3, reading=Reading(**options))
    whole = split_by_days(tables.read(tmp_path / "whole.csv", **options))
    pd.testing.assert_frame_equal(all_of(folder, numbers)[whole.columns], whole)


def test_checkins_duplicates_and_given_splits(table: pd.DataFrame) -> None:
    table = table.drop(columns="finished_at")
    table["split"] = np.where(np.arange(len(table)) % 40 < 20, "train", "val")
    table.loc[3, "split"] = None
    folder = memory()
    Folder(folder).write_table("v.parquet", pd.concat([table, table[:5]]))
    reading = Reading(checkins=True, drop_duplicates=True)
    numbers = bucket([f"{folder}/v.parquet"], f"{folder}/b", n_buckets=3, reading=reading)
    found = all_of(f"{folder}/b", numbers)
    assert len(found) == len(table) and (found.started_at == found.finished_at).all()
    assert found.split.value_counts(dropna=False).to_dict() == {"valid": 180, "train": 179,
                                                                np.nan: 1}  # fmt: skip


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_persons_bucket_depends_on_the_id_alone(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", seed)
    code = "from pgt.scale.buckets import bucket_of as b; print([b(u, 64) for u in (7, 'é', -1)])"
    assert run_python("-c", code).stdout.strip() == str([bucket_of(u, 64) for u in (7, "é", -1)])
    assert len({bucket_of(user, 16) for user in range(200)}) == 16


def test_a_broken_run_goes_on_and_whole_buckets_stay(
    tmp_path: Path, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.to_parquet(tmp_path / "v.parquet")
    words = ([str(tmp_path / "v.parquet")], str(tmp_path / "b"))
    written: list[str] = []
    plain = Folder.write_table

    def fails_at_the_fourth(self: Folder, name: str, rows: Any) -> None:
        if len(written) == 3:
            raise OSError("no power")
        plain(self, name, rows)
        written.append(name)

    for _ in range(20):  # every attempt gets three buckets further
        monkeypatch.setattr(Folder, "write_table", fails_at_the_fourth)
        before = set(written)
        written.clear()
        try:
            numbers = bucket(*words, n_buckets=5)
            break
        except OSError:
            assert written and not before & set(written)
            with pytest.raises(DataError, match="not all of them"):
                buckets.numbers_of(Folder(words[1]))
    else:
        pytest.fail("It does not come to its end.")
    pd.testing.assert_frame_equal(
        all_of(words[1], numbers)[[*table.columns, "split"]],
        split_by_days(read_visits(tmp_path / "v.parquet")),
    )
    written.clear()
    assert bucket(*words) == numbers and not written
    (tmp_path / "b" / visits_name(numbers[0])).unlink()
    assert bucket(*words) == numbers
    assert written == [buckets.raw_name(numbers[0]), visits_name(numbers[0])]


def test_a_folder_of_other_visits_is_refused(tmp_path: Path, table: pd.DataFrame) -> None:
    table.to_parquet(tmp_path / "v.parquet")
    words = ([str(tmp_path / "v.parquet")], str(tmp_path / "b"))
    bucket(*words, n_buckets=2)
    for more in ({"n_buckets": 3}, {"reading": Reading(timezone="Asia/Tokyo")}):
        with pytest.raises(DataError, match="buckets of other visits"):
            bucket(*words, **more)
    table[:50].to_parquet(tmp_path / "v.parquet")
    with pytest.raises(DataError, match="buckets of other visits"):
        bucket(*words)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.drop(columns="user_id"), "'user_id' is missing"),
        (lambda t: t[:0], "no visits"),
        (lambda t: t.assign(lon=200.0, lat=0.0), r"In .*found.*\.csv|'lon' is 200"),
        (lambda t: t.assign(lon="east", lat=0.0), "DuckDB cannot read the visits"),
        (lambda t: t.assign(user_id=t.user_id + 0.5), "floating-point"),
        (lambda t: t.assign(started_at="yesterday"), "no ISO 8601 time"),
        (lambda t: t.assign(user_id=t.user_id.where(t.user_id > 0)), "floating|empty"),
        (lambda t: pd.concat([t, t]), "stands twice"),
    ],
)
def test_bad_visits_are_answered_in_one_sentence(
    table: pd.DataFrame, change: Any, says: str
) -> None:
    folder = memory()
    with Folder(folder).whole("v.csv") as handle:
        change(table.assign(started_at=table.started_at.dt.tz_convert("UTC"),
                            finished_at=table.finished_at.dt.tz_convert("UTC"))).to_csv(
            handle, index=False)  # fmt: skip
    with pytest.raises(DataError, match=says) as error:
        bucket([f"{folder}/v.csv"], f"{folder}/b", n_buckets=2)
    assert "\n" not in str(error.value)


def test_times_written_in_several_ways_are_refused(table: pd.DataFrame) -> None:
    folder = memory()
    raw = table.astype({"started_at": str, "finished_at": str})
    raw.loc[300, "started_at"] = raw.started_at[300][:19]
    for name, rows in {"mixed.csv": raw, "offsets.csv": raw.drop(index=300)}.items():
        with Folder(folder).whole(name) as handle:
            rows.to_csv(handle, index=False)
    with pytest.raises(DataError, match=r"in some rows \(2024.*\) and none in others"):
        bucket([f"{folder}/mixed.csv"], f"{folder}/b")
    with pytest.raises(DataError, match="several UTC offsets"):
        bucket([f"{folder}/offsets.csv"], f"{folder}/c")


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path, table: pd.DataFrame) -> None:
    table.to_parquet(tmp_path / "a.parquet")
    table.to_csv(tmp_path / "b.csv")
    with pytest.raises(DataError, match="all be in Parquet"):
        bucket([str(tmp_path)], str(tmp_path / "out"))
    with pytest.raises(DataError, match=r"no visits at .*nowhere"):
        bucket([str(tmp_path / "nowhere")], str(tmp_path / "out"))
    for name in ("started_at", "finished_at"):
        table[name] = table[name].dt.tz_convert("Asia/Tokyo")
    table.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match="several time zones"):
        bucket([f"{tmp_path}/*.parquet"], str(tmp_path / "out"))
    reading = Reading(timezone="Europe/Paris", drop_duplicates=True)  # a name for all of them
    numbers = bucket([f"{tmp_path}/*.parquet"], str(tmp_path / "out"), reading=reading)
    whole = tables.read(tmp_path / "a.parquet", timezone="Europe/Paris")
    found = all_of(str(tmp_path / "out"), numbers)
    pd.testing.assert_frame_equal(found[whole.columns], whole)
    naive = table.assign(finished_at=table.finished_at.dt.tz_localize(None))
    naive.to_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"several time zones .*None"):
        bucket([f"{tmp_path}/d.parquet"], str(tmp_path / "more"))


def test_visits_that_were_refused_stand_in_nobodys_way(tmp_path: Path, table: pd.DataFrame) -> None:
    source, folder = tmp_path / "v.parquet", tmp_path / "b"
    words = ([str(source)], str(folder))
    table.assign(lon=200.0, lat=0.0).to_parquet(source)
    with pytest.raises(DataError, match=r"In .*found.*\.parquet: 'lon' is 200") as error:
        bucket(*words, n_buckets=3)
    named = str(error.value).partition(": ")[0].removeprefix("In ")
    assert Path(named).is_file()  # the row that is wrong can be looked at
    with pytest.raises(DataError, match="holds no buckets, or not all"):
        buckets.numbers_of(Folder(words[1]))
    table.to_parquet(source)
    numbers = bucket(*words, n_buckets=3)
    assert not (folder / "found").exists()
    pd.testing.assert_frame_equal(all_of(words[1], numbers)[table.columns], table)


def test_a_file_that_duckdb_cannot_read_leaves_no_folder(
    tmp_path: Path, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = tmp_path / "v.parquet", tmp_path / "b"
    table.to_parquet(source)

    def breaks(*_: Any) -> Any:
        raise duckdb.Error("no such page")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(buckets, "_dealt", breaks)
        with pytest.raises(DataError, match="DuckDB cannot read the visits"):
            bucket([str(source)], str(folder))
    assert not folder.exists()
    assert bucket([str(source)], str(folder)) == [0]
