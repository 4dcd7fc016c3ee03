"""Tables of other libraries are read as the same visits."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from pgt.errors import DataError
from pgt.io.tables import write
from pgt.predictor.frames import as_visits
from pgt.visits import check

from ..helpers import ZONE, random_visits


class Relation:
    """As DuckDB's relation: a table that gives a pandas one by ``df()``."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def df(self) -> pd.DataFrame:
        return self.table


class Lazy:
    """As Polars' lazy table."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def lazy(self) -> Lazy:
        return self

    def collect(self) -> pa.Table:
        return pa.Table.from_pandas(self.table)


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return check(random_visits(1, users=2, visits=20))


def test_every_kind_of_table_is_the_same_visits(visits: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    write(visits, path)
    arrow = pa.Table.from_pandas(visits)
    kinds = [visits, arrow, Relation(visits), Lazy(visits), path, str(path),
             arrow.to_pandas(types_mapper=pd.ArrowDtype)]  # fmt: skip
    for table in kinds:
        found = as_visits(table)
        same = [found[name].tolist() == visits[name].tolist() for name in visits.columns]
        assert all(same), type(table)
        assert str(found.started_at.dt.tz) == ZONE


def test_other_names_rows_without_a_place_and_check_ins(visits: pd.DataFrame) -> None:
    theirs = visits.drop(columns="finished_at").rename(
        columns={"user_id": "uid", "started_at": "datetime"}
    )
    theirs["location_id"] = theirs.location_id.astype(float).mask(theirs.index == 3)
    found = as_visits(theirs)
    assert len(found) == len(visits) - 1
    assert (found.finished_at == found.started_at).all()
    assert found.location_id.dtype.kind == "i"


@pytest.mark.parametrize(
    ("kind", "is_meant"),
    [("int64[pyarrow]", int), ("double[pyarrow]", int), ("string[pyarrow]", str)],
)
def test_ids_in_columns_of_arrow_are_ids(visits: pd.DataFrame, kind: str, is_meant: type) -> None:
    dtype = pd.ArrowDtype(pa.string()) if is_meant is str else kind
    plain = str if is_meant is str else "int64"
    arrow = visits.assign(
        user_id=visits.user_id.astype(plain).astype("int64[pyarrow]" if is_meant is int else dtype),
        location_id=visits.location_id.astype(plain).astype(dtype),
    )
    read = as_visits(arrow)
    assert read.location_id.tolist() == visits.location_id.astype(is_meant).tolist()
    assert set(read.user_id) == set(visits.user_id.astype(is_meant))


def test_a_column_that_stands_twice_is_named(visits: pd.DataFrame) -> None:
    for name in ("location_id", "user_id", "started_at"):
        twice = pd.concat([visits, visits[[name]]], axis=1)
        with pytest.raises(DataError, match=name):
            as_visits(twice)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(DataError, match=r"A list is no table of visits; give a pandas, Polars"):
        as_visits([1, 2])
    with pytest.raises(DataError, match="'user_id' is missing"):
        as_visits(pd.DataFrame({"a": [1]}))
