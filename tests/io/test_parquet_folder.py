"""A folder of Parquet files is the table that its files make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as dataset
import pytest
from pgt.io import unpacking
from pgt.io.parquet_folder import is_parquet_folder, rows
from pgt.io.sources import read_visits
from pgt.io.tables import write

from pgt.errors import DataError
from pgt.visits import check

from ..helpers import random_visits


@pytest.fixture
def visits() -> pd.DataFrame:
    return check(random_visits(3, users=3, visits=30))


def parts(folder: Path, visits: pd.DataFrame) -> None:
    for number, at in enumerate(np.array_split(np.arange(len(visits)), 3)):
        write(visits.iloc[at], folder / f"part-{number}.parquet")


def test_a_flat_folder_is_the_same_table_as_one_file(visits: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    parts(tmp_path / "flat", visits)
    (tmp_path / "flat" / "_SUCCESS").touch()
    (tmp_path / "flat" / ".part-0.parquet.crc").touch()
    write(visits, tmp_path / "one.parquet")
    one = read_visits(tmp_path / "one.parquet")
    pd.testing.assert_frame_equal(read_visits(tmp_path / "flat"), one)


@pytest.mark.parametrize("ids", [int, "{:03}".format])
def test_partitions_are_columns_and_007_is_not_7(
    visits: pd.DataFrame, ids: object, tmp_path: Path
) -> None:
    assert callable(ids)
    visits = check(visits.assign(user_id=visits.user_id.map(ids)))
    dataset.write_dataset(
        pa.Table.from_pandas(visits, preserve_index=False), tmp_path / "hive", format="parquet",
        partitioning=["user_id"], partitioning_flavor="hive",
    )  # fmt: skip
    found = read_visits(tmp_path / "hive")
    pd.testing.assert_frame_equal(found[visits.columns], visits, check_dtype=False)
    assert set(map(type, found.user_id.tolist())) == {type(ids(1))}


def test_an_empty_partition_is_a_gap_and_a_column_of_the_file_wins(tmp_path: Path) -> None:
    for value, inside in (("__HIVE_DEFAULT_PARTITION__", 1), ("a%20b", 2)):
        (tmp_path / f"x={value}").mkdir()
        table = pd.DataFrame({"y": [inside]})
        table.to_parquet(tmp_path / f"x={value}" / "part.parquet")
    found = rows(tmp_path)
    assert found.y.tolist() == [1, 2] and found.x.tolist()[1] == "a b" and found.x.isna()[0]
    for file in tmp_path.rglob("*.parquet"):
        pd.DataFrame({"x": ["own"]}).to_parquet(file)
    assert rows(tmp_path).x.tolist() == ["own", "own"]


def test_files_that_do_not_fit_together_are_named(visits: pd.DataFrame, tmp_path: Path) -> None:
    parts(tmp_path, visits)
    at = tmp_path / "part-1.parquet"
    for change, says in (
        (
            visits.drop(columns="finished_at"),
            r"part-1.parquet has no column 'finished_at', which p",
        ),
        (visits.assign(note=1), "part-0.parquet has no column 'note', which part-1.parquet has"),
        (visits.assign(user_id="a"), "do not fit together"),
        (visits.assign(started_at=visits.started_at.dt.tz_convert("UTC")), "do not fit together"),
    ):
        write(change, at)
        with pytest.raises(DataError, match=says):
            read_visits(tmp_path)
    at.write_bytes(b"PAR1" + bytes(40))
    with pytest.raises(DataError, match=r"part-1\.parquet cannot be read"):
        read_visits(tmp_path)
    at.write_bytes(b"")
    with pytest.raises(DataError, match=r"part-1\.parquet is no Parquet file; take it out"):
        read_visits(tmp_path)


def test_the_checks_are_those_of_one_file(visits: pd.DataFrame, tmp_path: Path) -> None:
    parts(tmp_path, visits)
    write(visits.head(1), tmp_path / "part-3.parquet")
    with pytest.raises(DataError, match="--drop-duplicates"):
        read_visits(tmp_path)
    found = read_visits(tmp_path, drop_duplicates=True, columns={"user_id": "user_id"})
    pd.testing.assert_frame_equal(found, visits, check_dtype=False)


def test_folders_that_others_keep_account_of_are_not_tables(
    visits: pd.DataFrame, tmp_path: Path
) -> None:
    assert not is_parquet_folder(tmp_path)
    (tmp_path / "in").mkdir()
    parts(tmp_path / "in", visits)
    assert is_parquet_folder(tmp_path)
    for log in ("_delta_log", ".hoodie", "metadata"):
        (tmp_path / "in" / log).mkdir()
        assert not is_parquet_folder(tmp_path)
        (tmp_path / "in" / log).rmdir()
    (tmp_path / "prepared.json").touch()
    assert not is_parquet_folder(tmp_path)


def test_all_files_together_have_one_limit(
    visits: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts(tmp_path, visits)
    size = max(sum(unpacking._cells(file)) for file in tmp_path.iterdir())
    monkeypatch.setattr(unpacking, "ALWAYS", size)
    monkeypatch.setattr(unpacking, "TIMES", 0)
    assert len(rows_of_one(tmp_path))
    with pytest.raises(DataError, match="would unpack to more than"):
        rows(tmp_path)


def rows_of_one(folder: Path) -> pd.DataFrame:
    return read_visits(folder / "part-0.parquet")
